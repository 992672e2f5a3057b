//! Limits the number of open connections, and chooses the connections to close when a new one needs room.
//!
//! A new connection seldom waits: when all permits are taken, the server closes connections of the network that has
//! the most, starting with the connections that have waited longest for their client. Opening and closing a
//! connection acquires the lock; a request acquires it only when the memory for responses is used up.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::config::Config;
use crate::connection::state::{Connection, StreamState};
use crate::connection::unsent::{Charge, UnsentBytes};

mod bounds;

use bounds::{Bounds, Groups};

/// After this time without progress, the connection of a running request may be closed for another connection.
const STALLED: Duration = Duration::from_secs(10);
/// The pause after a search that found no connection to close.
pub(crate) const REST: Duration = Duration::from_millis(5);
/// The weight of the time that a guest's connection has been idle, relative to a member's. If guests' connections always closed
/// first, a guest who has just connected would lose the connection to idle members.
const GUEST_WEIGHT: u32 = 8;
/// Bytes of responses that a connection may hold while the server frees memory.
const SMALL: usize = 256 * 1024;
/// One in `BATCH` connections closes at a time, so that a flood does not scan all connections for each new one.
const BATCH: usize = 100;

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
    /// When a search of all connections last found none to close.
    none_of_all: Option<Instant>,
    /// When a search of one address or network last found none to close.
    none_of_share: Option<Instant>,
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

/// Returned when it is dropped.
pub(crate) struct ConnectionPermit {
    connections: Arc<Connections>,
    key: u64,
    pub(crate) connection: Arc<Connection>,
    /// Few permits are left, so the first request has to arrive soon.
    pub(crate) is_scarce: bool,
}

impl ConnectionPermit {
    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.connections.entries().remove(self.key);
        self.connections.closed.notify_one();
    }
}

impl Connections {
    /// `total` is the maximum number of connections; the other limits are those of `config`.
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

    #[cfg(test)]
    pub(crate) fn unsent(&self) -> &Arc<UnsentBytes> {
        &self.unsent
    }

    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Closes idle connections for the new one if necessary. Fails if no permit is free and no connection can be closed.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<ConnectionPermit, Refused> {
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
        let is_scarce = entries.open.len() >= bounds.relaxed;
        if is_scarce && !entries.close_idle(batch) && entries.open.len() >= bounds.total {
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
        let charge = self.unsent.charge(connection, bytes, stream);
        let has_room = self.unsent.held() <= self.unsent_limit
            || self.entries().free_memory(self.unsent_limit, connection, Instant::now());
        has_room.then_some(charge)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // No code panics while it holds the lock.
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

    /// The permits are available immediately.
    fn close_all(&mut self, keys: &[u64]) {
        for key in keys {
            if let Some(entry) = self.remove(*key) {
                entry.connection.close();
            }
        }
    }

    /// Closes idle connections of the network that has the most. Returns whether there were any.
    fn close_idle(&mut self, batch: usize) -> bool {
        let now = Instant::now();
        let may_look = self.none_of_all.is_none_or(|then| now >= then + REST);
        let found = may_look && self.close_longest_idle(batch, now, |_| true);
        if may_look && !found {
            self.none_of_all = Some(now);
        }
        found
    }

    /// Closes idle connections of one address or network. Returns whether there were any.
    fn close_idle_of(&mut self, batch: usize, is_of: impl Fn(Groups) -> bool) -> bool {
        let now = Instant::now();
        let may_look = self.none_of_share.is_none_or(|then| now >= then + REST);
        let found = may_look && self.close_longest_idle(batch, now, |client| client.is_some_and(&is_of));
        if may_look && !found {
            self.none_of_share = Some(now);
        }
        found
    }

    /// Closes at least one and at most `batch` connections of the largest network: those that have waited longest for their
    /// client. Returns whether there was one.
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
            return charged.unsent() <= SMALL;
        }
        self.freed = Some(now);
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
            // A trusted proxy has many clients, so its connections come last.
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
mod tests;
