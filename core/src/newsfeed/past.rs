//! The acts of the past, replayed in the order of their times, and the posts as they were.

use std::borrow::Cow;

use super::index::FeedIndex;
use super::moment::Moment;
use super::ranking;
use super::together::{Others, Together};
use crate::account::Operator;
use crate::clock::Timestamp;
use crate::config::Feed;
use crate::error::Result;
use crate::id::{MemberKey, PostKey};
use crate::post::heat::{Decay, VIEW_WEIGHT};
use crate::profile::history::Acts;
use crate::store::{Store, StoreError};

/// The number of acts per page, so that no transaction delays the checkpoint of the log for long.
const PAGE: i64 = 20_000;

/// An act on a post.
#[derive(Clone, Copy)]
pub(super) struct PastAct {
    pub(super) at: Timestamp,
    pub(super) member: MemberKey,
    pub(super) post: PostKey,
    pub(super) is_like: bool,
}

/// Reads all likes and views, the earliest first.
pub(super) fn read(store: &Store, _: Operator, progress: &mut dyn FnMut(f64)) -> Result<Vec<PastAct>> {
    let last: i64 = store.read(|tx| tx.one("SELECT coalesce(max(key), 0) FROM member", &[])?.take(0))?;
    let mut acts = Vec::new();
    for (done, table) in ["liked", "viewed"].into_iter().enumerate() {
        let mut after = (MemberKey::MIN, PostKey::MIN);
        loop {
            let sql = format!(
                "SELECT member, post, date FROM {table} WHERE (member, post) > ($1, $2) ORDER BY member, post LIMIT $3"
            );
            let page = store.read(|tx| {
                let mut page = Vec::new();
                tx.for_each(&sql, &[after.0.into(), after.1.into(), PAGE.into()], &mut |row| {
                    let (member, post, at) = (row.take(0)?, row.take(1)?, row.take(2)?);
                    page.push(PastAct { at, member, post, is_like: done == 0 });
                    Ok(())
                })?;
                Ok::<_, StoreError>(page)
            })?;
            let Some(PastAct { member, post, .. }) = page.last().copied() else { break };
            after = (member, post);
            #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
            progress(0.5 * (done as f64 + member.as_i64() as f64 / last.max(1) as f64));
            acts.extend(page);
        }
    }
    acts.sort_unstable_by_key(|act| (act.at, act.member, act.post, act.is_like));
    Ok(acts)
}

/// What an index shows while its acts are replayed.
pub(super) struct Replay<'i> {
    index: &'i FeedIndex,
    acts: std::slice::Iter<'i, PastAct>,
    decay: Decay,
    like_weight: f64,
    /// The heat of each post by position.
    heats: Vec<Option<f64>>,
    pub(super) together: Together,
}

impl<'i> Replay<'i> {
    /// Begins before the first of these acts, the earliest first.
    pub(super) fn new(index: &'i FeedIndex, acts: &'i [PastAct], config: &Feed) -> Self {
        Self {
            index,
            acts: acts.iter(),
            decay: Decay::new(config.popular_half_life_days),
            like_weight: config.like_weight,
            heats: vec![None; index.len()],
            together: Together::default(),
        }
    }

    /// Replays the acts before the time `at`.
    pub(super) fn go_to(&mut self, at: Timestamp) {
        while let Some(act) = self.acts.as_slice().first().filter(|act| act.at < at) {
            self.acts.next();
            let Some(position) = self.index.position(act.post) else { continue };
            let heat = &mut self.heats[position as usize];
            *heat = self.decay.add(*heat, if act.is_like { self.like_weight } else { VIEW_WEIGHT }, act.at);
            self.together.add(act.member, act.post, act.is_like);
        }
    }

    /// Returns the posts as they were at the time `at`.
    pub(super) fn moment(&self, at: Timestamp) -> Moment<'_> {
        let hottest = self.heats.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
        let popular = self.heats.iter().map(|heat| ranking::popularity(hottest, *heat) as f32).collect();
        Moment::past(self.index, at, popular, &self.together)
    }
}

impl<'i> Moment<'i> {
    /// A moment in the past with this popularity of the posts. Words keep the weights that they have now.
    pub(super) fn past(
        index: &'i FeedIndex,
        at: Timestamp,
        popular: Vec<f32>,
        others: &'i dyn Others,
    ) -> Self {
        Self { index, at, first: index.newer_than(at, 0), popular: Cow::Owned(popular), others }
    }

    /// Returns the keys of the posts that exist, newest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = PostKey> {
        self.index.newest().skip(self.first)
    }

    /// Returns the posts that exist, the most popular first, ties newest first.
    pub(super) fn most_popular(&self) -> Vec<PostKey> {
        let mut posts: Vec<_> =
            self.popular.iter().copied().zip(self.index.newest()).skip(self.first).collect();
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

#[cfg(test)]
mod tests {
    use super::super::moment::tests::{index, recommended};
    use super::*;
    use crate::testing::NOW;

    #[test]
    fn a_moment_in_the_past_knows_no_later_posts() {
        let (index, nobody) = (index(), Together::default());
        let now = recommended(&Moment::now(&index, &nobody, NOW));
        assert_eq!((now.len(), now[0]), (19, 0));
        let moment = Moment::past(&index, NOW - 5 * 3_600_000, vec![0.0; 20], &nobody);
        let then = recommended(&moment);
        assert_eq!((then.len(), then[0]), (14, 6));
        assert!(then.iter().all(|key| *key >= 5));
    }
}
