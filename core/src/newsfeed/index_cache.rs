//! The feeds in memory, and the thread that updates them when posts change. An update reads the posts that changed or were removed
//! beyond the horizon of the update before, some of which it may have read already. While a transaction holds the horizon back,
//! the thread computes another index only if it sees another change.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};

use crate::base::clock::{Clock, SECOND_MS, Timestamp};
use crate::base::config::Feed;
use crate::newsfeed::feed::order_cache::OrderCache;
use crate::newsfeed::feed::own_likes::OwnLikes;
use crate::newsfeed::feed::personal::MemberFeedCache;
use crate::newsfeed::feed::shared_orders::PublishedOrders;
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::index::load::{AsOf, Seen, load};
use crate::newsfeed::index::meaning::{Lexicon, Meanings};
use crate::newsfeed::index::snapshot::Words;
use crate::newsfeed::signal::Scoring;
use crate::newsfeed::signal::co_visits::ReadNeighbours;
use crate::newsfeed::signal::popularity::Popularity;
use crate::post::feed_rows::{self, FeedRow};
use crate::record::background::{Background, Stop, log_failure};
use crate::record::error::{Error, Result};
use crate::record::id::PostKey;
use crate::store::{Store, Topic, version_in};
use crate::words::ModelCache;

const GATHER: Duration = Duration::from_millis(400);
/// The maximum time to wait for an index that shows the changes that another server has seen.
const FOLLOW_MAX: Duration = Duration::from_secs(3);
const FOLLOW_EVERY: Duration = Duration::from_millis(10);
/// If the clock was set back by more than this, the index is loaded completely. Ordinary clock adjustments are smaller.
const SET_BACK_MS: i64 = 60 * SECOND_MS;

/// The first request of a feed loads the index and starts the thread.
pub(crate) struct Feeds {
    pub(crate) shared: Arc<Shared>,
    own_likes: OwnLikes,
    thread: Background,
    pub(crate) learner: Background,
}

pub(crate) struct Shared {
    pub(crate) store: Arc<Store>,
    pub(crate) words: Arc<ModelCache>,
    index: OnceLock<ArcSwap<FeedIndex>>,
    pub(crate) orders: OrderCache,
    /// `None` for a database in a file.
    pub(crate) published: Option<PublishedOrders>,
    pub(crate) personals: MemberFeedCache,
    /// `None` until they are read.
    pub(crate) others: ArcSwapOption<ReadNeighbours>,
    /// Locked while the co-visits are read.
    reading: Mutex<()>,
    scoring: ArcSwap<Scoring>,
    pub(crate) config: Feed,
    pub(crate) clock: Clock,
    pub(crate) stop: Stop,
}

/// Holding it does not change a reference count, on which the processors that answer requests would contend.
pub(crate) type CurrentIndex = Guard<Arc<FeedIndex>>;

enum Update {
    /// No other change is visible.
    Nothing,
    Changes(Vec<FeedRow>, Vec<PostKey>, AsOf),
    Load,
}

impl Feeds {
    pub(crate) fn new(store: Arc<Store>, words: Arc<ModelCache>, config: Feed, clock: Clock) -> Self {
        let stop = Stop::default();
        let [thread, learner] = [0, 1].map(|_| Background::new(Arc::clone(&store), stop.clone()));
        let shared = Shared {
            published: PublishedOrders::of(&store, &clock),
            personals: MemberFeedCache::new(&store),
            others: ArcSwapOption::empty(),
            reading: Mutex::default(),
            scoring: ArcSwap::from_pointee(Scoring::of(&config)),
            store,
            words,
            index: OnceLock::new(),
            orders: OrderCache::default(),
            config,
            clock,
            stop,
        };
        Self { shared: Arc::new(shared), own_likes: OwnLikes::default(), thread, learner }
    }

    pub(crate) fn own_likes(&self) -> &OwnLikes {
        &self.own_likes
    }

    /// The first call loads the index and starts the thread.
    pub(crate) fn index(&self) -> Result<CurrentIndex> {
        if let Some(index) = self.shared.current() {
            return Ok(index);
        }
        self.thread.start("tidings-feeds", || {
            self.shared.update()?;
            let shared = Arc::clone(&self.shared);
            Ok(move || shared.run())
        })?;
        self.shared.current().ok_or(Error::Overloaded)
    }
}

impl Shared {
    /// Fails with [`Error::Overloaded`] if the index does not catch up within [`FOLLOW_MAX`].
    pub(crate) fn index_since(&self, revision: i64) -> Result<Arc<FeedIndex>> {
        let begin = Instant::now();
        loop {
            if let Some(index) = self.current().filter(|index| index.as_of.revision >= revision) {
                return Ok(Guard::into_inner(index));
            }
            if begin.elapsed() >= FOLLOW_MAX {
                return Err(Error::Overloaded);
            }
            std::thread::sleep(FOLLOW_EVERY);
        }
    }

    /// `None` until the index is loaded.
    pub(crate) fn current(&self) -> Option<CurrentIndex> {
        self.index.get().map(ArcSwap::load)
    }

    fn update(&self) -> Result<()> {
        let now = self.clock.now();
        self.update_scoring()?;
        let Some(before) = self.current().map(Guard::into_inner) else {
            // The feeds of guests need no words, so they do not wait until the model is read.
            let index = self.load(Words::Current(Arc::clone(&self.words)), 0, now)?;
            // No other thread loads the first index.
            drop(self.index.set(ArcSwap::from_pointee(index)));
            return Ok(());
        };
        let lexicon = self.lexicon(&before);
        let index = match self.changes(&before, now)? {
            Update::Nothing => return Ok(()),
            Update::Changes(changed, removed, as_of) => {
                FeedIndex::next(Some(&before), changed, &removed, lexicon.as_ref(), as_of, &self.config)
            }
            Update::Load => self.load(Words::These(lexicon), before.number + 1, now)?,
        };
        // Before the swap, so that no request has to wait for it.
        index.similarity();
        // Before the swap, so that a reader always finds an order either in the cache or in the index.
        for order in before.orders_before(&index) {
            self.orders.insert(&order, self.clock.monotonic());
        }
        self.index.get().expect("there was an index before").store(Arc::new(index));
        Ok(())
    }

    /// Reads the scoring from the database, where another process may have changed it.
    pub(crate) fn update_scoring(&self) -> Result<()> {
        let scoring = self.store.read(|tx| Scoring::current(tx, &self.config))?;
        if scoring != **self.scoring.load() {
            self.scoring.store(Arc::new(scoring));
        }
        Ok(())
    }

    pub(crate) fn scoring(&self) -> Arc<Scoring> {
        self.scoring.load_full()
    }

    pub(crate) fn reading(&self) -> MutexGuard<'_, ()> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load(&self, words: Words, number: u64, now: Timestamp) -> Result<FeedIndex> {
        let (items, as_of) = load(&self.store, &self.config, now)?;
        Ok(FeedIndex::of(items, words, number, as_of, &self.config))
    }

    fn changes(&self, before: &FeedIndex, now: Timestamp) -> Result<Update> {
        // The current time bounds the heats, so they are loaded again when the clock was set back.
        let AsOf { revision, now: updated, popularity, seen: shown } = before.as_of;
        if revision == 0 || now + SET_BACK_MS < updated {
            return Ok(Update::Load);
        }
        self.store.read(|tx| {
            let (revision, seen) = (version_in(tx, Topic::Posts)?, Seen::by(tx)?);
            // All posts have other heats with another half-life.
            if Popularity::current(tx, &self.config)? != popularity {
                return Ok(Update::Load);
            }
            let mut removed = feed_rows::removed(tx, shown.horizon)?;
            // The index before may already lack them.
            removed.retain(|key| before.position(*key).is_some());
            if seen == shown && removed.is_empty() && !before.has_ended(now) && self.has_current_words() {
                return Ok(Update::Nothing);
            }
            // When a post leaves a full index, an older post takes its place.
            if before.len() >= self.config.posts && !removed.is_empty() {
                return Ok(Update::Load);
            }
            let decay = popularity.decay();
            let Some(mut changed) = feed_rows::changed(tx, shown.horizon, decay)? else {
                return Ok(Update::Load);
            };
            for row in &mut changed {
                row.bound_heat(decay, now);
            }
            Ok(Update::Changes(changed, removed, AsOf { revision, now, popularity, seen }))
        })
    }

    /// Reuses the words of the index `before` if the model is the same.
    fn lexicon(&self, before: &FeedIndex) -> Option<Arc<Lexicon>> {
        let model = self.words.current()?;
        let known = before.meanings().map(Meanings::lexicon);
        let known = known.filter(|lexicon| lexicon.is_of(&model)).cloned();
        Some(known.unwrap_or_else(|| Arc::new(Lexicon::new(model))))
    }

    pub(crate) fn has_current_words(&self) -> bool {
        let (index, model) = (self.current(), self.words.in_memory());
        match (index.as_ref().and_then(|index| index.meanings()), model) {
            (Some(meanings), Some(model)) => meanings.lexicon().is_of(&model),
            (meanings, model) => meanings.is_none() && model.is_none(),
        }
    }

    fn run(&self) {
        let versions = self.store.versions();
        // The first index is in use before this is computed.
        if let Some(index) = self.current().filter(|_| !self.stop.is_set()) {
            Guard::into_inner(index).similarity();
        }
        loop {
            let shown = self.current().map(|index| (index.as_of.revision, index.ends));
            let (revision, ends) = shown.unwrap_or((0, Timestamp::MAX));
            let until_end = u64::try_from(ends - self.clock.now()).unwrap_or_default();
            let stopped = || self.stop.is_set();
            let otherwise = || stopped() || !self.has_current_words();
            versions.wait_for(Topic::Posts, revision, Duration::from_millis(until_end), otherwise);
            if stopped() || !versions.sleep(GATHER, stopped) {
                return;
            }
            if let Err(error) = self.update() {
                log_failure(&error, "the feeds cannot be updated");
            }
        }
    }
}

#[cfg(test)]
mod tests;
