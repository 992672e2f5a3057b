//! The formulas of the recommended feed: its signals and their weights.
//!
//! For a member, the score of a post is the sum of its signals, each times its weight (module `signals`); for a guest, it
//! is the sum of `fresh_weight · freshness` and `popular_weight · popularity`.
//! Each signal is from 0 to 1. None depends on the current time, so the order changes only with posts and acts.
//!
//! - *Interest* is measured by the module `interest`, the similarity to the *nearest* own posts by `near`, and *what others
//!   did* by `co_visits`. The similarity to the nearest counts for the best posts only, because it takes the longest.
//! - *[Novelty](novelty)*: the member could already have opened a post that existed at their earlier acts. A post that
//!   was published after the last act is new to the member, even if it is old.
//! - *[Recency](recency)* is counted in posts, not in days: a topic with a post a month is as recent as one with ten a
//!   day. Its half-life follows the member's rhythm. The *[freshness](freshness)* for guests is counted in days, because
//!   it compares posts across topics, and so are the *[freshness of a day](daily_freshness)* and the *[youth](youth)*, by
//!   the logarithm of the age, which have a weight only if the weights are learned.
//! - *[Popularity](super::popularity)* is the decayed sum of the views and likes of a post, and a part of those of its topic.
//!
//! The weights were chosen on histories of readers of question sites, with `tidings bench feed`. Their steps are broad,
//! because smaller differences are noise.

use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Feed;
use crate::base::keyed::{OwnSet, Unkeyed};
use crate::record::id::{MemberKey, PostKey};

/// A member who has missed more posts does not look through all of them. On histories of readers of question sites, this raises
/// nDCG@10 of feeds that are requested every day by 4 %, and leaves that of feeds that are requested once unchanged.
const LOOKED_THROUGH: f64 = 50.0;
/// Ten years, from which on a post counts as old.
const OLD_HOURS: f32 = 87_660.0;

/// Relative to the newest post, from 0 to 1: it halves with every `fresh_half_life_days` between them.
pub(super) fn freshness(config: &Feed, newest: Timestamp, date: Timestamp) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "ages are far below 2^53 milliseconds")]
    let days = (newest - date).max(0) as f64 / DAY_MS as f64;
    (-days / config.fresh_half_life_days).exp2()
}

/// The rate at which freshness falls with the days between a post and the `newest` one, for a member who last acted at the time
/// `last`: the inverse of the half-life, which is one day and as many as the member has missed.
pub(super) fn freshness_rate(newest: Timestamp, last: Timestamp) -> f32 {
    1.0 / (1.0 + days(newest - last))
}

/// Relative to the `newest` post, from 0 to 1: it halves with every half-life.
#[inline]
pub(super) fn daily_freshness(rate: f32, newest: Timestamp, date: Timestamp) -> f32 {
    (-rate * days(newest - date)).exp2()
}

/// Relative to the `newest` post, from 0 to 1: it falls with the logarithm of the hours between them, and is 0 from [`OLD_HOURS`]
/// on. Where freshness is nearly 0, it still distinguishes a post of last month from one of last year.
#[inline]
pub(super) fn youth(newest: Timestamp, date: Timestamp) -> f32 {
    let hours = 24.0 * days(newest - date);
    (1.0 - hours.ln_1p() / OLD_HOURS.ln_1p()).max(0.0)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "scores need no more digits"
)]
fn days(ms: i64) -> f32 {
    (ms.max(0) as f64 / DAY_MS as f64) as f32
}

/// From 0 to 1 for a member who has acted `acts` times since the post was published: it halves with every `novel_half_life_acts`.
///
/// Source: the exposure of Liang, Charlin, `McInerney` and Blei, *Modeling user exposure in recommendation*, WWW 2016;
/// here, a member's acts show when the member was exposed to posts.
pub(super) fn novelty(config: &Feed, acts: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
    let acts = acts as f64;
    (-acts / config.novel_half_life_acts).exp2()
}

/// The rate at which recency falls with each later post of the topic, if the topic has had `missed` posts since the member's last
/// act: the inverse of the half-life in posts.
///
/// The half-life follows the rhythm of the topic and of the member. A member who acted a moment ago has seen older posts. A
/// member who comes back after a few posts looks through all of them, from the newest on. A member who comes back after a hundred
/// does not, so the interest decides. Hence the half-life grows with the square of the missed posts up to [`LOOKED_THROUGH`], and
/// linearly beyond.
pub(super) fn recency_rate(config: &Feed, missed: u32) -> f32 {
    let missed = f64::from(missed);
    let growth = config.recent_half_life_growth * (missed / LOOKED_THROUGH).min(1.0);
    let half_life = config.recent_half_life_posts + growth * missed;
    #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
    let rate = (1.0 / half_life) as f32;
    rate
}

/// From 0 to 1 for a post that `later` posts of its topic followed: it halves with every half-life.
#[inline]
pub(super) fn recency(rate: f32, later: u32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "numbers of posts need no more digits")]
    let half_lives = later as f32 * rate;
    // Most posts are far beyond this, where recency is less than the rounding of other signals.
    if half_lives > 24.0 { 0.0 } else { (-half_lives).exp2() }
}

/// Uniform from 0 to 1, and the same for the same member, post and day.
pub(super) fn noise(member: MemberKey, post: PostKey, day: i64) -> f64 {
    use std::hash::{Hash as _, Hasher as _};
    // The service chooses all of these numbers, and every process needs the same noise.
    let mut hasher = Unkeyed::default();
    (member, post, day).hash(&mut hasher);
    let hash = hasher.finish();
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let uniform = (hash >> 11) as f64 / (1_u64 << 53) as f64;
    uniform
}

/// The best post of each topic goes first, in the order of the ranking, up to `count` posts, so that the first posts cover as
/// many topics as possible. `topics` returns the topics of a post as small numbers.
pub(super) fn topics_first<'l>(ranking: &[u32], topics: impl Fn(u32) -> &'l [u32], count: usize) -> Vec<u32> {
    let mut covered: OwnSet<u32> = OwnSet::default();
    let (mut first, mut rest) = (Vec::with_capacity(ranking.len()), Vec::with_capacity(ranking.len()));
    for post in ranking {
        let is_covering = first.len() < count && topics(*post).iter().any(|topic| !covered.contains(topic));
        if is_covering {
            covered.extend(topics(*post));
            first.push(*post);
        } else {
            rest.push(*post);
        }
    }
    first.append(&mut rest);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_halves_and_stays_between_0_and_1() {
        let config = Feed { fresh_half_life_days: 10.0, ..Feed::default() };
        let now = Timestamp::from_millis(1_000 * DAY_MS);
        assert!((freshness(&config, now, now) - 1.0).abs() < 1e-12);
        assert!((freshness(&config, now, now - 10 * DAY_MS) - 0.5).abs() < 1e-12);
        assert!((freshness(&config, now, now + DAY_MS) - 1.0).abs() < 1e-12);
        assert!(freshness(&config, now, Timestamp::MIN) < 1e-12);
    }

    #[test]
    fn youth_falls_with_the_logarithm_of_the_age() {
        let now = Timestamp::from_millis(10_000 * DAY_MS);
        let of = |hours: i64| youth(now, now - hours * DAY_MS / 24);
        assert!((of(0) - 1.0).abs() < 1e-6 && (of(-5) - 1.0).abs() < 1e-6);
        // 1 hour is two times as old as none, and so on.
        let steps = [of(0) - of(1), of(1) - of(3), of(3) - of(7), of(511) - of(1_023)];
        assert!(steps.iter().all(|step| (step - steps[0]).abs() < 1e-5 && *step > 0.05), "{steps:?}");
        assert!(of(24 * 365) > of(24 * 730) && of(24 * 3_660).abs() < 1e-6);
    }

    #[test]
    fn novelty_halves_with_acts_and_recency_with_later_posts() {
        let config = Feed {
            novel_half_life_acts: 2.0,
            recent_half_life_posts: 10.0,
            recent_half_life_growth: 2.0,
            ..Feed::default()
        };
        let halved = |of: [f64; 3]| of.iter().zip([1.0, 0.5, 0.25]).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(halved([0, 2, 4].map(|acts| novelty(&config, acts))));
        assert!(halved([0, 10, 20].map(|later| recency(recency_rate(&config, 0), later).into())));
        assert!(halved([0, 26, 52].map(|later| recency(recency_rate(&config, 20), later).into())));
        assert!(halved([0, 210, 420].map(|later| recency(recency_rate(&config, 100), later).into())));
        assert!(recency(recency_rate(&config, 0), u32::MAX) < 1e-6);
    }
}
