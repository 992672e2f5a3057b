//! Tests of roles.

use super::*;
use crate::Caller;
use crate::account::key;
use crate::base::config::Config;
use crate::import::{Import as _, to_the_end};
use crate::mail::tests::text;
use crate::testing::{Service, service, service_with, sign_in, sign_in_up};
use crate::transfer::roster_import;
use crate::{admin, analysis, audit, feedback, main_info, member, notice, profile};

fn set(service: &Service, caller: &Caller, id: &str, scopes: &[&str]) -> Result<()> {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    service.call(caller, SetRole { user_id: id.into(), scopes })
}

fn role(service: &Service, caller: &Caller, id: &str) -> Result<Vec<Scope>> {
    Ok(service.call(caller, GetRole { user_id: id.into() })?.scopes)
}

fn code<T>(result: Result<T>) -> &'static str {
    result.err().map_or("success", |error| error.problem().code.as_str())
}

fn hidden_notice() -> notice::Insert {
    let draft = notice::Draft {
        title: Some("Title".into()),
        post: Some("Text".into()),
        activation: Some(0),
        ..notice::Draft::default()
    };
    notice::Insert { draft }
}

/// Returns the records of the audit trail about roles, the latest first: who, on whom, before and after.
fn trail(service: &Service) -> Vec<[String; 4]> {
    let query = audit::List { action: Some("member.role".into()), ..audit::List::default() };
    let records = service.call(&Caller::Operator, query).unwrap().audit.into_iter();
    records.map(|record| [record.actor, record.subject, record.before, record.after]).collect()
}

#[test]
fn a_role_allows_what_its_scopes_say_and_nothing_else() {
    let service = service();
    let ann = service.member_with("ann", &[Scope::Notices]);
    service.call(&ann, hidden_notice()).unwrap();
    assert_eq!(service.call(&ann, notice::List::default()).unwrap().notices().len(), 1, "hidden ones too");
    let lines = main_info::Draft { new_info_1: Some("One".into()), new_info_2: None };
    let refused = service.call(&ann, main_info::Update { draft: lines }).unwrap_err();
    assert!(matches!(refused, Error::MissingScope(Scope::Front)), "{refused:?}");
    assert_eq!(
        (refused.to_string().as_str(), refused.problem().code.as_str()),
        ("Not admin", "missing_scope")
    );
    assert_eq!(refused.message(), "this needs an API key or a role with the scope front");
    assert_eq!(code(service.call(&ann, feedback::ListAll {})), "missing_scope");
    assert_eq!(code(service.call(&ann, member::List::default())), "missing_scope");
    assert_eq!(code(service.call(&ann, admin::Check {})), "not_admin");
    // A member without a role gets the answers of before.
    let ben = service.member("ben");
    assert_eq!(code(service.call(&ben, hidden_notice())), "not_admin");
    assert_eq!(service.call(&ben, notice::List::default()).unwrap().notices().len(), 0);
}

#[test]
fn a_member_whose_role_does_not_contain_it_reads_as_other_members_do() {
    let service = service();
    let ann = service.member_with("ann", &[Scope::Posts]);
    service.call(&Caller::Operator, hidden_notice()).unwrap();
    let draft = notice::Draft { activation: Some(1), members_only: Some(1), ..hidden_notice().draft };
    let shown = service.call(&Caller::Operator, notice::Insert { draft }).unwrap().id;
    let seen = service.call(&ann, notice::List::default()).unwrap();
    assert_eq!(seen.notices().iter().map(|notice| notice.id).collect::<Vec<_>>(), [shown]);
    let log = |of: Option<&str>| {
        let filter = analysis::GetLog { member: of.map(str::to_owned), ..analysis::GetLog::default() };
        code(service.call(&ann, filter.page(None, 10)))
    };
    assert_eq!(
        [log(Some("ANN")), log(Some("guest")), log(None)],
        ["success", "missing_scope", "missing_scope"]
    );
}

#[test]
fn only_administrators_set_roles_and_members_see_their_own() {
    let service = service();
    let (boss, ann) = (service.admin("boss"), service.member("ann"));
    let everything: Vec<&str> = Scope::ALL.iter().map(|scope| scope.name()).collect();
    let editor = service.member_with("eve", Scope::ALL);
    let key = service.key(Scope::Members);
    for (caller, refused) in [
        (&editor, "not_admin"),
        (&ann, "not_admin"),
        (&key, "not_admin"),
        (&Caller::Guest, "bad_token"),
        (&Caller::token("forged"), "bad_token"),
    ] {
        for id in ["ann", "eve", "boss", "nobody"] {
            assert_eq!(code(set(&service, caller, id, &everything)), refused, "{caller:?} {id}");
            assert_eq!(code(set(&service, caller, id, &[])), refused, "{caller:?} {id}");
        }
    }
    set(&service, &boss, "ANN", &["webhooks", "notices", "notices"]).unwrap();
    let roles = [Scope::Notices, Scope::Webhooks];
    for caller in [&boss, &ann, &editor, &key, &Caller::Operator, &Caller::Member("ann".into())] {
        assert_eq!(role(&service, caller, "Ann").unwrap(), roles, "{caller:?}");
    }
    assert_eq!(code(role(&service, &ann, "eve")), "missing_scope");
    assert_eq!(code(role(&service, &service.member("ben"), "ann")), "not_admin");
    assert_eq!(code(role(&service, &service.key(Scope::Posts), "ann")), "missing_scope");
    assert_eq!(text(role(&service, &boss, "nobody")), "Not found");
    assert_eq!(text(set(&service, &boss, "nobody", &["posts"])), "Not found");
    assert_eq!(text(set(&service, &boss, "ann", &["posts", "admin"])), "bad request");
    assert_eq!(role(&service, &boss, "ann").unwrap(), roles);
}

#[test]
fn a_changed_role_counts_at_once_and_is_recorded_once() {
    let service = service();
    let (boss, ann) = (service.admin("boss"), service.member("ann"));
    for (scopes, expected) in [
        (&["notices"][..], "success"),
        (&["notices"], "success"),
        (&["front", "posts"], "missing_scope"),
        (&[], "not_admin"),
        (&[], "not_admin"),
    ] {
        set(&service, &boss, "ann", scopes).unwrap();
        assert_eq!(code(service.call(&ann, hidden_notice())), expected, "{scopes:?}");
    }
    let records = [["posts front", ""], ["notices", "posts front"], ["", "notices"]];
    assert_eq!(
        trail(&service),
        records.map(|[before, after]| ["boss", "ann", before, after].map(String::from))
    );
    let query = audit::List { action: Some("notice.insert".into()), ..audit::List::default() };
    let inserted = service.call(&Caller::Operator, query).unwrap().audit;
    assert!(
        inserted
            .iter()
            .all(|record| (record.actor_kind.as_str(), record.actor.as_str()) == ("member", "ann"))
    );
    set(&service, &boss, "ann", &["notices"]).unwrap();
    service.call(&Caller::Operator, admin::PushBlacklist { user_id: "ann".into() }).unwrap();
    assert_eq!(code(service.call(&ann, hidden_notice())), "bad_token");
}

#[test]
fn no_role_leads_to_the_rights_of_an_administrator() {
    let service = service();
    let boss = service.admin("boss");
    let eve = service.member_with("eve", Scope::ALL);
    for (operation, refused) in
        [
            ("grant", text(service.call(&eve, admin::Grant { user_id: "eve".into() }))),
            ("revoke", text(service.call(&eve, admin::Revoke { user_id: "boss".into() }))),
            (
                "password",
                text(service.call(
                    &eve,
                    member::SetPassword { user_id: "boss".into(), new_pw: "a new password".into() },
                )),
            ),
            ("reset_otp", text(service.call(&eve, member::ResetOtp { user_id: "boss".into() }))),
            ("issue_otp", text(service.call(&eve, member::IssueOtp { user_id: "eve".into() }))),
            ("keys", text(service.call(&eve, key::List {}))),
            (
                "add_key",
                text(service.call(
                    &eve,
                    key::Add { name: "mine".into(), scopes: vec!["members".into()], expires: None },
                )),
            ),
            ("role", text(set(&service, &eve, "boss", &[]))),
        ]
    {
        assert_eq!(refused, "Not admin", "{operation}");
    }
    // Nor by the password of a roster entry.
    let roster = |caller: &Caller, lines: &str| {
        let csv = format!("id,name,password\n{lines}");
        roster_import::ImportRoster {}.import(&service, caller, csv.as_bytes(), &mut to_the_end).unwrap()
    };
    assert_eq!(roster(&eve, "s01,Lee,old password\n").inserted, 1);
    sign_in_up(&service, "s01", "old password", None).unwrap();
    service.call(&Caller::Operator, admin::Grant { user_id: "s01".into() }).unwrap();
    let report = roster(&eve, "S01,Lee,new password\nboss,Boss,new password\ns01,Lee,old password\n");
    assert_eq!((report.updated, report.skipped, report.errors.len()), (Some(0), 0, 3), "{report:?}");
    assert!(sign_in_up(&service, "s01", "new password", None).is_err());
    // The right password of an entry that nobody has used counts as updated, too.
    assert_eq!([roster(&eve, "s02,Kim,a\n").inserted, roster(&eve, "s02,Kim,a\n").updated.unwrap()], [1, 1]);
    assert_eq!(roster(&boss, "s01,Lee,new password\n").updated, Some(1));
    // A role is no administrator who could stay as the last one.
    service.call(&boss, admin::Revoke { user_id: "s01".into() }).unwrap();
    for refused in [
        text(service.call(&eve, member::Remove { user_id: "boss".into() })),
        text(service.call(&eve, admin::PushBlacklist { user_id: "boss".into() })),
        text(service.call(&boss, admin::Revoke { user_id: "boss".into() })),
        text(service.call(&boss, profile::Remove {})),
    ] {
        assert_eq!(refused, "last administrator");
    }
    assert!(sign_in(&service, "boss", "password of boss", None).is_ok());
}

#[test]
fn a_role_of_an_administrator_has_no_effect_until_the_rights_are_revoked() {
    let service = service();
    let (boss, _) = (service.admin("boss"), service.admin("ann"));
    set(&service, &Caller::Operator, "boss", &["notices"]).unwrap();
    assert!(service.call(&boss, member::List::default()).is_ok());
    service.call(&boss, admin::Revoke { user_id: "boss".into() }).unwrap();
    assert_eq!(code(service.call(&boss, member::List::default())), "missing_scope");
    assert!(service.call(&boss, hidden_notice()).is_ok());
}

#[test]
fn a_role_needs_the_second_factor_where_administrators_need_it() {
    let service = service_with(Config { require_otp: true, ..Config::default() });
    let ann = service.member_with("ann", &[Scope::Notices]);
    assert_eq!(code(service.call(&ann, hidden_notice())), "second_factor_needed");
    assert_eq!(code(service.call(&ann, feedback::ListAll {})), "missing_scope");
    assert_eq!(code(service.call(&ann, admin::Check {})), "not_admin");
    assert_eq!(role(&service, &ann, "ann").unwrap(), [Scope::Notices]);
    service.call(&Caller::Operator, hidden_notice()).unwrap();
    assert_eq!(service.call(&ann, notice::List::default()).unwrap().notices().len(), 0);
}

#[test]
fn lists_and_exports_have_the_scopes_of_members() {
    let service = service();
    let (_, _) = (service.member("ann"), service.member_with("ben", &[Scope::AnalyticsRead, Scope::Posts]));
    let listed = |only: Option<&str>| {
        let list = member::List { only: only.map(str::to_owned), ..member::List::default() };
        let members = service.call(&Caller::Operator, list).unwrap().members.into_iter();
        members.map(|member| (member.user_id, member.scopes)).collect::<Vec<_>>()
    };
    let ben = ("ben".to_owned(), vec![Scope::Posts, Scope::AnalyticsRead]);
    assert_eq!(listed(None), [("ann".to_owned(), vec![]), ben.clone()]);
    assert_eq!(listed(Some("roles")), [ben]);
    set(&service, &Caller::Operator, "ben", &[]).unwrap();
    assert_eq!(listed(Some("roles")), []);
}
