//! The recommended feed of one member.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::interest::{Vector, measure};
use super::library::Library;
use super::pages::Order;
use super::ranking;
use crate::account::Member;
use crate::answer::Encoded;
use crate::clock::DAY_MS;
use crate::config::Feed;
use crate::error::Result;
use crate::profile::history;
use crate::store::Tx;

/// How many posts are ranked for the member alone; behind them stands what guests get.
const RANKED: usize = 600;
/// Feeds that are remembered for members who come again before anything has changed, with some 60 kB each.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// A member's feed as it was last made.
pub(super) struct Personal {
    /// What it was made of: the library, the member's acts, the day.
    made_of: (i64, i64, i64),
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
        member: &Member,
        library: &Library,
        config: &Feed,
        now: i64,
    ) -> Result<Option<Arc<Personal>>> {
        let day = if config.exploration > 0.0 { now.div_euclid(DAY_MS) } else { 0 };
        let made_of = (library.revision, member.acted, day);
        let remembered = self.lock().get(&member.key).cloned();
        if let Some(personal) = remembered.filter(|p| p.made_of == made_of && !library.has_ended(now)) {
            return Ok(Some(personal));
        }
        let acts = history::acts(tx, member.key, member.measured)?;
        let Some(interest) = measure(&acts, &config.interest, library.index(), |key| library.position(key))
        else {
            return Ok(None);
        };
        let seen = history::seen(tx, member.key)?;
        let order = Arc::new(rank(library, &interest, member.key, seen, config, now, day));
        let first = super::pages::render(library, &order, 0, super::pages::LIMIT, now).answer;
        let personal = Arc::new(Personal { made_of, order, first: Arc::new(Encoded::new(first)) });
        self.lock().put(member.key, Arc::clone(&personal));
        Ok(Some(personal))
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<i64, Arc<Personal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ranks the library for one member.
fn rank(
    library: &Library,
    interest: &Vector,
    member: i64,
    seen: Vec<i64>,
    config: &Feed,
    now: i64,
    day: i64,
) -> Order {
    // By position, so that the loop over all posts reads nothing but rows of numbers.
    let mut left_out = vec![false; library.len()];
    let seen_at = seen.iter().filter_map(|key| library.position(*key));
    seen_at.chain(library.over(now)).for_each(|at| left_out[at as usize] = true);
    #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
    let [interest_weight, fresh_weight, popular_weight, exploration] =
        [config.interest_weight, config.fresh_weight, config.popular_weight, config.exploration]
            .map(|w| w as f32);
    let scores = library.index().scores(&interest.0, library.len());
    let blended = scores.into_iter().zip(library.standing()).map(|(interest, (fresh, popular))| {
        interest_weight * interest + fresh_weight * fresh + popular_weight * popular
    });
    let mut best: Vec<(f32, u32)> = Vec::with_capacity(library.len());
    for (score, at) in blended.zip(0_u32..) {
        if left_out[at as usize] {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
        let noise = if exploration > 0.0 { ranking::noise(member, library.key(at), day) as f32 } else { 0.0 };
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
    let diverse = ranking::diversify(&best, |at| library.labels(at), config.diverse_max, RANKED);
    let head = diverse.into_iter().map(|at| library.key(at)).collect();
    Order::personal(member, head, &library.recommended_feed.order, seen)
}
