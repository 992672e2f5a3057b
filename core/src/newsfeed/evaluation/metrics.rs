//! Metrics of a ranking, given the relevant posts.

use super::super::clusters::Clusters;
use super::super::gain::{FIRST, ndcg};
use super::super::index::FeedIndex;
use super::Quality;
use crate::base::keyed::OwnSet;
use crate::record::id::{MemberKey, PostKey};

/// The number of posts of a ranking that recall considers.
pub(super) const TOP: usize = 30;
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
    gains: Clusters,
    /// How much greater the gains of the recommended feed are.
    leads: Clusters,
    recalls: Clusters,
    diversity: f64,
    shown: OwnSet<PostKey>,
}

#[expect(clippy::cast_precision_loss, reason = "members and posts are far fewer than 2^53")]
impl Scores {
    /// Adds the ranking for a member, for whom the posts in `relevant` are relevant. The recommended feed has the gain
    /// `recommended`.
    pub(super) fn add(
        &mut self,
        member: MemberKey,
        ranking: &[PostKey],
        relevant: &OwnSet<PostKey>,
        recommended: f64,
        index: &FeedIndex,
    ) {
        let gain = ndcg(ranking, relevant);
        self.gains.add(member, gain);
        self.leads.add(member, recommended - gain);
        self.recalls.add(member, recall(ranking, relevant));
        let first = &ranking[..ranking.len().min(FIRST)];
        self.diversity += diversity(first, index);
        self.shown.extend(first);
    }

    /// Returns the number of members.
    pub(super) fn members(&self) -> usize {
        self.gains.members()
    }

    /// Returns the number of comparisons.
    pub(super) fn count(&self) -> usize {
        self.gains.count()
    }

    /// Returns the figures of the report.
    pub(super) fn quality(&self, ranking: &'static str, index: &FeedIndex) -> Quality {
        Quality {
            ranking,
            ndcg10: rounded(self.gains.mean()),
            ndcg10_error: rounded(self.gains.error()),
            lead: rounded(self.leads.mean()),
            lead_error: rounded(self.leads.error()),
            recall30: rounded(self.recalls.mean()),
            recall30_error: rounded(self.recalls.error()),
            coverage: rounded(self.shown.len() as f64 / index.len().max(1) as f64),
            diversity: rounded(self.diversity / self.count().max(1) as f64),
        }
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
    use crate::base::clock::Timestamp;
    use crate::base::config::Feed;
    use crate::newsfeed::index::tests::{as_of_now, row};
    use crate::testing::posts;

    fn set<const N: usize>(keys: [i64; N]) -> OwnSet<PostKey> {
        posts(keys).into_iter().collect()
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
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
        let index = FeedIndex::next(None, rows.collect(), &[], None, as_of_now(), &Feed::default());
        let (one, other) = (MemberKey::new(1), MemberKey::new(2));
        let mut scores = Scores::default();
        scores.add(one, &posts([1, 2]), &set([1]), 1.0, &index);
        scores.add(other, &posts([2, 3]), &set([1]), 0.5, &index);
        let found = scores.quality("popular", &index);
        // The recommended feed is better by 0 and by 0.5: by 0.25 ± √(2 · 0.25²) / 2.
        assert!(close(found.lead, 0.25) && close(found.lead_error, 0.1768), "{found:?}");
        assert!(close(found.recall30_error, rounded(0.5_f64.sqrt() / 2.0)), "{found:?}");
        assert!(close(found.ndcg10, 0.5) && close(found.recall30, 0.5) && close(found.coverage, 0.5));
        // Posts of one topic are the same here, and those of two have nothing in common.
        assert!(close(found.diversity, 0.5), "{found:?}");
        assert_eq!((scores.members(), scores.count()), (2, 2));
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
