//! How much of something strangers may have done in a time: so much at once, and then one more each so often.
//!
//! Source: the generic cell rate algorithm of ITU-T Recommendation I.371, which keeps one number for each of those
//! who are counted.

use crate::clock::{SECOND_MS, Timestamp};

const MICROS_OF_MS: i64 = 1_000;
/// From how far beyond the whole limiter on the clock has been set back. Requests that end at the same time on
/// several threads are a little out of order.
const SET_BACK: i64 = 10 * SECOND_MS * MICROS_OF_MS;

/// A number of things at once, and a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gcra {
    /// How many at once.
    burst: i64,
    /// How long until there is one more, in microseconds.
    each: i64,
}

/// What is used up of an limiter, as the time in which all of it will be there again: microseconds UTC.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GcraState(i64);

impl Gcra {
    /// `burst` at once, then so many a second.
    pub(super) const fn per_second(burst: i64, rate: i64) -> Self {
        Self { burst, each: SECOND_MS * MICROS_OF_MS / rate }
    }

    /// `burst` at once, then one in so many seconds.
    pub(super) const fn one_in(burst: i64, seconds: i64) -> Self {
        Self { burst, each: seconds * SECOND_MS * MICROS_OF_MS }
    }

    /// Takes one, if there is one at this moment.
    pub(super) fn take(self, used: &mut GcraState, at: Timestamp) -> bool {
        let now = at.as_millis().saturating_mul(MICROS_OF_MS);
        let mut until = used.0.max(now);
        if until - now > self.burst * self.each + SET_BACK {
            until = now;
        }
        let fits = until - now <= (self.burst - 1) * self.each;
        if fits {
            used.0 = until + self.each;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::NOW;

    /// How many of many are there at this moment.
    fn taken(limiter: Gcra, used: &mut GcraState, at: Timestamp) -> usize {
        (0..1_000).filter(|_| limiter.take(used, at)).count()
    }

    #[test]
    fn so_many_are_there_at_once_and_more_as_time_goes_on() {
        let (limiter, mut used) = (Gcra::per_second(10, 4), GcraState::default());
        assert_eq!(taken(limiter, &mut used, NOW), 10);
        assert_eq!(taken(limiter, &mut used, NOW + 249), 0);
        assert_eq!(taken(limiter, &mut used, NOW + 250), 1);
        assert_eq!(taken(limiter, &mut used, NOW + 1_250), 4);
        assert_eq!(taken(limiter, &mut used, NOW + 3_600_000), 10);
        let (slow, mut used) = (Gcra::one_in(2, 10), GcraState::default());
        assert_eq!(taken(slow, &mut used, NOW), 2);
        assert_eq!(taken(slow, &mut used, NOW + 9_999), 0);
        assert_eq!(taken(slow, &mut used, NOW + 10_000), 1);
    }

    #[test]
    fn a_clock_that_is_put_back_takes_nothing_away() {
        let (limiter, mut used) = (Gcra::per_second(10, 4), GcraState::default());
        assert_eq!(taken(limiter, &mut used, NOW), 10);
        assert_eq!(taken(limiter, &mut used, NOW - 3_600_000), 10);
    }

    #[test]
    fn what_comes_out_of_order_is_given_nothing_more() {
        let (limiter, mut used) = (Gcra::per_second(10, 4), GcraState::default());
        assert_eq!(taken(limiter, &mut used, NOW), 10);
        assert_eq!(taken(limiter, &mut used, NOW - 1), 0);
        assert_eq!(taken(limiter, &mut used, NOW - 5_000), 0);
    }
}
