//! Tests of the waits after failed sign-ins, and of the memory for failures.

use std::net::IpAddr;

use super::*;
use crate::testing::{NOW, Service, service};

mod servers;

/// The documented bound of the memory.
const BYTES_MAX: usize = 20_000_000;

const HERE: &str = "203.0.113.7";

fn client(address: &str) -> Client {
    Client::from(address.parse::<IpAddr>().unwrap())
}

fn in_memory() -> (Throttle, Clock) {
    let clock = Clock::fixed(NOW);
    (Throttle::in_memory(clock.clone()), clock)
}

/// Returns the throttle of a service, which is in its memory or in its database.
fn throttle() -> (Service, Clock) {
    let service = service();
    let clock = service.clock().clone();
    (service, clock)
}

fn begin<'t>(throttle: &'t Throttle, id: Option<&str>, from: Client) -> Result<Attempt<'t>> {
    throttle.begin(id, from, || Ok(false))
}

fn fail(throttle: &Throttle, id: &str, from: &str) {
    begin(throttle, Some(id), client(from)).unwrap().failed();
}

fn fail_for_50(throttle: &Throttle) {
    (0..50).for_each(|member| fail(throttle, &format!("member{member}"), HERE));
}

fn wait_of(attempt: Result<Attempt<'_>>) -> Option<u64> {
    match attempt {
        Err(Error::TooManyRequests { retry_after_s }) => Some(retry_after_s),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

fn wait_s(throttle: &Throttle, id: &str, from: &str) -> Option<u64> {
    wait_of(begin(throttle, Some(id), client(from)))
}

fn memory(throttle: &Throttle) -> std::sync::MutexGuard<'_, Memory> {
    let Place::Memory(memory) = &throttle.place else { panic!("it is shared") };
    memory.lock().unwrap()
}

fn bytes(throttle: &Throttle) -> usize {
    let memory = memory(throttle);
    let map = |map: &crate::base::keyed::OwnMap<u64, Failures>| {
        let times: usize = map.values().map(|failures| failures.times.capacity() * size_of::<Millis>()).sum();
        // A map has a byte for each slot, and at most an eighth of them are free.
        (map.capacity() * 8 / 7) * (size_of::<(u64, Failures)>() + 1) + times
    };
    memory.failures.iter().map(map).sum()
}

#[test]
fn after_five_failures_each_further_one_doubles_the_wait_up_to_30_seconds() {
    let (service, clock) = throttle();
    let throttle = &service.account().throttle;
    for _ in 0..5 {
        fail(throttle, "ann", HERE);
        assert_eq!(wait_s(throttle, "ann", HERE), None);
    }
    for expected in [1, 2, 4, 8, 16, 30, 30] {
        fail(throttle, "ann", HERE);
        assert_eq!(wait_s(throttle, "Ann", HERE), Some(expected), "in any case");
        clock.advance(i64::try_from(expected).unwrap() * SECOND_MS - 1);
        assert_eq!(wait_s(throttle, "ann", HERE), Some(1));
        clock.advance(1);
        assert_eq!(wait_s(throttle, "ann", HERE), None);
    }
    clock.advance(FORGET_MS + 1);
    fail(throttle, "ann", HERE);
    assert_eq!(wait_s(throttle, "ann", HERE), None, "failures are forgotten after a day");
}

#[test]
fn other_clients_of_the_account_do_not_wait_and_a_success_clears_the_pair() {
    let (service, clock) = throttle();
    let throttle = &service.account().throttle;
    (0..6).for_each(|_| fail(throttle, "ann", HERE));
    assert_eq!((wait_s(throttle, "ann", "203.0.113.8"), wait_s(throttle, "bob", HERE)), (None, None));
    clock.advance(SECOND_MS);
    begin(throttle, Some("ann"), client(HERE)).unwrap().succeeded();
    fail(throttle, "ann", HERE);
    assert_eq!(wait_s(throttle, "ann", HERE), None);
}

#[test]
fn a_client_with_50_failures_waits_until_they_are_15_minutes_old() {
    let (service, clock) = throttle();
    let throttle = &service.account().throttle;
    for _ in 0..50 {
        // With an id that no account can have, it counts for the client only.
        begin(throttle, None, client("2001:db8::1")).unwrap().failed();
        clock.advance(SECOND_MS);
    }
    assert_eq!(wait_s(throttle, "someone", "2001:db8::ffff"), Some(850), "the same /64");
    assert_eq!(wait_s(throttle, "someone", "2001:db8:0:1::1"), None, "another /64");
    clock.advance(850 * SECOND_MS - 1);
    assert_eq!(wait_s(throttle, "someone", "2001:db8::1"), Some(1));
    clock.advance(1);
    fail(throttle, "someone", "2001:db8::1");
    assert_eq!(wait_s(throttle, "someone", "2001:db8::1"), Some(1), "the next oldest is one second younger");
    clock.advance(SECOND_MS);
    assert_eq!(wait_s(throttle, "someone", "2001:db8::1"), None);
}

#[test]
fn simultaneous_attempts_count_as_failures_until_they_end() {
    let (service, _) = throttle();
    let throttle = &service.account().throttle;
    let begin_one = || begin(throttle, Some("ann"), client(HERE)).ok();
    let attempts: Vec<_> = (0..100).filter_map(|_| begin_one()).collect();
    assert_eq!(attempts.len(), 5);
    drop(attempts);
    assert_eq!(wait_s(throttle, "ann", HERE), None, "attempts without a result do not count");
}

#[test]
fn setting_the_date_does_not_change_a_wait() {
    let (throttle, clock) = in_memory();
    fail_for_50(&throttle);
    (0..6).for_each(|_| fail(&throttle, "ann", "203.0.113.8"));
    for days in [-3, 30, -300] {
        clock.set_by(days * crate::base::clock::DAY_MS);
        assert_eq!(wait_s(&throttle, "someone", HERE), Some(900), "{days} days");
        assert_eq!(wait_s(&throttle, "ann", "203.0.113.8"), Some(1), "{days} days");
    }
    clock.advance(CLIENT_WINDOW_MS);
    assert_eq!(wait_s(&throttle, "someone", HERE), None);
}

#[test]
fn many_ids_and_clients_stay_within_20_megabytes() {
    let (throttle, clock) = in_memory();
    for n in 0..300_000_u32 {
        let address = IpAddr::V4(n.into()).into();
        begin(&throttle, Some(&format!("id{n}")), address).unwrap().failed();
        clock.advance(i64::from(n % 2));
    }
    let small = bytes(&throttle);
    assert!(small <= BYTES_MAX, "{small} of {BYTES_MAX}");
    // The clients with the most failures, which take the most memory.
    let clients = memory(&throttle).failures[Kind::Client as usize].len();
    let times = (CLIENT_FAILURES.next_power_of_two() - 4) * size_of::<Millis>();
    assert!(small + clients * times <= BYTES_MAX, "{small} of {BYTES_MAX}");
}

#[test]
fn a_flood_of_new_accounts_and_clients_ends_no_current_wait() {
    let (throttle, _) = in_memory();
    let guessed = ["ann", "bob", "cid", "dot"];
    for id in guessed {
        (0..6).for_each(|_| fail(&throttle, id, HERE));
    }
    (0..50 - 4 * 6).for_each(|member| fail(&throttle, &format!("member{member}"), HERE));
    (0..11).for_each(|_| throttle.begin_code(MemberKey::new(0)).unwrap().failed());
    assert_eq!(wait_s(&throttle, "someone", HERE), Some(900));
    // Several times the capacity of the maps, each pair, client and account new.
    for n in 0..200_000_u32 {
        begin(&throttle, Some(&format!("id{n}")), IpAddr::V4(n.into()).into()).unwrap().failed();
        throttle.begin_code(MemberKey::new(1 + i64::from(n))).unwrap().failed();
    }
    assert_eq!(wait_s(&throttle, "someone", HERE), Some(900));
    assert!(throttle.begin_code(MemberKey::new(0)).is_err());
    let known = |id: &str| throttle.begin(Some(id), client(HERE), || Ok(true));
    assert!(guessed.iter().all(|id| known(id).is_err()));
    assert!(known("eve").is_ok());
}

#[test]
fn a_flood_ends_no_attempt_in_progress() {
    let (throttle, _) = in_memory();
    let attempts: Vec<_> = (0..5).map(|_| begin(&throttle, Some("ann"), client(HERE)).unwrap()).collect();
    for n in 0..100_000_u32 {
        begin(&throttle, Some("ann"), IpAddr::V4(n.into()).into()).unwrap().failed();
    }
    assert!(begin(&throttle, Some("ann"), client(HERE)).is_err());
    drop(attempts);
    assert!(begin(&throttle, Some("ann"), client(HERE)).is_ok());
}

#[test]
fn failures_later_than_a_clock_that_was_set_back_count_as_of_now() {
    let mut failures = Failures::new(Kind::Client);
    (0..50).for_each(|n| failures.end(Outcome::Failed, n));
    let mut set_back = failures.clone();
    set_back.refresh(-FORGET_MS);
    assert_eq!((set_back.wait_ms(-FORGET_MS), set_back.count), (CLIENT_WINDOW_MS, 50));
    failures.refresh(CLIENT_WINDOW_MS + 9);
    assert_eq!((failures.wait_ms(CLIENT_WINDOW_MS + 9), failures.count), (0, 40));
}

#[test]
fn a_known_client_that_waits_lets_its_members_in_and_their_mistakes_do_not_prolong_the_wait() {
    let (service, clock) = throttle();
    let throttle = &service.account().throttle;
    fail_for_50(throttle);
    let known = |id: &str| throttle.begin(Some(id), client(HERE), || Ok(true));
    (0..6).for_each(|_| known("ann").unwrap().failed());
    assert!(matches!(known("ann"), Err(Error::TooManyRequests { retry_after_s: 1 })), "her own pair waits");
    known("bob").unwrap().succeeded();
    assert_eq!(wait_s(throttle, "someone", HERE), Some(900));
    assert!(throttle.begin(Some("bob"), client(HERE), || Err(Error::Overloaded)).is_err());
    clock.advance(CLIENT_WINDOW_MS);
    assert_eq!(wait_s(throttle, "someone", HERE), None);
}

#[test]
fn an_account_waits_for_codes_after_ten_wrong_ones_wherever_they_come_from() {
    let (service, clock) = throttle();
    let throttle = &service.account().throttle;
    let wait_s = |member| wait_of(throttle.begin_code(MemberKey::new(member)));
    let fail = |member| throttle.begin_code(MemberKey::new(member)).unwrap().failed();
    (0..10).for_each(|_| fail(1));
    assert_eq!(wait_s(1), None);
    for expected in [60, 120, 240, 480, 960, 1_920, 3_600, 3_600] {
        fail(1);
        assert_eq!((wait_s(1), wait_s(2)), (Some(expected), None));
        clock.advance(i64::try_from(expected).unwrap() * SECOND_MS);
        assert_eq!(wait_s(1), None);
    }
    throttle.begin_code(MemberKey::new(1)).unwrap().succeeded();
    (0..10).for_each(|_| fail(1));
    assert_eq!(wait_s(1), None, "a right code clears the account");
    let attempts: Vec<_> = (0..50).filter_map(|_| throttle.begin_code(MemberKey::new(2)).ok()).collect();
    assert_eq!(attempts.len(), 10, "attempts in progress count");
}
