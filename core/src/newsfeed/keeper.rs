//! Keeps the index of posts up to date, in a thread of its own.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwapOption;

use super::index::FeedIndex;
use super::meaning::{Lexicon, Meanings};
use super::pages::Orders;
use super::personal::Personals;
use crate::clock::{Clock, SECOND_MS, Timestamp};
use crate::config::Feed;
use crate::error::{Error, Result};
use crate::post::{feed_rows, heat};
use crate::store::{Store, Topic, version_in};
use crate::words::Words;

/// How long changes are gathered before the index follows them.
const GATHER: Duration = Duration::from_millis(400);
/// How far a clock is set back before the index is loaded again: further than clocks are adjusted all the time.
const SET_BACK_MS: i64 = 60 * SECOND_MS;

/// The feeds in memory: the present index, and the thread that swaps it for the next one.
///
/// Nothing is loaded until a feed is first asked for.
pub(crate) struct Feeds {
    pub(super) shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread and the readers share.
pub(super) struct Shared {
    store: Arc<Store>,
    words: Arc<Words>,
    index: ArcSwapOption<FeedIndex>,
    pub(super) orders: Orders,
    pub(super) personals: Personals,
    pub(super) config: Feed,
    clock: Clock,
    /// When the index was made, as far as the store had come then.
    followed: AtomicI64,
    stopped: AtomicBool,
}

impl Feeds {
    pub(crate) fn new(store: Arc<Store>, words: Arc<Words>, config: Feed, clock: Clock) -> Self {
        let shared = Shared {
            store,
            words,
            index: ArcSwapOption::empty(),
            orders: Orders::default(),
            personals: Personals::default(),
            config,
            clock,
            followed: AtomicI64::new(0),
            stopped: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), thread: Mutex::default() }
    }

    /// The present index; loads the first one, and starts the thread, when there is none yet.
    pub(super) fn index(&self) -> Result<Arc<FeedIndex>> {
        if let Some(index) = self.shared.index.load_full() {
            return Ok(index);
        }
        let mut thread = self.lock();
        if thread.is_none() {
            self.shared.follow()?;
            let shared = Arc::clone(&self.shared);
            let keeper =
                std::thread::Builder::new().name("tidings-feeds".into()).spawn(move || shared.keep());
            *thread = Some(keeper.map_err(|e| Error::Internal(e.into()))?);
        }
        self.shared.index.load_full().ok_or(Error::Overloaded)
    }

    /// When the index was made; `None` while there is none.
    pub(crate) fn followed(&self) -> Option<Timestamp> {
        let followed = || Timestamp::from_millis(self.shared.followed.load(Ordering::Relaxed));
        self.shared.index.load().as_ref().map(|_| followed())
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
    /// Swaps the index for one that shows what is committed now.
    fn follow(&self) -> Result<()> {
        let before = self.index.load_full();
        let now = self.clock.now();
        let since = before.as_ref().map_or(0, |before| before.revision);
        let (changed, removed, revision) = self.store.read(|tx| {
            let (revision, removed) = (version_in(tx, Topic::Posts)?, feed_rows::removed(tx, since)?);
            // Older posts move up into a full index when others go, so it is loaded anew.
            let full = before.as_ref().is_some_and(|before| before.len() >= self.config.posts);
            // So are the heats that were made before the clock was set back.
            let is_set_back =
                now + SET_BACK_MS < Timestamp::from_millis(self.followed.load(Ordering::Relaxed));
            let since = if full && !removed.is_empty() || is_set_back { 0 } else { since };
            let mut changed = feed_rows::changed(tx, since, self.config.posts)?;
            if let Some(decay) = heat::decay(tx)? {
                for row in &mut changed {
                    // Some acts may be dated in the future, as after a clock that was ahead.
                    let weight = heat::weight_of(row.view, row.fav, self.config.like_weight);
                    row.heat = decay.bounded(row.heat, weight, now);
                }
            }
            Ok::<_, Error>(((since, changed), removed, revision))
        })?;
        let (since, changed) = changed;
        let base = before.as_deref().filter(|_| since > 0);
        let lexicon = self.lexicon(before.as_deref());
        let index = FeedIndex::next(base, changed, &removed, lexicon.as_ref(), revision, now, &self.config);
        let index = Arc::new(index);
        if let Some(before) = before {
            // Before the swap, so that a page that was begun is always found in one place or the other.
            for order in before.orders_before(&index) {
                self.orders.keep(&order, self.clock.monotonic());
            }
        }
        self.index.store(Some(index));
        self.followed.store(now.as_millis(), Ordering::Relaxed);
        Ok(())
    }

    /// The words of the present model, of the index `before` where they are the same.
    fn lexicon(&self, before: Option<&FeedIndex>) -> Option<Arc<Lexicon>> {
        let model = self.words.current()?;
        let kept = before.and_then(FeedIndex::meanings).map(Meanings::lexicon);
        let kept = kept.filter(|lexicon| lexicon.is_of(&model)).cloned();
        Some(kept.unwrap_or_else(|| Arc::new(Lexicon::new(model))))
    }

    /// Whether the words that the index is made with are those of the present model.
    fn knows_words(&self) -> bool {
        let (index, model) = (self.index.load(), self.words.in_memory());
        match (index.as_ref().and_then(|index| index.meanings()), model) {
            (Some(meanings), Some(model)) => meanings.lexicon().is_of(&model),
            (meanings, model) => meanings.is_none() && model.is_none(),
        }
    }

    /// Follows changes until the store closes.
    fn keep(&self) {
        let versions = self.store.versions();
        loop {
            let (revision, ends) = self
                .index
                .load()
                .as_ref()
                .map_or((0, Timestamp::MAX), |index| (index.revision, index.ends()));
            let until_end = u64::try_from(ends - self.clock.now()).unwrap_or_default();
            let stopped = || self.stopped.load(Ordering::Acquire);
            let otherwise = || stopped() || !self.knows_words();
            versions.wait_for(Topic::Posts, revision, Duration::from_millis(until_end), otherwise);
            if stopped() || !versions.sleep(GATHER, stopped) {
                return;
            }
            if let Err(error) = self.follow() {
                tracing::error!(cause = error.detail(), "the feeds cannot follow the store");
            }
        }
    }
}
