use std::net::Ipv4Addr;

use super::*;
use crate::account::ChangePassword;
use crate::base::clock::SECOND_MS;
use crate::mail::tests::text;
use crate::service::retention;
use crate::testing::{RunFor as _, Service, service, sign_in};

const CAMPUS: Client = at(7);

const fn at(n: u8) -> Client {
    Client::v4(Ipv4Addr::new(203, 0, 113, n))
}

fn try_in(service: &Service, id: &str, client: Client) -> String {
    text(sign_in(service, id, &format!("password of {id}"), Some(client)))
}

fn try_wrong(service: &Service, id: &str) -> String {
    text(sign_in(service, id, "wrong", Some(CAMPUS)))
}

fn lock(service: &Service) {
    for n in 0..50 {
        try_in(service, &format!("unknown{n}"), CAMPUS);
    }
}

fn count(service: &Service) -> i64 {
    service.number("SELECT count(*) FROM sign_in_place")
}

#[test]
fn members_who_signed_in_lately_get_through_while_their_client_is_locked() {
    let service = service();
    for id in ["ann", "ben", "cid"] {
        service.member(id);
    }
    assert_eq!(try_in(&service, "ben", CAMPUS), "success");
    service.clock().advance(DAY_MS);
    assert_eq!(try_in(&service, "ann", CAMPUS), "success");
    service.clock().advance(KNOWN_MS - DAY_MS);
    lock(&service);
    assert_eq!(try_in(&service, "ann", CAMPUS), "success");
    // A month ago is too long, and members who never signed in here are like unknown ids.
    for id in ["ben", "cid", "nobody"] {
        assert_eq!(try_in(&service, id, CAMPUS), "too many requests", "{id}");
        assert_eq!(try_wrong(&service, id), "too many requests", "{id}");
    }
    assert_eq!(try_in(&service, "ben", at(8)), "success");
    // Her own pair waits after six failures.
    assert!((0..6).all(|_| try_wrong(&service, "ann") == "incorrect pw"));
    assert_eq!(try_in(&service, "ann", CAMPUS), "too many requests");
    service.clock().advance(SECOND_MS);
    assert_eq!(try_in(&service, "ann", CAMPUS), "success");
}

#[test]
fn a_place_is_stored_as_a_keyed_hash_that_differs_for_each_member() {
    let service = service();
    let (ann, _) = (service.member("ann"), service.member("ben"));
    assert_eq!(["ann", "ben"].map(|id| try_in(&service, id, CAMPUS)), ["success"; 2]);
    let stored = service.texts("SELECT place FROM sign_in_place ORDER BY member");
    assert!(stored.len() == 2 && stored[0] != stored[1], "{stored:?}");
    assert!(stored.iter().all(|place| place.len() == 32), "{stored:?}");
    // A changed password begins a session, too.
    let pw = "password of ann".to_owned();
    let form = ChangePassword { pw: pw.clone(), new_pw: pw.clone(), new_pw_check: pw };
    form.run_for(&service, &ann, Some(at(9)).into()).unwrap();
    assert_eq!(count(&service), 3);
    service.remove_member("ann");
    assert_eq!(count(&service), 1);
}

#[test]
fn a_member_has_at_most_32_places_which_are_deleted_after_30_days() {
    let service = service();
    service.member("ann");
    for n in 0..40 {
        assert_eq!(try_in(&service, "ann", at(n)), "success");
        service.clock().advance(SECOND_MS);
    }
    assert_eq!(count(&service), PLACES_MAX);
    let known = |n| is_known(&service, "ann", at(n)).unwrap();
    assert!(!known(0) && !known(7) && known(8) && known(39));
    service.clock().advance(KNOWN_MS - 2 * SECOND_MS);
    retention::delete_expired(&service);
    assert_eq!((count(&service), known(38), known(39)), (1, false, true));
}
