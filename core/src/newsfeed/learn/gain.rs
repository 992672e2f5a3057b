//! The gain of a ranking, which is how early it has the posts that a member chose, and means of figures of which a member may
//! have several.

use crate::base::keyed::{OwnMap, OwnSet};
use crate::record::id::{MemberKey, PostKey};

pub(crate) const FIRST: usize = 10;

/// Returns the discounted gain of the first ten posts, divided by that of the best possible ranking; 0 if no post is relevant.
/// Source: Järvelin and Kekäläinen, *Cumulated gain-based evaluation of IR techniques*, ACM TOIS 20(4), 2002; with gains of 0 and
/// 1, and discounts by the binary logarithm from the first place on.
pub(crate) fn ndcg(ranking: &[PostKey], relevant: &OwnSet<PostKey>) -> f64 {
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
pub(crate) fn gain_of_rank(rank: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "the settings allow far fewer posts")]
    let place = (rank + 1) as f64;
    1.0 / place.log2()
}

/// The figures of a member are one cluster, because they depend on each other.
#[derive(Default)]
pub(crate) struct Clusters {
    count: usize,
    sum: f64,
    /// A number and a sum.
    members: OwnMap<MemberKey, (usize, f64)>,
}

#[expect(clippy::cast_precision_loss, reason = "figures are far fewer than 2^53")]
impl Clusters {
    pub(crate) fn add(&mut self, member: MemberKey, figure: f64) {
        self.count += 1;
        self.sum += figure;
        let (count, sum) = self.members.entry(member).or_default();
        (*count, *sum) = (*count + 1, *sum + figure);
    }

    pub(crate) fn members(&self) -> usize {
        self.members.len()
    }

    /// 0 without figures.
    pub(crate) fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    /// Returns the standard error of the mean; 0 without figures. Source: Liang and Zeger, *Longitudinal data analysis using
    /// generalized linear models*, Biometrika 73(1), 1986.
    pub(crate) fn error(&self) -> f64 {
        let mean = self.mean();
        let deviation = |(count, sum): &(usize, f64)| (sum - *count as f64 * mean).powi(2);
        self.members.values().map(deviation).sum::<f64>().sqrt() / self.count.max(1) as f64
    }
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
        // Ten relevant posts are the maximum.
        assert!(close(ndcg(&many, &many.iter().copied().collect()), 1.0));
    }

    #[test]
    fn the_figures_of_a_member_are_one_cluster() {
        let mut clusters = Clusters::default();
        assert!(clusters.mean().abs() < 1e-12 && clusters.error().abs() < 1e-12);
        let (one, other) = (MemberKey::new(1), MemberKey::new(2));
        clusters.add(one, 1.0);
        clusters.add(other, 0.0);
        // Both deviate by a half: the root of 2/4, divided by 2.
        assert!((clusters.mean() - 0.5).abs() < 1e-12);
        assert!((clusters.error() - 0.5_f64.sqrt() / 2.0).abs() < 1e-12);
        // A member whose figures cancel each other adds no error.
        clusters.add(one, 0.0);
        clusters.add(other, 1.0);
        assert!((clusters.mean() - 0.5).abs() < 1e-12 && clusters.error().abs() < 1e-12);
        assert_eq!(clusters.members(), 2);
    }
}
