use super::*;
use crate::base::config::Config;
use crate::mail::tests::text;
use crate::testing::{NOW, Service, service, service_with, sign_in, sign_up_form};
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
    let page = |after: &str| {
        let (members, next) =
            ids(&service, &List { limit: Some(2), after: Some(after.into()), ..List::default() });
        (members.join(" "), next.unwrap_or_default())
    };
    let shown = |members: &str, next: &str| (members.to_owned(), next.to_owned());
    assert_eq!([page(""), page("Ben")], [shown("ann Ben", "Ben"), shown("Cid dot", "dot")]);
    // Members who are removed or sign up between two pages do not shift the others.
    service.remove_member("dot");
    service.member("dotty");
    assert_eq!([page("dot"), page("zed")], [shown("dotty eve", ""), shown("", "")]);
}

#[test]
fn administrators_and_blacklisted_members_are_marked_and_listed_alone_on_request() {
    let service = service();
    for id in ["ann", "cid"] {
        service.admin(id);
    }
    for id in ["ben", "dot"] {
        service.member(id);
    }
    for id in ["cid", "dot"] {
        service.blacklist(id);
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
fn an_operator_acts_on_any_account_and_a_member_only_on_their_own() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    service.blacklist("ben");
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
    let change = |service: &Service, caller: &Caller, new: &str| {
        let [pw, new_pw, new_pw_check] = ["a new horse", new, new].map(str::to_owned);
        text(service.call(caller, account::ChangePassword { pw, new_pw, new_pw_check }))
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
        let form = account::SignUp { pw_check: pw.clone(), pw, ..sign_up_form("cid") };
        assert_eq!(text(admin::sign_up(&service, &Caller::Operator, &form)), "wrong user info");
        assert_eq!(text(service.call(&Caller::Guest, form.clone())), members);
    }
}
