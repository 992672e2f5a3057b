//! Limits the log lines of each client, so that one client can fill neither the queue nor the disk.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use governor::{Quota, RateLimiter};

use crate::base::clock::Clock;

/// In each of the two rows.
const COUNTERS: usize = 2_048;

/// A rate limiter for all clients, with one GCRA (generic cell rate algorithm) per counter. It takes no lock. The memory is
/// constant for any number of clients. A client has two counters, chosen by the halves of a hash under a random key, and may have
/// a line if either counter allows it. A client that does not flood is limited only if both of its counters are shared with
/// flooding clients. Source of the two rows: Cormode and Muthukrishnan, *An improved data stream summary: the count-min sketch and
/// its applications*, Journal of Algorithms 55(1), 2005.
pub(super) struct ClientLimits {
    limiter: Option<RateLimiter<usize, Counters, LimiterClock, NoOpMiddleware<Duration>>>,
}

impl ClientLimits {
    pub(super) fn new(burst: NonZeroU32, lines_per_second: Option<NonZeroU32>, clock: &Clock) -> Self {
        let limiter = |lines| {
            let quota = Quota::per_second(lines).allow_burst(burst);
            let counters = (0..2 * COUNTERS).map(|_| InMemoryState::default()).collect();
            RateLimiter::new(quota, Counters(counters), LimiterClock(clock.clone()))
        };
        Self { limiter: lines_per_second.map(limiter) }
    }

    /// Charges a line to a client, identified by its hash, and returns whether it may have the line.
    pub(super) fn take(&self, client: u64) -> bool {
        let Some(limiter) = &self.limiter else { return true };
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is small")]
        let [first, second] = [client, client >> 32].map(|half| (half % COUNTERS as u64) as usize);
        // No short circuit: both counters are charged.
        limiter.check_key(&first).is_ok() | limiter.check_key(&(COUNTERS + second)).is_ok()
    }
}

struct Counters(Box<[InMemoryState]>);

impl StateStore for Counters {
    type Key = usize;

    fn measure_and_replace<T, F, E>(&self, counter: &usize, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        self.0[*counter].measure_and_replace(&NotKeyed::NonKey, measure)
    }
}

#[derive(Clone)]
struct LimiterClock(Clock);

impl governor::clock::Clock for LimiterClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.monotonic().as_millis().unsigned_abs())
    }
}
