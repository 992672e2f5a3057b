//! Reads what members did, in the background: which posts the same people chose, and what the weights of the signals and the
//! half-life of popularity should be. Reading everything again forgets acts that were withdrawn or removed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::Guard;

use super::recent::{self, PastAct};
use super::weights;
use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Feed;
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::index_cache::{Feeds, Shared};
use crate::newsfeed::signal::co_visits::{CoVisits, ItemNeighbours, ReadNeighbours};
use crate::newsfeed::signal::popularity;
use crate::record::background::log_failure;
use crate::record::error::Result;
use crate::record::lease::Lease;
use crate::store::{Isolation, Store, StoreError, Topic, Tx};

/// The minimum pause between two readings, and its minimum length relative to a reading.
const PAUSE: Duration = Duration::from_secs(30);
const PAUSE_FACTOR: u32 = 50;
/// The weights are learned again when the new acts reach both this number and one in this number of all acts that were read. With
/// fewer new acts, they are learned every day.
const NEW_MIN: usize = 100;
const NEW_PART: usize = 10;

impl Feeds {
    /// Blocks until the index is loaded.
    pub(crate) fn start(&self) -> Result<()> {
        self.index()?;
        let shared = Arc::clone(&self.shared);
        self.learner.start("tidings-learner", || Ok(move || shared.run_learner()))
    }
}

impl Shared {
    /// The first call reads them.
    pub(crate) fn others(&self) -> Result<Arc<ReadNeighbours>> {
        if let Some(others) = self.others.load_full() {
            return Ok(others);
        }
        let _reading = self.reading();
        match self.others.load_full() {
            Some(others) => Ok(others),
            None => Ok(self.read_others(0)?.0),
        }
    }

    fn read_others(&self, number: u64) -> Result<(Arc<ReadNeighbours>, Vec<PastAct>)> {
        let version = self.store.version(Topic::Posts);
        let acts = recent::acts(&self.store, self.config.posts)?;
        let mut together = CoVisits::default();
        for act in &acts {
            together.add(act.member, act.post, act.is_like);
        }
        let neighbours = ItemNeighbours::new(&together);
        let others = Arc::new(ReadNeighbours { number, neighbours, version });
        self.others.store(Some(Arc::clone(&others)));
        Ok((others, acts))
    }

    pub(crate) fn run_learner(&self) {
        let lease = Lease::new(Arc::clone(&self.store), self.clock.clone(), "feed-weights");
        let versions = self.store.versions();
        let stopped = || self.stop.is_set();
        let mut number = 0;
        while !stopped() {
            let (began, made) = (Instant::now(), self.words_made());
            let read = {
                let _reading = self.reading();
                self.read_others(number)
            };
            number += 1;
            let (version, pause) = match read {
                Ok((others, acts)) => {
                    if let Err(error) = self.learn_if_due(&acts, &lease) {
                        log_failure(&error, "the weights of the feed cannot be learned");
                    }
                    (others.version, PAUSE.max(began.elapsed() * PAUSE_FACTOR))
                }
                Err(error) => {
                    log_failure(&error, "the acts of others cannot be read");
                    (0, PAUSE)
                }
            };
            if !versions.sleep(pause, stopped) {
                return;
            }
            // Every act changes a post.
            let otherwise = || stopped() || self.words_made() > made;
            versions.wait_for(Topic::Posts, version, Duration::MAX, otherwise);
        }
    }

    /// `None` unless the index has the current words.
    fn words_made(&self) -> Option<Timestamp> {
        let model = self.words.in_memory().filter(|_| self.has_current_words())?;
        Some(model.made())
    }

    /// Does nothing unless enough acts are new, or if another server learns.
    fn learn_if_due(&self, acts: &[PastAct], lease: &Lease) -> Result<()> {
        let now = self.clock.now();
        let is_due =
            || -> Result<bool> { Ok(is_due(self.store.read(learned_at)?, acts, self.words_made(), now)) };
        if !is_due()? || !lease.hold()? {
            return Ok(());
        }
        // Another server may have learned meanwhile.
        let learned = is_due().and_then(|is_due| match self.current() {
            Some(index) if is_due => {
                let index = Guard::into_inner(index);
                learn_and_store(&self.store, &index, acts, &self.config, now, &|| self.stop.is_set())
            }
            _ => Ok(()),
        });
        lease.release()?;
        learned
    }
}

/// Learns the weights of the recommended feed, and how popularity is measured, from all acts. A server does so by itself; a program
/// without background work does after it has changed what they are learned from, such as the words.
///
/// # Errors
/// `Not admin` unless the caller is the operator; an error of the store.
pub fn learn(tidings: &Tidings, caller: &Caller) -> Result<()> {
    caller.operator()?;
    learn_now(tidings, &recent::acts(tidings.store(), tidings.config().feed.posts)?)
}

/// After `imported` acts, most of them of the past, if these are many.
pub(crate) fn learn_from_import(tidings: &Tidings, imported: u64) -> Result<()> {
    let (store, config) = (tidings.store(), &tidings.config().feed);
    if !config.learn && config.popular_half_life_days.is_some() {
        return Ok(());
    }
    let acts = recent::acts(store, config.posts)?;
    if store.read(learned_at)?.is_none() || are_many(usize::try_from(imported).unwrap_or(usize::MAX), &acts) {
        learn_now(tidings, &acts)?;
    }
    Ok(())
}

fn learn_now(tidings: &Tidings, acts: &[PastAct]) -> Result<()> {
    let (index, config) = (tidings.feeds().index()?, &tidings.config().feed);
    learn_and_store(tidings.store(), &index, acts, config, tidings.now(), &|| false)?;
    tidings.feeds().shared.update_scoring()
}

fn learned_at(tx: &mut dyn Tx) -> Result<Option<Timestamp>, StoreError> {
    let weights = weights::learned(tx)?.map(|learned| learned.at);
    Ok(weights.max(popularity::learned(tx)?.map(|learned| learned.at)))
}

/// Returns whether this number of new acts is a reason to learn again: a hundred, and a tenth of all.
fn are_many(new: usize, acts: &[PastAct]) -> bool {
    new >= NEW_MIN.max(acts.len() / NEW_PART)
}

/// Learns how popularity is measured, and the weights unless the settings turn this off, and stores what was learned.
fn learn_and_store(
    store: &Store,
    index: &FeedIndex,
    acts: &[PastAct],
    config: &Feed,
    now: Timestamp,
    is_stopped: &dyn Fn() -> bool,
) -> Result<()> {
    let before = store.read(weights::learned)?;
    let lessons = super::learn_all(store, index, acts, config, before, now, is_stopped)?;
    if lessons.popularity.is_none() && lessons.weights.is_none() {
        return Ok(());
    }
    Ok(store.write(Isolation::Alone, move |tx| lessons.store(tx))?)
}

/// `acts` are in the order of their times. `before` is the last time of learning, and `words` is the time at which the words were
/// learned.
fn is_due(before: Option<Timestamp>, acts: &[PastAct], words: Option<Timestamp>, now: Timestamp) -> bool {
    let new = acts.len() - before.map_or(0, |before| acts.partition_point(|act| act.at <= before));
    let is_old = before.is_none_or(|before| now - before >= DAY_MS);
    let has_new_words = before.is_some() && words > before && !acts.is_empty();
    has_new_words || new > 0 && (is_old || are_many(new, acts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::id::{MemberKey, PostKey};
    use crate::testing::NOW;

    #[test]
    fn weights_are_learned_every_day_with_acts_and_after_many_acts() {
        let act = |at| PastAct { at, member: MemberKey::new(1), post: PostKey::new(1), is_like: true };
        let old = |count: i64| (0..count).map(|n| act(NOW - DAY_MS - n)).rev().collect::<Vec<_>>();
        let with_new =
            |count: i64| old(5_000).into_iter().chain((1..=count).map(|n| act(NOW + n))).collect::<Vec<_>>();
        let is_due = |before, acts: &[PastAct], now| super::is_due(before, acts, Some(NOW), now);
        assert!(!is_due(None, &[], NOW) && is_due(None, &old(1), NOW));
        let soon = NOW + 1_000;
        assert!(!is_due(Some(NOW), &old(5_000), NOW + 9 * DAY_MS), "nothing is new");
        assert!(!is_due(Some(NOW), &with_new(500), soon) && is_due(Some(NOW), &with_new(600), soon));
        assert!(is_due(Some(NOW), &with_new(1), NOW + DAY_MS));
        let with_words = |acts: &[PastAct]| super::is_due(Some(NOW), acts, Some(soon), NOW + 2_000);
        assert!(with_words(&old(5_000)) && !with_words(&[]), "the words were learned since then");
    }
}
