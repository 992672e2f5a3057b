//! Metrics of a ranking, given the relevant posts.

use crate::id::PostKey;
use crate::keyed::OwnSet;

/// The number of posts of a ranking that recall considers.
pub(super) const TOP: usize = 30;
/// The number of posts of a ranking that the gain and coverage consider.
const FIRST: usize = 10;

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

/// Returns the share of the relevant posts that are among the first thirty; 0 if no post is relevant.
#[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
pub(super) fn recall(ranking: &[PostKey], relevant: &OwnSet<PostKey>) -> f64 {
    let found = ranking.iter().take(TOP).filter(|post| relevant.contains(post)).count();
    found as f64 / relevant.len().max(1) as f64
}

/// Rounds to four digits; the third is already noise.
pub(super) fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}

/// The metrics of a ranking, averaged over members.
#[derive(Default)]
pub(super) struct Scores {
    members: usize,
    ndcg: f64,
    recall: f64,
    shown: OwnSet<PostKey>,
}

#[expect(clippy::cast_precision_loss, reason = "members and posts are far fewer than 2^53")]
impl Scores {
    /// Adds the ranking for a member, for whom the posts in `relevant` are relevant.
    pub(super) fn add(&mut self, ranking: &[PostKey], relevant: &OwnSet<PostKey>) {
        self.members += 1;
        self.ndcg += ndcg(ranking, relevant);
        self.recall += recall(ranking, relevant);
        self.shown.extend(ranking.iter().take(FIRST));
    }

    pub(super) fn members(&self) -> usize {
        self.members
    }

    pub(super) fn ndcg10(&self) -> f64 {
        self.ndcg / self.members.max(1) as f64
    }

    pub(super) fn recall30(&self) -> f64 {
        self.recall / self.members.max(1) as f64
    }

    /// Returns the share of all `posts` that are among the first ten of at least one member.
    pub(super) fn coverage(&self, posts: usize) -> f64 {
        self.shown.len() as f64 / posts.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn recall_is_the_share_of_relevant_posts_among_the_first_thirty() {
        let ranking = posts(0..40);
        assert!(close(recall(&ranking, &set([0, 29, 30, 99])), 0.5));
        assert!(close(recall(&[], &set([1])), 0.0) && close(recall(&ranking, &set([])), 0.0));
    }

    #[test]
    fn means_are_over_members_and_coverage_over_posts() {
        let mut scores = Scores::default();
        scores.add(&posts([1, 2]), &set([1]));
        scores.add(&posts([2, 3]), &set([1]));
        assert!(close(scores.ndcg10(), 0.5) && close(scores.recall30(), 0.5));
        assert!(close(scores.coverage(6), 0.5) && scores.members() == 2);
        let none = Scores::default();
        assert!(close(none.ndcg10(), 0.0) && close(none.coverage(0), 0.0));
    }

    proptest! {
        #[test]
        fn figures_are_from_0_to_1_and_relevant_posts_first_is_the_best_ranking(
            relevant in prop::collection::hash_set(0_i64..60, 1..40),
            ranking in Just(posts(0..60)).prop_shuffle(),
        ) {
            let relevant: OwnSet<PostKey> = relevant.into_iter().map(PostKey::new).collect();
            let mut best = ranking.clone();
            best.sort_by_key(|post| !relevant.contains(post));
            for of in [ndcg, recall] {
                prop_assert!((0.0..=1.0 + 1e-9).contains(&of(&ranking, &relevant)));
                prop_assert!(of(&best, &relevant) >= of(&ranking, &relevant));
            }
            prop_assert!(close(ndcg(&best, &relevant), 1.0));
        }
    }
}
