//! When a source is fetched next: the time between two fetches is halved when one has brought something new, and grows by half
//! when it has not, between the bounds of the settings.

use super::MINUTE_MS;
use crate::base::clock::{DAY_MS, HOUR_MS, Timestamp};
use crate::base::random::random;

pub(super) const FIRST_MS: i64 = HOUR_MS;
/// In `Retry-After`, `Cache-Control` or `ttl`.
const ASKED_MAX_MS: i64 = 7 * DAY_MS;
const FAILING_MAX_MS: i64 = 2 * DAY_MS;
const DOUBLINGS_MAX: u32 = 12;

/// In milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntervalBounds {
    pub(crate) min: i64,
    pub(crate) max: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    /// The milliseconds for which its content stays good.
    pub(super) fresh: Option<i64>,
    /// The hours in UTC in which it does not change.
    pub(super) skip_hours: Vec<u8>,
}

/// `before` is the previous time between two fetches.
pub(super) fn wait(before: i64, brought_news: bool, every: Option<i64>, bounds: IntervalBounds) -> i64 {
    let adapted = if brought_news { before / 2 } else { before + before / 2 };
    every.unwrap_or(adapted.clamp(bounds.min, bounds.max))
}

/// After a fetch that succeeded at `now`.
pub(super) fn next(now: Timestamp, wait: i64, every: Option<i64>, wishes: &Wishes) -> Timestamp {
    let fresh = wishes.fresh.unwrap_or_default().min(ASKED_MAX_MS);
    // The time that an administrator sets has priority.
    let wait = if every.is_some() { wait } else { wait.max(fresh) };
    let first = now + spread(wait);
    if every.is_some() {
        return first;
    }
    let is_skipped = |at: &Timestamp| {
        let hour = at.as_millis().rem_euclid(DAY_MS) / HOUR_MS;
        wishes.skip_hours.iter().any(|skipped| i64::from(*skipped) == hour)
    };
    // A feed that skips all hours of the day skips none.
    (0..24).map(|hours| first + hours * HOUR_MS).find(|at| !is_skipped(at)).unwrap_or(first)
}

/// After `failures` fetches that failed, the last one at `now`. `asked` is how long the server wants to be left alone.
pub(super) fn next_after_failure(
    now: Timestamp,
    failures: i64,
    wait: i64,
    asked: Option<i64>,
    bounds: IntervalBounds,
) -> Timestamp {
    let doublings = u32::try_from(failures - 1).unwrap_or_default().min(DOUBLINGS_MAX);
    let longest = FAILING_MAX_MS.max(wait);
    let wait = bounds.min.min(wait).saturating_mul(1 << doublings).min(longest);
    now + spread(wait.max(asked.unwrap_or_default().min(ASKED_MAX_MS)))
}

/// Adds up to a tenth, so that sources that were added together are soon fetched at different times.
fn spread(ms: i64) -> i64 {
    ms.max(MINUTE_MS) + ms / 10 * i64::from(random::<1>()[0]) / 255
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::NOW;

    const BOUNDS: IntervalBounds = IntervalBounds { min: 10 * MINUTE_MS, max: 12 * HOUR_MS };

    #[test]
    fn a_source_that_publishes_is_fetched_often_and_a_quiet_one_rarely() {
        let after =
            |fetches: usize, news| (0..fetches).fold(FIRST_MS, |before, _| wait(before, news, None, BOUNDS));
        assert_eq!([after(1, true), after(2, true), after(9, true)], [30, 15, 10].map(|m| m * MINUTE_MS));
        assert_eq!([1, 2, 9].map(|fetches| after(fetches, false)), [90, 135, 720].map(|m| m * MINUTE_MS));
        assert_eq!(wait(FIRST_MS, true, Some(5 * MINUTE_MS), BOUNDS), 5 * MINUTE_MS);
    }

    #[test]
    fn a_feed_may_ask_for_more_time_but_not_for_ever() {
        let after = |wishes: &Wishes, every| next(NOW, HOUR_MS, every, wishes) - NOW;
        let fresh = |ms| Wishes { fresh: Some(ms), skip_hours: Vec::new() };
        let within = |ms: i64, least: i64| (least..=least + least / 10).contains(&ms);
        assert!(within(after(&fresh(3 * HOUR_MS), None), 3 * HOUR_MS));
        assert!(within(after(&fresh(MINUTE_MS), None), HOUR_MS));
        assert!(within(after(&fresh(400 * DAY_MS), None), 7 * DAY_MS));
        assert!(within(after(&fresh(3 * HOUR_MS), Some(HOUR_MS)), HOUR_MS), "the administrator decides");
    }

    #[test]
    fn hours_that_a_feed_skips_are_skipped_unless_it_skips_all() {
        let skip = |hours: std::ops::Range<u8>| Wishes { fresh: None, skip_hours: hours.collect() };
        let hour = |at: Timestamp| at.as_millis().rem_euclid(DAY_MS) / HOUR_MS;
        assert_eq!(hour(next(NOW, MINUTE_MS, None, &skip(0..20))), 20);
        assert!(next(NOW, MINUTE_MS, None, &skip(0..24)) - NOW <= 2 * MINUTE_MS);
    }

    proptest! {
        #[test]
        fn failures_are_repeated_ever_more_rarely(failures in 1..2_000_i64, asked in prop::option::of(0..i64::MAX)) {
            let after = |failures| next_after_failure(NOW, failures, HOUR_MS, asked, BOUNDS) - NOW;
            let asked = asked.unwrap_or_default().min(ASKED_MAX_MS);
            prop_assert!(after(failures) >= asked.max(BOUNDS.min) && after(failures) <= ASKED_MAX_MS * 11 / 10);
            if asked == 0 && failures < 8 {
                prop_assert!(after(failures + 1) > after(failures) * 3 / 2);
            }
        }
    }
}
