use super::*;
use crate::Caller;
use crate::base::config::Config;
use crate::mail::tests::text;
use crate::testing::{self, Service, service, service_with, sign_in};
use crate::{admin, analysis, feedback, member, notice, profile};

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
    notice::Insert { draft: notice::Draft { activation: Some(0), ..testing::notice("Title") } }
}

#[test]
fn a_role_or_a_key_allows_what_its_scopes_say_and_nothing_else() {
    let service = service();
    let (ann, key) = (service.member_with("ann", &[Scope::Notices]), service.key(Scope::Notices));
    for (caller, notices) in [(&ann, 1), (&key, 2)] {
        service.call(caller, hidden_notice()).unwrap();
        let seen = service.call(caller, notice::List::default()).unwrap();
        assert_eq!(seen.notices().len(), notices, "hidden ones too");
        assert_eq!(code(service.call(caller, feedback::ListAll {})), "missing_scope");
        assert_eq!(code(service.call(caller, admin::Check {})), "not_admin");
    }
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
    assert_eq!(log(Some("ANN")), "success");
    assert_eq!([log(Some("guest")), log(None)], ["missing_scope"; 2]);
}

#[test]
fn only_administrators_set_roles_and_members_see_their_own() {
    let service = service();
    let (boss, ann) = (service.admin("boss"), service.member("ann"));
    let (editor, key) = (service.member_with("eve", Scope::ALL), service.key(Scope::Members));
    set(&service, &boss, "ANN", &["webhooks", "notices", "notices"]).unwrap();
    let roles = [Scope::Notices, Scope::Webhooks];
    for caller in [&boss, &ann, &editor, &key, &Caller::Operator, &Caller::Member("ann".into())] {
        assert_eq!(role(&service, caller, "Ann").unwrap(), roles, "{caller:?}");
    }
    assert_eq!(code(role(&service, &ann, "eve")), "missing_scope");
    assert_eq!(code(role(&service, &service.member("ben"), "ann")), "not_admin");
    assert_eq!(code(role(&service, &service.key(Scope::Posts), "ann")), "missing_scope");
    assert_eq!(code(set(&service, &editor, "eve", &[])), "not_admin");
    assert_eq!(text(set(&service, &boss, "ann", &["posts", "admin"])), "bad request");
    assert_eq!(role(&service, &boss, "ann").unwrap(), roles);
}

#[test]
fn a_role_that_stays_the_same_is_recorded_once_and_ends_with_the_token() {
    let service = service();
    let (boss, ann) = (service.admin("boss"), service.member("ann"));
    for _ in 0..2 {
        set(&service, &boss, "ann", &["notices"]).unwrap();
    }
    assert_eq!(service.trail().len(), 2, "the administrator and the role");
    assert_eq!(code(service.call(&ann, hidden_notice())), "success");
    service.blacklist("ann");
    assert_eq!(code(service.call(&ann, hidden_notice())), "bad_token");
}

#[test]
fn a_role_is_no_administrator_who_could_stay_as_the_last_one() {
    let service = service();
    let (boss, eve) = (service.admin("boss"), service.member_with("eve", Scope::ALL));
    for refused in [
        service.call(&eve, member::Remove { user_id: "boss".into() }),
        service.call(&eve, admin::PushBlacklist { user_id: "boss".into() }),
        service.call(&boss, admin::Revoke { user_id: "boss".into() }),
        service.call(&boss, profile::Remove {}),
    ] {
        assert_eq!(text(refused), "last administrator");
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
    let ben = service.member_with("ben", &[Scope::MembersRead]);
    assert_eq!(role(&service, &ben, "ben").unwrap(), [Scope::MembersRead], "members read what is their own");
    service.call(&Caller::Operator, hidden_notice()).unwrap();
    assert_eq!(service.call(&ann, notice::List::default()).unwrap().notices().len(), 0);
}
