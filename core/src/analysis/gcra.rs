//! The generic cell rate algorithm (GCRA): a rate limiter that allows a burst and then a constant rate.
//!
//! Source: ITU-T Recommendation I.371, *Traffic control and congestion control in B-ISDN*, in the virtual scheduling
//! form. It stores one number per limited client, the theoretical arrival time.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::base::clock::{SECOND_MS, Timestamp};

const MICROS_OF_MS: i64 = 1_000;
/// The tolerance beyond a full burst, in microseconds, from which the limiter assumes that the clock was set back.
/// Requests that end at the same time on several threads arrive slightly out of order.
const SET_BACK: i64 = 10 * SECOND_MS * MICROS_OF_MS;

/// The burst and the rate of a limiter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gcra {
    /// The number of requests that are allowed at once.
    burst: i64,
    /// The interval between two requests at the allowed rate, in microseconds.
    interval: i64,
}

/// The state of one limited client, which threads share without a lock: its theoretical arrival time, in microseconds UTC. The full
/// burst is available again from then on.
#[derive(Debug, Default)]
pub(super) struct GcraState(AtomicI64);

impl Gcra {
    /// Allows `burst` requests at once, then `rate` requests a second.
    pub(super) const fn per_second(burst: i64, rate: i64) -> Self {
        Self { burst, interval: SECOND_MS * MICROS_OF_MS / rate }
    }

    /// Charges one request at the time `at`, and returns whether it is allowed.
    pub(super) fn take(self, state: &GcraState, at: Timestamp) -> bool {
        let now = at.as_millis().saturating_mul(MICROS_OF_MS);
        let charge = |until: i64| {
            let mut until = until.max(now);
            if until - now > self.burst * self.interval + SET_BACK {
                until = now;
            }
            let fits = until - now <= (self.burst - 1) * self.interval;
            fits.then_some(until + self.interval)
        };
        state.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, charge).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::NOW;

    /// Returns how many of 1,000 requests are allowed at this time.
    fn taken(limiter: Gcra, state: &GcraState, at: Timestamp) -> usize {
        (0..1_000).filter(|_| limiter.take(state, at)).count()
    }

    #[test]
    fn a_burst_is_allowed_at_once_and_the_rate_after_it() {
        let (limiter, state) = (Gcra::per_second(10, 4), GcraState::default());
        assert_eq!(taken(limiter, &state, NOW), 10);
        assert_eq!(taken(limiter, &state, NOW + 249), 0);
        assert_eq!(taken(limiter, &state, NOW + 250), 1);
        assert_eq!(taken(limiter, &state, NOW + 1_250), 4);
        assert_eq!(taken(limiter, &state, NOW + 3_600_000), 10);
    }

    #[test]
    fn a_clock_that_is_set_back_restores_the_full_burst() {
        let (limiter, state) = (Gcra::per_second(10, 4), GcraState::default());
        assert_eq!(taken(limiter, &state, NOW), 10);
        assert_eq!(taken(limiter, &state, NOW - 3_600_000), 10);
    }

    #[test]
    fn threads_that_share_a_state_share_one_burst() {
        let (limiter, state) = (Gcra::per_second(1_000, 4), GcraState::default());
        let taken = || (0..500).filter(|_| limiter.take(&state, NOW)).count();
        let all: usize = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(taken));
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(all, 1_000);
    }

    #[test]
    fn requests_slightly_out_of_order_get_no_extra_allowance() {
        let (limiter, state) = (Gcra::per_second(10, 4), GcraState::default());
        assert_eq!(taken(limiter, &state, NOW), 10);
        assert_eq!(taken(limiter, &state, NOW - 1), 0);
        assert_eq!(taken(limiter, &state, NOW - 5_000), 0);
    }
}
