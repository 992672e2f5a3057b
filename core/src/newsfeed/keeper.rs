//! The feeds in memory, and the thread that updates them when posts change.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwapOption;

use super::index::FeedIndex;
use super::meaning::{Lexicon, Meanings};
use super::order_cache::OrderCache;
use super::personal::Personals;
use crate::clock::{Clock, SECOND_MS, Timestamp};
use crate::config::Feed;
use crate::error::{Error, Result};
use crate::post::{change, feed_rows, heat};
use crate::store::{Store, Topic, version_in};
use crate::words::ModelKeeper;

/// The time for which the thread gathers changes before it updates the index.
const GATHER: Duration = Duration::from_millis(400);
/// The index is loaded completely when the clock was set back by more than this. Ordinary clock adjustments are
/// smaller.
const SET_BACK_MS: i64 = 60 * SECOND_MS;

/// The feeds of a service: the current index, and the thread that replaces it.
///
/// The first request of a feed loads the index and starts the thread.
pub(crate) struct Feeds {
    pub(super) shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The data that the thread and the readers share.
pub(super) struct Shared {
    store: Arc<Store>,
    words: Arc<ModelKeeper>,
    index: ArcSwapOption<FeedIndex>,
    pub(super) orders: OrderCache,
    pub(super) personals: Personals,
    pub(super) config: Feed,
    clock: Clock,
    /// The last change of a post that the index shows.
    change: AtomicI64,
    /// The time of the last update of the index.
    updated: AtomicI64,
    stopped: AtomicBool,
}

impl Feeds {
    pub(crate) fn new(store: Arc<Store>, words: Arc<ModelKeeper>, config: Feed, clock: Clock) -> Self {
        let shared = Shared {
            store,
            words,
            index: ArcSwapOption::empty(),
            orders: OrderCache::default(),
            personals: Personals::default(),
            config,
            clock,
            change: AtomicI64::new(0),
            updated: AtomicI64::new(0),
            stopped: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), thread: Mutex::default() }
    }

    /// Returns the current index. The first call loads it and starts the thread.
    pub(super) fn index(&self) -> Result<Arc<FeedIndex>> {
        if let Some(index) = self.shared.index.load_full() {
            return Ok(index);
        }
        let mut thread = self.lock();
        if thread.is_none() {
            self.shared.update()?;
            let shared = Arc::clone(&self.shared);
            let keeper = std::thread::Builder::new().name("tidings-feeds".into()).spawn(move || shared.run());
            *thread = Some(keeper.map_err(|e| Error::Internal(e.into()))?);
        }
        self.shared.index.load_full().ok_or(Error::Overloaded)
    }

    /// Returns the time of the last update of the index; `None` before it is loaded.
    pub(crate) fn updated(&self) -> Option<Timestamp> {
        let updated = || Timestamp::from_millis(self.shared.updated.load(Ordering::Relaxed));
        self.shared.index.load().as_ref().map(|_| updated())
    }

    fn lock(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Feeds {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.store.versions().wake();
        if let Some(thread) = self.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Replaces the index with one that shows the committed posts.
    fn update(&self) -> Result<()> {
        let before = self.index.load_full();
        let now = self.clock.now();
        let (base, rows, removed, revision, change) = self.store.read(|tx| {
            let (revision, change) = (version_in(tx, Topic::Posts)?, change::last(tx)?);
            let removed = feed_rows::removed(tx, before.as_ref().map_or(0, |before| before.revision))?;
            // When a post leaves a full index, an older post takes its place, so the index is loaded completely.
            let full = before.as_ref().is_some_and(|before| before.len() >= self.config.posts);
            // The current time bounds the heats, so they are loaded again when the clock was set back.
            let is_set_back =
                now + SET_BACK_MS < Timestamp::from_millis(self.updated.load(Ordering::Relaxed));
            let base = before.as_deref().filter(|_| !(full && !removed.is_empty() || is_set_back));
            let changed = base.map(|_| feed_rows::changed(tx, self.change.load(Ordering::Relaxed)));
            let (base, mut rows) = match changed.transpose()?.flatten() {
                Some(changed) => (base, changed),
                None => (None, feed_rows::until(tx, Timestamp::MAX, self.config.posts)?),
            };
            if let Some(decay) = heat::decay(tx)? {
                for row in &mut rows {
                    // An act has a future date if the clock was ahead when it happened.
                    let weight = heat::weight_of(row.view, row.fav, self.config.like_weight);
                    row.heat = decay.bounded(row.heat, weight, now);
                }
            }
            Ok::<_, Error>((base, rows, removed, revision, change))
        })?;
        let lexicon = self.lexicon(before.as_deref());
        let index = FeedIndex::next(base, rows, &removed, lexicon.as_ref(), revision, now, &self.config);
        let index = Arc::new(index);
        if let Some(before) = before {
            // Before the swap, so that a reader always finds an order either in the cache or in the index.
            for order in before.orders_before(&index) {
                self.orders.insert(&order, self.clock.monotonic());
            }
        }
        self.index.store(Some(index));
        self.change.store(change, Ordering::Relaxed);
        self.updated.store(now.as_millis(), Ordering::Relaxed);
        Ok(())
    }

    /// Returns the words of the current model, those of the index `before` if the model is the same.
    fn lexicon(&self, before: Option<&FeedIndex>) -> Option<Arc<Lexicon>> {
        let model = self.words.current()?;
        let known = before.and_then(FeedIndex::meanings).map(Meanings::lexicon);
        let known = known.filter(|lexicon| lexicon.is_of(&model)).cloned();
        Some(known.unwrap_or_else(|| Arc::new(Lexicon::new(model))))
    }

    /// Returns whether the index uses the current word model.
    fn has_current_words(&self) -> bool {
        let (index, model) = (self.index.load(), self.words.in_memory());
        match (index.as_ref().and_then(|index| index.meanings()), model) {
            (Some(meanings), Some(model)) => meanings.lexicon().is_of(&model),
            (meanings, model) => meanings.is_none() && model.is_none(),
        }
    }

    /// Updates the index after each change until the service stops.
    fn run(&self) {
        let versions = self.store.versions();
        loop {
            let (revision, ends) = self
                .index
                .load()
                .as_ref()
                .map_or((0, Timestamp::MAX), |index| (index.revision, index.ends()));
            let until_end = u64::try_from(ends - self.clock.now()).unwrap_or_default();
            let stopped = || self.stopped.load(Ordering::Acquire);
            let otherwise = || stopped() || !self.has_current_words();
            versions.wait_for(Topic::Posts, revision, Duration::from_millis(until_end), otherwise);
            if stopped() || !versions.sleep(GATHER, stopped) {
                return;
            }
            if let Err(error) = self.update() {
                tracing::error!(cause = error.detail(), "the feeds cannot be updated");
            }
        }
    }
}
