//! The formulas of novelty, recency and age. None depends on the time, so the order changes only with posts and acts: recency
//! counts posts, and a topic with a post a month is as recent as one with ten a day. The default weights were chosen on histories
//! of readers of question sites, with `tidings bench feed`. Their steps are broad, because smaller differences are noise.

use crate::base::config::Feed;
use crate::base::keyed::Unkeyed;
use crate::record::id::{MemberKey, PostKey};

/// A member who has missed more posts does not look through all of them. On histories of readers of question sites, this raises
/// nDCG@10 of feeds that are requested every day by 4 %, and leaves that of feeds that are requested once unchanged.
const LOOKED_THROUGH: f64 = 50.0;
/// The number of later posts of its topic from which on a post counts as old.
const OLD: u32 = 10_000;

/// From 0 to 1 for a member who has acted `acts` times since the post was published: it halves with every `novel_half_life_acts`.
/// Source: the exposure of Liang, Charlin, `McInerney` and Blei, *Modeling user exposure in recommendation*, WWW 2016; here, a
/// member's acts show when the member was exposed to posts.
#[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
pub(crate) fn novelty(config: &Feed, acts: usize) -> f32 {
    narrow((-(acts as f64) / config.novel_half_life_acts).exp2())
}

/// The rate at which recency falls with each later post of the topic, if the topic has had `missed` posts since the member's last
/// act: the inverse of the half-life in posts. The half-life follows the rhythm of the topic and of the member. A member who acted
/// a moment ago has seen older posts. A member who comes back after a few posts looks through all of them, from the newest on. A
/// member who comes back after a hundred does not, so the interest decides. Hence the half-life grows with the square of the
/// missed posts up to [`LOOKED_THROUGH`], and linearly beyond.
pub(crate) fn recency_rate(config: &Feed, missed: u32) -> f32 {
    let missed = f64::from(missed);
    let growth = config.recent_half_life_growth * (missed / LOOKED_THROUGH).min(1.0);
    let half_life = config.recent_half_life_posts + growth * missed;
    narrow(1.0 / half_life)
}

/// From 0 to 1 for a post that `later` posts of its topic followed: it halves with every half-life.
#[inline]
pub(crate) fn recency(rate: f32, later: u32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "numbers of posts need no more digits")]
    let half_lives = later as f32 * rate;
    // Most posts are far beyond this, where recency is less than the rounding of other signals.
    if half_lives > 24.0 { 0.0 } else { (-half_lives).exp2() }
}

/// Returns the age of a post that `later` posts of its topic followed, from 1 for none to 0 for [`OLD`].
pub(crate) fn age(later: u32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "numbers of posts need no more digits")]
    let [later, old] = [later, OLD].map(|count| (count as f32).ln_1p());
    (1.0 - later / old).max(0.0)
}

/// Returns uniform noise from 0 to 1 for the exploration setting; the same for the same member, post and day.
pub(crate) fn noise(member: MemberKey, post: PostKey, day: i64) -> f32 {
    use std::hash::{Hash as _, Hasher as _};
    // The service chooses all of these numbers, and every process needs the same noise.
    let mut hasher = Unkeyed::default();
    (member, post, day).hash(&mut hasher);
    let hash = hasher.finish();
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let uniform = (hash >> 11) as f64 / (1_u64 << 53) as f64;
    narrow(uniform)
}

#[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
pub(crate) fn narrow(weight: f64) -> f32 {
    weight as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_falls_with_the_logarithm_of_the_later_posts() {
        // 1 later post is two times as old as none, and so on.
        let steps = [(0, 1), (1, 3), (3, 7), (511, 1_023)].map(|(one, other)| age(one) - age(other));
        assert!(steps.iter().all(|step| (step - steps[0]).abs() < 1e-5 && *step > 0.05), "{steps:?}");
        assert!((age(0) - 1.0).abs() < 1e-6 && age(OLD).abs() < 1e-6 && age(2 * OLD).abs() < 1e-6);
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
        assert!(halved([0, 2, 4].map(|acts| novelty(&config, acts).into())));
        assert!(halved([0, 10, 20].map(|later| recency(recency_rate(&config, 0), later).into())));
        assert!(halved([0, 26, 52].map(|later| recency(recency_rate(&config, 20), later).into())));
        assert!(halved([0, 210, 420].map(|later| recency(recency_rate(&config, 100), later).into())));
        assert!(recency(recency_rate(&config, 0), u32::MAX) < 1e-6);
    }
}
