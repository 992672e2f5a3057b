//! The recommended feed of a member.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::features::Feature;
use super::index::FeedIndex;
use super::interest::{Interest, measure};
use super::order::{LIMIT, Order};
use super::page::FeedPage;
use super::ranking;
use crate::account::Member;
use crate::clock::{DAY_MS, Timestamp};
use crate::config::Feed;
use crate::error::Result;
use crate::id::{MemberKey, PostKey};
use crate::profile::history::{self, Acts};
use crate::store::Tx;

/// The number of posts that are ranked for the member; the guests' order follows them.
const RANKED: usize = 600;
/// The number of members whose feeds are cached, with approximately 60 kB each.
const CACHED: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// The cached feed of a member.
pub(super) struct Personal {
    /// The number of the index, the revision of the member's acts, and the day: the feed is valid while they are the same.
    made_of: (u64, i64, i64),
    pub(super) order: Arc<Order>,
    /// The first page with [`LIMIT`] posts.
    pub(super) first: FeedPage,
}

/// An LRU cache of feeds by member.
pub(super) struct Personals(Mutex<LruCache<MemberKey, Arc<Personal>>>);

impl Default for Personals {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(CACHED)))
    }
}

impl Personals {
    /// Returns the feed of a member, computed again if anything has changed; `None` for a member with too few acts.
    pub(super) fn get(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        index: &FeedIndex,
        config: &Feed,
        now: Timestamp,
    ) -> Result<Option<Arc<Personal>>> {
        let day = if config.exploration > 0.0 { now.as_millis().div_euclid(DAY_MS) } else { 0 };
        let made_of = (index.number, history::acts_revision(tx, member)?, day);
        let cached = self.lock().get(&member.key).cloned();
        if let Some(personal) = cached.filter(|p| p.made_of == made_of && !index.has_ended(now)) {
            return Ok(Some(personal));
        }
        let acts = history::acts(tx, member)?;
        let seen = history::seen(tx, member)?;
        let Some(head) = recommend(index, &acts, &seen, member.key, config, now) else { return Ok(None) };
        let order = Arc::new(Order::personal(member.key, head, &index.recommended_feed.order, seen));
        let first = index.page(&order, 0, LIMIT, now);
        let personal = Arc::new(Personal { made_of, order, first });
        self.lock().put(member.key, Arc::clone(&personal));
        Ok(Some(personal))
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<MemberKey, Arc<Personal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the posts that `acts` recommend to a member, best first, without the posts in `seen`; `None` if the acts are
/// too few.
pub(super) fn recommend(
    index: &FeedIndex,
    acts: &Acts,
    seen: &[PostKey],
    member: MemberKey,
    config: &Feed,
    now: Timestamp,
) -> Option<Vec<PostKey>> {
    let interest = measure(acts, &config.interest, index)?;
    // Indexed by position, so the loop over all posts reads only rows of numbers.
    let mut left_out = vec![false; index.len()];
    let seen_at = seen.iter().filter_map(|key| index.position(*key));
    seen_at.chain(index.ended(now)).for_each(|at| left_out[at as usize] = true);
    let [interest_weight, novel_weight, recent_weight, popular_weight, exploration] = [
        config.interest_weight,
        config.novel_weight,
        config.recent_weight,
        config.popular_weight,
        config.exploration,
    ]
    .map(narrow);
    let novelty = novelty(index, &interest.times, config);
    let scores = interest.scores(index, &config.interest);
    let signals = scores.into_iter().zip(novelty).zip(index.recent_and_popular());
    let blended = signals.map(|((interest, novelty), (recent, popular))| {
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
        let noise = if exploration > 0.0 { narrow(ranking::noise(member, index.key(at), day)) } else { 0.0 };
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

/// Returns the novelty of each post, by position, for a member with acts at these times, the latest first.
fn novelty(index: &FeedIndex, times: &[Timestamp], config: &Feed) -> Vec<f32> {
    let mut novelty = Vec::with_capacity(index.len());
    for (acts, time) in times.iter().enumerate() {
        let value = narrow(ranking::novelty(config, acts));
        novelty.resize(index.newer_than(*time), value);
    }
    novelty.resize(index.len(), narrow(ranking::novelty(config, times.len())));
    novelty
}

/// Returns the number of ten consecutive posts that may have a label: the label's share of the acts times ten, at
/// least `max`, and at most nine.
///
/// Source: Steck, *Calibrated recommendations*, `RecSys` 2018.
fn places(interest: &Interest, label: Feature, max: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
    let calibrated = (interest.share(label) * 10.0).round() as usize;
    max.max(calibrated.min(ranking::WINDOW - 1))
}

#[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
fn narrow(weight: f64) -> f32 {
    weight as f32
}
