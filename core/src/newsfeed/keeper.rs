//! The feeds in memory, and the thread that updates them when posts change.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwapOption;

use super::index::FeedIndex;
use super::load::{Loaded, load};
use super::meaning::{Lexicon, Meanings};
use super::order_cache::OrderCache;
use super::personal::Personals;
use super::snapshot::Words;
use crate::clock::{Clock, SECOND_MS, Timestamp};
use crate::config::Feed;
use crate::error::{Error, Result};
use crate::id::PostKey;
use crate::post::feed_rows::{self, FeedRow};
use crate::post::{change, heat};
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

/// The changes of posts between two indexes.
struct Changes {
    changed: Vec<FeedRow>,
    removed: Vec<PostKey>,
    /// The revision of the later index.
    revision: i64,
    /// The last change of a post that it shows.
    last: i64,
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
        let now = self.clock.now();
        let Some(before) = self.index.load_full() else {
            // The feeds of guests need no words, so they do not wait until the model is read.
            let (index, change) = self.load(Words::Current(Arc::clone(&self.words)), 0, now)?;
            self.replace(index, change, now);
            return Ok(());
        };
        let lexicon = self.lexicon(&before);
        let (index, change) = match self.changes(&before, now)? {
            Some(Changes { changed, removed, revision, last }) => {
                let lexicon = lexicon.as_ref();
                let index =
                    FeedIndex::next(Some(&before), changed, &removed, lexicon, revision, now, &self.config);
                (index, last)
            }
            None => self.load(Words::These(lexicon), before.number + 1, now)?,
        };
        // Before the swap, so that no request has to wait for it.
        index.similarity();
        // Before the swap, so that a reader always finds an order either in the cache or in the index.
        for order in before.orders_before(&index) {
            self.orders.insert(&order, self.clock.monotonic());
        }
        self.replace(index, change, now);
        Ok(())
    }

    fn replace(&self, index: FeedIndex, change: i64, now: Timestamp) {
        self.index.store(Some(Arc::new(index)));
        self.change.store(change, Ordering::Relaxed);
        self.updated.store(now.as_millis(), Ordering::Relaxed);
    }

    /// Loads the index completely, and returns it with the last change of a post that it shows.
    fn load(&self, words: Words, number: u64, now: Timestamp) -> Result<(FeedIndex, i64)> {
        let Loaded { items, revision, change } = load(&self.store, &self.config, now)?;
        Ok((FeedIndex::of(items, words, number, revision, now, &self.config), change))
    }

    /// Returns the changes since the index `before`; `None` if the index must be loaded completely.
    fn changes(&self, before: &FeedIndex, now: Timestamp) -> Result<Option<Changes>> {
        // The current time bounds the heats, so they are loaded again when the clock was set back.
        let is_set_back = now + SET_BACK_MS < Timestamp::from_millis(self.updated.load(Ordering::Relaxed));
        if before.revision == 0 || is_set_back {
            return Ok(None);
        }
        self.store.read(|tx| {
            let (revision, last) = (version_in(tx, Topic::Posts)?, change::last(tx)?);
            let removed = feed_rows::removed(tx, before.revision)?;
            // When a post leaves a full index, an older post takes its place.
            if before.len() >= self.config.posts && !removed.is_empty() {
                return Ok(None);
            }
            let Some(mut changed) = feed_rows::changed(tx, self.change.load(Ordering::Relaxed))? else {
                return Ok(None);
            };
            let decay = heat::decay(tx)?;
            for row in &mut changed {
                row.bound_heat(decay, self.config.like_weight, now);
            }
            Ok(Some(Changes { changed, removed, revision, last }))
        })
    }

    /// Returns the words of the current model, those of the index `before` if the model is the same.
    fn lexicon(&self, before: &FeedIndex) -> Option<Arc<Lexicon>> {
        let model = self.words.current()?;
        let known = before.meanings().map(Meanings::lexicon);
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
        // The first index is in use before this is computed.
        if let Some(index) = self.index.load_full().filter(|_| !self.stopped.load(Ordering::Acquire)) {
            index.similarity();
        }
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
