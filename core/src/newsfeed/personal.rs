//! The recommended feed of one member.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::features::Feature;
use super::index::FeedIndex;
use super::interest::{Interest, measure};
use super::pages::Order;
use super::ranking;
use crate::account::Member;
use crate::answer::Encoded;
use crate::clock::{DAY_MS, Timestamp};
use crate::config::Feed;
use crate::error::Result;
use crate::profile::history::{self, Acts};
use crate::store::Tx;

/// How many posts are ranked for the member alone; behind them stands what guests get.
const RANKED: usize = 600;
/// Feeds that are remembered for members who come again before anything has changed, with some 60 kB each.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// A member's feed as it was last made.
pub(super) struct Personal {
    /// What it was made of: the index, the member's acts, the day.
    made_of: (u64, i64, i64),
    pub(super) order: Arc<Order>,
    /// The first page of the usual length.
    pub(super) first: Arc<Encoded>,
}

/// The feeds that are remembered, by member.
pub(super) struct Personals(Mutex<LruCache<i64, Arc<Personal>>>);

impl Default for Personals {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED)))
    }
}

impl Personals {
    /// The feed of a member, made anew if anything has changed since; `None` for a member who has done too
    /// little to recommend by.
    pub(super) fn get(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        index: &FeedIndex,
        config: &Feed,
        now: Timestamp,
    ) -> Result<Option<Arc<Personal>>> {
        let day = if config.exploration > 0.0 { now.as_millis().div_euclid(DAY_MS) } else { 0 };
        let made_of = (index.number, member.acted, day);
        let remembered = self.lock().get(&member.key).cloned();
        if let Some(personal) = remembered.filter(|p| p.made_of == made_of && !index.has_ended(now)) {
            return Ok(Some(personal));
        }
        let acts = history::acts(tx, member)?;
        let seen = history::seen(tx, member)?;
        let Some(head) = recommend(index, &acts, &seen, member.key, config, now) else { return Ok(None) };
        let order = Arc::new(Order::personal(member.key, head, &index.recommended_feed.order, seen));
        let first = super::pages::render(index, &order, 0, super::pages::LIMIT, now).answer;
        let personal = Arc::new(Personal { made_of, order, first: Arc::new(Encoded::new(first)) });
        self.lock().put(member.key, Arc::clone(&personal));
        Ok(Some(personal))
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<i64, Arc<Personal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The posts that are recommended to a member for their `acts`, the best first, without what they have `seen`;
/// `None` when they have done too little to recommend by.
pub(super) fn recommend(
    index: &FeedIndex,
    acts: &Acts,
    seen: &[i64],
    member: i64,
    config: &Feed,
    now: Timestamp,
) -> Option<Vec<i64>> {
    let interest = measure(acts, &config.interest, index)?;
    // By position, so that the loop over all posts reads nothing but rows of numbers.
    let mut left_out = vec![false; index.len()];
    let seen_at = seen.iter().filter_map(|key| index.position(*key));
    seen_at.chain(index.over(now)).for_each(|at| left_out[at as usize] = true);
    let [interest_weight, novel_weight, recent_weight, popular_weight, exploration] = [
        config.interest_weight,
        config.novel_weight,
        config.recent_weight,
        config.popular_weight,
        config.exploration,
    ]
    .map(digits);
    let novelty = novelty(index, &interest.times, config);
    let scores = interest.scores(index, &config.interest);
    let signs = scores.into_iter().zip(novelty).zip(index.lately());
    let blended = signs.map(|((interest, novelty), (recent, popular))| {
        interest_weight * interest
            + novel_weight * novelty
            + recent_weight * recent
            + popular_weight * popular
    });
    let day = now.as_millis().div_euclid(DAY_MS);
    let mut best: Vec<(f32, u32)> = Vec::with_capacity(index.len());
    for (score, at) in blended.zip(0_u32..) {
        if left_out[at as usize] {
            continue;
        }
        let noise = if exploration > 0.0 { digits(ranking::noise(member, index.key(at), day)) } else { 0.0 };
        best.push((score + exploration * noise, at));
    }
    // Ties by position: newest first.
    let better = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if best.len() > RANKED {
        best.select_nth_unstable_by(RANKED, better);
        best.truncate(RANKED);
    }
    best.sort_unstable_by(better);
    let best: Vec<u32> = best.into_iter().map(|(_, at)| at).collect();
    let max = |label| places(&interest, label, config.diverse_max);
    let diverse = ranking::diversify(&best, |at| index.labels(at), max, RANKED);
    Some(diverse.into_iter().map(|at| index.key(at)).collect())
}

/// How new each post is to a member who did something at these times, the latest first; by position.
fn novelty(index: &FeedIndex, times: &[Timestamp], config: &Feed) -> Vec<f32> {
    let mut novelty = Vec::with_capacity(index.len());
    for (acts, time) in times.iter().enumerate() {
        let value = digits(ranking::novelty(config, acts));
        novelty.resize(index.newer_than(*time), value);
    }
    novelty.resize(index.len(), digits(ranking::novelty(config, times.len())));
    novelty
}

/// How many of ten posts in a row may have a label: as many as of ten acts were on posts that have it, at least `max`,
/// and where that leaves none of the ten, one less.
///
/// Source: Steck, *Calibrated recommendations*, `RecSys` 2018.
fn places(interest: &Interest, label: Feature, max: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
    let calibrated = (interest.share(label) * 10.0).round() as usize;
    max.max(calibrated.min(ranking::WINDOW - 1))
}

#[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
fn digits(weight: f64) -> f32 {
    weight as f32
}
