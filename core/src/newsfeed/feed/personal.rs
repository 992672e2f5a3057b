use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::order::{LIMIT, LIMIT_MAX, Order};
use super::page::FeedPage;
use crate::account::{Identity, Member};
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Feed;
use crate::base::keyed::OwnSet;
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::signal::co_visits::ReadNeighbours;
use crate::newsfeed::signal::interest::{Interest, measure};
use crate::newsfeed::signal::score::ScoringContext;
use crate::newsfeed::signal::{Scoring, Weights};
use crate::profile::history::{self, Acts};
use crate::record::error::{Error, Result};
use crate::record::id::{MemberKey, PostKey};
use crate::store::{GatheredReads, Store};

/// A cached feed takes approximately 80 kB, and 40 kB more after a page with reasons.
const CACHED: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

pub(crate) struct Personal {
    pub(crate) order: Arc<Order>,
    /// With [`LIMIT`] posts.
    pub(crate) first: FeedPage,
    /// An order from before they were hidden contains them, and may be continued.
    pub(crate) hidden: OwnSet<PostKey>,
    /// `None` if the acts of the member rank no posts.
    pub(crate) ranked_by: Option<RankedBy>,
}

pub(crate) struct RankedBy {
    /// Without the labels.
    pub(crate) interest: Interest,
    pub(crate) weights: Weights,
    /// The acts on posts, without the hidden ones.
    pub(crate) acts: Acts,
}

/// Valid while the versions of its sources stay the same.
#[derive(PartialEq)]
struct MadeOf {
    index: u64,
    /// The revision of the acts of the member. A late commit changes it too; it may become smaller.
    acts: i64,
    /// The number of the reading of co-visits.
    others: u64,
    scoring: Arc<Scoring>,
    /// The day, on which the noise depends; 0 without noise.
    day: i64,
}

pub(crate) struct Ingredients<'i> {
    pub(crate) index: &'i FeedIndex,
    pub(crate) at: Timestamp,
    pub(crate) others: Arc<ReadNeighbours>,
    pub(crate) scoring: Arc<Scoring>,
    pub(crate) config: &'i Feed,
}

/// The feed of a member; `None` for a member with too few acts who has hidden no post.
pub(crate) type MemberFeed = (MemberKey, Option<Arc<Personal>>);

type Feeds = LruCache<MemberKey, (MadeOf, Option<Arc<Personal>>)>;

pub(crate) struct MemberFeedCache {
    cache: Mutex<Feeds>,
    /// The key of a member and the revision of their acts.
    readers: GatheredReads<Identity, Option<(MemberKey, i64)>, Error>,
}

impl MemberFeedCache {
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        let readers = GatheredReads::new(store, |tx, identities| {
            let members = Identity::ask_visitors(tx, identities.iter().collect())?.answer(tx)?;
            let found: Vec<_> = members.iter().flatten().collect();
            let mut revisions = history::acts_revisions(tx, &found)?.into_iter();
            let mut read_by = |member: &Member<'_>| Some((member.key, revisions.next()?));
            Ok(members.iter().map(|member| Ok(member.as_ref().and_then(&mut read_by))).collect())
        });
        Self { cache: Mutex::new(LruCache::new(CACHED)), readers }
    }

    /// Computes the feed unless it is cached. `None` if the caller is not a member.
    pub(crate) fn get(
        &self,
        store: &Store,
        identity: &Identity,
        of: &Ingredients<'_>,
    ) -> Result<Option<MemberFeed>> {
        let Some((member, revision)) = self.readers.submit(identity.clone()).wait()? else { return Ok(None) };
        if let Some((made_of, feed)) = self.lock().get(&member)
            && *made_of == of.made_of(revision)
            && !of.index.has_ended(of.at)
        {
            return Ok(Some((member, feed.clone())));
        }
        let read = store.read(|tx| {
            let Some(member) = identity.visitor(tx)? else { return Ok::<_, Error>(None) };
            let revision = history::acts_revisions(tx, &[&member])?.pop().unwrap_or_default();
            Ok(Some((revision, history::acts_and_seen(tx, &member)?)))
        })?;
        let Some((revision, (acts, seen))) = read else { return Ok(None) };
        let feed = of.compute(member, acts, seen).map(Arc::new);
        self.lock().put(member, (of.made_of(revision), feed.clone()));
        Ok(Some((member, feed)))
    }

    fn lock(&self) -> MutexGuard<'_, Feeds> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ingredients<'_> {
    pub(crate) fn moment(&self) -> ScoringContext<'_> {
        ScoringContext::now(self.index, &self.others.neighbours, self.at)
    }

    fn made_of(&self, acts: i64) -> MadeOf {
        let Self { index, at, others, scoring, config } = self;
        let day = if config.exploration > 0.0 { at.as_millis().div_euclid(DAY_MS) } else { 0 };
        MadeOf { index: index.number, acts, others: others.number, scoring: Arc::clone(scoring), day }
    }

    fn compute(&self, member: MemberKey, acts: Acts, seen: Vec<PostKey>) -> Option<Personal> {
        let Self { index, scoring, config, .. } = self;
        let hidden: OwnSet<PostKey> = acts.hidden.iter().map(|(post, _)| *post).collect();
        let guests = &index.recommended_feed.order;
        let (order, ranked_by) = if let Some(mut interest) = measure(&acts, &config.interest, index) {
            let head = self.moment().rank(&interest, &acts, &seen, member, scoring, config);
            let order = Order { skips_seen: true, ..Order::personal(member, head, guests, seen) };
            let weights = scoring.weights_for(&acts, config);
            // There are as many labels as topics and sites.
            interest.labels = Vec::new();
            let acts = Acts { liked: acts.liked, viewed: acts.viewed, ..Acts::default() };
            (order, Some(RankedBy { interest, weights, acts }))
        } else {
            // The guests' feed without the hidden posts, and without those of the acts if they are enough and show no interest.
            let has_enough = acts.len() >= config.interest.min_acts;
            let acted = acts.liked.iter().chain(&acts.viewed).filter(|_| has_enough);
            let own: OwnSet<_> = acted.map(|(post, _)| *post).chain(hidden.iter().copied()).collect();
            if own.is_empty() {
                return None;
            }
            // Without these posts, others that tell a story again may be among the first.
            let shown = guests.from(0).map(|(_, post)| post).filter(|post| !own.contains(post));
            let head = index.stories_once(shown.take(LIMIT_MAX));
            (Order::personal(member, head, guests, own.into_iter().collect()), None)
        };
        let order = Arc::new(order);
        let first = index.page(&order, 0, LIMIT, self.at);
        Some(Personal { order, first, hidden, ranked_by })
    }
}

#[cfg(test)]
mod tests;
