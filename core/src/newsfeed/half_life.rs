//! The half-life of popularity, taken from the acts: the median age of a post when a member acts on it.

use super::index::FeedIndex;
use super::recent::PastAct;
use crate::base::clock::DAY_MS;
use crate::base::config::Feed;
use crate::post::heat::{DEFAULT_HALF_LIFE_DAYS, NO_DECAY_DAYS};

/// The minimum number of acts on posts of the index.
const ACTS_MIN: usize = 100;
/// The minimum half-life: with less, the popular posts of the morning would be forgotten in the evening.
const MIN_DAYS: f64 = 0.5;
/// The part of the median age of all posts from which on members do not prefer new posts.
const AGELESS: f64 = 0.5;

/// Returns the half-life that a service has after these acts: that of the settings, or that of the acts.
pub(super) fn of(config: &Feed, index: &FeedIndex, acts: &[PastAct]) -> f64 {
    config.popular_half_life_days.or_else(|| of_acts(index, acts)).unwrap_or(DEFAULT_HALF_LIFE_DAYS)
}

/// Returns the half-life in days that acts show; `None` if they are too few.
///
/// Where members act on old posts as if they were new, acts do not lose weight: the half-life is [`NO_DECAY_DAYS`].
pub(super) fn of_acts(index: &FeedIndex, acts: &[PastAct]) -> Option<f64> {
    let (mut ages, mut ages_of_all) = (Vec::new(), Vec::new());
    for act in acts {
        let Some(position) = index.position(act.post) else { continue };
        let first = index.newer_than(act.at, 0);
        if first < index.len() {
            ages.push((act.at - index.date(position)).max(0));
            #[expect(clippy::cast_possible_truncation, reason = "positions fit 32 bits")]
            let middle = (first + (index.len() - first) / 2) as u32;
            ages_of_all.push(act.at - index.date(middle));
        }
    }
    if ages.len() < ACTS_MIN {
        return None;
    }
    let (age, of_all) = (median_days(&mut ages), median_days(&mut ages_of_all));
    Some(if age >= AGELESS * of_all { NO_DECAY_DAYS } else { age.max(MIN_DAYS) })
}

/// Returns the upper median of times in milliseconds, of which there is at least one, in days.
#[expect(clippy::cast_precision_loss, reason = "ages are far below 2^53 milliseconds")]
fn median_days(times: &mut [i64]) -> f64 {
    let middle = times.len() / 2;
    *times.select_nth_unstable(middle).1 as f64 / DAY_MS as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::newsfeed::index::tests::row;
    use crate::record::id::{MemberKey, PostKey};
    use crate::testing::NOW;

    /// A post a day for 400 days, the newest with the key 0.
    fn index() -> FeedIndex {
        let rows = (0..400).map(|key| row(key, NOW - key * DAY_MS, "news")).collect();
        FeedIndex::next(None, rows, &[], None, 1, NOW, &Feed::default())
    }

    /// An act a day on a post of this age in days.
    fn acts(age: impl Fn(i64) -> i64, count: i64) -> Vec<PastAct> {
        let act = |n: i64| PastAct {
            at: NOW - n * DAY_MS,
            member: MemberKey::new(1),
            post: PostKey::new(n + age(n)),
            is_like: true,
        };
        (0..count).rev().map(act).collect()
    }

    #[test]
    fn the_half_life_is_the_median_age_of_a_post_at_an_act() {
        let half_life = |acts: &[PastAct]| of_acts(&index(), acts);
        assert_eq!(half_life(&acts(|_| 4, 100)), Some(4.0));
        assert_eq!(half_life(&acts(|n| if n % 3 == 0 { 90 } else { 2 }, 100)), Some(2.0));
        assert_eq!(half_life(&acts(|_| 0, 100)), Some(MIN_DAYS));
        assert_eq!(half_life(&acts(|_| 4, 99)), None, "too few");
    }

    #[test]
    fn acts_on_posts_of_any_age_do_not_lose_weight() {
        assert_eq!(of_acts(&index(), &acts(|n| (n * 37) % 250, 140)), Some(NO_DECAY_DAYS));
    }

    #[test]
    fn a_setting_overrides_the_acts() {
        let acts = acts(|_| 4, 100);
        let config = Feed { popular_half_life_days: Some(9.0), ..Feed::default() };
        assert!((of(&config, &index(), &acts) - 9.0).abs() < 1e-9);
        assert!((of(&Feed::default(), &index(), &acts) - 4.0).abs() < 1e-9);
        assert!((of(&Feed::default(), &index(), &[]) - DEFAULT_HALF_LIFE_DAYS).abs() < 1e-9);
    }
}
