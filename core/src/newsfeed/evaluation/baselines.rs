//! The rankings that the recommended feed is compared with, and what a moment can show.

use std::collections::HashSet;

use super::super::recent::PastAct;
use super::super::scoring_context::ScoringContext;
use crate::base::config::Feed;
use crate::post::heat::VIEW_WEIGHT;
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

    /// Returns the posts with any topic of these posts, newest first. A post without topics has its tags in place of them.
    pub(super) fn newest_of_topics(&self, posts: &[PostKey]) -> impl Iterator<Item = PostKey> {
        let topics = |key: PostKey| {
            let about = &self.index.item(self.index.position(key)?).about;
            Some(if about.topic.is_empty() { &about.tag } else { &about.topic })
        };
        let known: HashSet<&str> =
            posts.iter().filter_map(|key| topics(*key)).flatten().map(|topic| &**topic).collect();
        let is_known =
            move |key: &PostKey| topics(*key).into_iter().flatten().any(|topic| known.contains(&**topic));
        self.newest().filter(is_known)
    }

    /// Returns the posts that exist, those with the most of these acts first, where a like counts as `like_weight` views; ties
    /// newest first.
    pub(super) fn popular_of(&self, acts: &[PastAct], like_weight: f64) -> Vec<PostKey> {
        let mut sums = vec![None; self.index.len()];
        for act in acts {
            if let Some(position) = self.index.position(act.post) {
                *sums[position as usize].get_or_insert(0.0) +=
                    if act.is_like { like_weight } else { VIEW_WEIGHT };
            }
        }
        self.most_popular(&sums)
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
