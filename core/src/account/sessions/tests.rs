//! Tests of sessions.

use std::net::Ipv4Addr;

use super::*;
use crate::Caller;
use crate::account::{ChangePassword, ClientInfo, find};
use crate::audit::List;
use crate::base::clock::DAY_MS;
use crate::record::error::Outcome;
use crate::testing::{NOW, RunFor as _, Service, service, sign_in};
use crate::{admin, member, profile};

const HOUR: i64 = 60 * 60 * SECOND_MS;

fn on(user_agent: &str) -> ClientInfo {
    ClientInfo {
        address: Some(Ipv4Addr::LOCALHOST.into()),
        user_agent: user_agent.into(),
        is_prefetch: false,
    }
}

fn signed_in(service: &Tidings, id: &str, user_agent: &str) -> Caller {
    let token = sign_in(service, id, &format!("password of {id}"), on(user_agent)).unwrap();
    Caller::token(token.access_token)
}

/// Returns the caller of another request with the same token.
fn again(caller: &Caller) -> Caller {
    let Caller::Token(token) = caller else { unreachable!("it is a token") };
    Caller::token(token.text())
}

fn works(service: &Tidings, caller: &Caller) -> bool {
    service.call(&again(caller), profile::Get {}).is_ok()
}

fn devices(service: &Service, caller: &Caller) -> Vec<(String, u8)> {
    let listed = service.call(&again(caller), crate::account::ListSessions {}).unwrap().sessions;
    listed.into_iter().map(|session| (session.device, session.current)).collect()
}

#[test]
fn a_member_sees_their_devices_and_signs_one_out() {
    let service = service();
    let first = service.member("ann");
    service.clock().advance(1);
    let second =
        signed_in(&service, "ann", "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0");
    service.clock().advance(1);
    let third = signed_in(&service, "ann", "curl/8.5.0");
    let ben = service.member("ben");
    let expected = [("curl".to_owned(), 0), ("Firefox on Linux".to_owned(), 1), ("unknown".to_owned(), 0)];
    assert_eq!(devices(&service, &second), expected);
    let listed = service.call(&third, crate::account::ListSessions {}).unwrap().sessions;
    assert_eq!((listed[0].date, listed[0].last_seen, listed[0].current), (NOW + 2, NOW + 2, 1));

    assert!(matches!(
        service.call(&ben, crate::account::SignOutSession { session_obi: (&listed[0].id).into() }),
        Err(Error::NotFound)
    ));
    assert!(matches!(
        service.call(&second, crate::account::SignOutSession { session_obi: "nothing".into() }),
        Err(Error::NotFound)
    ));
    service
        .call(&second, crate::account::SignOutSession { session_obi: (&listed[0].id.to_uppercase()).into() })
        .unwrap();
    assert_eq!([&first, &second, &third].map(|caller| works(&service, caller)), [true, true, false]);
    assert!(matches!(service.call(&again(&third), crate::account::ListSessions {}), Err(Error::BadToken)));
    // One's own session too.
    service.call(&second, crate::account::SignOutSession { session_obi: (&listed[1].id).into() }).unwrap();
    assert_eq!([&first, &second].map(|caller| works(&service, caller)), [true, false]);
}

#[test]
fn revoked_tokens_have_no_sessions() {
    let service = service();
    let first = service.member("ann");
    let form = ChangePassword {
        pw: "password of ann".into(),
        new_pw: "another password".into(),
        new_pw_check: "another password".into(),
    };
    let new = form.run_for(&service, &first, on("curl/8.5.0")).unwrap();
    let new = Caller::token(new.access_token);
    assert_eq!(devices(&service, &new), [("curl".to_owned(), 1)]);
    service.call(&new, crate::account::SignOutAll {}).unwrap();
    assert!(!works(&service, &new));
    let operator = Caller::Operator;
    assert_eq!(service.call(&operator, member::ListSessions { user_id: "ann".into() }).unwrap().sessions, []);
}

#[test]
fn an_administrator_signs_a_member_out() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    service.clock().advance(1);
    let phone = signed_in(&service, "ben", "okhttp/4.12.0");
    let listed = service.call(&ann, member::ListSessions { user_id: "BEN".into() }).unwrap().sessions;
    assert_eq!(
        listed.iter().map(|s| (s.device.as_str(), s.current)).collect::<Vec<_>>(),
        [("an app", 0), ("unknown", 0)]
    );
    for refused in [
        service.call(&ben, member::ListSessions { user_id: "ann".into() }).map(drop),
        service.call(&ben, member::SignOut { user_id: "ann".into() }),
        service
            .call(&ben, member::SignOutSession { user_id: "ben".into(), session_obi: listed[0].id.clone() }),
    ] {
        assert!(matches!(refused, Err(Error::Forbidden)));
    }
    service
        .call(&ann, member::SignOutSession { user_id: "ben".into(), session_obi: listed[0].id.clone() })
        .unwrap();
    assert_eq!([&ben, &phone].map(|caller| works(&service, caller)), [true, false]);
    let sign_out = |user_id: &str, session: &Session| {
        let (user_id, session_obi) = (user_id.into(), session.id.clone());
        service.call(&ann, member::SignOutSession { user_id, session_obi })
    };
    for refused in [
        sign_out("ben", &listed[0]),
        sign_out("ann", &listed[1]),
        service.call(&ann, member::SignOut { user_id: "nobody".into() }),
    ] {
        assert!(matches!(refused, Err(Error::NotFound)));
    }
    service.call(&ann, member::SignOut { user_id: "ben".into() }).unwrap();
    assert!(!works(&service, &ben) && works(&service, &ann));
    let records = service.call(&ann, List { action: Some("member".into()), ..List::default() });
    let texts: Vec<_> =
        records.unwrap().audit.into_iter().map(|r| format!("{} {}", r.subject, r.after)).collect();
    assert_eq!(texts, ["ben everywhere", "ben one session"]);
}

#[test]
fn a_session_that_was_signed_out_fails_on_every_server_at_once() {
    let service = service();
    let other = service.beside();
    service.member("ann");
    for _ in 0..100 {
        let caller = signed_in(&service, "ann", "curl/8.5.0");
        assert!(works(&other, &caller));
        let listed = service.call(&again(&caller), crate::account::ListSessions {}).unwrap().sessions;
        let own = listed.iter().find(|session| session.current == 1).unwrap();
        service
            .call(&again(&caller), crate::account::SignOutSession { session_obi: own.id.clone() })
            .unwrap();
        assert!(!works(&other, &caller) && !works(&service, &caller));
    }
}

#[test]
fn the_last_use_is_written_at_most_once_an_hour() {
    let service = service();
    let ann = service.member("ann");
    let seen = || {
        let caller = again(&ann);
        service.call(&caller, profile::Get {}).unwrap();
        caller.resolved(&service);
        service.store().flush().wait().unwrap();
        service.call(&again(&ann), crate::account::ListSessions {}).unwrap().sessions[0].last_seen
    };
    assert_eq!(seen(), NOW);
    service.clock().advance(HOUR - 1);
    assert_eq!(seen(), NOW);
    service.clock().advance(1);
    assert_eq!(seen(), NOW + HOUR);
    service.clock().advance(HOUR / 2);
    assert_eq!(seen(), NOW + HOUR);
    service.clock().advance(HOUR / 2);
    assert_eq!(seen(), NOW + 2 * HOUR);
}

#[test]
fn expired_sessions_are_not_listed_and_are_removed() {
    let service = service();
    service.member("ann");
    service.clock().advance(DAY_MS);
    signed_in(&service, "ann", "curl/8.5.0");
    let count =
        || service.store().read(|tx| tx.one("SELECT count(*) FROM session", &[])?.take::<i64>(0)).unwrap();
    service.clock().advance(30 * DAY_MS - DAY_MS);
    let listed =
        service.call(&Caller::Operator, member::ListSessions { user_id: "ann".into() }).unwrap().sessions;
    assert_eq!(listed.iter().map(|s| s.device.as_str()).collect::<Vec<_>>(), ["curl"]);
    assert_eq!(count(), 2);
    let now = service.now();
    let more = service.store().write::<_, StoreError>(Isolation::Alone, move |tx| prune(tx, now, 10));
    assert_eq!((more.unwrap(), count()), (false, 1));
}

#[test]
fn the_sessions_of_a_member_are_bounded() {
    let service = service();
    let first = service.member("ann");
    service.clock().advance(1);
    let (key, now) = service
        .store()
        .read(|tx| Ok::<_, Error>((find(tx, "ann")?.unwrap(), service.now())))
        .map(|(member, now)| ((member.key, member.generation), now))
        .unwrap();
    let clock = service.clock().clone();
    service
        .store()
        .write::<_, StoreError>(Isolation::Alone, move |tx| {
            for _ in 0..SESSIONS_MAX {
                let id = ObjectId::new(&clock);
                NewSession {
                    id,
                    device: Device::default(),
                    at: now,
                    expires: now + DAY_MS,
                    places: None,
                    by_issuer: false,
                }
                .insert(tx, key.0, key.1, false)?;
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(
        service
            .call(&Caller::Operator, member::ListSessions { user_id: "ann".into() })
            .unwrap()
            .sessions
            .len(),
        SESSIONS_MAX
    );
    assert!(!works(&service, &first), "the one that was used least recently is signed out");
}

#[test]
fn a_token_that_is_older_than_sessions_works_until_its_member_signs_out_everywhere() {
    let service = service();
    let ann = service.member("ann");
    let generation = service.store().read(|tx| Ok::<_, Error>(find(tx, "ann")?.unwrap().generation)).unwrap();
    let old = Caller::token(service.keys().sign("ann", generation, None, NOW).unwrap());
    assert!(works(&service, &old));
    assert_eq!(devices(&service, &old), [("unknown".to_owned(), 0)]);
    service.call(&ann, crate::account::SignOutAll {}).unwrap();
    assert!(!works(&service, &old));
}

#[test]
fn a_removed_or_blacklisted_member_has_no_sessions() {
    let service = service();
    service.member("ann");
    service.member("ben");
    service.call(&Caller::Operator, admin::PushBlacklist { user_id: "ann".into() }).unwrap();
    service.call(&Caller::Operator, member::Remove { user_id: "ben".into() }).unwrap();
    let count = service.store().read(|tx| tx.one("SELECT count(*) FROM session", &[])?.take::<i64>(0));
    assert_eq!(count.unwrap(), 0);
    let refused = sign_in(&service, "ann", "password of ann", None).map(drop);
    assert!(matches!(refused, Err(Error::Documented(Outcome::BlacklistUser, _))));
}
