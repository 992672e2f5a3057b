use super::*;
use crate::mail::tests::text;
use crate::testing::{self, NOW, Service, service};
use crate::{member, profile};

fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

fn admins(service: &Service) -> Vec<(String, Timestamp)> {
    let admins = service.call(&Caller::Operator, List {}).unwrap().admins.into_iter();
    admins.map(|admin| (admin.user_id, admin.date)).collect()
}

fn blacklisted(service: &Service) -> Vec<(String, Timestamp)> {
    let list = service.call(&Caller::Operator, GetBlacklist {}).unwrap().blacklist;
    list.into_iter().map(|b| (b.user_id, b.date)).collect()
}

fn grant(service: &Service, id: &str) -> Result<()> {
    service.call(&Caller::Operator, Grant { user_id: id.into() })
}

fn revoke(service: &Service, id: &str) -> Result<()> {
    service.call(&Caller::Operator, Revoke { user_id: id.into() })
}

fn remove(service: &Service, caller: &Caller, id: &str) -> Result<()> {
    service.call(caller, member::Remove { user_id: id.into() })
}

fn push(service: &Service, caller: &Caller, id: &str) -> Result<()> {
    service.call(caller, PushBlacklist { user_id: id.into() })
}

fn pop(service: &Service, caller: &Caller, id: &str) -> Result<()> {
    service.call(caller, PopBlacklist { user_id: id.into() })
}

fn reads_own(service: &Service, caller: &Caller) -> String {
    text(service.call(caller, profile::Get {}))
}

#[test]
fn a_grant_makes_an_administrator_and_a_revocation_ends_it() {
    let service = service();
    let (ann, _) = (service.member("Ann"), service.member("ben"));
    grant(&service, "ann").unwrap();
    service.clock().advance(1_000);
    grant(&service, "ANN").unwrap();
    grant(&service, "ben").unwrap();
    service.call(&ann, Check {}).unwrap();
    assert_eq!(admins(&service), [("Ann".into(), NOW), ("ben".into(), NOW + 1_000)]);

    for _ in 0..2 {
        revoke(&service, "Ann").unwrap();
        assert_eq!(refusal(service.call(&ann, Check {})), "Not admin");
    }
    assert_eq!(admins(&service), [("ben".into(), NOW + 1_000)]);
    for id in ["nobody", "", "guest", "removed", "b\0en"] {
        assert_eq!(refusal(grant(&service, id)), "Not found", "{id:?}");
        assert_eq!(refusal(revoke(&service, id)), "Not found", "{id:?}");
    }
}

#[test]
fn an_administrator_who_signs_up_has_the_rights_but_no_session() {
    let service = service();
    let form = testing::sign_up_form("ann");
    assert_eq!(refusal(sign_up(&service, &Caller::Guest, &form)), "Not admin");
    sign_up(&service, &Caller::Operator, &form).unwrap();
    assert_eq!(admins(&service), [("ann".into(), NOW)]);
    assert_eq!(service.number("SELECT count(*) FROM session"), 0);
    assert_eq!(refusal(sign_up(&service, &Caller::Operator, &form)), "already id");
    let common = SignUp { id: "ben".into(), pw: "password".into(), pw_check: "password".into(), ..form };
    assert_eq!(refusal(sign_up(&service, &Caller::Operator, &common)), "wrong user info");
}

#[test]
fn administrators_are_listed_by_date_then_id_with_their_nicknames() {
    let service = service();
    for id in ["cid", "Ben", "ann"] {
        service.member(id);
    }
    let new_nickname = "Annie".into();
    service.call(&Caller::Member("ann".into()), profile::ChangeNickname { new_nickname }).unwrap();
    for id in ["cid", "ann", "Ben"] {
        grant(&service, id).unwrap();
    }
    let listed = service.call(&Caller::Operator, List {}).unwrap();
    let names: Vec<_> = listed.admins.iter().map(|admin| &*admin.nickname).collect();
    assert_eq!(names, ["Annie", "Ben", "cid"]);
}

#[test]
fn a_member_does_not_learn_from_a_refusal_which_ids_exist() {
    let service = service();
    let (ann, _) = (service.member("ann"), service.member("ben"));
    for id in ["ben", "nobody"] {
        assert!(matches!(remove(&service, &ann, id), Err(Error::Documented(Outcome::NotAdmin, _))));
        assert!(matches!(push(&service, &ann, id), Err(Error::Forbidden)));
        assert!(matches!(pop(&service, &ann, id), Err(Error::Forbidden)));
    }
    let gone = Caller::Member("gone".into());
    assert_eq!(refusal(service.call(&gone, Check {})), "Not admin");
    assert_eq!(refusal(push(&service, &gone, "ben")), "bad token");
}

#[test]
fn the_token_of_a_removed_member_is_not_that_of_a_new_one_with_the_same_id() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("Ben"));
    remove(&service, &ann, "bEN").unwrap();
    service.member("ben");
    assert_eq!(reads_own(&service, &ben), "not found");
}

#[test]
fn no_operation_removes_the_last_administrator_who_can_sign_in() {
    let service = service();
    let (ann, _) = (service.admin("ann"), service.admin("ben"));
    push(&service, &ann, "ben").unwrap();
    for refused in [
        revoke(&service, "ann"),
        remove(&service, &ann, "ann"),
        push(&service, &ann, "ann"),
        service.call(&ann, profile::Remove {}),
    ] {
        assert!(matches!(refused, Err(Error::LastAdministrator)));
    }
    service.call(&ann, Check {}).unwrap();
    assert_eq!(blacklisted(&service), [("ben".into(), NOW)]);
    // A blacklisted administrator does not count, so their rights can be revoked.
    revoke(&service, "ben").unwrap();
    pop(&service, &ann, "ben").unwrap();
    grant(&service, "ben").unwrap();
    revoke(&service, "ann").unwrap();
    assert_eq!(admins(&service), [("ben".into(), NOW)]);
}

#[test]
fn blacklisting_revokes_tokens_that_stay_revoked_afterwards() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("Ben"));
    push(&service, &ann, "ben").unwrap();
    service.clock().advance(1_000);
    push(&service, &ann, "Ben").unwrap();
    assert_eq!(blacklisted(&service), [("Ben".into(), NOW)]);
    pop(&service, &ann, "ben").unwrap();
    assert_eq!(blacklisted(&service), []);
    assert_eq!(reads_own(&service, &ben), "not found");
    testing::sign_in(&service, "ben", "password of Ben", None).unwrap();
    pop(&service, &ann, "ben").unwrap();
    for refused in [push(&service, &ann, "guest"), pop(&service, &ann, "guest")] {
        assert!(matches!(refused, Err(Error::Documented(Outcome::NotFound, _))));
    }
}

#[test]
fn the_blacklist_is_newest_first() {
    let service = service();
    let ann = service.admin("ann");
    for (id, later) in [("ben", 0), ("dot", 5), ("cid", 0)] {
        service.member(id);
        service.clock().advance(later);
        push(&service, &ann, id).unwrap();
    }
    let newest_first = [("cid", NOW + 5), ("dot", NOW + 5), ("ben", NOW)];
    assert_eq!(blacklisted(&service), newest_first.map(|(id, date)| (id.to_owned(), date)));
}
