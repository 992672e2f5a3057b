//! The gain of a ranking: how early it has the posts that a member chose.

use crate::base::keyed::OwnSet;
use crate::record::id::PostKey;

/// The posts of a ranking that the gain considers.
pub(super) const FIRST: usize = 10;

/// Returns the discounted gain of the first ten posts, divided by that of the best possible ranking; 0 if no post is
/// relevant.
///
/// Source: Järvelin and Kekäläinen, *Cumulated gain-based evaluation of IR techniques*, ACM TOIS 20(4), 2002; with
/// gains of 0 and 1, and discounts by the binary logarithm from the first place on.
pub(super) fn ndcg(ranking: &[PostKey], relevant: &OwnSet<PostKey>) -> f64 {
    let discounts = || (2_u32..).map(|place| 1.0 / f64::from(place).log2()).take(FIRST);
    let gain: f64 = ranking
        .iter()
        .zip(discounts())
        .filter(|(post, _)| relevant.contains(post))
        .map(|(_, gain)| gain)
        .sum();
    let ideal: f64 = discounts().take(relevant.len()).sum();
    if ideal > 0.0 { gain / ideal } else { 0.0 }
}

/// Ranks begin at 1.
pub(super) fn gain_of_rank(rank: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "the settings allow far fewer posts")]
    let place = (rank + 1) as f64;
    1.0 / place.log2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::posts;

    fn set<const N: usize>(keys: [i64; N]) -> OwnSet<PostKey> {
        posts(keys).into_iter().collect()
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn a_relevant_post_counts_less_at_a_later_place() {
        // 1/log2(2) = 1, 1/log2(3) = 0.6309…, 1/log2(4) = 0.5, 1/log2(11) = 0.2890…
        assert!(close(ndcg(&posts([1, 2, 3]), &set([1])), 1.0));
        assert!(close(ndcg(&posts([2, 3, 1]), &set([1])), 0.5));
        assert!(close(ndcg(&posts([1, 2, 3]), &set([1, 3])), 1.5 / (1.0 + 1.0 / 3_f64.log2())));
        let ten = posts(0..11);
        assert!(close(ndcg(&ten, &set([9])), 1.0 / 11_f64.log2()));
        assert!(close(ndcg(&ten, &set([10])), 0.0), "the eleventh post does not count");
        let many = posts(0..40);
        assert!(
            close(ndcg(&many, &many.iter().copied().collect()), 1.0),
            "ten relevant posts are the maximum"
        );
    }
}
