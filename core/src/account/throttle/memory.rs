//! The failures of one process, in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::table::{Moment, Table};
use super::{
    CLIENT_BUCKETS, Codes, Failed, Failures, OfCodes, OfPair, Outcome, Pair, Rule, admit, admit_client,
};
use crate::base::clock::Clock;
use crate::base::keyed::OwnMap;
use crate::base::random::random;
use crate::record::error::Result;

/// The failures of pairs, in about 3.5 MB.
type Pairs = Table<Pair, { OfPair::BUCKETS }>;
/// The wrong codes of accounts, in about 0.9 MB.
type Accounts = Table<Codes, { OfCodes::BUCKETS }>;
/// The failures of clients, in about 14.9 MB.
type Clients = Table<Failures, CLIENT_BUCKETS>;
/// The maximum memory of sign-in slowing in bytes, for any number of failures.
pub(super) const BYTES_MAX: usize = Pairs::BYTES_MAX + Accounts::BYTES_MAX + Clients::BYTES_MAX;
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
    pub(super) accounts: Accounts,
    pub(super) clients: Clients,
    /// The number of attempts in progress per pair or account. Their number is at most that of the worker threads.
    pub(super) running: OwnMap<u64, u32>,
}

impl Memory {
    /// Returns memory without failures, which measures time with this clock.
    pub(super) fn new(clock: Clock) -> Self {
        let keys = (u64::from_le_bytes(random()), u64::from_le_bytes(random()));
        let tables = Tables {
            pairs: Table::new(),
            accounts: Table::new(),
            clients: Table::new(),
            running: OwnMap::default(),
        };
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

    /// Begins an attempt. If the client has to wait, `is_known` decides whether it begins nevertheless.
    ///
    /// # Errors
    /// The errors of [`admit`].
    pub(super) fn begin(
        &self,
        pair: Option<u64>,
        client: u64,
        is_known: impl FnOnce() -> Result<bool>,
    ) -> Result<()> {
        let now = self.now();
        let admitted = admit_client(self.lock().clients.get(client, now).as_deref(), now);
        // It may read the database, so the tables are not locked.
        if admitted.is_err() && !is_known()? {
            return admitted;
        }
        let Some(pair) = pair else { return Ok(()) };
        let mut tables = self.lock();
        let Tables { pairs, running, .. } = &mut *tables;
        reserve(pairs, running, pair, now)
    }

    /// Ends an attempt.
    pub(super) fn end(&self, pair: Option<u64>, client: u64, outcome: Outcome) {
        let mut tables = self.lock();
        let now = self.now();
        // While the client waits, only members whom it is a place of get here. Their mistakes do not prolong the wait of others.
        if outcome == Outcome::Failed && admit_client(tables.clients.get(client, now).as_deref(), now).is_ok()
        {
            tables.clients.entry(client, now).add(now);
        }
        let Some(pair) = pair else { return };
        let Tables { pairs, running, .. } = &mut *tables;
        release(pairs, running, pair, outcome, now);
    }

    /// Begins to check a code.
    ///
    /// # Errors
    /// The errors of [`admit`].
    pub(super) fn begin_code(&self, account: u64) -> Result<()> {
        let mut tables = self.lock();
        let Tables { accounts, running, .. } = &mut *tables;
        reserve(accounts, running, account, self.now())
    }

    /// Ends the check of a code.
    pub(super) fn end_code(&self, account: u64, outcome: Outcome) {
        let mut tables = self.lock();
        let Tables { accounts, running, .. } = &mut *tables;
        release(accounts, running, account, outcome, self.now());
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds an attempt to those in progress.
///
/// # Errors
/// The errors of [`admit`].
fn reserve<R: Rule, const BUCKETS: u64>(
    table: &mut Table<Failed<R>, BUCKETS>,
    running: &mut OwnMap<u64, u32>,
    key: u64,
    now: Moment,
) -> Result<()> {
    let count = running.get(&key).copied().unwrap_or_default();
    admit(table.get(key, now).as_deref(), count, now)?;
    *running.entry(key).or_default() += 1;
    Ok(())
}

/// Records the end of an attempt.
fn release<R: Rule, const BUCKETS: u64>(
    table: &mut Table<Failed<R>, BUCKETS>,
    running: &mut OwnMap<u64, u32>,
    key: u64,
    outcome: Outcome,
    now: Moment,
) {
    match outcome {
        Outcome::Failed => table.entry(key, now).record(outcome, now),
        _ => drop(table.get(key, now).map(|failed| failed.record(outcome, now))),
    }
    if let Some(count) = running.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            running.remove(&key);
        }
    }
}
