use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use proptest::prelude::*;

use super::*;

fn client(address: &str) -> Client {
    address.parse::<IpAddr>().unwrap().into()
}

fn of(network: u8, n: u8) -> Client {
    IpAddr::from([198, 51, network, n]).into()
}

fn drained(queue: &mut FairQueue<&str, u32>) -> Vec<u32> {
    std::iter::from_fn(|| queue.pop()).collect()
}

#[test]
fn operations_then_networks_then_clients_take_turns() {
    let mut queue = FairQueue::new(100);
    for (operation, client, item) in [
        ("up", of(1, 1), 10),
        ("up", of(1, 1), 11),
        ("up", of(1, 1), 12),
        ("up", of(1, 2), 20),
        ("up", of(2, 1), 30),
        ("in", of(1, 1), 40),
        ("in", of(3, 1), 50),
    ] {
        queue.push(operation, client, item);
    }
    assert_eq!(drained(&mut queue), [10, 40, 30, 50, 20, 11, 12]);
    assert_eq!(queue.len(), 0);
}

#[test]
fn a_network_is_24_bits_of_ipv4_and_48_bits_of_ipv6() {
    let same = |a, b| network_of(client(a)) == network_of(client(b));
    assert!(same("192.0.2.1", "192.0.2.255") && !same("192.0.2.1", "192.0.3.1"));
    assert!(same("2001:db8:1::1", "2001:db8:1:ffff::1") && !same("2001:db8:1::1", "2001:db8:2::1"));
    assert!(same("::ffff:192.0.2.1", "192.0.2.2"));
}

#[test]
fn the_network_that_fills_the_queue_gives_way_with_its_newest() {
    let mut queue = FairQueue::new(3);
    for item in 0..3 {
        queue.push("up", of(1, 1), item);
    }
    assert_eq!(queue.push("up", of(1, 1), 3), Pushed::Refused(3));
    assert!(matches!(queue.push("up", of(2, 1), 4), Pushed::Displaced(_, 2)));
    assert!(matches!(queue.push("in", of(1, 1), 5), Pushed::Displaced(_, 1)));
    // Each network has one entry: the operation with the most entries loses one, and the new entry is one of its
    // entries.
    assert_eq!(queue.push("up", of(3, 1), 6), Pushed::Refused(6));
    assert!(matches!(queue.push("in", of(3, 1), 7), Pushed::Displaced(..) | Pushed::Refused(7)));
    assert_eq!(queue.len(), 3);
}

#[test]
fn many_networks_of_one_operation_leave_room_for_another_operation() {
    let mut queue = FairQueue::new(8);
    for network in 0..8 {
        queue.push("up", of(network, 1), u32::from(network));
    }
    assert_eq!(queue.push("up", of(9, 1), 9), Pushed::Refused(9));
    for item in 10..13 {
        let network = u8::try_from(item).unwrap();
        assert!(matches!(queue.push("in", of(network, 1), item), Pushed::Displaced(..)), "{item}");
    }
    assert_eq!(queue.pop().zip(queue.pop()).map(|(a, b)| a.max(b)), Some(10), "one of the next two");
}

#[test]
fn within_a_network_the_client_that_fills_the_queue_gives_way() {
    let mut queue = FairQueue::new(4);
    for item in 0..4 {
        queue.push("up", of(1, 66), item);
    }
    assert!(matches!(queue.push("up", of(1, 1), 4), Pushed::Displaced(_, 3)));
    assert_eq!(drained(&mut queue), [0, 4, 1, 2]);
}

#[test]
fn an_entry_that_is_removed_leaves_its_place() {
    let mut queue = FairQueue::new(2);
    let Pushed::Waiting(first) = queue.push("in", of(1, 1), 1) else { panic!("there is room") };
    let Pushed::Waiting(second) = queue.push("in", of(1, 1), 2) else { panic!("there is room") };
    assert_eq!((queue.remove(first), queue.remove(first), queue.len()), (Some(1), None, 1));
    assert!(matches!(queue.push("in", of(2, 1), 3), Pushed::Waiting(_)));
    assert_eq!(drained(&mut queue), [2, 3]);
    assert_eq!(queue.remove(second), None);
    assert!(matches!(FairQueue::new(0).push("in", of(1, 1), 1), Pushed::Refused(1)));
}

/// The operation, network, client and number of an entry.
type Known = (u8, u8, u8, u32);

proptest! {
    #[test]
    fn entries_leave_once_in_their_order_and_no_network_waits_for_two_turns_of_another(
        steps in prop::collection::vec((0..4_u8, 0..3_u8, 0..3_u8, 0..3_u8), 1..200),
        capacity in 1..20_usize,
    ) {
        let mut queue: FairQueue<u8, Known> = FairQueue::new(capacity);
        let mut waiting: BTreeSet<Known> = BTreeSet::new();
        let mut passed: BTreeMap<(u8, u8, u8), u32> = BTreeMap::new();
        for (number, (step, operation, network, n)) in (0..).zip(steps) {
            if step > 0 {
                let entry = (operation, network, n, number);
                let count = |waiting: &BTreeSet<Known>, of: &Known| {
                    waiting.iter().filter(|other| (other.0, other.1) == (of.0, of.1)).count()
                };
                match queue.push(operation, of(network, n), entry) {
                    Pushed::Waiting(_) => { waiting.insert(entry); }
                    Pushed::Displaced(_, other) => {
                        waiting.insert(entry);
                        prop_assert!(count(&waiting, &other) >= count(&waiting, &entry));
                        prop_assert!(waiting.remove(&other));
                    }
                    Pushed::Refused(own) => {
                        prop_assert_eq!((own, waiting.len()), (entry, capacity));
                        let most = waiting.iter().map(|other| count(&waiting, other)).max();
                        prop_assert!(count(&waiting, &entry) + 1 >= most.unwrap());
                    }
                }
            } else if let Some(entry) = queue.pop() {
                prop_assert!(waiting.remove(&entry));
                let line = (entry.0, entry.1, entry.2);
                let older = waiting.iter().any(|o| (o.0, o.1, o.2) == line && o.3 < entry.3);
                prop_assert!(!older, "a client's entries leave in their order");
                passed.remove(&line);
                // The other clients of this operation and network that wait have been passed over once more.
                let others = waiting.iter().filter(|o| (o.0, o.1) == (line.0, line.1) && o.2 != line.2);
                let others: BTreeSet<_> = others.map(|o| (o.0, o.1, o.2)).collect();
                for other in others {
                    let turns = passed.entry(other).or_insert(0);
                    *turns += 1;
                    prop_assert!(*turns <= 2, "three clients of a network take turns");
                }
            } else {
                prop_assert!(waiting.is_empty());
            }
            passed.retain(|line, _| waiting.iter().any(|o| (o.0, o.1, o.2) == *line));
            prop_assert!(queue.len() == waiting.len() && queue.len() <= capacity);
        }
    }
}
