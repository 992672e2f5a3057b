//! The rankings of the feeds that are the same for all guests, and the posts of a story.

use super::FeedIndex;
use crate::base::clock::Timestamp;
use crate::base::config::Feed;
use crate::base::keyed::OwnSet;
use crate::newsfeed::snapshot::Snapshot;
use crate::newsfeed::{diversity, ranking, story};
use crate::record::id::PostKey;

/// Posts of the guests' recommended feed that are diversified. Later posts keep the order of their scores.
const DIVERSE_LENGTH: usize = 1_500;
/// This number of first posts of the guests' recommended feed covers as many topics as possible: a newcomer shows an interest by
/// opening posts among these.
const COVERING: usize = 30;
/// The first posts are chosen from this number of most popular posts.
const POPULAR_CHOICE: usize = 1_000;
/// The posts of a story are searched among this number of newer and of older posts, so that a page takes some milliseconds even
/// if all posts have the same date.
const STORY_RANGE: u32 = 10_000;

impl FeedIndex {
    /// By heat; posts without views and likes follow, newest first. No source fills the first places, and no two of the first
    /// posts tell the same story.
    pub(super) fn most_popular(&self, now: Timestamp, config: &Feed) -> Vec<PostKey> {
        let item = |at: u32| &self.items[at as usize];
        let shown = || self.positions().filter(|at| !item(*at).has_ended(now));
        let mut hot: Vec<_> = shown().filter_map(|at| Some((item(at).heat?, at))).collect();
        // The sort is stable, so ties stay newest first.
        hot.sort_by(|a, b| b.0.total_cmp(&a.0));
        let cold = shown().filter(|at| item(*at).heat.is_none());
        let ranking: Vec<u32> = hot.into_iter().map(|(_, at)| at).chain(cold).collect();
        let source = |at: u32| {
            // The source is the last label.
            let labels = self.labels().of(at);
            if item(at).about.source.is_some() { &labels[labels.len() - 1..] } else { &[] }
        };
        let (choice, others) = ranking.split_at(ranking.len().min(POPULAR_CHOICE));
        let same = |one, other| self.tell_the_same_story(one, other);
        let first = diversity::diversify(choice, source, |_| config.diverse_max, same, diversity::STORIES);
        let rest = choice.iter().filter(|at| !first.contains(at));
        first.iter().chain(rest).chain(others).map(|at| self.key(*at)).collect()
    }

    /// Starts at the position `first`, and freshness is relative to the post there. `popular` is the popularity of all posts.
    pub(in crate::newsfeed) fn most_recommendable(
        &self,
        first: usize,
        popular: &[f32],
        now: Timestamp,
        config: &Feed,
    ) -> Vec<PostKey> {
        #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
        let (fresh_weight, popular_weight) = (config.fresh_weight as f32, config.popular_weight as f32);
        let fresh = &self.snapshot.fresh;
        // Freshness halves in equal times, so the quotient is the freshness relative to the post at `first`.
        let newest = fresh.get(first).map_or(1.0, |newest| newest.max(f32::MIN_POSITIVE));
        let weighted =
            |(fresh, popular): (&f32, &f32)| fresh_weight * fresh / newest + popular_weight * popular;
        let scores: Vec<f32> = fresh.iter().zip(popular).map(weighted).collect();
        let mut best: Vec<u32> =
            self.positions().skip(first).filter(|at| !self.items[*at as usize].has_ended(now)).collect();
        best.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
        let best = ranking::topics_first(&best, |at| self.labels().topics_of(at), COVERING);
        let same = |one, other| self.tell_the_same_story(one, other);
        let labels = |at| self.labels().of(at);
        let diverse = diversity::diversify(&best, labels, |_| config.diverse_max, same, DIVERSE_LENGTH);
        let first: OwnSet<u32> = diverse.iter().copied().collect();
        let rest = best.into_iter().filter(|at| !first.contains(at));
        diverse.iter().copied().chain(rest).map(|at| self.key(at)).collect()
    }

    /// No two of the first posts tell the same story.
    pub(in crate::newsfeed) fn stories_once(&self, posts: impl Iterator<Item = PostKey>) -> Vec<PostKey> {
        let ranking: Vec<u32> = posts.filter_map(|key| self.position(key)).collect();
        let same = |one, other| self.tell_the_same_story(one, other);
        let once = diversity::diversify(&ranking, |_| &[], |_| diversity::WINDOW, same, ranking.len());
        once.into_iter().map(|at| self.key(at)).collect()
    }

    pub(in crate::newsfeed) fn tell_the_same_story(&self, one: u32, other: u32) -> bool {
        let Snapshot { sketches, dates, .. } = &*self.snapshot;
        let [a, b] = [one, other].map(|at| at as usize);
        sketches[a].may_match(&sketches[b])
            && story::are_close(dates[a], dates[b])
            && self.items[a].about.tells_the_same(&self.items[b].about)
    }

    /// Without the post itself; newest first.
    #[expect(clippy::cast_possible_truncation, reason = "the settings allow far fewer posts")]
    pub(in crate::newsfeed) fn same_story(&self, position: u32) -> impl Iterator<Item = u32> {
        let (dates, date) = (&self.snapshot.dates, self.date(position));
        let begin = dates.partition_point(|other| *other - date >= story::APART_MS) as u32;
        let end = dates.partition_point(|other| date - *other < story::APART_MS) as u32;
        let near = position.saturating_sub(STORY_RANGE)..position.saturating_add(STORY_RANGE);
        (begin.max(near.start)..end.min(near.end))
            .filter(move |at| *at != position && self.tell_the_same_story(position, *at))
    }
}
