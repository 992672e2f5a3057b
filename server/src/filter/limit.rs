//! Rate limits for each client: GCRA (generic cell rate algorithm) in bounded memory.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::StateInformationMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::ShrinkableKeyedStateStore;
use governor::{Quota, RateLimiter};
use http::{HeaderName, HeaderValue};
use lru::LruCache;
use tidings_core::account::Client;
use tidings_core::account::key::KeyHash;
use tidings_core::operation::Rate;
use tidings_core::{Error, Result};

/// The maximum number of clients that a limit stores. Beyond it, a new client replaces the least recently seen one, whose limit
/// then starts again. This bounds memory; no limit is effective against an unlimited number of addresses anyway.
const CLIENTS: NonZeroUsize = NonZeroUsize::new(65_536).expect("not zero");

/// Enough for a campus behind one address: 500 sign-ups in the first minute of a course, and 3,600 per hour after that.
const SIGN_UPS: NonZeroU32 = NonZeroU32::new(60).expect("not zero");
const SIGN_UP_BURST: NonZeroU32 = NonZeroU32::new(500).expect("not zero");
/// Enough for 20,000 people behind one address who each send 36 such requests in the busiest hour: nine searches with
/// their similar words, sites and search records, or a device and 35 views of posts.
const SEARCHES: NonZeroU32 = NonZeroU32::new(12_000).expect("not zero");
const GUEST_WRITES: NonZeroU32 = NonZeroU32::new(12_000).expect("not zero");
/// Feedback of a full lecture hall behind one address.
const FEEDBACK: NonZeroU32 = NonZeroU32::new(600).expect("not zero");
/// Requests per second with one API key: enough for a script that sends one after another.
const KEY_REQUESTS: NonZeroU32 = NonZeroU32::new(200).expect("not zero");

#[derive(Clone)]
pub(crate) struct Limits {
    pub(crate) general: Limit,
    sign_ups: Limit,
    searches: Limit,
    guest_writes: Limit,
    feedback: Limit,
    keys: Limit,
}

impl Limits {
    pub(crate) fn new(general: Option<NonZeroU32>, limits_clients: bool) -> Self {
        let limit = |quota| limits_clients.then(|| RateLimit::new(quota));
        Self {
            general: general.map(|limit| RateLimit::new(Quota::per_second(limit))),
            sign_ups: limit(Quota::per_minute(SIGN_UPS).allow_burst(SIGN_UP_BURST)),
            searches: limit(Quota::per_minute(SEARCHES)),
            guest_writes: limit(Quota::per_minute(GUEST_WRITES)),
            feedback: limit(Quota::per_minute(FEEDBACK)),
            keys: limit(Quota::per_second(KEY_REQUESTS)),
        }
    }

    #[cfg(test)]
    pub(crate) fn allowing(number: u32) -> Self {
        let limit = || Some(RateLimit::new(Quota::per_minute(NonZeroU32::new(number).unwrap())));
        let [sign_ups, searches, guest_writes, feedback, keys] = [(); 5].map(|()| limit());
        Self { general: None, sign_ups, searches, guest_writes, feedback, keys }
    }

    /// Returns the limits with another general one, which remembers its clients if it is the same as before.
    pub(crate) fn changed(&self, general: Option<NonZeroU32>) -> Self {
        let new = general.map(|limit| RateLimit::new(Quota::per_second(limit)));
        let quota = |limit: &Limit| limit.as_ref().map(|limit| limit.quota);
        let is_same = quota(&new) == quota(&self.general);
        Self { general: if is_same { self.general.clone() } else { new }, ..self.clone() }
    }

    pub(crate) fn check(
        &self,
        rate: Rate,
        client: impl FnOnce() -> Client,
        is_signed: impl Fn() -> bool,
    ) -> Result<()> {
        let limit = match rate {
            Rate::SignUp => &self.sign_ups,
            Rate::Search => &self.searches,
            Rate::Write | Rate::Feedback if !is_signed() => &self.guest_writes,
            Rate::General | Rate::Write => return Ok(()),
            Rate::Feedback => &self.feedback,
        };
        limit.as_ref().map_or(Ok(()), |limit| limit.check(Key::Client(client())))
    }

    pub(crate) fn check_key(&self, key: KeyHash) -> Result<()> {
        self.keys.as_ref().map_or(Ok(()), |limit| limit.check(Key::Api(key)))
    }

    pub(crate) fn sweep(&self) {
        let Self { general, sign_ups, searches, guest_writes, feedback, keys } = self;
        for limit in [general, sign_ups, searches, guest_writes, feedback, keys].into_iter().flatten() {
            limit.sweep();
        }
    }
}

type Limit = Option<Arc<RateLimit>>;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Client(Client),
    Api(KeyHash),
}

pub(crate) struct RateLimit<C: Clock = MonotonicClock> {
    limiter: RateLimiter<Key, States, C, StateInformationMiddleware>,
    quota: Quota,
    clock: C,
    policy: HeaderValue,
}

pub(crate) type QuotaHeaders = [(HeaderName, HeaderValue); 2];

/// The size of the quota of each client, and the period in seconds. Source: draft-ietf-httpapi-ratelimit-headers-10.
pub(crate) const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// The rest of the quota, and the seconds until it is complete again or, if nothing is left, until the next request is allowed.
pub(crate) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

pub(crate) const SWEEP: Duration = Duration::from_secs(1);

impl RateLimit {
    fn new(quota: Quota) -> Arc<Self> {
        Arc::new(Self::with(quota, CLIENTS, MonotonicClock))
    }
}

impl<C: Clock + Clone> RateLimit<C> {
    fn with(quota: Quota, most: NonZeroUsize, clock: C) -> Self {
        let limiter = RateLimiter::new(quota, States::new(most), clock.clone());
        let period_s = quota.burst_size_replenished_in().as_secs_f64().ceil();
        let policy = format!("\"default\";q={};w={period_s}", quota.burst_size());
        let policy = HeaderValue::from_str(&policy).expect("a policy is ASCII");
        Self { limiter, quota, clock, policy }
    }

    pub(crate) fn check(&self, key: Key) -> Result<()> {
        self.count(key).map(drop)
    }

    pub(crate) fn count(&self, key: Key) -> Result<u32> {
        let counted = self.limiter.check_key(&key).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now());
            Error::TooManyRequests { retry_after_s: wait.as_secs() + 1 }
        });
        Ok(counted?.remaining_burst_capacity())
    }

    pub(crate) fn headers(&self, counted: &Result<u32>) -> QuotaHeaders {
        let (remaining, seconds) = match counted {
            Ok(remaining) => (*remaining, 1),
            Err(Error::TooManyRequests { retry_after_s }) => (0, *retry_after_s),
            Err(_) => (0, 1),
        };
        let state = format!("\"default\";r={remaining};t={seconds}");
        let state = HeaderValue::from_str(&state).expect("a state is ASCII");
        [(RATE_LIMIT_POLICY, self.policy.clone()), (RATE_LIMIT, state)]
    }

    /// The whole burst of these clients is available again.
    pub(crate) fn sweep(&self) {
        self.limiter.retain_recent();
    }
}

/// The theoretical arrival time of each client. The most recently seen client comes first.
struct States {
    clients: Mutex<LruCache<Key, Nanos>>,
    most: NonZeroUsize,
}

impl States {
    fn new(most: NonZeroUsize) -> Self {
        // An unbounded cache allocates only as it fills; `measure_and_replace` bounds it.
        Self { clients: Mutex::new(LruCache::unbounded()), most }
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Key, Nanos>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StateStore for States {
    type Key = Key;

    fn measure_and_replace<T, F, E>(&self, client: &Key, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut clients = self.lock();
        let (allowed, due) = measure(clients.get(client).copied())?;
        clients.put(*client, due);
        if clients.len() > self.most.get() {
            clients.pop_lru();
        }
        Ok(allowed)
    }
}

impl ShrinkableKeyedStateStore<Key> for States {
    /// Removes clients, least recently seen first, up to the first one whose state still matters.
    fn retain_recent(&self, drop_below: Nanos) {
        let mut clients = self.lock();
        while clients.peek_lru().is_some_and(|(_, due)| *due <= drop_below) {
            clients.pop_lru();
        }
    }

    fn len(&self) -> usize {
        self.lock().len()
    }

    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use governor::clock::FakeRelativeClock;

    use super::*;

    fn client(address: &str) -> Key {
        Key::Client(address.parse::<IpAddr>().unwrap().into())
    }

    fn number(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).unwrap()
    }

    #[test]
    fn a_client_is_limited_and_an_ipv6_64_is_one_client() {
        let clock = FakeRelativeClock::default();
        let limit = RateLimit::with(Quota::per_second(number(10)), CLIENTS, clock.clone());
        for _ in 0..10 {
            limit.check(client("2001:db8::1")).unwrap();
        }
        let refused = limit.check(client("2001:db8::2")).unwrap_err();
        assert!(matches!(refused, Error::TooManyRequests { retry_after_s: 1 }), "{refused:?}");
        limit.check(client("2001:db8:0:1::1")).unwrap();
        limit.sweep();
        assert_eq!(limit.limiter.len(), 2);
        clock.advance(Duration::from_millis(100));
        limit.check(client("2001:db8::2")).unwrap();
    }

    #[test]
    fn clients_are_removed_once_they_have_their_whole_burst_again() {
        let clock = FakeRelativeClock::default();
        let quota = Quota::per_minute(number(60)).allow_burst(number(500));
        let limit = RateLimit::with(quota, CLIENTS, clock.clone());
        for address in ["192.0.2.1", "192.0.2.2", "192.0.2.1"] {
            limit.check(client(address)).unwrap();
        }
        clock.advance(Duration::from_millis(2_001));
        limit.sweep();
        // One client made two requests and has its burst again after two seconds.
        assert_eq!(limit.limiter.len(), 1);
        clock.advance(Duration::from_secs(2));
        limit.sweep();
        assert!(limit.limiter.is_empty());
    }

    #[test]
    fn sign_ups_have_a_burst_of_500_and_then_60_a_minute() {
        let clock = FakeRelativeClock::default();
        let quota = Quota::per_minute(SIGN_UPS).allow_burst(SIGN_UP_BURST);
        let limit = RateLimit::with(quota, CLIENTS, clock.clone());
        let allowed = |tries: u32| (0..tries).filter(|_| limit.check(client("::1")).is_ok()).count();
        assert_eq!(allowed(600), 500);
        clock.advance(Duration::from_secs(60));
        assert_eq!(allowed(100), 60);
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_addresses() {
        let quota = Quota::per_minute(number(1));
        let limit = RateLimit::with(quota, NonZeroUsize::new(3).unwrap(), FakeRelativeClock::default());
        for network in 0..1_000 {
            limit.check(client(&format!("2001:db8:0:{network}::1"))).unwrap();
        }
        assert_eq!(limit.limiter.len(), 3);
        assert!(limit.check(client("2001:db8:0:999::2")).is_err(), "the last clients are remembered");
        assert!(limit.check(client("2001:db8::2")).is_ok());
    }

    #[test]
    fn only_writes_of_guests_are_limited_and_a_limit_that_is_off_refuses_nothing() {
        let limits = Limits {
            guest_writes: Some(RateLimit::new(Quota::per_minute(number(1)))),
            feedback: Some(RateLimit::new(Quota::per_minute(number(2)))),
            sign_ups: Some(RateLimit::new(Quota::per_minute(number(1)).allow_burst(number(2)))),
            ..Limits::new(None, false)
        };
        let check = |rate, is_signed| {
            limits.check(rate, || IpAddr::from([192, 0, 2, 1]).into(), || is_signed).is_ok()
        };
        assert_eq!([(); 3].map(|()| check(Rate::Write, true)), [true; 3]);
        assert_eq!([(); 3].map(|()| check(Rate::Write, false)), [true, false, false]);
        assert_eq!([(); 3].map(|()| check(Rate::Feedback, true)), [true, true, false]);
        assert!(!check(Rate::Feedback, false), "it counts as a write of a guest");
        assert_eq!([(); 3].map(|()| check(Rate::Search, false)), [true; 3]);
        assert_eq!([(); 3].map(|()| check(Rate::SignUp, true)), [true, true, false]);
        assert_eq!([(); 3].map(|()| check(Rate::General, false)), [true; 3]);
    }

    #[test]
    fn a_changed_rate_limit_keeps_the_clients_of_the_others() {
        let limits = Limits::new(Some(number(5)), true);
        let (same, other) = (limits.changed(Some(number(5))), limits.changed(None));
        let is_kept =
            |limit: &Limit, other: &Limit| Arc::ptr_eq(limit.as_ref().unwrap(), other.as_ref().unwrap());
        assert!(is_kept(&limits.general, &same.general) && is_kept(&limits.searches, &other.searches));
        assert!(other.general.is_none());
    }
}
