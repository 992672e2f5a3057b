//! Sign-in slowing: a client that guesses passwords has to wait between attempts; other clients do not.
//!
//! Failures are counted per pair of account and client, and per client, under keyed hashes and in a fixed number of
//! buckets, so that their size depends neither on the length of ids nor on the number of clients. They are in the memory
//! of the process ([`Memory`]), where waits are measured with the monotonic clock: setting the date neither ends nor
//! prolongs them. On a database server, all servers of the service share them in a table ([`Shared`]), and the clock is
//! that of the primary. The rule is the same.

use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use memory::Memory;
use shared::Shared;
use siphasher::sip::SipHasher24;
use table::{Moment, State, Worth};

use crate::client::Client;
use crate::clock::{Clock, SECOND_MS};
use crate::error::{Error, Result};
use crate::store::Store;

mod memory;
mod shared;
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

/// The number of buckets of pairs: 131,072 pairs.
const PAIR_BUCKETS: u64 = 16_384;
/// The number of buckets of clients: 65,536 clients.
const CLIENT_BUCKETS: u64 = 8_192;

/// The failures of an account from a client.
#[derive(Clone, Copy, Default)]
struct Pair {
    failed_at: Moment,
    /// The number of failures, at most 255: long before that, the wait has reached its maximum.
    failures: u8,
}

impl Pair {
    /// Returns the milliseconds until the next attempt may begin; 0 or less if it may begin now.
    fn waits(&self, now: Moment) -> i64 {
        let further = u32::from(self.failures).saturating_sub(FREE_FAILURES);
        let seconds = further.checked_sub(1).map_or(0, |doublings| (1 << doublings.min(5)).min(WAIT_MAX_S));
        self.failed_at + seconds * SECOND_MS - now
    }
}

impl State for Pair {
    fn worth(&self, now: Moment) -> Option<Worth> {
        let counts = self.failures > 0 && now - self.failed_at <= FORGET_MS;
        counts.then(|| (self.waits(now) > 0, self.failures, self.failed_at))
    }
}

/// The times of a client's last [`CLIENT_FAILURES`] failures within [`CLIENT_WINDOW_MS`].
struct Failures {
    last: Moment,
    /// The low 32 bits of each time in milliseconds, in a ring. They suffice: failures count for 15 minutes, and 32
    /// bits overflow after 49 days.
    times: [u32; CLIENT_FAILURES as usize],
    oldest: u8,
    count: u8,
}

impl Default for Failures {
    fn default() -> Self {
        Self { last: 0, times: [0; CLIENT_FAILURES as usize], oldest: 0, count: 0 }
    }
}

impl Failures {
    /// Returns the age of the oldest failure, in milliseconds.
    fn age(&self, now: Moment) -> i64 {
        i64::from(low_half(now).wrapping_sub(self.times[usize::from(self.oldest)]))
    }

    fn forget_oldest(&mut self) {
        self.oldest = (self.oldest + 1) % CLIENT_FAILURES;
        self.count -= 1;
    }

    fn forget_old(&mut self, now: Moment) {
        while self.count > 0 && self.age(now) >= CLIENT_WINDOW_MS {
            self.forget_oldest();
        }
    }

    fn add(&mut self, now: Moment) {
        self.forget_old(now);
        if self.count == CLIENT_FAILURES {
            self.forget_oldest();
        }
        self.times[usize::from((self.oldest + self.count) % CLIENT_FAILURES)] = low_half(now);
        self.count += 1;
        self.last = now;
    }

    /// Returns the milliseconds until the client may sign in again; 0 or less if it may now.
    fn waits(&self, now: Moment) -> i64 {
        if self.count == CLIENT_FAILURES { CLIENT_WINDOW_MS - self.age(now) } else { 0 }
    }
}

impl State for Failures {
    fn worth(&self, now: Moment) -> Option<Worth> {
        let counts = self.count > 0 && now - self.last < CLIENT_WINDOW_MS;
        counts.then(|| (self.waits(now) > 0, self.count, self.last))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "only the low 32 bits are needed"
)]
const fn low_half(time: Moment) -> u32 {
    time as u32
}

/// Decides whether an attempt may begin, of a client with `failures`, and with those of the pair and the number of its
/// attempts in progress.
///
/// Attempts in progress count as failures until they end, because otherwise many simultaneous attempts could begin before
/// the first one fails.
///
/// # Errors
/// `too many requests` while the pair or the client has to wait.
fn admit(failures: Option<&Failures>, pair: Option<&Pair>, running: u32, now: Moment) -> Result<()> {
    let of_client = failures.map_or(0, |failures| failures.waits(now));
    if of_client > 0 {
        return Err(wait(of_client));
    }
    let (of_pair, failed) = pair.map_or((0, 0), |pair| (pair.waits(now), pair.failures.into()));
    if of_pair > 0 {
        return Err(wait(of_pair));
    }
    if running > 0 && failed + running >= FREE_FAILURES { Err(wait(SECOND_MS)) } else { Ok(()) }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The password was wrong, or the account does not exist.
    Failed,
    /// The password was right.
    Succeeded,
    /// The attempt counts neither as a failure nor as a success.
    Unknown,
}

impl Pair {
    /// Records the end of an attempt.
    fn record(&mut self, outcome: Outcome, now: Moment) {
        match outcome {
            Outcome::Failed => *self = Self { failed_at: now, failures: self.failures.saturating_add(1) },
            Outcome::Succeeded => *self = Self::default(),
            Outcome::Unknown => {}
        }
    }
}

/// The failed sign-ins of all accounts and clients.
pub(crate) enum Throttle {
    /// Those of this process.
    Memory(Box<Memory>),
    /// Those of all servers of the database.
    Shared(Shared),
}

impl Throttle {
    /// Returns the failures of a database: those that its servers share, or none yet.
    pub(crate) fn new(store: &Arc<Store>, clock: Clock) -> Self {
        if store.is_on_server() {
            Self::Shared(Shared::new(Arc::clone(store), clock))
        } else {
            Self::Memory(Box::new(Memory::new(clock)))
        }
    }

    /// Begins an attempt of `client` to sign in to the account `id`; case does not matter. `None` stands for an id
    /// that no account can have: a failure counts for the client only.
    ///
    /// # Errors
    /// `too many requests` while the pair or the client has to wait; an error of the store.
    pub(crate) fn begin(&self, id: Option<&str>, client: Client) -> Result<Attempt<'_>> {
        let keys = match self {
            Self::Memory(memory) => memory.keys(),
            Self::Shared(shared) => shared.keys()?,
        };
        let (pair, client) = (id.map(|id| key_of(keys, Some(id), client)), key_of(keys, None, client));
        match self {
            Self::Memory(memory) => memory.begin(pair, client)?,
            Self::Shared(shared) => shared.begin(pair, client)?,
        }
        Ok(Attempt { throttle: self, pair, client, outcome: Outcome::Unknown })
    }
}

/// Returns the hash of a pair, or that of a client if `id` is `None`.
fn key_of(keys: (u64, u64), id: Option<&str>, client: Client) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(keys.0, keys.1);
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
    outcome: Outcome,
}

impl Attempt<'_> {
    /// Records a failure: the password was wrong, or the account does not exist.
    pub(crate) fn failed(mut self) {
        self.outcome = Outcome::Failed;
    }

    /// Records a success and removes the failures of the pair.
    pub(crate) fn succeeded(mut self) {
        self.outcome = Outcome::Succeeded;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        match self.throttle {
            Throttle::Memory(memory) => memory.end(self.pair, self.client, self.outcome),
            Throttle::Shared(shared) => shared.end(self.pair, self.client, self.outcome),
        }
    }
}
