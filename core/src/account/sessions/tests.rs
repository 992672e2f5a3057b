use std::net::Ipv4Addr;

use super::*;
use crate::Caller;
use crate::account::{ChangePassword, ClientInfo, find};
use crate::base::clock::DAY_MS;
use crate::mail::tests::text;
use crate::testing::{NOW, RunFor as _, Service, again, service, sign_in};
use crate::{member, profile};

const HOUR: i64 = 60 * 60 * SECOND_MS;
const CURL: &str = "curl/8.5.0";

fn on(user_agent: &str) -> ClientInfo {
    let (address, user_agent) = (Some(Ipv4Addr::LOCALHOST.into()), user_agent.into());
    ClientInfo { address, user_agent, is_prefetch: false }
}

fn signed_in(service: &Tidings, id: &str, user_agent: &str) -> Caller {
    let token = sign_in(service, id, &format!("password of {id}"), on(user_agent)).unwrap();
    Caller::token(token.access_token)
}

fn works(service: &Tidings, caller: &Caller) -> bool {
    service.call(&again(caller), profile::Get {}).is_ok()
}

fn listed(service: &Service, caller: &Caller) -> Vec<Session> {
    service.call(&again(caller), ListSessions {}).unwrap().sessions
}

fn listed_by(service: &Service, admin: &Caller, id: &str) -> Vec<Session> {
    service.call(admin, member::ListSessions { user_id: id.into() }).unwrap().sessions
}

fn devices(sessions: &[Session]) -> Vec<(&str, u8)> {
    sessions.iter().map(|session| (session.device.as_str(), session.current)).collect()
}

fn sign_out(service: &Service, caller: &Caller, id: &str) -> String {
    text(service.call(&again(caller), SignOutSession { session_obi: id.into() }))
}

fn count(service: &Service) -> i64 {
    service.number("SELECT count(*) FROM session")
}

#[test]
fn a_member_sees_their_devices_newest_first_and_signs_their_own_out() {
    let service = service();
    let first = service.member("ann");
    service.clock().advance(1);
    let second = signed_in(&service, "ann", CURL);
    let sessions = listed(&service, &second);
    assert_eq!(devices(&sessions), [("curl", 1), ("unknown", 0)]);
    assert_eq!((sessions[0].date, sessions[0].last_seen), (NOW + 1, NOW + 1));
    assert_eq!(sign_out(&service, &second, "nothing"), "Not found");
    assert_eq!(sign_out(&service, &second, &sessions[0].id.to_uppercase()), "success");
    assert_eq!([&first, &second].map(|caller| works(&service, caller)), [true, false]);
    assert_eq!(text(service.call(&again(&second), ListSessions {})), "bad token");
}

#[test]
fn revoked_tokens_have_no_sessions() {
    let service = service();
    let first = service.member("ann");
    let (new_pw, new_pw_check) = ("another password".into(), "another password".into());
    let form = ChangePassword { pw: "password of ann".into(), new_pw, new_pw_check };
    let new = Caller::token(form.run_for(&service, &first, on(CURL)).unwrap().access_token);
    assert_eq!(devices(&listed(&service, &new)), [("curl", 1)]);
    service.call(&new, SignOutAll {}).unwrap();
    assert!(!works(&service, &new));
    assert_eq!(listed_by(&service, &Caller::Operator, "ann"), []);
}

#[test]
fn an_administrator_signs_one_session_of_a_member_out() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    service.clock().advance(1);
    let phone = signed_in(&service, "ben", "okhttp/4.12.0");
    let [newest, oldest] = listed_by(&service, &ann, "BEN").try_into().unwrap();
    for (user_id, session, answer) in [
        ("ben", &newest, "success"),
        ("ben", &newest, "Not found"),
        // It is that of another member.
        ("ann", &oldest, "Not found"),
    ] {
        let (user_id, session_obi) = (user_id.into(), session.id.clone());
        assert_eq!(text(service.call(&ann, member::SignOutSession { user_id, session_obi })), answer);
    }
    assert_eq!([&ben, &phone].map(|caller| works(&service, caller)), [true, false]);
    assert_eq!(service.trail()[0].after, "one session");
}

#[test]
fn a_session_that_was_signed_out_fails_on_every_server_at_once() {
    let service = service();
    let other = service.beside();
    service.member("ann");
    for _ in 0..100 {
        let caller = signed_in(&service, "ann", CURL);
        assert!(works(&other, &caller));
        let sessions = listed(&service, &caller);
        let own = sessions.iter().find(|session| session.current == 1).unwrap();
        assert_eq!(sign_out(&service, &caller, &own.id), "success");
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
        listed(&service, &ann)[0].last_seen
    };
    let later =
        [(0, NOW), (HOUR - 1, NOW), (1, NOW + HOUR), (HOUR / 2, NOW + HOUR), (HOUR / 2, NOW + 2 * HOUR)];
    for (wait_ms, last_seen) in later {
        service.clock().advance(wait_ms);
        assert_eq!(seen(), last_seen);
    }
}

#[test]
fn expired_sessions_are_not_listed_and_are_removed() {
    let service = service();
    service.member("ann");
    service.clock().advance(DAY_MS);
    signed_in(&service, "ann", CURL);
    service.clock().advance(30 * DAY_MS - DAY_MS);
    assert_eq!(devices(&listed_by(&service, &Caller::Operator, "ann")), [("curl", 0)]);
    assert_eq!(count(&service), 2);
    let now = service.now();
    let more = service.store().write::<_, StoreError>(Isolation::Alone, move |tx| prune(tx, now, 10));
    assert_eq!((more.unwrap(), count(&service)), (false, 1));
}

#[test]
fn the_sessions_of_a_member_are_bounded() {
    let service = service();
    let first = service.member("ann");
    service.clock().advance(1);
    let member = service.store().read(|tx| Ok::<_, Error>(find(tx, "ann")?.unwrap())).unwrap();
    let (at, clock) = (service.now(), service.clock().clone());
    let insert_all = move |tx: &mut dyn Tx| {
        for _ in 0..SESSIONS_MAX {
            let (id, device, expires) = (ObjectId::new(&clock), Device::default(), at + DAY_MS);
            let session = NewSession { id, device, at, expires, places: None, by_issuer: false };
            session.insert(tx, member.key, member.generation, false)?;
        }
        Ok::<_, StoreError>(())
    };
    service.store().write(Isolation::Alone, insert_all).unwrap();
    assert_eq!(listed_by(&service, &Caller::Operator, "ann").len(), SESSIONS_MAX);
    assert!(!works(&service, &first), "the one that was used least recently is signed out");
}

#[test]
fn a_token_that_is_older_than_sessions_works_until_its_member_signs_out_everywhere() {
    let service = service();
    let ann = service.member("ann");
    let generation = service.store().read(|tx| Ok::<_, Error>(find(tx, "ann")?.unwrap().generation)).unwrap();
    let old = Caller::token(service.account().keys.sign("ann", generation, None, NOW).unwrap());
    assert!(works(&service, &old));
    assert_eq!(devices(&listed(&service, &old)), [("unknown", 0)]);
    service.call(&ann, SignOutAll {}).unwrap();
    assert!(!works(&service, &old));
}

#[test]
fn a_removed_or_blacklisted_member_has_no_sessions() {
    let service = service();
    service.member("ann");
    service.member("ben");
    service.blacklist("ann");
    service.remove_member("ben");
    assert_eq!(count(&service), 0);
    assert_eq!(text(sign_in(&service, "ann", "password of ann", None)), "blacklist user");
}
