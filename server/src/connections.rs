//! The open connections: how many there may be, of whom, and which of them close so that others have room.
//!
//! A newcomer seldom waits: when the places are used up, the connections close that have waited longest for their
//! client, of the network that holds most. The lock is taken when a connection opens or closes, never for a request, unless the
//! memory for responses is used up.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::config::Config;
use crate::connection::Connection;
use crate::stream::StreamState;
use crate::unsent::{Charge, UnsentBytes};

mod bounds;

use bounds::{Bounds, Groups};

/// How long a request may be worked on before its place may be given to another.
const STALLED: Duration = Duration::from_secs(10);
/// How long nothing is looked for where nothing was found to close.
const REST: Duration = Duration::from_millis(5);
/// How many times a guest's waiting counts as much as a member's. Not always first: a guest who has just come would
/// lose its place to members who do nothing.
const GUEST_WEIGHT: u32 = 8;
/// Bytes that a connection may hold while memory is being made free.
const MODEST: usize = 256 * 1024;
/// The share of the connections that close at once, so that a flood does not look through all of them each time.
const BATCH: usize = 100;

/// Every open connection.
pub(crate) struct Connections {
    bounds: Bounds,
    trusted: Vec<IpNet>,
    unsent: Arc<UnsentBytes>,
    unsent_limit: usize,
    entries: Mutex<Entries>,
    closed: Notify,
}

#[derive(Default)]
struct Entries {
    open: HashMap<u64, Entry>,
    next: u64,
    addresses: HashMap<IpAddr, usize>,
    networks: HashMap<IpAddr, usize>,
    /// When nothing was found to close, of all connections …
    none_of_all: Option<Instant>,
    /// … and of an address or a network that has its share.
    none_of_share: Option<Instant>,
    /// When memory for responses was last made free.
    relieved: Option<Instant>,
}

struct Entry {
    /// `None` of a trusted proxy, which stands for many clients.
    client: Option<Groups>,
    connection: Arc<Connection>,
}

/// Why a connection is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Every place is taken by a connection with a request that is worked on: wait for one.
    Full,
    /// Its address or network has its share, all of it with requests that are worked on.
    Share,
}

/// The place of an open connection, free again when this is dropped.
pub(crate) struct Place {
    connections: Arc<Connections>,
    key: u64,
    /// The connection.
    pub(crate) connection: Arc<Connection>,
    /// Whether places are scarce: its first request has to come soon.
    pub(crate) is_hurried: bool,
}

impl Place {
    /// All connections.
    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.entries().remove(self.key);
        self.connections.closed.notify_one();
    }
}

impl Connections {
    /// Room for `total` connections, else for what `config` says.
    pub(crate) fn new(config: &Config, total: usize) -> Arc<Self> {
        Arc::new(Self {
            bounds: Bounds::new(total, config.max_connections_per_address),
            trusted: config.trust_proxy.clone(),
            unsent: Arc::default(),
            unsent_limit: config.responses_limit,
            entries: Mutex::default(),
            closed: Notify::new(),
        })
    }

    /// The bytes that all connections hold of responses.
    #[cfg(test)]
    pub(crate) fn unsent(&self) -> &Arc<UnsentBytes> {
        &self.unsent
    }

    /// Ends when a connection has closed.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Lets a connection in, closing idle ones for it where that is needed.
    ///
    /// # Errors
    /// When no place is free and none can be made free.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<Place, Refused> {
        let peer = peer.to_canonical();
        let client = (!self.trusted.iter().any(|net| net.contains(&peer))).then(|| Groups::of(peer));
        let (bounds, batch) = (self.bounds, self.bounds.total / BATCH);
        let mut entries = self.entries();
        if let Some(groups) = client {
            let is_at = |counts: &HashMap<IpAddr, usize>, group, bound| {
                counts.get(&group).is_some_and(|n| *n >= bound)
            };
            let is_of_group: Option<fn(Groups, Groups) -> bool> =
                if is_at(&entries.addresses, groups.address, bounds.address) {
                    Some(|a, b| a.address == b.address)
                } else if is_at(&entries.networks, groups.network, bounds.network) {
                    Some(|a, b| a.network == b.network)
                } else {
                    None
                };
            if let Some(is_of_group) = is_of_group
                && !entries.close_idle_of(batch, |other| is_of_group(groups, other))
            {
                return Err(Refused::Share);
            }
        }
        let is_hurried = entries.open.len() >= bounds.relaxed;
        if is_hurried && !entries.close_idle(batch) && entries.open.len() >= bounds.total {
            return Err(Refused::Full);
        }
        let connection = Connection::new();
        let key = entries.insert(Entry { client, connection: Arc::clone(&connection) });
        drop(entries);
        Ok(Place { connections: Arc::clone(self), key, connection, is_hurried })
    }

    /// Charges a response to its connection, closing others that hold more of what their clients do not take, where
    /// that is needed.
    ///
    /// `None` when the memory for responses is used up and this connection holds much of it.
    pub(crate) fn charge(
        &self,
        connection: &Arc<Connection>,
        bytes: usize,
        stream: Option<Arc<StreamState>>,
    ) -> Option<Charge> {
        let charge = self.unsent.charge(connection, bytes, stream);
        let has_room = self.unsent.held() <= self.unsent_limit
            || self.entries().relieve(self.unsent_limit, connection, Instant::now());
        has_room.then_some(charge)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Nothing panics while it is held.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn insert(&mut self, entry: Entry) -> u64 {
        let key = self.next;
        self.next += 1;
        if let Some(Groups { address, network }) = entry.client {
            *self.addresses.entry(address).or_default() += 1;
            *self.networks.entry(network).or_default() += 1;
        }
        self.open.insert(key, entry);
        key
    }

    fn remove(&mut self, key: u64) -> Option<Entry> {
        let entry = self.open.remove(&key)?;
        if let Some(Groups { address, network }) = entry.client {
            count_down(&mut self.addresses, address);
            count_down(&mut self.networks, network);
        }
        Some(entry)
    }

    /// Closes connections; their places are free at once.
    fn close_all(&mut self, keys: &[u64]) {
        for key in keys {
            if let Some(entry) = self.remove(*key) {
                entry.connection.close();
            }
        }
    }

    /// Closes connections of the largest network that has idle ones, and says whether there were any.
    fn close_idle(&mut self, batch: usize) -> bool {
        let now = Instant::now();
        let may_look = self.none_of_all.is_none_or(|then| now >= then + REST);
        let found = may_look && self.close_longest_idle(batch, now, |_| true);
        if may_look && !found {
            self.none_of_all = Some(now);
        }
        found
    }

    /// As [`Entries::close_idle`], of an address or a network.
    fn close_idle_of(&mut self, batch: usize, is_of: impl Fn(Groups) -> bool) -> bool {
        let now = Instant::now();
        let may_look = self.none_of_share.is_none_or(|then| now >= then + REST);
        let found = may_look && self.close_longest_idle(batch, now, |client| client.is_some_and(&is_of));
        if may_look && !found {
            self.none_of_share = Some(now);
        }
        found
    }

    /// Closes up to `batch` connections, one at least, that have waited longest for their client, of the largest
    /// network. Says whether there was one.
    fn close_longest_idle(
        &mut self,
        batch: usize,
        now: Instant,
        is_of: impl Fn(Option<Groups>) -> bool,
    ) -> bool {
        let share =
            |client: Option<Groups>| client.and_then(|groups| self.networks.get(&groups.network)).copied();
        let candidates =
            self.open.iter().filter(|(_, entry)| is_of(entry.client)).filter_map(|(key, entry)| {
                let waiting = waiting(&entry.connection, now)?;
                Some((Reverse(share(entry.client)), Reverse(waiting), *key))
            });
        let mut candidates: Vec<_> = candidates.collect();
        let Some(first) = candidates.iter().map(|(share, ..)| *share).min() else { return false };
        candidates.retain(|(share, ..)| *share == first);
        let batch = batch.clamp(1, candidates.len());
        candidates.select_nth_unstable_by_key(batch - 1, |(_, waiting, _)| *waiting);
        tracing::debug!(closed = batch, "connections are closed for others to have their places");
        let closing: Vec<_> = candidates[..batch].iter().map(|(.., key)| *key).collect();
        self.close_all(&closing);
        true
    }

    /// When all connections hold more than `limit` of responses, closes those that hold most, of the networks that hold
    /// most, until the others hold seven eighths of it. Says whether `newcomer` may hold what it does.
    fn relieve(&mut self, limit: usize, newcomer: &Arc<Connection>, now: Instant) -> bool {
        // What is being closed takes a moment to free its memory.
        if self.relieved.is_some_and(|then| now < then + REST) {
            return newcomer.unsent() <= MODEST;
        }
        self.relieved = Some(now);
        let goal = limit - limit / 8;
        let mut networks: HashMap<Option<IpAddr>, usize> = HashMap::new();
        let mut held = 0;
        for entry in self.open.values() {
            let unsent = entry.connection.unsent();
            held += unsent;
            *networks.entry(entry.client.map(|groups| groups.network)).or_default() += unsent;
        }
        if held <= limit {
            return true;
        }
        let share = |entry: &Entry| networks[&entry.client.map(|groups| groups.network)];
        let mut holders: Vec<_> =
            self.open.iter().filter(|(_, entry)| entry.connection.unsent() > 0).collect();
        holders.sort_unstable_by_key(|(_, entry)| {
            // Behind a trusted proxy are many clients.
            (entry.client.is_none(), Reverse(share(entry)), Reverse(entry.connection.unsent()))
        });
        let mut closing = Vec::new();
        for (key, entry) in holders {
            if held <= goal {
                break;
            }
            held -= entry.connection.unsent().min(held);
            closing.push(*key);
        }
        tracing::debug!(closed = closing.len(), "connections are closed that do not take their responses");
        self.close_all(&closing);
        !newcomer.is_closing()
    }
}

/// How long a connection has waited for its client, which decides whether it closes for another; a guest's counts
/// several times. `None` while a request is worked on.
fn waiting(connection: &Connection, now: Instant) -> Option<Duration> {
    let silent = now.saturating_duration_since(connection.active());
    let weight = if connection.is_signed_in() { 1 } else { GUEST_WEIGHT };
    (connection.waits_for_client() || silent >= STALLED).then_some(silent * weight)
}

fn count_down(counts: &mut HashMap<IpAddr, usize>, group: IpAddr) {
    if let Some(count) = counts.get_mut(&group) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&group);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn connections(total: usize, config: &Config) -> Arc<Connections> {
        Connections::new(config, total)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn open(connections: &Connections) -> usize {
        connections.entries().open.len()
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_has_the_place_of_the_longest_idle_of_the_largest_network() {
        let connections = connections(10, &Config::default());
        let admit = |from: &str| connections.admit(address(from)).unwrap();
        let other = admit("198.51.100.1");
        let mut many = Vec::new();
        for host in 1..=7 {
            advance(Duration::from_secs(1)).await;
            many.push(admit(&format!("192.0.2.{host}")));
        }
        // The first one works, the second one is a member's.
        let running = many[0].connection.begin(false);
        many[1].connection.set_signed_in();
        let closing = |place: &Place| place.connection.is_closing();
        assert!(!many.iter().any(closing));
        let newcomer = admit("203.0.113.1");
        assert!(newcomer.is_hurried && !closing(&newcomer) && !closing(&other));
        assert_eq!(
            many.iter().map(closing).collect::<Vec<_>>(),
            [false, false, true, false, false, false, false]
        );
        drop((running, many, other, newcomer));
        assert_eq!(open(&connections), 0);
        assert!(connections.entries().addresses.is_empty() && connections.entries().networks.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_just_come_keeps_its_place_beside_many_that_do_nothing() {
        let connections = connections(10, &Config::default());
        let mut silent: Vec<_> = (0..8).map(|_| connections.admit(address("192.0.2.1")).unwrap()).collect();
        for place in &silent {
            place.connection.set_signed_in();
        }
        advance(Duration::from_secs(1)).await;
        let newcomer = connections.admit(address("192.0.2.1")).unwrap();
        advance(Duration::from_millis(100)).await;
        silent.extend((0..7).map(|_| connections.admit(address("192.0.2.1")).unwrap()));
        assert!(!newcomer.connection.is_closing());
        assert_eq!(silent.iter().filter(|place| place.connection.is_closing()).count(), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_at_its_bound_closes_its_own_idle_connections_and_a_proxy_has_no_bound() {
        let config = Config {
            max_connections_per_address: Some(3),
            trust_proxy: vec!["10.0.0.0/8".parse().unwrap()],
            ..Config::default()
        };
        let connections = connections(100, &config);
        let admit = |from: &str| connections.admit(address(from));
        let hold: Vec<_> = (0..3).map(|_| admit("2001:db8::1").unwrap()).collect();
        let next = admit("2001:db8::2").unwrap();
        assert_eq!(hold.iter().filter(|place| place.connection.is_closing()).count(), 1);
        let working: Vec<_> = hold.iter().chain([&next]).map(|place| place.connection.begin(false)).collect();
        assert_eq!(admit("2001:db8::3").err(), Some(Refused::Share));
        assert!(admit("2001:db8:0:1::1").is_ok());
        let proxied: Vec<_> = (0..50).map(|_| admit("10.1.2.3").unwrap()).collect();
        assert!(!proxied.iter().any(|place| place.connection.is_closing()));
        drop(working);
        advance(REST).await;
        assert!(admit("2001:db8::3").is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_never_has_the_places_in_reserve_and_silent_requests_lose_theirs() {
        let connections = connections(10, &Config::default());
        let admit = |from: String| connections.admit(address(&from));
        let flood: Vec<_> = (1..=8).map(|host| admit(format!("192.0.2.{host}")).unwrap()).collect();
        let requests: Vec<_> = flood.iter().map(|place| place.connection.begin(false)).collect();
        assert_eq!(admit("192.0.2.9".into()).err(), Some(Refused::Share));
        let others: Vec<_> = (1..=2).map(|net| admit(format!("203.0.{net}.1")).unwrap()).collect();
        let busy: Vec<_> = others.iter().map(|place| place.connection.begin(false)).collect();
        advance(REST).await;
        assert_eq!(admit("198.51.100.1".into()).err(), Some(Refused::Full));
        advance(STALLED).await;
        for place in &others {
            place.connection.set_active(Instant::now());
        }
        let newcomer = admit("198.51.100.1".into()).unwrap();
        assert_eq!(flood.iter().filter(|place| place.connection.is_closing()).count(), 1);
        assert!(!others.iter().any(|place| place.connection.is_closing()));
        drop((requests, busy, newcomer));
    }

    #[tokio::test(start_paused = true)]
    async fn who_holds_most_of_the_responses_makes_room_for_the_others() {
        let connections = connections(10, &Config { responses_limit: 1_000, ..Config::default() });
        let place = |from: &str| connections.admit(address(from)).unwrap();
        let (one, two, other) = (place("192.0.2.1"), place("192.0.2.2"), place("203.0.113.1"));
        let charge = |place: &Place, bytes| connections.charge(&place.connection, bytes, None);
        let closing = || [&one, &two, &other].map(|place| place.connection.is_closing());
        let held = (charge(&one, 300).unwrap(), charge(&two, 400).unwrap(), charge(&other, 299).unwrap());
        assert_eq!(closing(), [false, false, false]);
        let more = charge(&other, 200).unwrap();
        assert_eq!(closing(), [false, true, false]);
        // The memory of what is closed is not free yet, and not counted twice.
        let still = (charge(&other, 1).unwrap(), advance(REST).await, charge(&other, 100).unwrap());
        assert_eq!(closing(), [false, true, false]);
        advance(REST).await;
        assert!(charge(&other, 500).is_none(), "it holds most itself");
        assert_eq!(closing(), [false, true, true]);
        drop((held, more, still));
        assert_eq!(connections.unsent().held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn while_memory_is_made_free_only_modest_connections_hold_more() {
        let connections = connections(10, &Config { responses_limit: MODEST, ..Config::default() });
        let place = |from: &str| connections.admit(address(from)).unwrap();
        let (greedy, modest) = (place("192.0.2.1"), place("203.0.113.1"));
        let charge = |place: &Place, bytes| connections.charge(&place.connection, bytes, None);
        assert!(charge(&greedy, MODEST + 1).is_none());
        let held = charge(&modest, MODEST).unwrap();
        assert!(charge(&modest, 1).is_none(), "for the next moments");
        assert!(greedy.connection.is_closing() && !modest.connection.is_closing());
        drop(held);
    }
}
