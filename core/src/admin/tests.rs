//! Tests of administrators and the blacklist.

use super::*;
use crate::testing::{self, NOW, Service, service};
use crate::{member, profile};

/// Returns the `result` text of a refused call.
fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

fn admins(service: &Service) -> Vec<(String, Timestamp)> {
    service
        .call(&Caller::Operator, List {})
        .unwrap()
        .admins
        .into_iter()
        .map(|a| (a.user_id, a.date))
        .collect()
}

fn blacklisted(service: &Service) -> Vec<(String, Timestamp)> {
    let list = service.call(&Caller::Operator, GetBlacklist {}).unwrap().blacklist;
    list.into_iter().map(|b| (b.user_id, b.date)).collect()
}

#[test]
fn a_grant_makes_an_administrator_and_a_revocation_ends_it() {
    let service = service();
    let (ann, ben) = (service.member("Ann"), service.member("ben"));
    assert_eq!(refusal(service.call(&ann, Check {})), "Not admin");
    service.call(&Caller::Operator, Grant { user_id: "ann".into() }).unwrap();
    service.clock().advance(1_000);
    service.call(&Caller::Operator, Grant { user_id: "ANN".into() }).unwrap();
    service.call(&Caller::Operator, Grant { user_id: "ben".into() }).unwrap();
    service.call(&ann, Check {}).unwrap();
    assert_eq!(admins(&service), [("Ann".into(), NOW), ("ben".into(), NOW + 1_000)]);

    service.call(&Caller::Operator, Revoke { user_id: "Ann".into() }).unwrap();
    service.call(&Caller::Operator, Revoke { user_id: "Ann".into() }).unwrap();
    assert_eq!(refusal(service.call(&ann, Check {})), "Not admin");
    service.call(&ben, Check {}).unwrap();
    assert_eq!(admins(&service), [("ben".into(), NOW + 1_000)]);
    for id in ["nobody", "", "guest", "removed", "b\0en"] {
        assert_eq!(
            refusal(service.call(&Caller::Operator, Grant { user_id: id.into() })),
            "Not found",
            "{id:?}"
        );
        assert_eq!(
            refusal(service.call(&Caller::Operator, Revoke { user_id: id.into() })),
            "Not found",
            "{id:?}"
        );
    }
}

#[test]
fn an_administrator_who_signs_up_has_the_rights_but_no_session() {
    let service = service();
    let (id, pw) = ("ann".to_owned(), "correct horse".to_owned());
    let form = SignUp { id, pw_check: pw.clone(), pw, nickname: "Ann".into(), email: None };
    assert_eq!(refusal(sign_up(&service, &Caller::Guest, &form)), "Not admin");
    sign_up(&service, &Caller::Operator, &form).unwrap();
    assert_eq!(admins(&service), [("ann".into(), NOW)]);
    let count = |tx: &mut dyn Tx| tx.one("SELECT count(*) FROM session", &[])?.take::<i64>(0);
    assert_eq!(service.store().read(count).unwrap(), 0);
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
    service
        .call(&Caller::Member("ann".into()), profile::ChangeNickname { new_nickname: "Annie".into() })
        .unwrap();
    for id in ["cid", "ann", "Ben"] {
        service.call(&Caller::Operator, Grant { user_id: id.into() }).unwrap();
    }
    let names: Vec<_> =
        service.call(&Caller::Operator, List {}).unwrap().admins.into_iter().map(|a| a.nickname).collect();
    assert_eq!(names, ["Annie", "Ben", "cid"]);
    let json = serde_json::to_string(&service.call(&Caller::Operator, List {}).unwrap()).unwrap();
    let first = r#"{"admins":[{"user_id":"ann","nickname":"Annie","date":"2026-11-20T08:36:00.000Z"},"#;
    assert!(json.starts_with(first), "{json}");
}

#[test]
fn only_administrators_remove_and_blacklist_members() {
    let service = service();
    let (ann, _) = (service.member("ann"), service.member("ben"));
    service.call(&Caller::Operator, Grant { user_id: "ben".into() }).unwrap();
    for caller in [&Caller::Guest, &Caller::token("forged"), &Caller::Member("gone".into())] {
        assert_eq!(refusal(service.call(caller, Check {})), "Not admin", "{caller:?}");
        assert_eq!(
            refusal(service.call(caller, member::Remove { user_id: "ben".into() })),
            "Not admin",
            "{caller:?}"
        );
        assert_eq!(refusal(service.call(caller, GetBlacklist {})), "bad token", "{caller:?}");
        assert_eq!(
            refusal(service.call(caller, PushBlacklist { user_id: "ben".into() })),
            "bad token",
            "{caller:?}"
        );
        assert_eq!(
            refusal(service.call(caller, PopBlacklist { user_id: "ben".into() })),
            "bad token",
            "{caller:?}"
        );
    }
    // The answer does not reveal which ids exist.
    for id in ["ben", "nobody"] {
        assert!(matches!(
            service.call(&ann, member::Remove { user_id: id.into() }),
            Err(Error::Documented(Outcome::NotAdmin, _))
        ));
        assert!(matches!(service.call(&ann, PushBlacklist { user_id: id.into() }), Err(Error::Forbidden)));
        assert!(matches!(service.call(&ann, PopBlacklist { user_id: id.into() }), Err(Error::Forbidden)));
    }
    assert!(matches!(service.call(&ann, GetBlacklist {}), Err(Error::Forbidden)));
    assert_eq!(admins(&service), [("ben".into(), NOW)]);
    assert_eq!(blacklisted(&service), []);
}

#[test]
fn an_administrator_removes_a_member_whose_token_then_fails() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("Ben"));
    service.call(&ann, member::Remove { user_id: "bEN".into() }).unwrap();
    assert_eq!(refusal(service.call(&ben, profile::Get {}).map(|_| ())), "not found");
    let again = service.call(&ann, member::Remove { user_id: "ben".into() });
    assert!(matches!(again, Err(Error::Documented(Outcome::NotFound, _))));
    // A new member with the same id is a different member.
    let new = service.member("ben");
    service.call(&new, profile::Get {}).unwrap();
    assert_eq!(refusal(service.call(&ben, profile::Get {}).map(|_| ())), "not found");
}

#[test]
fn no_operation_removes_the_last_administrator_who_can_sign_in() {
    let service = service();
    let (ann, _) = (service.admin("ann"), service.admin("ben"));
    service.call(&ann, PushBlacklist { user_id: "ben".into() }).unwrap();
    for refused in [
        service.call(&Caller::Operator, Revoke { user_id: "ann".into() }),
        service.call(&ann, member::Remove { user_id: "ann".into() }),
        service.call(&ann, PushBlacklist { user_id: "ann".into() }),
        service.call(&ann, profile::Remove {}),
    ] {
        assert!(matches!(refused, Err(Error::LastAdministrator)));
    }
    service.call(&ann, Check {}).unwrap();
    assert_eq!(blacklisted(&service), [("ben".into(), NOW)]);
    // A blacklisted administrator does not count, so their rights can be revoked.
    service.call(&Caller::Operator, Revoke { user_id: "ben".into() }).unwrap();
    service.call(&ann, PopBlacklist { user_id: "ben".into() }).unwrap();
    service.call(&Caller::Operator, Grant { user_id: "ben".into() }).unwrap();
    service.call(&Caller::Operator, Revoke { user_id: "ann".into() }).unwrap();
    assert_eq!(admins(&service), [("ben".into(), NOW)]);
}

#[test]
fn blacklisting_revokes_tokens_that_stay_revoked_afterwards() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("Ben"));
    service.call(&ann, PushBlacklist { user_id: "ben".into() }).unwrap();
    service.clock().advance(1_000);
    service.call(&ann, PushBlacklist { user_id: "Ben".into() }).unwrap();
    assert_eq!(blacklisted(&service), [("Ben".into(), NOW)]);
    let sign_in = || testing::sign_in(&service, "ben", "password of Ben", None);
    assert_eq!(refusal(sign_in().map(|_| ())), "blacklist user");
    assert_eq!(refusal(service.call(&ben, profile::Get {}).map(|_| ())), "not found");

    service.call(&ann, PopBlacklist { user_id: "ben".into() }).unwrap();
    assert_eq!(blacklisted(&service), []);
    assert_eq!(refusal(service.call(&ben, profile::Get {}).map(|_| ())), "not found");
    let token = Caller::token(sign_in().unwrap().access_token);
    service.call(&ann, PopBlacklist { user_id: "ben".into() }).unwrap();
    service.call(&token, profile::Get {}).unwrap();
    for id in ["nobody", "guest", ""] {
        let unknown = [
            service.call(&ann, PushBlacklist { user_id: id.into() }),
            service.call(&ann, PopBlacklist { user_id: id.into() }),
        ];
        for refused in unknown {
            assert!(matches!(refused, Err(Error::Documented(Outcome::NotFound, _))), "{id:?}");
        }
    }
}

#[test]
fn the_blacklist_is_newest_first() {
    let service = service();
    let ann = service.admin("ann");
    for (id, later) in [("ben", 0), ("dot", 5), ("cid", 0)] {
        service.member(id);
        service.clock().advance(later);
        service.call(&ann, PushBlacklist { user_id: id.into() }).unwrap();
    }
    assert_eq!(
        blacklisted(&service),
        [("cid".into(), NOW + 5), ("dot".into(), NOW + 5), ("ben".into(), NOW)]
    );
}
