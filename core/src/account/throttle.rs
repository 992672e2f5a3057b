//! Sign-in slowing: a client that guesses passwords has to wait between attempts; other clients do not.
//!
//! Failures are counted per pair of account and client, and per client. The counts are in memory of a fixed size
//! ([`Table`]) under keyed hashes, so that memory use depends neither on the length of ids nor on the number of
//! clients. Waits are measured with the monotonic clock: setting the date neither ends nor prolongs them.

use std::hash::{Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use siphasher::sip::SipHasher24;
use table::{State, Table, Worth};

use crate::client::Client;
use crate::clock::{Clock, Monotonic, SECOND_MS};
use crate::error::{Error, Result};
use crate::id::random;
use crate::keyed::OwnMap;

mod table;
#[cfg(test)]
mod tests;

/// The number of failures of a pair that are not slowed.
const FREE_FAILURES: u32 = 5;
/// The maximum wait of a pair, in seconds.
const WAIT_MAX_S: i64 = 30;
/// The time after its last failure at which a pair is forgotten, in milliseconds.
const FORGET_MS: i64 = 24 * 60 * 60 * SECOND_MS;
/// The number of failures, over all accounts, within [`CLIENT_WINDOW_MS`] after which a client may not sign in.
const CLIENT_FAILURES: u8 = 50;
/// The time for which a client's failures count, in milliseconds.
const CLIENT_WINDOW_MS: i64 = 15 * 60 * SECOND_MS;

/// The failures of up to 131,072 pairs, in about 3.5 MB.
type Pairs = Table<Pair, 16_384>;
/// The failures of up to 65,536 clients, in about 14.9 MB.
type Clients = Table<Failures, 8_192>;
/// The maximum memory of sign-in slowing in bytes, for any number of failures.
pub(crate) const BYTES_MAX: usize = Pairs::BYTES_MAX + Clients::BYTES_MAX;
const _: () = assert!(BYTES_MAX <= 20_000_000, "the documented bound");

/// The failures of an account from a client.
#[derive(Default)]
struct Pair {
    failed_at: Monotonic,
    /// The number of failures, at most 255: long before that, the wait has reached its maximum.
    failures: u8,
}

impl Pair {
    /// Returns the milliseconds until the next attempt may begin; 0 or less if it may begin now.
    fn waits(&self, now: Monotonic) -> i64 {
        let further = u32::from(self.failures).saturating_sub(FREE_FAILURES);
        let seconds = further.checked_sub(1).map_or(0, |doublings| (1 << doublings.min(5)).min(WAIT_MAX_S));
        self.failed_at + seconds * SECOND_MS - now
    }
}

impl State for Pair {
    fn worth(&self, now: Monotonic) -> Option<Worth> {
        let counts = self.failures > 0 && now - self.failed_at <= FORGET_MS;
        counts.then(|| (self.waits(now) > 0, self.failures, self.failed_at))
    }
}

/// The times of a client's last [`CLIENT_FAILURES`] failures within [`CLIENT_WINDOW_MS`].
struct Failures {
    last: Monotonic,
    /// The low 32 bits of each time in milliseconds, in a ring. They suffice: failures count for 15 minutes, and 32
    /// bits overflow after 49 days.
    times: [u32; CLIENT_FAILURES as usize],
    oldest: u8,
    count: u8,
}

impl Default for Failures {
    fn default() -> Self {
        Self { last: Monotonic::default(), times: [0; CLIENT_FAILURES as usize], oldest: 0, count: 0 }
    }
}

impl Failures {
    /// Returns the age of the oldest failure, in milliseconds.
    fn age(&self, now: Monotonic) -> i64 {
        i64::from(low_half(now).wrapping_sub(self.times[usize::from(self.oldest)]))
    }

    fn forget_oldest(&mut self) {
        self.oldest = (self.oldest + 1) % CLIENT_FAILURES;
        self.count -= 1;
    }

    fn forget_old(&mut self, now: Monotonic) {
        while self.count > 0 && self.age(now) >= CLIENT_WINDOW_MS {
            self.forget_oldest();
        }
    }

    fn add(&mut self, now: Monotonic) {
        self.forget_old(now);
        if self.count == CLIENT_FAILURES {
            self.forget_oldest();
        }
        self.times[usize::from((self.oldest + self.count) % CLIENT_FAILURES)] = low_half(now);
        self.count += 1;
        self.last = now;
    }

    /// Returns the milliseconds until the client may sign in again; 0 or less if it may now.
    fn waits(&self, now: Monotonic) -> i64 {
        if self.count == CLIENT_FAILURES { CLIENT_WINDOW_MS - self.age(now) } else { 0 }
    }
}

impl State for Failures {
    fn worth(&self, now: Monotonic) -> Option<Worth> {
        let counts = self.count > 0 && now - self.last < CLIENT_WINDOW_MS;
        counts.then(|| (self.waits(now) > 0, self.count, self.last))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "only the low 32 bits are needed"
)]
const fn low_half(time: Monotonic) -> u32 {
    time.as_millis() as u32
}

/// The failed sign-ins of all accounts and clients.
pub(crate) struct Throttle {
    clock: Clock,
    /// Random keys of this process, so that attackers cannot choose accounts and clients that share a bucket.
    keys: (u64, u64),
    memory: Mutex<Memory>,
}

struct Memory {
    pairs: Pairs,
    clients: Clients,
    /// The number of attempts in progress per pair. They count as failures until they end, because otherwise many
    /// simultaneous attempts could begin before the first one fails. Their number is at most that of the worker
    /// threads.
    running: OwnMap<u64, u32>,
}

impl Throttle {
    /// Returns a throttle without failures that measures time with this clock.
    pub(crate) fn new(clock: Clock) -> Self {
        let keys = (u64::from_le_bytes(random()), u64::from_le_bytes(random()));
        let memory = Memory { pairs: Table::new(), clients: Table::new(), running: OwnMap::default() };
        Self { clock, keys, memory: Mutex::new(memory) }
    }

    /// Begins an attempt of `client` to sign in to the account `id`; case does not matter. `None` stands for an id
    /// that no account can have: a failure counts for the client only.
    ///
    /// # Errors
    /// `too many requests` while the pair or the client has to wait.
    pub(crate) fn begin(&self, id: Option<&str>, client: Client) -> Result<Attempt<'_>> {
        let (pair, client) = (id.map(|id| self.key_of(Some(id), client)), self.key_of(None, client));
        let mut memory = self.lock();
        let now = self.clock.monotonic();
        let waits = memory.clients.get(client, now).map_or(0, |failures| failures.waits(now));
        if waits > 0 {
            return Err(wait(waits));
        }
        if let Some(pair) = pair {
            let known = memory.pairs.get(pair, now);
            let (waits, failures) = known.map_or((0, 0), |pair| (pair.waits(now), pair.failures.into()));
            if waits > 0 {
                return Err(wait(waits));
            }
            let running = memory.running.entry(pair).or_default();
            if *running > 0 && failures + *running >= FREE_FAILURES {
                return Err(wait(SECOND_MS));
            }
            *running += 1;
        }
        Ok(Attempt { throttle: self, pair, client })
    }

    /// Returns the key of a pair in the table, or that of a client if `id` is `None`.
    fn key_of(&self, id: Option<&str>, client: Client) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.keys.0, self.keys.1);
        client.hash(&mut hasher);
        for part in id.unwrap_or_default().as_bytes().chunks(64) {
            let mut folded = [0; 64];
            let folded = &mut folded[..part.len()];
            folded.copy_from_slice(part);
            folded.make_ascii_lowercase();
            hasher.write(folded);
        }
        hasher.write_u8(id.is_some().into());
        hasher.finish()
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait(ms: i64) -> Error {
    // No wait is longer than documented, even if the clock is wrong.
    let seconds = u64::try_from(ms.min(CLIENT_WINDOW_MS)).unwrap_or_default().div_ceil(1_000);
    Error::TooManyRequests { retry_after_s: seconds.max(1) }
}

/// An attempt to sign in that is in progress. If it is dropped without a result, it counts neither as a failure nor
/// as a success.
pub(crate) struct Attempt<'t> {
    throttle: &'t Throttle,
    pair: Option<u64>,
    client: u64,
}

impl Attempt<'_> {
    /// Records a failure: the password was wrong, or the account does not exist.
    pub(crate) fn failed(self) {
        let mut memory = self.throttle.lock();
        let now = self.throttle.clock.monotonic();
        memory.clients.entry(self.client, now).add(now);
        if let Some(pair) = self.pair {
            let pair = memory.pairs.entry(pair, now);
            pair.failures = pair.failures.saturating_add(1);
            pair.failed_at = now;
        }
    }

    /// Records a success and removes the failures of the pair.
    pub(crate) fn succeeded(self) {
        let mut memory = self.throttle.lock();
        let now = self.throttle.clock.monotonic();
        if let Some(pair) = self.pair.and_then(|pair| memory.pairs.get(pair, now)) {
            *pair = Pair::default();
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let Some(pair) = self.pair else { return };
        let mut memory = self.throttle.lock();
        if let Some(running) = memory.running.get_mut(&pair) {
            *running -= 1;
            if *running == 0 {
                memory.running.remove(&pair);
            }
        }
    }
}
