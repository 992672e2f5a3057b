//! Reads what members did, in the background: which posts the same people chose, and what the weights of the signals and
//! the half-life of popularity should be.
//!
//! Reading everything again is simple, and what is withdrawn or removed is gone. It takes little of the time, because it
//! pauses for long after it took long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::co_visits::{CoVisits, ItemNeighbours};
use super::half_life;
use super::index::FeedIndex;
use super::index_cache::{Feeds, ReadNeighbours, Shared};
use super::learning;
use super::recent::{self, PastAct};
use super::weights;
use crate::Tidings;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Feed;
use crate::post::heat;
use crate::record::background::log_failure;
use crate::record::error::Result;
use crate::record::lease::Lease;
use crate::store::{Store, Topic};

/// The minimum time between two readings, and how often longer than a reading it is.
const PAUSE: Duration = Duration::from_secs(30);
const PAUSE_FACTOR: u32 = 50;
/// The number of new acts after which the weights are learned again, and their share of all acts that were read. Without
/// as many, they are learned every day.
const NEW_MIN: usize = 100;
const NEW_PART: usize = 10;
/// The minimum change of the half-life of popularity, as a logarithm: about a quarter. A change loads all feeds again.
const CHANGE_MIN: f64 = 0.25;

impl Feeds {
    /// Loads the index and starts the threads of a service, of which one learns from the acts.
    pub(super) fn start(&self) -> Result<()> {
        self.index()?;
        let shared = Arc::clone(&self.shared);
        self.learner.start("tidings-learner", || Ok(move || shared.run_learner()))
    }
}

impl Shared {
    /// Returns the most similar posts by what others did. The first call reads them.
    pub(super) fn others(&self) -> Result<Arc<ReadNeighbours>> {
        if let Some(others) = self.others.load_full() {
            return Ok(others);
        }
        let _reading = self.reading();
        match self.others.load_full() {
            Some(others) => Ok(others),
            None => Ok(self.read_others(0)?.0),
        }
    }

    /// Reads the acts, and computes the similarity of posts from them.
    fn read_others(&self, number: u64) -> Result<(Arc<ReadNeighbours>, Vec<PastAct>)> {
        let (version, began) = (self.store.version(Topic::Posts), Instant::now());
        let acts = recent::acts(&self.store, self.config.posts)?;
        let neighbours = ItemNeighbours::new(&CoVisits::of(&acts));
        let others = Arc::new(ReadNeighbours { number, neighbours, version, took: began.elapsed() });
        self.others.store(Some(Arc::clone(&others)));
        Ok((others, acts))
    }

    /// Reads the acts after each change, at long intervals, and learns from them, until the service stops.
    pub(super) fn run_learner(&self) {
        let lease = Lease::new(Arc::clone(&self.store), self.clock.clone(), "feed-weights");
        let versions = self.store.versions();
        let stopped = || self.stop.is_set();
        let mut number = 0;
        while !stopped() {
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
                    (others.version, PAUSE.max(others.took * PAUSE_FACTOR))
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
            versions.wait_for(Topic::Posts, version, Duration::MAX, stopped);
        }
    }

    /// Learns from acts if enough are new and no other server does it.
    fn learn_if_due(&self, acts: &[PastAct], lease: &Lease) -> Result<()> {
        let now = self.clock.now();
        let is_due = || -> Result<bool> {
            let learned = self.store.read(weights::learned)?;
            Ok(is_due(learned.map(|learned| learned.at), acts, now))
        };
        if !is_due()? || !lease.hold()? {
            return Ok(());
        }
        // Another server may have learned meanwhile.
        let learned = is_due().and_then(|is_due| if is_due { self.learn(acts, now) } else { Ok(()) });
        lease.release()?;
        learned
    }

    /// Learns from acts, in the order of their times, and stores what was learned.
    fn learn(&self, acts: &[PastAct], now: Timestamp) -> Result<()> {
        let Some(index) = self.index.load_full() else { return Ok(()) };
        if let Some(days) = new_half_life(&self.store, &index, acts, &self.config)? {
            heat::set_half_life(&self.store, days, now)?;
        }
        let stopped = || self.stop.is_set();
        if self.config.learn
            && let Some(learned) = learning::learn(&self.store, &index, acts, &self.config, now, &stopped)?
        {
            weights::store_learned(&self.store, &learned)?;
        }
        Ok(())
    }
}

/// Learns from all acts, after many of the past were imported.
///
/// # Errors
/// An error of the store.
pub(crate) fn learn_from_import(tidings: &Tidings) -> Result<()> {
    let (store, config, now) = (tidings.store(), &tidings.config().feed, tidings.now());
    let (index, acts) = (tidings.feeds().index()?, recent::acts(store, config.posts)?);
    if let Some(days) = new_half_life(store, &index, &acts, config)? {
        heat::rebuild(store, days, config.like_weight, now)?;
    }
    if config.learn
        && let Some(learned) = learning::learn(store, &index, &acts, config, now, &|| false)?
    {
        weights::store_learned(store, &learned)?;
    }
    tidings.feeds().shared.update_scoring()
}

/// Returns the half-life of popularity that the acts show, if it is another than that of the database and no setting.
fn new_half_life(store: &Store, index: &FeedIndex, acts: &[PastAct], config: &Feed) -> Result<Option<f64>> {
    if config.popular_half_life_days.is_some() {
        return Ok(None);
    }
    let Some(days) = half_life::of_acts(index, acts) else { return Ok(None) };
    let current = store.read(heat::half_life_days)?;
    Ok(current.is_none_or(|current| (days / current).ln().abs() > CHANGE_MIN).then_some(days))
}

/// Returns whether it is time to learn from acts, in the order of their times, after the last time at `before`.
fn is_due(before: Option<Timestamp>, acts: &[PastAct], now: Timestamp) -> bool {
    let new = acts.len() - before.map_or(0, |before| acts.partition_point(|act| act.at <= before));
    let is_old = before.is_none_or(|before| now - before >= DAY_MS);
    new > 0 && (is_old || new >= NEW_MIN.max(acts.len() / NEW_PART))
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
        assert!(!is_due(None, &[], NOW) && is_due(None, &old(1), NOW));
        let soon = NOW + 1_000;
        assert!(!is_due(Some(NOW), &old(5_000), NOW + 9 * DAY_MS), "nothing is new");
        assert!(!is_due(Some(NOW), &with_new(500), soon) && is_due(Some(NOW), &with_new(600), soon));
        assert!(is_due(Some(NOW), &with_new(1), NOW + DAY_MS));
    }
}
