//! The recommended feed of a member.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::moment::Moment;
use super::order::{LIMIT, Order};
use super::page::FeedPage;
use super::weights::Scoring;
use crate::account::Member;
use crate::clock::DAY_MS;
use crate::config::Feed;
use crate::error::Result;
use crate::id::MemberKey;
use crate::keyed::OwnSet;
use crate::profile::history;
use crate::store::Tx;

/// The number of members whose feeds are cached, with approximately 60 kB each.
const CACHED: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// The cached feed of a member.
pub(super) struct Personal {
    made_of: MadeOf,
    pub(super) order: Arc<Order>,
    /// The first page with [`LIMIT`] posts.
    pub(super) first: FeedPage,
}

/// What a feed is made of: it is valid while this stays the same.
#[derive(PartialEq)]
struct MadeOf {
    /// The number of the index.
    index: u64,
    /// The revision of the member's acts. A late commit changes it too; it may become smaller.
    acts: i64,
    /// The number of the reading of what others did.
    others: u64,
    scoring: Arc<Scoring>,
    /// The day, if the feed has noise.
    day: i64,
}

/// An LRU cache of feeds by member.
pub(super) struct Personals(Mutex<LruCache<MemberKey, Arc<Personal>>>);

impl Default for Personals {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(CACHED)))
    }
}

impl Personals {
    /// Returns the feed of a member, computed again if anything has changed; `None` for a member with too few acts who
    /// has hidden no post. `others` is the number of the reading of what others did.
    pub(super) fn get(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        moment: &Moment<'_>,
        others: u64,
        scoring: &Arc<Scoring>,
        config: &Feed,
    ) -> Result<Option<Arc<Personal>>> {
        let (index, now) = (moment.index, moment.at);
        let day = if scoring.exploration > 0.0 { now.as_millis().div_euclid(DAY_MS) } else { 0 };
        let acts = history::acts_revision(tx, member)?;
        let made_of = MadeOf { index: index.number, acts, others, scoring: Arc::clone(scoring), day };
        let cached = self.lock().get(&member.key).cloned();
        if let Some(personal) = cached.filter(|p| p.made_of == made_of && !index.has_ended(now)) {
            return Ok(Some(personal));
        }
        let (acts, seen) = history::acts_and_seen(tx, member)?;
        let guests = &index.recommended_feed.order;
        let head = moment.recommend(&acts, &seen, member.key, scoring, config);
        let (head, seen) = if let Some(head) = head {
            (head, seen)
        } else {
            // The guests' feed without the hidden posts, and without those of the acts if they are enough and show no interest.
            let has_enough = acts.len() >= config.interest.min_acts;
            let acted = acts.liked.iter().chain(&acts.viewed).filter(|_| has_enough);
            let own: OwnSet<_> = acted.chain(&acts.hidden).map(|(post, _)| *post).collect();
            if own.is_empty() {
                return Ok(None);
            }
            let head = guests.head.iter().copied().filter(|post| !own.contains(post)).collect();
            (head, own.into_iter().collect())
        };
        let order = Arc::new(Order::personal(member.key, head, guests, seen));
        let first = index.page(&order, 0, LIMIT, now);
        let personal = Arc::new(Personal { made_of, order, first });
        self.lock().put(member.key, Arc::clone(&personal));
        Ok(Some(personal))
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<MemberKey, Arc<Personal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
