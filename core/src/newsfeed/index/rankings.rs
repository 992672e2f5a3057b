//! The rankings of the feeds that are the same for all guests, and the posts of a story.

use super::FeedIndex;
use super::{diversity, story};
use crate::base::clock::Timestamp;
use crate::base::config::Feed;
use crate::base::keyed::OwnSet;
use crate::newsfeed::index::snapshot::Snapshot;
use crate::post::heat::Decay;
use crate::record::id::PostKey;

/// Posts of the guests' recommended feed that are diversified. Later posts keep the order of their scores.
const DIVERSE_LENGTH: usize = 1_500;
/// This number of first posts of the guests' recommended feed covers as many topics as possible: a newcomer shows an interest by
/// opening posts among these.
const COVERING: usize = 30;
const POPULAR_CHOICE: usize = 1_000;
/// The posts of a story are searched among this number of newer and of older posts, so that a page takes some milliseconds even
/// if all posts have the same date.
const STORY_RANGE: u32 = 10_000;

impl FeedIndex {
    /// By heat; posts without views and likes follow, newest first. No source fills the first places, and no two of the first
    /// posts tell the same story.
    pub(crate) fn most_popular(&self, now: Timestamp, config: &Feed) -> Vec<PostKey> {
        let item = |at: u32| &self.items[at as usize];
        let ranking = self.hottest(0, |at| item(at).heat, now);
        let source = |at: u32| {
            // The source is the last label.
            let labels = self.snapshot.labels.of(at);
            if item(at).about.source.is_some() { &labels[labels.len() - 1..] } else { &[] }
        };
        let (choice, others) = ranking.split_at(ranking.len().min(POPULAR_CHOICE));
        let same = |one, other| self.tell_the_same_story(one, other);
        let first = diversity::diversify(choice, source, |_| config.diverse_max, same, diversity::STORIES);
        let rest = choice.iter().filter(|at| !first.contains(at));
        first.iter().chain(rest).chain(others).map(|at| self.key(*at)).collect()
    }

    /// Ranks the popular posts of all topics, from the position `first` on, given the heats of all posts by position. A post
    /// without acts counts as if it had been viewed once when it was published.
    pub(crate) fn most_recommendable(
        &self,
        first: usize,
        (heats, decay): (&[Option<f64>], Decay),
        now: Timestamp,
        config: &Feed,
    ) -> Vec<PostKey> {
        let published = |at: u32| decay.grown(self.date(at).min(now));
        let best = self.hottest(first, |at| Some(heats[at as usize].unwrap_or_else(|| published(at))), now);
        let best = topics_first(&best, |at| self.snapshot.labels.topics_of(at), COVERING);
        let same = |one, other| self.tell_the_same_story(one, other);
        let labels = |at| self.snapshot.labels.of(at);
        let diverse = diversity::diversify(&best, labels, |_| config.diverse_max, same, DIVERSE_LENGTH);
        let first: OwnSet<u32> = diverse.iter().copied().collect();
        let rest = best.into_iter().filter(|at| !first.contains(at));
        diverse.iter().copied().chain(rest).map(|at| self.key(at)).collect()
    }

    /// Sorts the posts from the position `first` on by heat; those without follow, newest first.
    pub(crate) fn hottest(
        &self,
        first: usize,
        heat: impl Fn(u32) -> Option<f64>,
        now: Timestamp,
    ) -> Vec<u32> {
        let shown = self.positions().skip(first).filter(|at| !self.items[*at as usize].has_ended(now));
        let mut posts: Vec<_> = shown.map(|at| (heat(at).unwrap_or(f64::NEG_INFINITY), at)).collect();
        // The sort is stable, so ties stay newest first.
        posts.sort_by(|a, b| b.0.total_cmp(&a.0));
        posts.into_iter().map(|(_, at)| at).collect()
    }

    pub(crate) fn stories_once(&self, posts: impl Iterator<Item = PostKey>) -> Vec<PostKey> {
        let ranking: Vec<u32> = posts.filter_map(|key| self.position(key)).collect();
        let same = |one, other| self.tell_the_same_story(one, other);
        let once = diversity::diversify(&ranking, |_| &[], |_| diversity::WINDOW, same, ranking.len());
        once.into_iter().map(|at| self.key(at)).collect()
    }

    pub(crate) fn tell_the_same_story(&self, one: u32, other: u32) -> bool {
        let Snapshot { sketches, dates, .. } = &*self.snapshot;
        let [a, b] = [one, other].map(|at| at as usize);
        sketches[a].may_match(&sketches[b])
            && story::are_close(dates[a], dates[b])
            && self.items[a].about.tells_the_same(&self.items[b].about)
    }

    /// Without the post itself; newest first.
    #[expect(clippy::cast_possible_truncation, reason = "the settings allow far fewer posts")]
    pub(crate) fn same_story(&self, position: u32) -> impl Iterator<Item = u32> {
        let (dates, date) = (&self.snapshot.dates, self.date(position));
        let begin = dates.partition_point(|other| *other - date >= story::APART_MS) as u32;
        let end = dates.partition_point(|other| date - *other < story::APART_MS) as u32;
        let near = position.saturating_sub(STORY_RANGE)..position.saturating_add(STORY_RANGE);
        (begin.max(near.start)..end.min(near.end))
            .filter(move |at| *at != position && self.tell_the_same_story(position, *at))
    }
}

/// The best post of each topic goes first, in the order of the ranking, up to `count` posts, so that the first posts cover as
/// many topics as possible. `topics` returns the topics of a post as small numbers.
fn topics_first<'l>(ranking: &[u32], topics: impl Fn(u32) -> &'l [u32], count: usize) -> Vec<u32> {
    let mut covered: OwnSet<u32> = OwnSet::default();
    let (mut first, mut rest) = (Vec::with_capacity(ranking.len()), Vec::with_capacity(ranking.len()));
    for post in ranking {
        let is_covering = first.len() < count && topics(*post).iter().any(|topic| !covered.contains(topic));
        if is_covering {
            covered.extend(topics(*post));
            first.push(*post);
        } else {
            rest.push(*post);
        }
    }
    first.append(&mut rest);
    first
}
