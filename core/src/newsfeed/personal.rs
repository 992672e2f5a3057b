//! The recommended feed of a member.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::features::Number;
use super::index::FeedIndex;
use super::interest::{Interest, measure};
use super::order::{LIMIT, Order};
use super::page::FeedPage;
use super::ranking;
use super::top::top;
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

/// The score of a post that must not be recommended.
const LEFT_OUT: f32 = f32::NEG_INFINITY;

/// The cached feed of a member.
pub(super) struct Personal {
    /// The number of the index, the revision of the member's acts, and the day: the feed is valid while they are the same.
    /// A late commit also changes the revision, which may become smaller.
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
        let (acts, seen) = history::acts_and_seen(tx, member)?;
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
    let mut scores = interest.scores(index, &config.interest);
    blend(&mut scores, index, &interest.times, config);
    if config.exploration > 0.0 {
        let (exploration, day) = (narrow(config.exploration), now.as_millis().div_euclid(DAY_MS));
        for (score, at) in scores.iter_mut().zip(0..) {
            *score += exploration * narrow(ranking::noise(member, index.key(at), day));
        }
    }
    let seen_at = seen.iter().filter_map(|key| index.position(*key));
    seen_at.chain(index.ended(now)).for_each(|at| scores[at as usize] = LEFT_OUT);
    // Ties by position: newest first.
    let best: Vec<u32> = top(&scores, RANKED, LEFT_OUT).into_iter().map(|(at, _)| at).collect();
    let max = |label| places(&interest, label, config.diverse_max);
    let diverse = ranking::diversify(&best, |at| index.labels().of(at), max, RANKED);
    Some(diverse.into_iter().map(|at| index.key(at)).collect())
}

/// Adds novelty, recency and popularity to the interest in each post, all weighted, for a member with acts at these
/// times, the latest first.
fn blend(scores: &mut [f32], index: &FeedIndex, times: &[Timestamp], config: &Feed) {
    let weights = [config.interest_weight, config.novel_weight, config.recent_weight, config.popular_weight];
    let [interest_weight, novel_weight, recent_weight, popular_weight] = weights.map(narrow);
    let mut begin = 0;
    for (acts, time) in times.iter().map(Some).chain([None]).enumerate() {
        // The posts between two acts are equally novel.
        let end = time.map_or(index.len(), |time| index.newer_than(*time, begin));
        if begin == end {
            continue;
        }
        let novelty = narrow(ranking::novelty(config, acts));
        let signals = index.recent()[begin..end].iter().zip(&index.popular()[begin..end]);
        for (score, (recent, popular)) in scores[begin..end].iter_mut().zip(signals) {
            *score = interest_weight * *score
                + novel_weight * novelty
                + recent_weight * recent
                + popular_weight * popular;
        }
        begin = end;
    }
}

/// Returns the number of ten consecutive posts that may have a label: the label's share of the acts times ten, at
/// least `max`, and at most nine.
///
/// Source: Steck, *Calibrated recommendations*, `RecSys` 2018.
fn places(interest: &Interest, label: Number, max: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
    let calibrated = (interest.share(label) * 10.0).round() as usize;
    max.max(calibrated.min(ranking::WINDOW - 1))
}

#[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
fn narrow(weight: f64) -> f32 {
    weight as f32
}
