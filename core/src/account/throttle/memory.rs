//! The failures of one process, in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::table::{Moment, Table};
use super::{CLIENT_BUCKETS, Failures, Outcome, PAIR_BUCKETS, Pair, admit};
use crate::clock::Clock;
use crate::error::Result;
use crate::keyed::OwnMap;
use crate::random::random;

/// The failures of pairs, in about 3.5 MB.
type Pairs = Table<Pair, PAIR_BUCKETS>;
/// The failures of clients, in about 14.9 MB.
type Clients = Table<Failures, CLIENT_BUCKETS>;
/// The maximum memory of sign-in slowing in bytes, for any number of failures.
pub(super) const BYTES_MAX: usize = Pairs::BYTES_MAX + Clients::BYTES_MAX;
const _: () = assert!(BYTES_MAX <= 20_000_000, "the documented bound");

/// The failed sign-ins of a process.
pub(crate) struct Memory {
    clock: Clock,
    /// Random keys of this process, so that attackers cannot choose accounts and clients that share a bucket.
    keys: (u64, u64),
    tables: Mutex<Tables>,
}

/// The tables, and the attempts in progress.
pub(super) struct Tables {
    pub(super) pairs: Pairs,
    pub(super) clients: Clients,
    /// The number of attempts in progress per pair. Their number is at most that of the worker threads.
    pub(super) running: OwnMap<u64, u32>,
}

impl Memory {
    /// Returns memory without failures, which measures time with this clock.
    pub(super) fn new(clock: Clock) -> Self {
        let keys = (u64::from_le_bytes(random()), u64::from_le_bytes(random()));
        let tables = Tables { pairs: Table::new(), clients: Table::new(), running: OwnMap::default() };
        Self { clock, keys, tables: Mutex::new(tables) }
    }

    /// Returns the keys of the hashes.
    pub(super) fn keys(&self) -> (u64, u64) {
        self.keys
    }

    /// Returns the current time.
    pub(super) fn now(&self) -> Moment {
        self.clock.monotonic().as_millis()
    }

    /// Begins an attempt.
    ///
    /// # Errors
    /// The errors of [`admit`].
    pub(super) fn begin(&self, pair: Option<u64>, client: u64) -> Result<()> {
        let mut tables = self.lock();
        let (tables, now) = (&mut *tables, self.now());
        let running = pair.map(|pair| tables.running.entry(pair).or_default());
        let count = running.as_deref().copied().unwrap_or_default();
        let known = pair.and_then(|pair| tables.pairs.get(pair, now));
        let admitted = admit(tables.clients.get(client, now).as_deref(), known.as_deref(), count, now);
        match (admitted.is_ok(), running) {
            (true, Some(running)) => *running += 1,
            (false, Some(0)) => drop(pair.and_then(|pair| tables.running.remove(&pair))),
            _ => {}
        }
        admitted
    }

    /// Ends an attempt.
    pub(super) fn end(&self, pair: Option<u64>, client: u64, outcome: Outcome) {
        let mut tables = self.lock();
        let now = self.now();
        if outcome == Outcome::Failed {
            tables.clients.entry(client, now).add(now);
        }
        let Some(pair) = pair else { return };
        match outcome {
            Outcome::Failed => tables.pairs.entry(pair, now).record(outcome, now),
            _ => drop(tables.pairs.get(pair, now).map(|pair| pair.record(outcome, now))),
        }
        if let Some(running) = tables.running.get_mut(&pair) {
            *running -= 1;
            if *running == 0 {
                tables.running.remove(&pair);
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
