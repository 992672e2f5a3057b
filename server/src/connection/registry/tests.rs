//! Tests which connections close to make room for others.

use tokio::time::advance;

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn is_closing(permit: &ConnectionPermit) -> bool {
    permit.connection.is_closing()
}

fn closing<'p>(permits: impl IntoIterator<Item = &'p ConnectionPermit>) -> usize {
    permits.into_iter().filter(|permit| is_closing(permit)).count()
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_replaces_the_longest_idle_one_of_the_largest_network() {
    let connections = Connections::new(&Config::default(), 10);
    let admit = |from: &str| connections.admit(address(from)).unwrap();
    let other = admit("198.51.100.1");
    let mut many = Vec::new();
    for host in 1..=7 {
        advance(Duration::from_secs(1)).await;
        many.push(admit(&format!("192.0.2.{host}")));
    }
    // The first connection is processing a request; the second is a member's.
    let running = many[0].connection.begin(false);
    many[1].connection.is_signed_in.set(true);
    assert!(!many.iter().any(is_closing));
    let newcomer = admit("203.0.113.1");
    assert!(newcomer.is_scarce && !is_closing(&newcomer) && !is_closing(&other));
    let closing: Vec<_> = (0..7).filter(|host| is_closing(&many[*host])).collect();
    assert_eq!(closing, [2]);
    drop((running, many, other, newcomer));
    let entries = connections.entries();
    assert!(entries.open.is_empty() && entries.counts.iter().all(HashMap::is_empty));
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_stays_open_beside_many_idle_ones() {
    let connections = Connections::new(&Config::default(), 10);
    let mut silent: Vec<_> = (0..8).map(|_| connections.admit(address("192.0.2.1")).unwrap()).collect();
    for permit in &silent {
        permit.connection.is_signed_in.set(true);
    }
    advance(Duration::from_secs(1)).await;
    let newcomer = connections.admit(address("192.0.2.1")).unwrap();
    advance(Duration::from_millis(100)).await;
    silent.extend((0..7).map(|_| connections.admit(address("192.0.2.1")).unwrap()));
    assert_eq!((is_closing(&newcomer), closing(&silent)), (false, 8));
}

#[tokio::test(start_paused = true)]
async fn an_address_at_its_bound_closes_its_own_idle_connections_and_a_proxy_has_no_bound() {
    let config = Config { trust_proxy: vec!["10.0.0.0/8".parse().unwrap()], ..Config::default() };
    let mut connections = Connections::new(&config, 100);
    Arc::get_mut(&mut connections).unwrap().bounds.groups[0] = 3;
    let admit = |from: &str| connections.admit(address(from));
    let hold: Vec<_> = (0..3).map(|_| admit("2001:db8::1").unwrap()).collect();
    let next = admit("2001:db8::2").unwrap();
    assert_eq!(closing(&hold), 1);
    let working: Vec<_> = hold.iter().chain([&next]).map(|permit| permit.connection.begin(false)).collect();
    assert_eq!(admit("2001:db8::3").err(), Some(Refused::Share));
    assert!(admit("2001:db8:0:1::1").is_ok());
    let proxied: Vec<_> = (0..50).map(|_| admit("10.1.2.3").unwrap()).collect();
    assert_eq!(closing(&proxied), 0);
    drop(working);
    advance(REST).await;
    assert!(admit("2001:db8::3").is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_network_never_takes_the_reserve_and_requests_without_progress_lose_their_permit() {
    let connections = Connections::new(&Config::default(), 10);
    let admit = |from: String| connections.admit(address(&from));
    let flood: Vec<_> = (1..=8).map(|host| admit(format!("192.0.2.{host}")).unwrap()).collect();
    let requests: Vec<_> = flood.iter().map(|permit| permit.connection.begin(false)).collect();
    assert_eq!(admit("192.0.2.9".into()).err(), Some(Refused::Share));
    let others: Vec<_> = (1..=2).map(|net| admit(format!("203.0.{net}.1")).unwrap()).collect();
    let busy: Vec<_> = others.iter().map(|permit| permit.connection.begin(false)).collect();
    advance(REST).await;
    assert_eq!(admit("198.51.100.1".into()).err(), Some(Refused::Full));
    advance(STALLED).await;
    for permit in &others {
        permit.connection.set_active(Instant::now());
    }
    let newcomer = admit("198.51.100.1".into()).unwrap();
    assert_eq!((closing(&flood), closing(&others)), (1, 0));
    drop((requests, busy, newcomer));
}

#[tokio::test(start_paused = true)]
async fn the_connection_that_holds_most_response_bytes_is_closed_for_the_others() {
    let connections = Connections::new(&Config { responses_limit: 1_000, ..Config::default() }, 10);
    let permit = |from: &str| connections.admit(address(from)).unwrap();
    let (one, two, other) = (permit("192.0.2.1"), permit("192.0.2.2"), permit("203.0.113.1"));
    let charge = |permit: &ConnectionPermit, bytes| connections.charge(&permit.connection, bytes, None);
    let closing = || [&one, &two, &other].map(is_closing);
    let held = (charge(&one, 300).unwrap(), charge(&two, 400).unwrap(), charge(&other, 299).unwrap());
    assert_eq!(closing(), [false, false, false]);
    let more = charge(&other, 200).unwrap();
    assert_eq!(closing(), [false, true, false]);
    // The closed connection has not freed its memory yet, and it is not counted twice.
    let still = (charge(&other, 1).unwrap(), advance(REST).await, charge(&other, 100).unwrap());
    assert_eq!(closing(), [false, true, false]);
    advance(REST).await;
    assert!(charge(&other, 500).is_none(), "this connection itself holds most");
    assert_eq!(closing(), [false, true, true]);
    drop((held, more, still));
    assert_eq!(connections.unsent.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn while_memory_is_being_freed_only_small_holders_may_hold_more() {
    let connections = Connections::new(&Config { responses_limit: SMALL, ..Config::default() }, 10);
    let permit = |from: &str| connections.admit(address(from)).unwrap();
    let (greedy, small) = (permit("192.0.2.1"), permit("203.0.113.1"));
    let charge = |permit: &ConnectionPermit, bytes| connections.charge(&permit.connection, bytes, None);
    assert!(charge(&greedy, SMALL + 1).is_none());
    let held = charge(&small, SMALL).unwrap();
    assert!(charge(&small, 1).is_none(), "until the pause is over");
    assert!(is_closing(&greedy) && !is_closing(&small));
    drop(held);
}

#[test]
fn bounds_leave_room_for_others_and_small_totals_are_used_in_full() {
    let bounds = |total| {
        let Bounds { total, groups: [address, network], relaxed } = Bounds::new(total);
        (total, address, network, relaxed)
    };
    assert_eq!(bounds(10_000), (10_000, 7_500, 9_000, 9_000));
    assert_eq!(bounds(10), (10, 8, 8, 8));
    assert_eq!(bounds(2), (2, 2, 2, 2));
    assert_eq!(bounds(1), (1, 1, 1, 1));
}
