//! Limits the number of open connections. When all permits are taken, the server closes connections of the network that has the
//! most, those first that have waited longest for their client. Opening and closing a connection acquires the lock; a request
//! acquires it only when the memory for responses is used up.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::config::Config;
use crate::connection::state::{Connection, Count, StreamState};
use crate::connection::unsent::Charge;

/// After this time without progress, the connection of a running request may be closed for another connection.
const STALLED: Duration = Duration::from_secs(10);
/// After a search that found no connection to close.
pub(crate) const REST: Duration = Duration::from_millis(5);
/// The weight of the time that a guest's connection has been idle, relative to a member's. If guests' connections always closed
/// first, a guest who has just connected would lose the connection to idle members.
const GUEST_WEIGHT: u32 = 8;
/// Bytes of responses that a connection may hold while the server frees memory.
const SMALL: usize = 256 * 1024;
/// One in `BATCH` connections closes at a time, so that a flood does not scan all connections for each new one.
const BATCH: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    total: usize,
    /// Of one address, three quarters of all, and of one network.
    groups: [usize; 2],
    /// From this number of connections of all clients on, each new connection closes idle ones.
    relaxed: usize,
}

impl Bounds {
    fn new(total: usize) -> Self {
        let reserved = if total < 8 { 0 } else { (total / 10).max(2) };
        let relaxed = total - reserved;
        Self { total, groups: [(total - total / 4).min(relaxed), relaxed], relaxed }
    }
}

/// An IPv4 address and its /24, or an IPv6 /64 and /48.
type Groups = [IpAddr; 2];

fn groups_of(address: IpAddr) -> Groups {
    match address {
        IpAddr::V4(v4) => [address, Ipv4Addr::from_bits(v4.to_bits() & (!0 << 8)).into()],
        IpAddr::V6(v6) => {
            [64, 48].map(|length| Ipv6Addr::from_bits(v6.to_bits() & (!0 << (128 - length))).into())
        }
    }
}

pub(crate) struct Connections {
    bounds: Bounds,
    trusted: Vec<IpNet>,
    pub(super) unsent: Arc<Count>,
    unsent_limit: usize,
    entries: Mutex<Entries>,
    closed: Notify,
}

#[derive(Default)]
struct Entries {
    open: HashMap<u64, Entry>,
    next: u64,
    counts: [HashMap<IpAddr, usize>; 2],
    /// When a search of all connections, and one of a group, last found none to close.
    none_found: [Option<Instant>; 2],
    freed: Option<Instant>,
}

struct Entry {
    /// `None` for a trusted proxy, which has many clients.
    client: Option<Groups>,
    connection: Arc<Connection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// All permits are held by connections that are processing a request. The caller waits until one closes.
    Full,
    /// The address or network has reached its limit, and all of its connections are processing a request.
    Share,
}

pub(crate) struct ConnectionPermit {
    pub(super) connections: Arc<Connections>,
    key: u64,
    pub(crate) connection: Arc<Connection>,
    /// Few permits are left, so the first request has to arrive soon.
    pub(crate) is_scarce: bool,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.connections.entries().remove(self.key);
        self.connections.closed.notify_one();
    }
}

impl Connections {
    pub(crate) fn new(config: &Config, total: usize) -> Arc<Self> {
        Arc::new(Self {
            bounds: Bounds::new(total),
            trusted: config.trust_proxy.clone(),
            unsent: Arc::default(),
            unsent_limit: config.responses_limit,
            entries: Mutex::default(),
            closed: Notify::new(),
        })
    }

    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<ConnectionPermit, Refused> {
        let peer = peer.to_canonical();
        let client = (!self.trusted.iter().any(|net| net.contains(&peer))).then(|| groups_of(peer));
        let (bounds, batch) = (self.bounds, self.bounds.total / BATCH);
        let mut entries = self.entries();
        let at_bound = client.and_then(|groups| {
            let count = |level: usize| entries.counts[level].get(&groups[level]).copied().unwrap_or_default();
            (0..2).find(|level| count(*level) >= bounds.groups[*level]).map(|level| (level, groups[level]))
        });
        if at_bound.is_some() && !entries.close_idle(batch, at_bound) {
            return Err(Refused::Share);
        }
        let is_scarce = entries.open.len() >= bounds.relaxed;
        if is_scarce && !entries.close_idle(batch, None) && entries.open.len() >= bounds.total {
            return Err(Refused::Full);
        }
        let connection = Connection::new();
        let key = entries.insert(Entry { client, connection: Arc::clone(&connection) });
        drop(entries);
        Ok(ConnectionPermit { connections: Arc::clone(self), key, connection, is_scarce })
    }

    /// If the memory for responses is used up, the connections that hold more of it are closed. Returns `None` when this
    /// connection holds much of it.
    pub(crate) fn charge(
        &self,
        connection: &Arc<Connection>,
        bytes: usize,
        stream: Option<Arc<StreamState>>,
    ) -> Option<Charge> {
        let charge = Charge::new(&self.unsent, connection, bytes, stream);
        let has_room = self.unsent.get() <= self.unsent_limit
            || self.entries().free_memory(self.unsent_limit, connection, Instant::now());
        has_room.then_some(charge)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn insert(&mut self, entry: Entry) -> u64 {
        let key = self.next;
        self.next += 1;
        for (counts, group) in self.counts.iter_mut().zip(entry.client.iter().flatten()) {
            *counts.entry(*group).or_default() += 1;
        }
        self.open.insert(key, entry);
        key
    }

    fn remove(&mut self, key: u64) -> Option<Entry> {
        let entry = self.open.remove(&key)?;
        for (counts, group) in self.counts.iter_mut().zip(entry.client.iter().flatten()) {
            if let Some(count) = counts.get_mut(group) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(group);
                }
            }
        }
        Some(entry)
    }

    fn close_all(&mut self, keys: &[u64]) {
        for key in keys {
            if let Some(entry) = self.remove(*key) {
                entry.connection.close();
            }
        }
    }

    /// Closes at least one and at most `batch` connections of the largest network, or of the address or network `group`: those
    /// that have waited longest for their client. Returns whether there was one.
    fn close_idle(&mut self, batch: usize, group: Option<(usize, IpAddr)>) -> bool {
        let (now, search) = (Instant::now(), usize::from(group.is_some()));
        if self.none_found[search].is_some_and(|then| now < then + REST) {
            return false;
        }
        let is_of = |client: Option<Groups>| {
            group.is_none_or(|(level, group)| client.is_some_and(|groups| groups[level] == group))
        };
        let share =
            |client: Option<Groups>| client.and_then(|[_, network]| self.counts[1].get(&network)).copied();
        let candidates =
            self.open.iter().filter(|(_, entry)| is_of(entry.client)).filter_map(|(key, entry)| {
                let waiting = waiting(&entry.connection, now)?;
                Some((Reverse(share(entry.client)), Reverse(waiting), *key))
            });
        let mut candidates: Vec<_> = candidates.collect();
        let Some(first) = candidates.iter().map(|(share, ..)| *share).min() else {
            self.none_found[search] = Some(now);
            return false;
        };
        candidates.retain(|(share, ..)| *share == first);
        let batch = batch.clamp(1, candidates.len());
        candidates.select_nth_unstable_by_key(batch - 1, |(_, waiting, _)| *waiting);
        tracing::debug!(closed = batch, "closing idle connections to make room for others");
        let closing: Vec<_> = candidates[..batch].iter().map(|(.., key)| *key).collect();
        self.close_all(&closing);
        true
    }

    /// Frees memory if all connections together hold more than `limit` bytes of responses. Closes the connections that hold the
    /// most, in the networks that hold the most, until the others hold at most seven eighths of `limit`. Returns whether
    /// `charged` may keep its responses.
    fn free_memory(&mut self, limit: usize, charged: &Arc<Connection>, now: Instant) -> bool {
        // Closing connections have not freed their memory yet.
        if self.freed.is_some_and(|then| now < then + REST) {
            return charged.unsent.get() <= SMALL;
        }
        self.freed = Some(now);
        let goal = limit - limit / 8;
        let mut networks: HashMap<Option<IpAddr>, usize> = HashMap::new();
        let mut held = 0;
        for entry in self.open.values() {
            let unsent = entry.connection.unsent.get();
            held += unsent;
            *networks.entry(entry.client.map(|[_, network]| network)).or_default() += unsent;
        }
        if held <= limit {
            return true;
        }
        let share = |entry: &Entry| networks[&entry.client.map(|[_, network]| network)];
        let mut holders: Vec<_> =
            self.open.iter().filter(|(_, entry)| entry.connection.unsent.get() > 0).collect();
        holders.sort_unstable_by_key(|(_, entry)| {
            // A trusted proxy has many clients, so its connections come last.
            (entry.client.is_none(), Reverse(share(entry)), Reverse(entry.connection.unsent.get()))
        });
        let mut closing = Vec::new();
        for (key, entry) in holders {
            if held <= goal {
                break;
            }
            held -= entry.connection.unsent.get().min(held);
            closing.push(*key);
        }
        tracing::debug!(
            closed = closing.len(),
            "closing connections whose clients do not read their responses"
        );
        self.close_all(&closing);
        !charged.is_closing()
    }
}

/// Multiplied by [`GUEST_WEIGHT`] for a guest. Connections with the highest value close first. `None` while a request is running.
fn waiting(connection: &Connection, now: Instant) -> Option<Duration> {
    let silent = now.saturating_duration_since(connection.active());
    let weight = if connection.is_signed_in.is_set() { 1 } else { GUEST_WEIGHT };
    (connection.waits_for_client() || silent >= STALLED).then_some(silent * weight)
}

#[cfg(test)]
mod tests;
