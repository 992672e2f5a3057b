use super::*;
use crate::account::SignUp;
use crate::audit;
use crate::base::config::Config;
use crate::import::{Import as _, to_the_end};
#[cfg(feature = "evaluation")]
use crate::newsfeed::evaluation;
use crate::record::export::Export as _;
use crate::testing::{Service, service, service_with, sign_in, sign_in_up};
use crate::transfer::{member_import, roster_import};
use crate::{admin, member, member_data, newsfeed, words};

/// Calls an operation, and returns whether it was refused.
type Operation = (&'static str, fn(&Service, &Caller) -> Result<()>);

/// The operations of administrators who are people.
const PEOPLES: [Operation; 6] = [
    ("admin::grant", |service, caller| service.call(caller, admin::Grant { user_id: "ben".into() })),
    ("admin::revoke", |service, caller| service.call(caller, admin::Revoke { user_id: "ben".into() })),
    ("account::set_password", |service, caller| {
        service.call(caller, member::SetPassword { user_id: "ben".into(), new_pw: "a new password".into() })
    }),
    ("account::reset_otp", |service, caller| {
        match service.call(caller, member::ResetOtp { user_id: "ben".into() }) {
            Err(Error::BadRequest(_)) => Ok(()),
            other => other,
        }
    }),
    ("account::issue_otp", |service, caller| {
        service.call(caller, member::IssueOtp { user_id: "ben".into() }).map(drop)
    }),
    ("member_data::export_of", |service, caller| {
        let export = member_data::DataReader::of(service, caller, "ben")?;
        export.pass_to(service, &mut |_, _| std::ops::ControlFlow::Continue(())).map(drop)
    }),
];

/// The operations of administrators that an API key may have too, with its scope.
const KEYS: [(Scope, Operation); 6] = [
    (Scope::MembersRead, ("admin::list", |service, caller| service.call(caller, admin::List {}).map(drop))),
    (
        Scope::MembersRead,
        ("account::list", |service, caller| service.call(caller, member::List::default()).map(drop)),
    ),
    (
        Scope::MembersRead,
        ("account::roster", |service, caller| service.call(caller, member::ListRoster::default()).map(drop)),
    ),
    (
        Scope::Members,
        ("roster_import::import_roster", |service, caller| {
            let roster = b"id,name,password\ns01,Lee,pw\n";
            roster_import::ImportRoster {}.import(service, caller, &roster[..], &mut to_the_end).map(drop)
        }),
    ),
    (
        Scope::Posts,
        ("newsfeed::weights", |service, caller| service.call(caller, newsfeed::GetWeights {}).map(drop)),
    ),
    (
        Scope::Posts,
        ("newsfeed::learn_weights", |service, caller| {
            service.call(caller, newsfeed::LearnWeights {}).map(drop)
        }),
    ),
];

#[test]
fn operations_of_the_operator_are_refused_to_every_other_caller() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    let as_ann = Caller::Member("ann".into());
    let key = service.key(Scope::Members);
    for caller in [&ann, &as_ann, &ben, &key, &Caller::token("forged"), &Caller::Guest] {
        let pw = String::from("password of cid");
        let form =
            SignUp { id: "cid".into(), pw: pw.clone(), pw_check: pw, nickname: "Cid".into(), email: None };
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
fn operations_of_administrators_are_refused_to_members_and_guests() {
    let service = service();
    let (_, ben) = (service.admin("ann"), service.member("ben"));
    let before = service.call(&Caller::Operator, admin::List {}).unwrap();
    for (name, operation) in PEOPLES.into_iter().chain(KEYS.map(|(_, operation)| operation)) {
        for caller in [&ben, &Caller::Member("ben".into())] {
            let refused = operation(&service, caller);
            assert!(matches!(refused, Err(Error::Forbidden)), "{name} {caller:?}: {refused:?}");
        }
        for caller in [&Caller::Guest, &Caller::token("forged"), &Caller::Member("gone".into())] {
            let refused = operation(&service, caller);
            assert!(matches!(refused, Err(Error::BadToken)), "{name} {caller:?}: {refused:?}");
        }
    }
    assert_eq!(service.call(&Caller::Operator, admin::List {}).unwrap(), before);
    assert_eq!(service.call(&Caller::Operator, member::ListRoster::default()).unwrap().roster, []);
    assert!(sign_in(&service, "ben", "password of ben", None).is_ok());
    let trail = service.call(&Caller::Operator, audit::List::default()).unwrap().audit;
    assert_eq!(trail.len(), 1, "only the grant of ann: {trail:?}");
}

#[test]
fn people_with_the_right_may_what_no_key_may() {
    let service = service();
    let (ann, _) = (service.admin("ann"), service.member("ben"));
    for scope in Scope::ALL {
        let key = service.key(*scope);
        for (name, operation) in PEOPLES {
            let refused = operation(&service, &key);
            assert!(matches!(refused, Err(Error::Forbidden)), "{name} {scope}: {refused:?}");
        }
        for (needed, (name, operation)) in KEYS {
            match operation(&service, &key) {
                Ok(()) => assert!(scope.allows(needed), "{name} {scope}"),
                Err(Error::MissingScope(missing)) => {
                    assert!(!scope.allows(needed) && missing == needed, "{name} {scope}");
                }
                Err(error) => panic!("{name} {scope}: {error:?}"),
            }
        }
    }
    for caller in [&ann, &Caller::Member("ann".into()), &Caller::Operator] {
        for (name, operation) in PEOPLES.into_iter().chain(KEYS.map(|(_, operation)| operation)) {
            assert!(operation(&service, caller).is_ok(), "{name} {caller:?}");
        }
    }
    let query = audit::List { actor: Some("ann".into()), ..audit::List::default() };
    let trail = service.call(&Caller::Operator, query.clone()).unwrap().audit;
    for action in ["admin.grant", "admin.revoke", "member.password", "member.export", "roster.import"] {
        assert!(trail.iter().any(|record| record.action == action && record.actor == "ann"), "{action}");
    }
}

#[test]
fn an_administrator_without_the_second_factor_may_nothing_where_it_is_required() {
    let service = service_with(Config { require_otp: true, ..Config::default() });
    let (ann, _) = (service.admin("ann"), service.member("ben"));
    for (name, operation) in PEOPLES.into_iter().chain(KEYS.map(|(_, operation)| operation)) {
        let refused = operation(&service, &ann);
        assert!(matches!(refused, Err(Error::SecondFactorNeeded)), "{name}: {refused:?}");
    }
}

#[test]
fn a_key_does_not_become_an_administrator_by_the_roster() {
    let service = service();
    let key = service.key(Scope::Members);
    let roster = |caller: &Caller, lines: &str| {
        let csv = format!("id,name,password\n{lines}");
        roster_import::ImportRoster {}.import(&service, caller, csv.as_bytes(), &mut to_the_end).unwrap()
    };
    assert_eq!(roster(&key, "s01,Lee,old password\ns02,Kim,old password\n").inserted, 2);
    for id in ["s01", "s02"] {
        sign_in_up(&service, id, "old password", None).unwrap();
    }
    service.call(&Caller::Operator, admin::Grant { user_id: "s01".into() }).unwrap();
    let report = roster(&key, "S01,Lee,new password\ns02,Kim,new password\ns01,Lee,old password\n");
    assert_eq!((report.updated, report.skipped, report.errors.len()), (Some(0), 0, 3), "{report:?}");
    // The right password of an administrator is refused like a wrong one.
    let reason = "id is that of a member: only an administrator changes this entry";
    assert!(report.errors.iter().all(|error| error.reason == reason), "{report:?}");
    for id in ["s01", "s02"] {
        assert!(sign_in_up(&service, id, "new password", None).is_err());
        assert!(sign_in_up(&service, id, "old password", None).is_ok());
    }
    // Nor does it tell whether a password is that of somebody who has not signed in yet.
    let entry = "s03,Choi,a password\n";
    assert_eq!(roster(&key, entry).inserted, 1);
    assert_eq!([roster(&key, entry).updated, roster(&key, "s03,Choi,other\n").updated], [Some(1); 2]);
    // Nor by an import of members, which skips existing ones.
    let line = br#"{"id": "S01", "nickname": "Other", "password_hash": ""}"#;
    let report = member_import::import_members(&service, &key, &line[..], &mut to_the_end).unwrap();
    assert_eq!((report.inserted, report.skipped), (0, 1));
    assert!(sign_in_up(&service, "s01", "old password", None).is_ok());
    assert_eq!(roster(&Caller::Operator, "s01,Lee,new password\n").updated, Some(1));
}

#[test]
fn a_callers_administrator_rights_are_read_from_the_database_each_time() {
    let service = service();
    let (ann, _) = (service.admin("ann"), service.admin("ben"));
    let is_admin = |caller: &Caller| {
        let found = caller.identify(&service).if_admin(&service, Scope::Notices, |_| ()).unwrap();
        found.is_some()
    };
    assert!(is_admin(&ann) && is_admin(&Caller::Member("ANN".into())) && is_admin(&Caller::Operator));
    let member = service.member("cid");
    assert!(!is_admin(&member) && !is_admin(&Caller::Guest) && !is_admin(&Caller::token("forged")));
    service.call(&Caller::Operator, admin::Revoke { user_id: "ann".into() }).unwrap();
    assert!(!is_admin(&ann));
    service.call(&Caller::Operator, admin::Grant { user_id: "ann".into() }).unwrap();
    assert!(is_admin(&ann));
    service.call(&Caller::Operator, admin::PushBlacklist { user_id: "ann".into() }).unwrap();
    assert!(!is_admin(&ann));
}
