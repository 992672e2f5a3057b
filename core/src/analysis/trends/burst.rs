//! Bursts: terms searched far more in the last hours than usual.
//!
//! The usual level comes from the same 24 hours as the ranking, so nothing is stored for it. The *last* hours are the
//! current clock hour and the two before it, the *earlier* hours are the others. With the numbers of visitors who
//! searched the term and who searched all other terms, each visitor counted once an hour per term:
//!
//! ```text
//! usual = earlier × (last of the other terms + 3) / (earlier of the other terms + 21)
//! score = (last − usual) / √(usual + 1)
//! ```
//!
//! The other terms tell how busy the last hours are, so that a term is no burst because it is morning. The constants, one
//! visitor an hour, make the ratio that of the durations in a store with few searches. The number of independent visitors
//! in a period follows a Poisson distribution, of which the variance is the mean: the score counts standard deviations.
//! The 1 in it keeps rare terms from getting a high score.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::RANKING_MAX;
use super::term::{HourlyVisitors, NETWORK_VISITORS, Term};

/// The number of clock hours in which a burst is looked for, the current one included.
pub const BURST_HOURS: i64 = 3;
/// A visitor an hour, in the last and in the earlier hours.
const PRIOR_LAST: f64 = 3.0;
const PRIOR_EARLIER: f64 = 21.0;
/// The lowest number of visitors, the lowest score, and the lowest ratio to the usual level of a burst. The guests of one
/// network reach this number of visitors, as they do in the ranking.
const VISITORS_MIN: usize = NETWORK_VISITORS;
const SCORE_MIN: f64 = 2.0;
const RATIO_MIN: f64 = 2.0;

/// A term searched by more visitors than usual.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchBurst {
    /// The term in its most frequent spelling.
    #[schema(max_length = 1_000, examples("eclipse"))]
    pub term: String,
    /// Number of visitors who searched it in the current clock hour and the two before, each counted once an hour.
    #[schema(minimum = 3, examples(20))]
    pub count: i64,
    /// The number that its earlier searches lead to expect.
    #[schema(minimum = 0, examples(1.82))]
    pub usual: f64,
    /// How many standard deviations `count` is above `usual`.
    #[schema(minimum = 2, examples(10.83))]
    pub score: f64,
}

fn score(own: HourlyVisitors, all: HourlyVisitors) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 visitors")]
    let [last, earlier, other_last, other_earlier] =
        [own.since, own.before, all.since - own.since, all.before - own.before].map(|number| number as f64);
    let usual = earlier * (other_last + PRIOR_LAST) / (other_earlier + PRIOR_EARLIER);
    (usual, (last - usual) / (usual + 1.0).sqrt())
}

/// Highest score first; of equal scores, the most recent first. Terms of fewer than `min_visitors` visitors in 24 hours are left
/// out.
pub(super) fn bursts<'t>(
    terms: impl Iterator<Item = &'t Term>,
    hour: i64,
    min_visitors: usize,
) -> Vec<SearchBurst> {
    let first = hour - (BURST_HOURS - 1);
    let mut all = HourlyVisitors::default();
    let mut candidates = Vec::new();
    for term in terms {
        let own = term.hourly_visitors(first);
        all.since += own.since;
        all.before += own.before;
        if own.since >= VISITORS_MIN && term.distinct >= min_visitors {
            candidates.push((term, own));
        }
    }
    let mut found: Vec<_> = candidates
        .into_iter()
        .filter_map(|(term, own)| {
            let (usual, score) = score(own, all);
            let count = i64::try_from(own.since).ok()?;
            #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 visitors")]
            let is_burst = score >= SCORE_MIN && count as f64 >= RATIO_MIN * usual;
            (is_burst && term.visitors_since(first) >= VISITORS_MIN).then_some((term, count, usual, score))
        })
        .collect();
    found.sort_by(|(a, .., score), (b, .., other)| {
        other.total_cmp(score).then_with(|| Reverse(a.newest).cmp(&Reverse(b.newest)))
    });
    found.truncate(RANKING_MAX);
    let burst = |(term, count, usual, score): (&Term, i64, f64, f64)| SearchBurst {
        term: term.shown().to_owned(),
        count,
        usual: rounded(usual),
        score: rounded(score),
    };
    found.into_iter().map(burst).collect()
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitors(before: usize, since: usize) -> HourlyVisitors {
        HourlyVisitors { before, since }
    }

    #[test]
    fn the_usual_level_follows_the_other_terms() {
        // In a store with few searches, three hours usually have a seventh of the searches of the other 21.
        let (usual, above) = score(visitors(7, 3), visitors(7, 3));
        assert_eq!((rounded(usual), rounded(above)), (1.0, rounded(2.0 / 2.0_f64.sqrt())));
        // All terms are searched twice as much as before.
        let (usual, above) = score(visitors(700, 200), visitors(70_000, 20_000));
        assert_eq!((usual.round(), above.round()), (200.0, 0.0));
        let (usual, above) = score(visitors(0, 8), visitors(70_000, 20_000));
        assert_eq!((usual, above), (0.0, 8.0));
    }
}
