use super::*;
use crate::base::config::Config;
use crate::import::{Import as _, to_the_end};
#[cfg(feature = "evaluation")]
use crate::newsfeed::evaluation;
use crate::record::export::Export as _;
use crate::testing::{Service, service, service_with, sign_in, sign_in_up, sign_up_form};
use crate::transfer::roster_import;
use crate::{admin, member_data, words};

type Operation = (&'static str, fn(&Service, &Caller) -> Result<()>);

/// Operations of administrators. The matrix of callers has all of them, for callers with a token.
const OPERATIONS: [Operation; 4] = [
    ("grant", |service, caller| service.call(caller, admin::Grant { user_id: "ben".into() })),
    ("list", |service, caller| service.call(caller, admin::List {}).map(drop)),
    ("export", |service, caller| {
        let export = member_data::DataReader::of(service, caller, "ben")?;
        export.pass_to(service, &mut |_, _| std::ops::ControlFlow::Continue(())).map(drop)
    }),
    ("import", |service, caller| {
        let roster = b"id,name,password\ns01,Lee,pw\n";
        roster_import::ImportRoster {}.import(service, caller, &roster[..], &mut to_the_end).map(drop)
    }),
];

#[test]
fn operations_of_the_operator_are_refused_to_every_other_caller() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    let as_ann = Caller::Member("ann".into());
    let key = service.key(Scope::Members);
    for caller in [&ann, &as_ann, &ben, &key, &Caller::token("forged"), &Caller::Guest] {
        let form = sign_up_form("cid");
        let vectors = b"1 2\nlibrary 1 0\n";
        for (operation, refused) in [
            ("admin::sign_up", admin::sign_up(&service, caller, &form)),
            ("words::train", words::train(&service, caller, &mut |_| {}).map(drop)),
            ("words::load", words::load(&service, caller, &vectors[..], &mut |_| {}).map(drop)),
            ("words::export", words::export(&service, caller, Vec::new()).map(drop)),
            #[cfg(feature = "evaluation")]
            ("evaluate", evaluation::evaluate(&service, caller, None, &mut |_| {}).map(drop)),
        ] {
            assert!(matches!(refused, Err(Error::Forbidden)), "{operation} {caller:?}: {refused:?}");
        }
        assert!(caller.operator().is_err(), "{caller:?}: no proof for operations on files");
    }
    assert!(sign_in(&service, "cid", "password of cid", None).is_err());
    assert!(words::export(&service, &Caller::Operator, Vec::new()).is_err(), "no words were loaded");
}

#[test]
fn an_administrator_without_the_second_factor_may_nothing_where_it_is_required() {
    let service = service_with(Config { require_otp: true, ..Config::default() });
    let (ann, _) = (service.admin("ann"), service.member("ben"));
    for (name, operation) in OPERATIONS {
        let refused = operation(&service, &ann);
        assert!(matches!(refused, Err(Error::SecondFactorNeeded)), "{name}: {refused:?}");
    }
}

#[test]
fn a_role_becomes_no_administrator_by_the_roster() {
    let service = service();
    let eve = service.member_with("eve", Scope::ALL);
    let roster = |caller: &Caller, lines: &str| {
        let csv = format!("id,name,password\n{lines}");
        roster_import::ImportRoster {}.import(&service, caller, csv.as_bytes(), &mut to_the_end).unwrap()
    };
    assert_eq!(roster(&eve, "s01,Lee,old password\ns02,Kim,old password\n").inserted, 2);
    for id in ["s01", "s02"] {
        sign_in_up(&service, id, "old password", None).unwrap();
    }
    service.call(&Caller::Operator, admin::Grant { user_id: "s01".into() }).unwrap();
    let lines = "S01,Lee,new password\ns02,Kim,new password\neve,Eve,new password\ns01,Lee,old password\n";
    let report = roster(&eve, lines);
    assert_eq!((report.updated, report.skipped, report.errors.len()), (Some(0), 0, 4), "{report:?}");
    // The right password of an administrator is refused like a wrong one.
    let reason = "id is that of a member: only an administrator changes this entry";
    assert!(report.errors.iter().all(|error| error.reason == reason), "{report:?}");
    for id in ["s01", "s02"] {
        assert!(sign_in_up(&service, id, "new password", None).is_err());
        assert!(sign_in_up(&service, id, "old password", None).is_ok());
    }
    // Nor does it tell whether a password is that of somebody who has not signed in yet.
    let entry = |pw: &str| roster(&eve, &format!("new,Choi,{pw}\n"));
    assert_eq!(entry("a password").inserted, 1);
    assert_eq!([entry("a password").updated, entry("other").updated], [Some(1); 2]);
    assert_eq!(roster(&Caller::Operator, "s01,Lee,new password\n").updated, Some(1));
}

#[test]
fn a_callers_administrator_rights_are_read_from_the_database_each_time() {
    let service = service();
    let (ann, _) = (service.admin("ann"), service.admin("ben"));
    let is_admin = |caller: &Caller| {
        caller.identify(&service).if_admin(&service, Scope::Notices, |_| ()).unwrap().is_some()
    };
    assert!(is_admin(&ann) && is_admin(&Caller::Member("ANN".into())) && is_admin(&Caller::Operator));
    let member = service.member("cid");
    assert!(!is_admin(&member) && !is_admin(&Caller::Guest) && !is_admin(&Caller::token("forged")));
    service.call(&Caller::Operator, admin::Revoke { user_id: "ann".into() }).unwrap();
    assert!(!is_admin(&ann));
    service.call(&Caller::Operator, admin::Grant { user_id: "ann".into() }).unwrap();
    assert!(is_admin(&ann));
    service.blacklist("ann");
    assert!(!is_admin(&ann));
}
