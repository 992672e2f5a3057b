//! The recommended feed of a member.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::interest::{Interest, measure};
use super::order::{LIMIT, LIMIT_MAX, Order};
use super::page::FeedPage;
use super::scoring_context::ScoringContext;
use super::signals::{Scoring, Weights};
use crate::account::{Identity, Member};
use crate::base::clock::DAY_MS;
use crate::base::config::Feed;
use crate::base::keyed::OwnSet;
use crate::profile::history::{self, Acts};
use crate::record::error::{Error, Result};
use crate::record::id::{MemberKey, PostKey};
use crate::store::{GatheredReads, Store, Tx};

/// A cached feed takes approximately 80 kB, and 40 kB more after a page with reasons.
const CACHED: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

pub(super) struct Personal {
    pub(super) order: Arc<Order>,
    /// With [`LIMIT`] posts.
    pub(super) first: FeedPage,
    /// An order from before they were hidden contains them, and may be continued.
    pub(super) hidden: OwnSet<PostKey>,
    /// `None` if the acts of the member rank no posts.
    pub(super) ranked_by: Option<RankedBy>,
}

pub(super) struct RankedBy {
    /// Without the labels.
    pub(super) interest: Interest,
    pub(super) weights: Weights,
    /// The acts on posts, without the hidden ones.
    pub(super) acts: Acts,
}

impl RankedBy {
    fn new(mut interest: Interest, weights: Weights, acts: Acts) -> Self {
        let Acts { mut liked, mut viewed, .. } = acts;
        liked.shrink_to_fit();
        viewed.shrink_to_fit();
        // There are as many labels as topics and sites.
        interest.labels = Vec::new();
        Self { interest, weights, acts: Acts { liked, viewed, ..Acts::default() } }
    }
}

#[derive(Clone, Copy)]
pub(super) struct ReadBy {
    member: MemberKey,
    acts: i64,
}

/// A feed is valid while the versions of its sources stay the same.
#[derive(PartialEq)]
struct MadeOf {
    index: u64,
    /// A late commit changes it too; it may become smaller.
    acts: i64,
    /// The number of the reading of co-visits.
    others: u64,
    scoring: Arc<Scoring>,
    /// The day, on which the noise depends; 0 without noise.
    day: i64,
}

/// The sources of feeds besides the acts of the member.
pub(super) struct Ingredients<'i> {
    pub(super) moment: ScoringContext<'i>,
    /// The number of the reading of co-visits.
    pub(super) others: u64,
    pub(super) scoring: &'i Arc<Scoring>,
    pub(super) config: &'i Feed,
}

/// `None` for a member with too few acts who has hidden no post.
struct Cached {
    made_of: MadeOf,
    personal: Option<Arc<Personal>>,
}

pub(super) struct MemberFeedCache {
    cache: Mutex<LruCache<MemberKey, Cached>>,
    readers: GatheredReads<Identity, Option<ReadBy>, Error>,
}

impl MemberFeedCache {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        let readers = GatheredReads::new(store, |tx, identities| {
            let members = Identity::ask_visitors(tx, identities.iter().collect())?.answer(tx)?;
            let found: Vec<_> = members.iter().flatten().collect();
            let mut revisions = history::acts_revisions(tx, &found)?.into_iter();
            let mut read_by =
                |member: &Member<'_>| Some(ReadBy { member: member.key, acts: revisions.next()? });
            Ok(members.iter().map(|member| Ok(member.as_ref().and_then(&mut read_by))).collect())
        });
        Self { cache: Mutex::new(LruCache::new(CACHED)), readers }
    }

    /// `None` if the caller is not a member.
    pub(super) fn read_by(&self, identity: Identity) -> Result<Option<ReadBy>> {
        self.readers.submit(identity).wait()
    }

    /// Returns `None` if something has changed. The feed is `None` for a member with too few acts who has hidden no post.
    pub(super) fn cached(
        &self,
        ReadBy { member, acts }: ReadBy,
        of: &Ingredients<'_>,
    ) -> Option<(MemberKey, Option<Arc<Personal>>)> {
        let made_of = of.made_of(acts);
        let mut cache = self.lock();
        let cached = cache.get(&member).filter(|cached| cached.made_of == made_of)?;
        (!of.moment.index.has_ended(of.moment.at)).then(|| (member, cached.personal.clone()))
    }

    /// Computes the feed unless it is cached; `None` for a member with too few acts who has hidden no post.
    pub(super) fn get(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        of: &Ingredients<'_>,
    ) -> Result<Option<Arc<Personal>>> {
        let acts = history::acts_revisions(tx, &[member])?.pop().unwrap_or_default();
        match self.cached(ReadBy { member: member.key, acts }, of) {
            Some((_, cached)) => Ok(cached),
            None => self.compute(tx, member, of),
        }
    }

    /// `None` for a member with too few acts who has hidden no post.
    pub(super) fn compute(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        of: &Ingredients<'_>,
    ) -> Result<Option<Arc<Personal>>> {
        let revision = history::acts_revisions(tx, &[member])?.pop().unwrap_or_default();
        let personal = compute(tx, member, of)?.map(Arc::new);
        let made_of = of.made_of(revision);
        self.lock().put(member.key, Cached { made_of, personal: personal.clone() });
        Ok(personal)
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<MemberKey, Cached>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ingredients<'_> {
    /// `acts` is the revision of the acts of the member.
    fn made_of(&self, acts: i64) -> MadeOf {
        let Self { moment: ScoringContext { index, at, .. }, others, scoring, config } = self;
        let day = if config.exploration > 0.0 { at.as_millis().div_euclid(DAY_MS) } else { 0 };
        MadeOf { index: index.number, acts, others: *others, scoring: Arc::clone(scoring), day }
    }
}

fn compute(tx: &mut dyn Tx, member: &Member<'_>, of: &Ingredients<'_>) -> Result<Option<Personal>> {
    let Ingredients { moment, scoring, config, .. } = of;
    let (index, now) = (moment.index, moment.at);
    let (acts, seen) = history::acts_and_seen(tx, member)?;
    let hidden: OwnSet<PostKey> = acts.hidden.iter().map(|(post, _)| *post).collect();
    let guests = &index.recommended_feed.order;
    let (order, ranked_by) = if let Some(interest) = measure(&acts, &config.interest, index) {
        let head = moment.rank(&interest, &acts, &seen, member.key, scoring, config);
        let order = Order::personal(member.key, head, guests, seen).skipping_seen();
        let weights = scoring.weights_for(&acts, config);
        (order, Some(RankedBy::new(interest, weights, acts)))
    } else {
        // The guests' feed without the hidden posts, and without those of the acts if they are enough and show no interest.
        let has_enough = acts.len() >= config.interest.min_acts;
        let acted = acts.liked.iter().chain(&acts.viewed).filter(|_| has_enough);
        let own: OwnSet<_> = acted.map(|(post, _)| *post).chain(hidden.iter().copied()).collect();
        if own.is_empty() {
            return Ok(None);
        }
        // Without these posts, others that tell a story again may be among the first.
        let shown = guests.from(0).map(|(_, post)| post).filter(|post| !own.contains(post));
        let head = index.stories_once(shown.take(LIMIT_MAX));
        (Order::personal(member.key, head, guests, own.into_iter().collect()), None)
    };
    let order = Arc::new(order);
    let first = index.page(&order, 0, LIMIT, now);
    Ok(Some(Personal { order, first, hidden, ranked_by }))
}

#[cfg(test)]
mod tests;
