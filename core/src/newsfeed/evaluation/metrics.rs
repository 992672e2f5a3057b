//! Metrics of a ranking, given the relevant posts.

use super::super::index::FeedIndex;
use super::Quality;
use crate::id::{MemberKey, PostKey};
use crate::keyed::{OwnMap, OwnSet};

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

/// The metrics of a ranking, averaged over comparisons; a member may have several.
#[derive(Default)]
pub(super) struct Scores {
    count: usize,
    ndcg: f64,
    recall: f64,
    diversity: f64,
    /// The number of comparisons and the sum of the gains of each member.
    members: OwnMap<MemberKey, (usize, f64)>,
    shown: OwnSet<PostKey>,
}

#[expect(clippy::cast_precision_loss, reason = "members and posts are far fewer than 2^53")]
impl Scores {
    /// Adds the ranking for a member, for whom the posts in `relevant` are relevant.
    pub(super) fn add(
        &mut self,
        member: MemberKey,
        ranking: &[PostKey],
        relevant: &OwnSet<PostKey>,
        index: &FeedIndex,
    ) {
        let gain = ndcg(ranking, relevant);
        self.count += 1;
        self.ndcg += gain;
        self.recall += recall(ranking, relevant);
        let first = &ranking[..ranking.len().min(FIRST)];
        self.diversity += diversity(first, index);
        self.shown.extend(first);
        let (count, sum) = self.members.entry(member).or_default();
        (*count, *sum) = (*count + 1, *sum + gain);
    }

    /// Returns the number of members.
    pub(super) fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns the number of comparisons.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the figures of the report.
    pub(super) fn quality(&self, ranking: &'static str, index: &FeedIndex) -> Quality {
        let mean = |sum: f64| rounded(sum / self.count.max(1) as f64);
        Quality {
            ranking,
            ndcg10: mean(self.ndcg),
            ndcg10_error: rounded(self.error()),
            recall30: mean(self.recall),
            coverage: rounded(self.shown.len() as f64 / index.len().max(1) as f64),
            diversity: mean(self.diversity),
        }
    }

    /// Returns the standard error of the mean gain, with the gains of a member as one cluster.
    ///
    /// Source: Liang and Zeger, *Longitudinal data analysis using generalized linear models*, Biometrika 73(1), 1986.
    fn error(&self) -> f64 {
        let mean = self.ndcg / self.count.max(1) as f64;
        let deviations = self.members.values().map(|(count, sum)| (sum - *count as f64 * mean).powi(2));
        deviations.sum::<f64>().sqrt() / self.count.max(1) as f64
    }
}

/// Returns 1 minus the mean cosine of all pairs of posts; 1 for less than two posts.
fn diversity(posts: &[PostKey], index: &FeedIndex) -> f64 {
    let positions: Vec<u32> = posts.iter().filter_map(|key| index.position(*key)).collect();
    let (mut sum, mut pairs) = (0.0, 0);
    for (n, one) in positions.iter().enumerate() {
        for other in &positions[n + 1..] {
            sum += f64::from(index.features().cosine(*one, *other));
            pairs += 1;
        }
    }
    if pairs > 0 { 1.0 - sum / f64::from(pairs) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Timestamp;
    use crate::config::Feed;
    use crate::newsfeed::index::tests::row;
    use crate::testing::{NOW, posts};

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
        let rows = (1..=6).map(|key| row(key, Timestamp::from_millis(key), if key < 3 { "a" } else { "b" }));
        let index = FeedIndex::next(None, rows.collect(), &[], None, 1, NOW, &Feed::default());
        let (one, other) = (MemberKey::new(1), MemberKey::new(2));
        let mut scores = Scores::default();
        scores.add(one, &posts([1, 2]), &set([1]), &index);
        scores.add(other, &posts([2, 3]), &set([1]), &index);
        let found = scores.quality("popular", &index);
        assert!(close(found.ndcg10, 0.5) && close(found.recall30, 0.5) && close(found.coverage, 0.5));
        // Posts of one topic are the same here, and those of two have nothing in common.
        assert!(close(found.diversity, 0.5), "{found:?}");
        assert_eq!((scores.members(), scores.count()), (2, 2));
        // Both deviate by a half: the root of 2/4, divided by 2.
        assert!(close(found.ndcg10_error, rounded(0.5_f64.sqrt() / 2.0)), "{found:?}");
        // A member whose gains cancel each other adds no error.
        scores.add(one, &posts([2]), &set([1]), &index);
        scores.add(other, &posts([1]), &set([1]), &index);
        let balanced = scores.quality("popular", &index);
        assert!(close(balanced.ndcg10, 0.5) && close(balanced.ndcg10_error, 0.0) && scores.members() == 2);
        let none = Scores::default().quality("popular", &index);
        assert!(close(none.ndcg10, 0.0) && close(none.coverage, 0.0));
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
