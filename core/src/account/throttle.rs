//! Sign-in slowing: a client that guesses passwords has to wait between attempts; other clients do not.
//!
//! Failures are counted per pair of account and client, and per client; wrong codes of a second factor, which only a caller
//! who knows the password can give, also per account. They are stored under keyed hashes and in a fixed number of
//! buckets, so that their size depends neither on the length of ids nor on the number of clients. They are in the memory
//! of the process ([`Memory`]), where waits are measured with the monotonic clock: setting the date neither ends nor
//! prolongs them. On a database server, all servers of the service share them in a table ([`Shared`]), and the clock is
//! that of the primary. The rule is the same.

use std::hash::{Hash as _, Hasher as _};
use std::marker::PhantomData;
use std::sync::Arc;

use memory::Memory;
use shared::Shared;
use siphasher::sip::SipHasher24;
use table::{Moment, State, Worth};

use crate::base::client::Client;
use crate::base::clock::{Clock, SECOND_MS};
use crate::record::error::{Error, Result};
use crate::record::id::MemberKey;
use crate::store::Store;

mod memory;
mod shared;
mod table;
#[cfg(test)]
mod tests;

/// The time after its last failure at which a pair or an account is forgotten, in milliseconds.
const FORGET_MS: i64 = 24 * 60 * 60 * SECOND_MS;
/// The number of failures, over all accounts, within [`CLIENT_WINDOW_MS`] after which a client may not sign in.
const CLIENT_FAILURES: u8 = 50;
/// The time for which a client's failures count, in milliseconds.
const CLIENT_WINDOW_MS: i64 = 15 * 60 * SECOND_MS;
/// The number of buckets of clients: 65,536 clients.
const CLIENT_BUCKETS: u64 = 8_192;

/// The waits after failures. Each failure that is not free doubles the wait.
trait Rule: Default {
    /// The number of failures that are not slowed.
    const FREE_FAILURES: u32;
    /// The first wait, in milliseconds.
    const WAIT_MS: i64;
    /// The maximum wait, in milliseconds.
    const WAIT_MAX_MS: i64;
    /// The number of buckets of 8 entries.
    const BUCKETS: u64;
    /// The number of the kind in the shared table, which must not change.
    const KIND: i64;
}

/// The waits of a client for an account.
#[derive(Clone, Copy, Default)]
struct OfPair;

impl Rule for OfPair {
    const FREE_FAILURES: u32 = 5;
    const WAIT_MS: i64 = SECOND_MS;
    const WAIT_MAX_MS: i64 = 30 * SECOND_MS;
    const BUCKETS: u64 = 16_384;
    const KIND: i64 = 1;
}

/// The waits of an account for codes of its second factor. With one attempt an hour, a guesser who knows the password needs 26
/// years for an even chance.
#[derive(Clone, Copy, Default)]
struct OfCodes;

impl Rule for OfCodes {
    const FREE_FAILURES: u32 = 10;
    const WAIT_MS: i64 = 60 * SECOND_MS;
    const WAIT_MAX_MS: i64 = 60 * 60 * SECOND_MS;
    const BUCKETS: u64 = 4_096;
    const KIND: i64 = 2;
}

/// The failures of an account from a client.
type Pair = Failed<OfPair>;
/// The wrong codes of an account.
type Codes = Failed<OfCodes>;

/// Failures, after which the next attempts wait.
#[derive(Clone, Copy, Default)]
struct Failed<R> {
    last_at: Moment,
    /// The number of failures, at most 255: long before that, the wait has reached its maximum.
    failures: u8,
    rule: PhantomData<R>,
}

impl<R: Rule> Failed<R> {
    /// Returns the milliseconds until the next attempt may begin; 0 or less if it may begin now.
    fn waits(&self, now: Moment) -> i64 {
        let further = u32::from(self.failures).saturating_sub(R::FREE_FAILURES);
        let doublings = further.checked_sub(1).map(|doublings| doublings.min(16));
        let wait_ms = doublings.map_or(0, |doublings| (R::WAIT_MS << doublings).min(R::WAIT_MAX_MS));
        self.last_at + wait_ms - now
    }

    /// Records the end of an attempt.
    fn record(&mut self, outcome: Outcome, now: Moment) {
        match outcome {
            Outcome::Failed => {
                *self = Self { last_at: now, failures: self.failures.saturating_add(1), ..Self::default() }
            }
            Outcome::Succeeded => *self = Self::default(),
            Outcome::Unknown => {}
        }
    }
}

impl<R: Rule> State for Failed<R> {
    fn worth(&self, now: Moment) -> Option<Worth> {
        let counts = self.failures > 0 && now - self.last_at <= FORGET_MS;
        counts.then(|| (self.waits(now) > 0, self.failures, self.last_at))
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

/// Decides whether an attempt of a client with these failures may begin.
///
/// # Errors
/// `too many requests` while the client has to wait.
fn admit_client(failures: Option<&Failures>, now: Moment) -> Result<()> {
    let waits = failures.map_or(0, |failures| failures.waits(now));
    if waits > 0 { Err(wait(waits, CLIENT_WINDOW_MS)) } else { Ok(()) }
}

/// Decides whether an attempt may begin, with the earlier failures of its kind and the number of attempts in progress.
///
/// Attempts in progress count as failures until they end, because otherwise many simultaneous attempts could begin before
/// the first one fails.
///
/// # Errors
/// `too many requests` while it has to wait.
fn admit<R: Rule>(earlier: Option<&Failed<R>>, running: u32, now: Moment) -> Result<()> {
    let (waits, failed) = earlier.map_or((0, 0), |earlier| (earlier.waits(now), earlier.failures.into()));
    if waits > 0 {
        return Err(wait(waits, R::WAIT_MAX_MS));
    }
    if running > 0 && failed + running >= R::FREE_FAILURES {
        Err(wait(SECOND_MS, R::WAIT_MAX_MS))
    } else {
        Ok(())
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The password or the code was wrong, or the account does not exist.
    Failed,
    /// The password, and the code if there is one, was right.
    Succeeded,
    /// The attempt counts neither as a failure nor as a success.
    Unknown,
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
    /// If the client has to wait, `is_known` decides whether the attempt begins nevertheless: whether the account has signed in
    /// from it lately.
    ///
    /// # Errors
    /// `too many requests` while the pair or the client has to wait; an error of the store.
    pub(crate) fn begin(
        &self,
        id: Option<&str>,
        client: Client,
        is_known: impl FnOnce() -> Result<bool>,
    ) -> Result<Attempt<'_>> {
        let keys = self.keys()?;
        let pair = id.map(|id| hash(keys, &Key::Pair(id, client)));
        let client = hash(keys, &Key::Client(client));
        match self {
            Self::Memory(memory) => memory.begin(pair, client, is_known)?,
            Self::Shared(shared) => shared.begin(pair, client, is_known)?,
        }
        Ok(Attempt { throttle: self, what: What::Password { pair, client }, outcome: Outcome::Unknown })
    }

    /// Begins to check a code of a member's second factor.
    ///
    /// # Errors
    /// `too many requests` while the account has to wait; an error of the store.
    pub(crate) fn begin_code(&self, member: MemberKey) -> Result<Attempt<'_>> {
        let account = hash(self.keys()?, &Key::Account(member));
        match self {
            Self::Memory(memory) => memory.begin_code(account)?,
            Self::Shared(shared) => shared.begin_code(account)?,
        }
        Ok(Attempt { throttle: self, what: What::Code { account }, outcome: Outcome::Unknown })
    }

    /// Returns the keys of the hashes.
    fn keys(&self) -> Result<(u64, u64)> {
        match self {
            Self::Memory(memory) => Ok(memory.keys()),
            Self::Shared(shared) => shared.keys(),
        }
    }
}

/// What failures are counted for.
enum Key<'a> {
    Client(Client),
    Pair(&'a str, Client),
    Account(MemberKey),
}

/// Returns the hash of a key. All servers of a database must compute the same.
fn hash(keys: (u64, u64), key: &Key<'_>) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(keys.0, keys.1);
    match key {
        Key::Client(client) => {
            client.hash(&mut hasher);
            hasher.write_u8(0);
        }
        Key::Pair(id, client) => {
            client.hash(&mut hasher);
            for part in id.as_bytes().chunks(64) {
                let mut folded = [0; 64];
                let folded = &mut folded[..part.len()];
                folded.copy_from_slice(part);
                folded.make_ascii_lowercase();
                hasher.write(folded);
            }
            hasher.write_u8(1);
        }
        Key::Account(member) => {
            hasher.write_i64(member.as_i64());
            hasher.write_u8(2);
        }
    }
    hasher.finish()
}

/// Returns the refusal of an attempt that has to wait. No wait is longer than `most`, even if the clock is wrong.
fn wait(ms: i64, most: i64) -> Error {
    let seconds = u64::try_from(ms.min(most)).unwrap_or_default().div_ceil(1_000);
    Error::TooManyRequests { retry_after_s: seconds.max(1) }
}

/// What an attempt proves, with the hashes of what its failure counts for.
#[derive(Clone, Copy)]
enum What {
    /// The password of an account.
    Password { pair: Option<u64>, client: u64 },
    /// A code of a second factor.
    Code { account: u64 },
}

/// An attempt to sign in that is in progress. If it is dropped without a result, it counts neither as a failure nor
/// as a success.
pub(crate) struct Attempt<'t> {
    throttle: &'t Throttle,
    what: What,
    outcome: Outcome,
}

impl Attempt<'_> {
    /// Records a failure: the password or the code was wrong, or the account does not exist.
    pub(crate) fn failed(mut self) {
        self.outcome = Outcome::Failed;
    }

    /// Records a success and removes the failures of the pair, or those of the account for a code.
    pub(crate) fn succeeded(mut self) {
        self.outcome = Outcome::Succeeded;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        match (self.throttle, self.what) {
            (Throttle::Memory(memory), What::Password { pair, client }) => {
                memory.end(pair, client, self.outcome);
            }
            (Throttle::Memory(memory), What::Code { account }) => memory.end_code(account, self.outcome),
            (Throttle::Shared(shared), What::Password { pair, client }) => {
                shared.end(pair, client, self.outcome);
            }
            (Throttle::Shared(shared), What::Code { account }) => shared.end_code(account, self.outcome),
        }
    }
}
