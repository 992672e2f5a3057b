//! Tests of failures that several servers share. They run on PostgreSQL only.

use std::net::{IpAddr, Ipv4Addr};
use std::thread;

use super::*;
use crate::Tidings;
use crate::base::client::Client;
use crate::service::retention;
use crate::testing::{self, Service};

const HERE: Client = Client::v4(Ipv4Addr::new(203, 0, 113, 7));

/// Returns three servers; `None` for a database in a file.
fn servers() -> Option<(Service, [Tidings; 2])> {
    let service = testing::service();
    let others = || [service.beside(), service.beside()];
    service.store().is_on_server().then(others).map(|others| (service, others))
}

fn begun<'t>(tidings: &'t Tidings, id: &str) -> Result<Attempt<'t>> {
    tidings.account().throttle.begin(Some(id), HERE, || Ok(false))
}

fn begins(tidings: &Tidings, id: &str) -> bool {
    begun(tidings, id).is_ok()
}

fn fail(tidings: &Tidings, id: &str) {
    begun(tidings, id).unwrap().failed();
}

#[test]
fn five_failures_on_three_servers_are_free() {
    let Some((service, [two, three])) = servers() else { return };
    let servers = [&*service, &two, &three];
    for server in servers.iter().cycle().take(6) {
        fail(server, "ann");
    }
    assert!(servers.iter().all(|server| !begins(server, "Ann")));
    assert!(servers.iter().all(|server| begins(server, "bob")));
    service.clock().advance(SECOND_MS);
    begun(&three, "ann").unwrap().succeeded();
    for server in servers.iter().cycle().take(5) {
        fail(server, "ann");
    }
    assert!(begins(&service, "ann"), "the success has cleared the pair");
}

#[test]
fn the_wrong_codes_of_an_account_are_those_on_all_servers() {
    let Some((service, [two, three])) = servers() else { return };
    let ann = MemberKey::new(7);
    for server in [&*service, &two, &three].iter().cycle().take(11) {
        server.account().throttle.begin_code(ann).unwrap().failed();
    }
    assert!(two.account().throttle.begin_code(ann).is_err());
    service.clock().advance(60 * SECOND_MS);
    three.account().throttle.begin_code(ann).unwrap().succeeded();
    (0..10).for_each(|_| two.account().throttle.begin_code(ann).unwrap().failed());
    assert!(service.account().throttle.begin_code(ann).is_ok(), "the right code has cleared the account");
}

#[test]
fn of_fifty_attempts_at_once_on_three_servers_five_begin() {
    let Some((service, [two, three])) = servers() else { return };
    let servers = [&*service, &two, &three];
    let begun = thread::scope(|scope| {
        let attempts = (0..50).map(|n| {
            let server = servers[n % 3];
            scope.spawn(move || begun(server, "ann").ok())
        });
        let attempts: Vec<_> = attempts.collect();
        attempts.into_iter().filter_map(|attempt| attempt.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(begun.len(), 5);
    assert!(!begins(&two, "ann"));
    begun.into_iter().for_each(Attempt::failed);
    assert!(begins(&three, "ann"), "five failures are free");
}

#[test]
fn the_reservation_of_a_server_that_died_expires() {
    let Some((service, [two, three])) = servers() else { return };
    let attempts: Vec<_> = (0..5).map(|_| begun(&two, "ann").unwrap()).collect();
    attempts.into_iter().for_each(std::mem::forget);
    assert!(!begins(&three, "ann"));
    service.clock().advance(RESERVED_MS);
    assert!(begins(&three, "ann"));
}

#[test]
fn rows_without_current_failures_are_deleted() {
    let Some((service, _)) = servers() else { return };
    let fail = |n: u32| {
        let client = IpAddr::from(Ipv4Addr::from_bits(n)).into();
        service.account().throttle.begin(Some("ann"), client, || Ok(false)).unwrap().failed();
    };
    (0..20).for_each(fail);
    let count = || service.number("SELECT count(*) FROM sign_in_failure");
    assert_eq!(count(), 40);
    retention::delete_expired(&service);
    assert_eq!(count(), 40);
    service.clock().advance(FORGET_MS + 1);
    (0..5).for_each(fail);
    retention::delete_expired(&service);
    assert_eq!(count(), 10);
}

#[test]
fn a_flood_of_rows_removes_those_with_the_fewest_failures() {
    let Some((service, _)) = servers() else { return };
    (0..6).for_each(|_| fail(&service, "ann"));
    let now = service.now().as_millis();
    service.run(&format!(
        "INSERT INTO sign_in_failure (kind, key, failures, last, times, running, reserved, until)
         SELECT 1, n, 1, {now}, '', 0, 0, {now} + 1000 FROM generate_series(1, 200100) n"
    ));
    retention::delete_expired(&service);
    assert_eq!(service.number("SELECT count(*) FROM sign_in_failure"), 200_000);
    assert!(!begins(&service, "ann"));
}
