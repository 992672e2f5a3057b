//! Sign-in slowing: failures are counted per account and client, per client, and, for wrong codes of a second factor, per account;
//! in memory ([`Memory`]), by the monotonic clock, or in a table that all servers share ([`Rows`]). An attempt is reserved before
//! its password is hashed, so that parallel attempts, also at several servers, begin as if they had arrived one by one.

use std::collections::VecDeque;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use siphasher::sip::SipHasher24;

use crate::base::client::Client;
use crate::base::clock::{Clock, SECOND_MS};
use crate::base::random::random;
use crate::record::error::{Error, Result};
use crate::record::id::MemberKey;
use crate::store::{Isolation, Store, StoreError};
use tables::{Memory, Rows};

mod tables;
#[cfg(test)]
mod tests;

pub(crate) use tables::prune;

/// Milliseconds of the clock that all users of the failures share.
type Millis = i64;

/// After its last failure, a pair or an account is forgotten.
const FORGET_MS: i64 = 24 * 60 * 60 * SECOND_MS;
/// Over all accounts, within [`CLIENT_WINDOW_MS`]; then a client may not sign in.
const CLIENT_FAILURES: usize = 50;
const CLIENT_WINDOW_MS: i64 = 15 * 60 * SECOND_MS;
/// Longer than any attempt takes: the reservation of an attempt whose server died expires after this time.
const RESERVED_MS: i64 = 60 * SECOND_MS;
/// More failures than this change nothing: the wait reached its maximum long before.
const COUNT_MAX: u32 = 255;

/// The shared table stores these numbers, which must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Client = 0,
    Pair = 1,
    /// The codes of an account, whatever the client.
    Codes = 2,
}

/// Each failure that is not free doubles the wait.
struct Waits {
    free_failures: u32,
    first_ms: i64,
    max_ms: i64,
}

impl Kind {
    const fn waits(self) -> Waits {
        match self {
            // A client waits for its oldest failure to be forgotten.
            Self::Client => Waits { free_failures: COUNT_MAX, first_ms: 0, max_ms: CLIENT_WINDOW_MS },
            Self::Pair => Waits { free_failures: 5, first_ms: SECOND_MS, max_ms: 30 * SECOND_MS },
            // With one attempt an hour, a guesser who knows the password needs 26 years for an even chance.
            Self::Codes => Waits { free_failures: 10, first_ms: 60 * SECOND_MS, max_ms: 60 * 60 * SECOND_MS },
        }
    }
}

/// The hash is keyed, and its size does not depend on the length of an id.
#[derive(Clone, Copy, Debug)]
struct Key {
    kind: Kind,
    hash: u64,
}

impl Key {
    fn new(kind: Kind, keys: (u64, u64), add: impl FnOnce(&mut SipHasher24)) -> Self {
        let mut hasher = SipHasher24::new_with_keys(keys.0, keys.1);
        add(&mut hasher);
        Self { kind, hash: hasher.finish() }
    }
}

#[derive(Clone, Debug)]
struct Failures {
    kind: Kind,
    count: u32,
    last_at: Millis,
    /// Oldest first, at most [`CLIENT_FAILURES`].
    times: VecDeque<Millis>,
    running: u32,
    reserved_until: Millis,
}

impl Failures {
    const fn new(kind: Kind) -> Self {
        Self { kind, count: 0, last_at: 0, times: VecDeque::new(), running: 0, reserved_until: 0 }
    }

    /// Forgets failures that no longer count. Times after `now` become `now`: the clock was set back.
    fn refresh(&mut self, now: Millis) {
        self.last_at = self.last_at.min(now);
        self.reserved_until = self.reserved_until.min(now + RESERVED_MS);
        if now >= self.reserved_until {
            self.running = 0;
        }
        self.times.iter_mut().for_each(|time| *time = (*time).min(now));
        while self.times.front().is_some_and(|time| now - time >= CLIENT_WINDOW_MS) {
            self.times.pop_front();
            self.count = self.count.saturating_sub(1);
        }
        if now - self.last_at > FORGET_MS {
            self.count = 0;
        }
    }

    const fn is_empty(&self) -> bool {
        self.count == 0 && self.running == 0
    }

    /// The failures with the lowest priority are removed first when there are too many.
    const fn priority(&self) -> (bool, u32, Millis) {
        (self.running > 0, self.count, self.last_at)
    }

    /// 0 or less if the next attempt may begin now.
    fn wait_ms(&self, now: Millis) -> i64 {
        if let Some(oldest) = self.times.front()
            && self.times.len() == CLIENT_FAILURES
        {
            return oldest + CLIENT_WINDOW_MS - now;
        }
        let Waits { free_failures, first_ms, max_ms } = self.kind.waits();
        match self.count.saturating_sub(free_failures) {
            0 => 0,
            slowed => self.last_at + (first_ms << (slowed - 1).min(16)).min(max_ms) - now,
        }
    }

    /// Attempts in progress count as failures.
    fn admit(&self, now: Millis) -> Result<()> {
        let Waits { free_failures, max_ms, .. } = self.kind.waits();
        let is_taken = self.running > 0 && self.count + self.running >= free_failures;
        let wait_ms = self.wait_ms(now).max(if is_taken { SECOND_MS } else { 0 });
        if wait_ms <= 0 {
            return Ok(());
        }
        // No wait is longer than the longest, even if the clock is wrong.
        let seconds = u64::try_from(wait_ms.min(max_ms)).unwrap_or_default().div_ceil(1_000);
        Err(Error::TooManyRequests { retry_after_s: seconds.max(1) })
    }

    const fn reserve(&mut self, now: Millis) {
        self.running += 1;
        self.reserved_until = now + RESERVED_MS;
    }

    fn end(&mut self, outcome: Outcome, now: Millis) {
        self.running = self.running.saturating_sub(1);
        match outcome {
            Outcome::Failed => {
                if self.kind == Kind::Client {
                    self.times.push_back(now);
                }
                self.count = (self.count + 1).min(COUNT_MAX);
                self.last_at = now;
            }
            Outcome::Succeeded => self.count = 0,
            Outcome::Unknown => {}
        }
    }
}

trait Table {
    /// Returns only failures that count at `now`.
    fn get(&mut self, key: Key, now: Millis) -> Result<Failures, StoreError>;

    fn put(&mut self, key: Key, failures: Failures) -> Result<(), StoreError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The password or the code was wrong, or the account does not exist.
    Failed,
    Succeeded,
    /// The attempt counts neither as a failure nor as a success.
    Unknown,
}

pub(crate) struct Throttle {
    clock: Clock,
    /// The keys of the hashes, so that attackers cannot choose accounts and clients with the same hash.
    keys: OnceLock<(u64, u64)>,
    place: Place,
}

enum Place {
    Memory(Mutex<Memory>),
    Database(Arc<Store>),
}

impl Throttle {
    pub(crate) fn new(store: &Arc<Store>, clock: Clock) -> Self {
        if store.is_on_server() {
            Self { clock, keys: OnceLock::new(), place: Place::Database(Arc::clone(store)) }
        } else {
            Self::in_memory(clock)
        }
    }

    fn in_memory(clock: Clock) -> Self {
        let keys = (u64::from_le_bytes(random()), u64::from_le_bytes(random()));
        Self { clock, keys: keys.into(), place: Place::Memory(Mutex::default()) }
    }

    /// The case of `id` does not matter. It is `None` for an id that no account can have: a failure then counts for the client
    /// only. If the client has to wait, the attempt begins nevertheless if `is_known` returns that the account recently signed in
    /// from it.
    pub(crate) fn begin(
        &self,
        id: Option<&str>,
        client: Client,
        is_known: impl FnOnce() -> Result<bool>,
    ) -> Result<Attempt<'_>> {
        let (keys, now) = (self.keys()?, self.now());
        let pair = |id: &str| {
            Key::new(Kind::Pair, keys, |hasher| {
                client.hash(hasher);
                hasher.write(id.to_ascii_lowercase().as_bytes());
            })
        };
        let pair = id.map(pair);
        let client = Key::new(Kind::Client, keys, |hasher| client.hash(hasher));
        // Rejected here, so that a flood of attempts writes nothing.
        let admit = |table: &mut dyn Table, key: Key| Ok::<_, Error>(table.get(key, now)?.admit(now));
        let (of_client, of_pair) =
            self.read(|table| Ok((admit(table, client)?, pair.map(|pair| admit(table, pair)).transpose()?)))?;
        // It may read the database, so the memory is not locked.
        if of_client.is_err() && !is_known()? {
            of_client?;
        }
        if let (Some(pair), Some(of_pair)) = (pair, of_pair) {
            of_pair?;
            self.reserve(pair, now)?;
        }
        Ok(Attempt { throttle: self, client: Some(client), account: pair, outcome: Outcome::Unknown })
    }

    pub(crate) fn begin_code(&self, member: MemberKey) -> Result<Attempt<'_>> {
        let codes = Key::new(Kind::Codes, self.keys()?, |hasher| hasher.write_i64(member.as_i64()));
        let now = self.now();
        self.read(|table| table.get(codes, now)?.admit(now))?;
        self.reserve(codes, now)?;
        Ok(Attempt { throttle: self, client: None, account: Some(codes), outcome: Outcome::Unknown })
    }

    fn reserve(&self, key: Key, now: Millis) -> Result<()> {
        self.write(move |table| {
            let mut failures = table.get(key, now)?;
            failures.admit(now)?;
            failures.reserve(now);
            Ok(table.put(key, failures)?)
        })
    }

    /// Returns when other servers can see the outcome.
    fn end(&self, client: Option<Key>, account: Option<Key>, outcome: Outcome) {
        let now = self.now();
        let client = client.filter(|_| outcome == Outcome::Failed);
        let ended = self.write(move |table| {
            if let Some(key) = client {
                let mut failures = table.get(key, now)?;
                // While the client waits, only members who recently signed in from it get here. Their mistakes do not prolong the
                // wait of others.
                if failures.admit(now).is_ok() {
                    failures.end(outcome, now);
                    table.put(key, failures)?;
                }
            }
            if let Some(key) = account {
                let mut failures = table.get(key, now)?;
                failures.end(outcome, now);
                table.put(key, failures)?;
            }
            Ok(())
        });
        if let Err(error) = ended {
            // The reservation counts as a failure until it expires.
            tracing::warn!(cause = error.to_string(), "the end of a sign-in could not be recorded");
        }
    }

    fn read<T>(&self, read: impl FnOnce(&mut dyn Table) -> Result<T>) -> Result<T> {
        match &self.place {
            Place::Memory(memory) => read(&mut *memory.lock().unwrap_or_else(PoisonError::into_inner)),
            Place::Database(store) => store.read(|tx| read(&mut Rows(tx))),
        }
    }

    fn write(&self, change: impl Fn(&mut dyn Table) -> Result<()> + Send + 'static) -> Result<()> {
        match &self.place {
            Place::Memory(_) => self.read(change),
            Place::Database(store) => store.write(Isolation::Alone, move |tx| change(&mut Rows(tx))),
        }
    }

    fn now(&self) -> Millis {
        match &self.place {
            Place::Memory(_) => self.clock.monotonic().as_millis(),
            Place::Database(_) => self.clock.now().as_millis(),
        }
    }

    /// All servers of a database have the same keys.
    fn keys(&self) -> Result<(u64, u64)> {
        match (self.keys.get(), &self.place) {
            (None, Place::Database(store)) => {
                let keys = store.read(tables::keys)?;
                Ok(*self.keys.get_or_init(|| keys))
            }
            (keys, _) => Ok(*keys.expect("memory has keys")),
        }
    }
}

/// If it is dropped without a result, it counts neither as a failure nor as a success.
pub(crate) struct Attempt<'t> {
    throttle: &'t Throttle,
    /// `None` for an attempt with a code.
    client: Option<Key>,
    /// The pair or the codes.
    account: Option<Key>,
    outcome: Outcome,
}

impl Attempt<'_> {
    pub(crate) fn failed(mut self) {
        self.outcome = Outcome::Failed;
    }

    /// Also removes the failures of the pair, or, for a code, those of the account.
    pub(crate) fn succeeded(mut self) {
        self.outcome = Outcome::Succeeded;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.throttle.end(self.client, self.account, self.outcome);
    }
}
