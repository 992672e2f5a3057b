//! The rankings that the recommended feed is compared with, and what a moment can show.

use super::super::scoring_context::ScoringContext;
use crate::base::config::Feed;
use crate::profile::history::Acts;
use crate::record::id::PostKey;

impl ScoringContext<'_> {
    /// Returns the keys of the posts that exist, newest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = PostKey> {
        self.index.newest().skip(self.first)
    }

    /// Returns the posts that exist, the most popular first by these heats, ties newest first.
    pub(super) fn most_popular(&self, heats: &[Option<f64>]) -> Vec<PostKey> {
        let heats = heats.iter().map(|heat| heat.unwrap_or(f64::NEG_INFINITY));
        let mut posts: Vec<_> = heats.zip(self.index.newest()).skip(self.first).collect();
        posts.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        posts.into_iter().map(|(_, key)| key).collect()
    }

    /// Returns the recommended feed of guests.
    pub(super) fn of_guests(&self, config: &Feed) -> Vec<PostKey> {
        self.index.most_recommendable(self.first, &self.popular, self.at, config)
    }

    /// Returns what others did, the most similar posts first.
    pub(super) fn of_others(&self, acts: &Acts) -> Vec<PostKey> {
        let mut posts: Vec<_> = self.together_scores(acts).collect();
        posts.sort_by(|(a, of_a), (b, of_b)| of_b.total_cmp(of_a).then(a.cmp(b)));
        posts.into_iter().map(|(position, _)| self.index.key(position)).collect()
    }

    /// Returns the posts with the label that most of these posts have, newest first.
    pub(super) fn newest_of_label(&self, posts: &[PostKey]) -> impl Iterator<Item = PostKey> {
        let labels = self.index.labels();
        let mut counts = vec![0_u32; labels.len()];
        let positions = posts.iter().filter_map(|key| self.index.position(*key));
        positions.flat_map(|position| labels.of(position)).for_each(|label| counts[*label as usize] += 1);
        let most = (0..).zip(counts).max_by_key(|(label, count)| (*count, std::cmp::Reverse(*label)));
        let has = move |position: u32| most.is_some_and(|(label, _)| labels.of(position).contains(&label));
        self.newest().filter(move |key| self.index.position(*key).is_some_and(&has))
    }

    /// Returns whether a post exists.
    pub(super) fn has(&self, key: PostKey) -> bool {
        self.index.position(key).is_some_and(|position| position as usize >= self.first)
    }

    /// Returns the posts that have ended.
    pub(super) fn ended(&self) -> Vec<PostKey> {
        self.index.ended(self.at).map(|position| self.index.key(position)).collect()
    }
}
