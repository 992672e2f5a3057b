//! Sign-in slowing: guessing passwords gets slow, for the guesser and for nobody else.
//!
//! Failures are counted per pair of account and client, and per client. They are kept in memory, for a
//! bounded number of pairs and clients, the ones seen last.

use std::collections::VecDeque;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::clock::SECOND_MS;
use crate::error::{Error, Result};

/// Failures of a pair that start no wait.
const FREE_FAILURES: u32 = 5;
/// The longest wait of a pair.
const WAIT_MAX_S: i64 = 30;
/// A pair that has not failed for so long begins anew.
const FORGET_MS: i64 = 24 * 60 * 60 * SECOND_MS;
/// Failures of a client, over all accounts, that close sign-in for it …
const CLIENT_FAILURES: usize = 50;
/// … until they are older than this.
const CLIENT_WINDOW_MS: i64 = 15 * 60 * SECOND_MS;
/// Pairs, and clients, that are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(100_000).expect("not zero");

/// Who signs in, as far as slowing goes: an address, of IPv6 the first 64 bits, which one customer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client(IpAddr);

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

#[derive(Default)]
struct Pair {
    failures: u32,
    /// Attempts that are being looked at: they count as failures until they turn out otherwise, or many at
    /// once would all pass before the first has failed.
    running: u32,
    failed_at: i64,
    waits_until: i64,
}

/// What is remembered of failures.
pub(crate) struct Throttle(Mutex<Memory>);

struct Memory {
    pairs: LruCache<(String, Client), Pair>,
    clients: LruCache<Client, VecDeque<i64>>,
}

impl Default for Throttle {
    fn default() -> Self {
        // Unbounded caches allocate as they fill; `remember` keeps the bound.
        Self(Mutex::new(Memory { pairs: LruCache::unbounded(), clients: LruCache::unbounded() }))
    }
}

impl Throttle {
    /// Lets an attempt of `client` on the account `id` (folded) begin.
    ///
    /// # Errors
    /// `too many requests` while the pair or the client has to wait.
    pub(crate) fn begin(&self, id: &str, client: Client, now: i64) -> Result<Attempt<'_>> {
        let mut memory = self.lock();
        if let Some(failures) = memory.clients.get_mut(&client) {
            failures.retain(|at| now - at < CLIENT_WINDOW_MS);
            if let (true, Some(oldest)) = (failures.len() >= CLIENT_FAILURES, failures.front()) {
                return Err(wait(oldest + CLIENT_WINDOW_MS - now));
            }
        }
        let pair = remember(&mut memory.pairs, (id.to_owned(), client));
        if pair.failures > 0 && now - pair.failed_at > FORGET_MS {
            *pair = Pair { running: pair.running, ..Pair::default() };
        }
        if now < pair.waits_until {
            return Err(wait(pair.waits_until - now));
        }
        if pair.running > 0 && pair.failures + pair.running >= FREE_FAILURES {
            return Err(wait(SECOND_MS));
        }
        pair.running += 1;
        Ok(Attempt { throttle: self, id: id.to_owned(), client })
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of `key`, new where there is none; the one not seen for longest makes room.
fn remember<K: Hash + Eq, V: Default>(cache: &mut LruCache<K, V>, key: K) -> &mut V {
    if cache.len() >= REMEMBERED.get() && !cache.contains(&key) {
        cache.pop_lru();
    }
    cache.get_or_insert_mut(key, V::default)
}

fn wait(ms: i64) -> Error {
    let seconds = u64::try_from(ms).unwrap_or_default().div_ceil(1_000);
    Error::TooManyRequests { retry_after_s: seconds.max(1) }
}

/// An attempt to sign in that is being looked at. Dropped without a word, it counts as neither.
pub(crate) struct Attempt<'t> {
    throttle: &'t Throttle,
    id: String,
    client: Client,
}

impl Attempt<'_> {
    /// The password was wrong, or there is no such account.
    pub(crate) fn failed(self, now: i64) {
        let mut memory = self.throttle.lock();
        let failures = remember(&mut memory.clients, self.client);
        if failures.len() == CLIENT_FAILURES {
            failures.pop_front();
        }
        failures.push_back(now);
        let pair = remember(&mut memory.pairs, (self.id.clone(), self.client));
        pair.failures = pair.failures.saturating_add(1);
        pair.failed_at = now;
        if pair.failures > FREE_FAILURES {
            let doubled = 1_i64 << (pair.failures - FREE_FAILURES - 1).min(5);
            pair.waits_until = now + doubled.min(WAIT_MAX_S) * SECOND_MS;
        }
    }

    /// The password was right: the pair begins anew.
    pub(crate) fn succeeded(self) {
        let mut memory = self.throttle.lock();
        if let Some(pair) = memory.pairs.get_mut(&(self.id.clone(), self.client)) {
            *pair = Pair { running: pair.running, ..Pair::default() };
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let mut memory = self.throttle.lock();
        let key = (std::mem::take(&mut self.id), self.client);
        if let Some(pair) = memory.pairs.get_mut(&key) {
            pair.running = pair.running.saturating_sub(1);
            if pair.running == 0 && pair.failures == 0 {
                memory.pairs.pop(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "203.0.113.7";

    fn client(address: &str) -> Client {
        Client::from(address.parse::<IpAddr>().unwrap())
    }

    fn fail(throttle: &Throttle, id: &str, from: &str, now: i64) {
        throttle.begin(id, client(from), now).unwrap().failed(now);
    }

    fn wait_s(throttle: &Throttle, id: &str, from: &str, now: i64) -> Option<u64> {
        match throttle.begin(id, client(from), now) {
            Err(Error::TooManyRequests { retry_after_s }) => Some(retry_after_s),
            Err(other) => panic!("{other}"),
            Ok(_) => None,
        }
    }

    #[test]
    fn five_failures_are_free_and_each_further_one_doubles_the_wait_up_to_30_seconds() {
        let (throttle, mut now) = (Throttle::default(), 0);
        for _ in 0..5 {
            fail(&throttle, "ann", HERE, now);
            assert_eq!(wait_s(&throttle, "ann", HERE, now), None);
        }
        for expected in [1, 2, 4, 8, 16, 30, 30] {
            fail(&throttle, "ann", HERE, now);
            assert_eq!(wait_s(&throttle, "ann", HERE, now), Some(expected));
            now += i64::try_from(expected).unwrap() * SECOND_MS;
            assert_eq!(wait_s(&throttle, "ann", HERE, now), None);
        }
    }

    #[test]
    fn another_client_of_the_account_notices_nothing_and_a_success_clears_the_pair() {
        let throttle = Throttle::default();
        for _ in 0..6 {
            fail(&throttle, "ann", HERE, 0);
        }
        assert_eq!(wait_s(&throttle, "ann", "203.0.113.8", 0), None);
        assert_eq!(wait_s(&throttle, "bob", HERE, 0), None);
        throttle.begin("ann", client(HERE), SECOND_MS).unwrap().succeeded();
        fail(&throttle, "ann", HERE, SECOND_MS);
        assert_eq!(wait_s(&throttle, "ann", HERE, SECOND_MS), None);
    }

    #[test]
    fn a_client_with_50_failures_waits_until_they_are_15_minutes_old() {
        let throttle = Throttle::default();
        for account in 0..50 {
            fail(&throttle, &format!("member{account}"), "2001:db8::1", account * SECOND_MS);
        }
        let now = 50 * SECOND_MS;
        assert_eq!(wait_s(&throttle, "someone", "2001:db8::ffff", now), Some(850), "the same /64");
        assert_eq!(wait_s(&throttle, "someone", "2001:db8:0:1::1", now), None, "another /64");
        assert_eq!(wait_s(&throttle, "someone", "2001:db8::1", CLIENT_WINDOW_MS), None);
    }

    #[test]
    fn attempts_at_the_same_time_cannot_outrun_the_count() {
        let throttle = Throttle::default();
        let attempts: Vec<_> = (0..100).filter_map(|_| throttle.begin("ann", client(HERE), 0).ok()).collect();
        assert_eq!(attempts.len(), 5);
        drop(attempts);
        assert_eq!(wait_s(&throttle, "ann", HERE, 0), None, "neither failed nor succeeded: not counted");
    }
}
