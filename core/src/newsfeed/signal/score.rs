//! The signals of the posts of an index at a moment: now, or in the past.

use std::borrow::Cow;

use super::co_visits::ItemNeighbours;
use super::interest::Interest;
use super::latest;
use super::near::Own;
use super::ranking;
use super::recency::Recency;
use super::top::top;
use super::{Scoring, Signal, Weights};
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Feed;
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::index::diversity;
use crate::newsfeed::index::features::Number;
use crate::profile::history::Acts;
use crate::record::id::{MemberKey, PostKey};

/// Posts that are ranked for a member; the guests' order follows them.
const RANKED: usize = 300;
/// The ranked posts are chosen from this number of best posts, so that others exist if one label has many of the best.
const CANDIDATES: usize = 600;

/// The nearest own posts are only found for this number of best candidates, because finding them takes the longest.
const NEAR: usize = 100;

const LEFT_OUT: f32 = f32::NEG_INFINITY;

pub(crate) struct ScoringContext<'i> {
    pub(crate) index: &'i FeedIndex,
    pub(crate) at: Timestamp,
    /// The position of the newest post that exists.
    pub(crate) first: usize,
    /// By position.
    pub(crate) popular: Cow<'i, [f32]>,
    pub(crate) others: &'i ItemNeighbours,
}

impl<'i> ScoringContext<'i> {
    pub(crate) fn now(index: &'i FeedIndex, others: &'i ItemNeighbours, now: Timestamp) -> Self {
        Self { index, at: now, first: 0, popular: Cow::Borrowed(&index.popular), others }
    }

    /// Words keep their current weights.
    pub(crate) fn past(
        index: &'i FeedIndex,
        at: Timestamp,
        popular: Vec<f32>,
        others: &'i ItemNeighbours,
    ) -> Self {
        Self { index, at, first: index.newer_than(at, 0), popular: Cow::Owned(popular), others }
    }

    /// Returns the posts that `acts` recommend to a member, best first, without the posts in `seen`; `None` if the acts are
    /// too few.
    #[cfg(any(test, feature = "evaluation"))]
    pub(crate) fn recommend(
        &self,
        acts: &Acts,
        seen: &[PostKey],
        member: MemberKey,
        scoring: &Scoring,
        config: &Feed,
    ) -> Option<Vec<PostKey>> {
        let interest = super::interest::measure(acts, &config.interest, self.index)?;
        Some(self.rank(&interest, acts, seen, member, scoring, config))
    }

    pub(crate) fn rank(
        &self,
        interest: &Interest,
        acts: &Acts,
        seen: &[PostKey],
        member: MemberKey,
        scoring: &Scoring,
        config: &Feed,
    ) -> Vec<PostKey> {
        let (index, weights) = (self.index, &scoring.weights_for(acts, config));
        let own_posts = latest::posts(acts);
        let mut rest = vec![0.0; index.len()];
        self.add_rest(&mut rest, &own_posts, &interest.times, weights, config);
        if config.exploration > 0.0 {
            let (exploration, day) =
                (ranking::narrow(config.exploration), self.at.as_millis().div_euclid(DAY_MS));
            for (score, at) in rest.iter_mut().zip(0..) {
                *score += exploration * ranking::noise(member, index.key(at), day);
            }
        }
        rest[..self.first].fill(LEFT_OUT);
        let seen_at = seen.iter().filter_map(|key| index.position(*key));
        seen_at.chain(index.ended(self.at)).for_each(|at| rest[at as usize] = LEFT_OUT);
        // Ties by position: newest first.
        let best_of = |interest: &Interest, count| {
            let mut scores = interest.scores(index, weights, &config.interest);
            scores.iter_mut().zip(&rest).for_each(|(score, rest)| *score += rest);
            top(&scores, count, LEFT_OUT)
        };
        let mut best = best_of(interest, CANDIDATES);
        if weights[Signal::Near] > 0.0 {
            let own = self.own(&own_posts, config);
            let mut sums = Vec::new();
            index.features().fetch(best.iter().take(NEAR).map(|(position, _)| *position));
            for (position, score) in best.iter_mut().take(NEAR) {
                *score += weights[Signal::Near] * own.nearest(*position, &mut sums);
            }
            best.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        }
        let mut best: Vec<u32> = best.into_iter().map(|(at, _)| at).collect();
        if let Some(latest) = latest::changed(acts, &own_posts, config, index) {
            let of_latest = best_of(&latest, RANKED).into_iter().map(|(at, _)| at);
            best = latest::interleaved(&best, &of_latest.collect::<Vec<_>>());
        }
        let max = |label| places(interest, label, config.diverse_max);
        let same = |one, other| index.tell_the_same_story(one, other);
        let diverse = diversity::diversify(&best, |at| index.snapshot.labels.of(at), max, same, RANKED);
        diverse.into_iter().map(|at| index.key(at)).collect()
    }

    /// `posts` are [those](latest::posts) of the acts of a member.
    pub(crate) fn own(&self, posts: &[PostKey], config: &Feed) -> Own<'i> {
        let positions = posts.iter().filter_map(|key| self.index.position(*key));
        Own::new(self.index, positions, &config.interest)
    }

    pub(crate) fn recency(&self, times: &[Timestamp], config: &Feed) -> Recency<'i> {
        let missed = times.first().map_or(self.first, |last| self.index.newer_than(*last, self.first));
        self.index.snapshot.cadences.recency(self.first, missed, config)
    }

    /// What others did who acted on these posts, by position.
    pub(crate) fn together_scores(&self, posts: &[PostKey]) -> impl Iterator<Item = (u32, f32)> {
        let found = self.others.scores(posts.iter().copied()).into_iter();
        found.filter_map(move |(key, score)| Some((self.index.position(key)?, score)))
    }

    /// Adds novelty, recency, age, popularity and what others did, all weighted, for a member with acts on these posts and at these
    /// times, the latest first.
    fn add_rest(
        &self,
        scores: &mut [f32],
        posts: &[PostKey],
        times: &[Timestamp],
        weights: &Weights,
        config: &Feed,
    ) {
        let index = self.index;
        let recency = self.recency(times, config);
        let [recent, age, popular] =
            [Signal::Recent, Signal::Age, Signal::Popular].map(|signal| weights[signal]);
        let mut begin = self.first;
        for (acts, time) in times.iter().map(Some).chain([None]).enumerate() {
            // The posts between two acts are equally novel.
            let end = time.map_or(index.len(), |time| index.newer_than(*time, begin));
            let novelty = weights[Signal::Novel] * ranking::novelty(config, acts);
            for (position, score) in (begin..end).zip(&mut scores[begin..end]) {
                *score += novelty + recent * recency.recent(position) + popular * self.popular[position];
            }
            begin = end;
        }
        if age > 0.0 {
            for (position, score) in scores.iter_mut().enumerate().skip(self.first) {
                *score += age * recency.age(position);
            }
        }
        if weights[Signal::CoVisits] > 0.0 {
            for (position, score) in self.together_scores(posts) {
                scores[position as usize] += weights[Signal::CoVisits] * score;
            }
        }
    }
}

/// Returns how many of ten consecutive posts may have a label: the label's share of the acts times ten, at least `max`; for a
/// reader of few labels, all of them. Source: Steck, *Calibrated recommendations*, `RecSys` 2018.
fn places(interest: &Interest, label: Number, max: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
    let calibrated = (interest.share(label) * 10.0).ceil() as usize + 1;
    max.max(calibrated.min(diversity::WINDOW))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::base::config;
    use crate::newsfeed::index::tests::{as_of_now, row};
    use crate::newsfeed::signal::co_visits::CoVisits;
    use crate::testing::{NOW, posts};

    pub(crate) const MEMBER: MemberKey = MemberKey::new(1);

    /// Twenty posts of two topics in turn, the newest first, an hour apart.
    pub(crate) fn index() -> FeedIndex {
        let topic = |key| if key % 2 == 0 { "cats" } else { "dogs" };
        let rows = (0..20).map(|key| row(key, NOW - key * 3_600_000, topic(key))).collect();
        FeedIndex::next(None, rows, &[], None, as_of_now(), &Feed::default())
    }

    /// Returns what is recommended to a member who liked the post 18 ten hours ago.
    pub(crate) fn recommended(moment: &ScoringContext<'_>) -> Vec<i64> {
        let liked = vec![(PostKey::new(18), NOW - 10 * 3_600_000)];
        let acts = Acts { liked, ..Acts::default() };
        let interest = config::Interest { min_acts: 1, ..config::Interest::default() };
        let config = Feed { interest, ..Feed::default() };
        let keys = moment.recommend(&acts, &posts([18]), MEMBER, &Scoring::of(&config), &config);
        keys.unwrap().into_iter().map(PostKey::as_i64).collect()
    }

    #[test]
    fn what_people_chose_who_chose_the_same_posts_comes_earlier() {
        let index = index();
        let mut together = CoVisits::default();
        for n in 10..30 {
            for key in [18, 17] {
                together.add(MemberKey::new(n), PostKey::new(key), true);
            }
        }
        let place = |others: &ItemNeighbours| {
            let recommended = recommended(&ScoringContext::now(&index, others, NOW));
            recommended.iter().position(|key| *key == 17).unwrap()
        };
        let [with, without] =
            [ItemNeighbours::new(&together), ItemNeighbours::default()].each_ref().map(place);
        assert!(with + 3 < without, "{with} {without}");
    }

    #[test]
    fn a_moment_in_the_past_knows_no_later_posts() {
        let (index, nobody) = (index(), ItemNeighbours::default());
        let now = recommended(&ScoringContext::now(&index, &nobody, NOW));
        assert_eq!((now.len(), now[0]), (19, 0));
        let moment = ScoringContext::past(&index, NOW - 5 * 3_600_000, vec![0.0; 20], &nobody);
        let then = recommended(&moment);
        assert_eq!((then.len(), then[0]), (14, 6));
        assert!(then.iter().all(|key| *key >= 5));
    }
}
