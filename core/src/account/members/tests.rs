//! Tests of the administrators' operations on members.

use super::*;
use crate::base::config::Config;
use crate::mail::tests::text;
use crate::testing::{NOW, Service, service, service_with, sign_in};
use crate::{account, admin, profile};

fn ids(service: &Service, query: &List) -> (Vec<String>, Option<String>) {
    let Members { members, next } = service.call(&Caller::Operator, query.clone()).unwrap();
    (members.into_iter().map(|member| member.user_id).collect(), next)
}

fn set_password(service: &Service, id: &str, pw: &str) -> String {
    text(service.call(&Caller::Operator, SetPassword { user_id: id.into(), new_pw: pw.into() }))
}

#[test]
fn members_are_listed_by_id_in_consecutive_pages() {
    let service = service();
    for id in ["Ben", "ann", "dot", "Cid", "eve"] {
        service.member(id);
    }
    let mut query = List { limit: Some(2), ..List::default() };
    assert_eq!(ids(&service, &query), (vec!["ann".into(), "Ben".into()], Some("Ben".into())));
    query.after = Some("Ben".into());
    assert_eq!(ids(&service, &query), (vec!["Cid".into(), "dot".into()], Some("dot".into())));
    // Members who are removed or sign up between two pages do not shift the others.
    service.call(&Caller::Operator, crate::member::Remove { user_id: "dot".into() }).unwrap();
    service.member("dotty");
    query.after = Some("dot".into());
    assert_eq!(ids(&service, &query), (vec!["dotty".into(), "eve".into()], None));
    query.after = Some("zed".into());
    assert_eq!(ids(&service, &query), (vec![], None));
    for limit in [0, -1, 1_001] {
        query.limit = Some(limit);
        assert_eq!(text(service.call(&Caller::Operator, query.clone())), "bad request", "{limit}");
    }
}

#[test]
fn administrators_and_blacklisted_members_are_marked_and_listed_alone_on_request() {
    let service = service();
    for id in ["ann", "ben", "cid", "dot"] {
        service.member(id);
    }
    for id in ["ann", "cid"] {
        service.call(&Caller::Operator, admin::Grant { user_id: id.into() }).unwrap();
    }
    for id in ["cid", "dot"] {
        service.call(&Caller::Operator, admin::PushBlacklist { user_id: id.into() }).unwrap();
    }
    let listed = |only: &str, search: Option<&str>, limit| {
        let (only, search) = (Some(only.to_owned()), search.map(str::to_owned));
        ids(&service, &List { search, limit, only, after: None })
    };
    assert_eq!(listed("admins", None, None), (vec!["ann".into(), "cid".into()], None));
    assert_eq!(listed("admins", None, Some(1)), (vec!["ann".into()], Some("ann".into())));
    assert_eq!(listed("blacklisted", None, None), (vec!["cid".into(), "dot".into()], None));
    assert_eq!(listed("blacklisted", Some("OT"), None), (vec!["dot".into()], None));
    let unknown = List { only: Some("Admins".into()), ..List::default() };
    assert_eq!(text(service.call(&Caller::Operator, unknown)), "bad request");
    let members = service.call(&Caller::Operator, List::default()).unwrap().members;
    let flags: Vec<_> = members.iter().map(|m| (m.admin, m.blacklisted, m.date)).collect();
    assert_eq!(flags, [(1, 0, NOW), (0, 0, NOW), (1, 1, NOW), (0, 1, NOW)]);
    assert_eq!((members[0].user_name.as_str(), members[0].user_major.as_str()), ("ann", ""));
}

#[test]
fn a_search_covers_ids_and_names_and_takes_wildcards_literally() {
    let service = service();
    for id in ["Ann_B", "annxb", "cid"] {
        service.member(id);
    }
    let cid = Caller::Member("cid".into());
    service.call(&cid, profile::ChangeNickname { new_nickname: "100% 홍길동".into() }).unwrap();
    for (search, expected) in [
        ("NN", &["Ann_B", "annxb"][..]),
        ("n_b", &["Ann_B"]),
        ("0%", &["cid"]),
        ("길동", &["cid"]),
        ("!", &[]),
        ("nobody", &[]),
        ("", &["Ann_B", "annxb", "cid"]),
    ] {
        let query = List { search: Some(search.into()), ..List::default() };
        assert_eq!(ids(&service, &query).0, expected, "{search}");
    }
}

#[test]
fn an_operator_acts_as_any_member_who_is_not_blacklisted() {
    let service = service();
    service.member("Ann");
    let ann = Caller::acting_as(&service, "aNN").unwrap();
    assert_eq!(service.call(&ann, profile::Get {}).unwrap().fields().user_id, "Ann");
    assert_eq!(text(service.call(&ann, admin::Check {})), "Not admin");
    assert_eq!(text(Caller::acting_as(&service, "nobody")), "Not found");
    service.call(&Caller::Operator, admin::PushBlacklist { user_id: "ann".into() }).unwrap();
    assert_eq!(text(Caller::acting_as(&service, "ann")), "blacklist user");
}

#[test]
fn an_operator_acts_on_any_account_and_a_member_only_on_their_own() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    service.call(&Caller::Operator, admin::PushBlacklist { user_id: "ben".into() }).unwrap();
    let operators = Caller::Operator.on_behalf_of(&service, "BEN").unwrap();
    assert_eq!(service.call(&operators, profile::Get {}).unwrap().fields().user_id, "ben");
    assert_eq!(text(Caller::Operator.on_behalf_of(&service, "nobody")), "Not found");
    assert_eq!(text(ann.on_behalf_of(&service, "Ann")), "success");
    for other in ["ben", "nobody"] {
        assert_eq!(text(ann.on_behalf_of(&service, other)), "Not admin", "{other}");
    }
    for caller in [&ben, &Caller::Guest, &Caller::Member("gone".into())] {
        assert_eq!(text(caller.on_behalf_of(&service, "ben")), "bad token", "{caller:?}");
    }
}

#[test]
fn common_passwords_are_refused_for_administrators_and_by_setting_for_others() {
    let change = |service: &Service, caller: &Caller, pw: &str| {
        let (old, new) = (String::from("a new horse"), String::from(pw));
        let form = account::ChangePassword { pw: old, new_pw: new.clone(), new_pw_check: new };
        text(service.call(caller, form))
    };
    let config = |refuse_common_passwords| Config { refuse_common_passwords, ..Config::default() };
    for refused in [false, true] {
        let service = service_with(config(refused));
        let members = if refused { "wrong user info" } else { "success" };
        for (id, said) in [("ann", members), ("boss", "wrong user info")] {
            let caller = if id == "boss" { service.admin(id) } else { service.member(id) };
            assert_eq!(set_password(&service, id, "Password1"), said, "{id}");
            assert_eq!(set_password(&service, id, "a new horse"), "success");
            assert_eq!(change(&service, &caller, "iloveyou"), "bad token");
            let token = sign_in(&service, id, "a new horse", None).unwrap().access_token;
            assert_eq!(change(&service, &Caller::token(token), "iloveyou"), said, "{id}");
        }
        let pw = String::from("password1");
        let form =
            account::SignUp { id: "cid".into(), pw_check: pw.clone(), pw, nickname: "c".into(), email: None };
        assert_eq!(text(admin::sign_up(&service, &Caller::Operator, &form)), "wrong user info");
        assert_eq!(text(service.call(&Caller::Guest, form.clone())), members);
    }
}

#[test]
fn setting_a_password_revokes_tokens_and_the_old_password() {
    let service = service();
    let ann = service.member("ann");
    assert_eq!(set_password(&service, "ann", "short"), "wrong user info");
    service.call(&ann, profile::Get {}).unwrap();
    assert_eq!(set_password(&service, "ANN", "a new password"), "success");
    assert_eq!(text(service.call(&ann, profile::Get {})), "not found");
    let sign_in = |pw: &str| text(sign_in(&service, "ann", pw, None));
    assert_eq!([sign_in("password of ann"), sign_in("a new password")], ["incorrect pw", "success"]);
}
