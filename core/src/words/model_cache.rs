//! The word model of a service: in memory, in the database, and up to date with the posts.

use std::hash::RandomState;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use arc_swap::ArcSwapOption;
use lru::LruCache;

use crate::account::Operator;
use crate::base::clock::{Clock, Timestamp};
use crate::base::config;
use crate::post::texts;
use crate::record::background::{Background, Stop};
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::record::lease::Lease;
use crate::store::Store;
use tidings_vectors::{Corpus, Model, Progress, Recipe, TrainedAt, Vectors, part};

mod follow;
mod stored;

/// In words, with approximately 300 bytes each.
const CACHED: NonZeroUsize = NonZeroUsize::new(16_384).expect("not zero");
/// Of the progress, for reading the posts.
const READING: f64 = 0.1;

/// Reads the model when it is first needed.
pub(crate) struct ModelCache {
    shared: Arc<Shared>,
    thread: Background,
}

pub(crate) struct Current {
    pub(super) model: Model,
    id: i64,
    neighbours: Mutex<LruCache<Box<str>, Neighbours, RandomState>>,
}

/// Words by their numbers, with their similarities, most similar first.
type Neighbours = Arc<[(u32, f32)]>;

struct Shared {
    store: Arc<Store>,
    config: config::WordModel,
    clock: Clock,
    current: ArcSwapOption<Current>,
    /// To learn words for all servers of the database.
    lease: Lease,
    /// The number of the model of the database, if this program cannot use it.
    unusable: Mutex<Option<i64>>,
    /// Guards the first look into the database.
    looked: Once,
    stop: Stop,
}

impl Current {
    fn new(model: Model, id: i64) -> Arc<Self> {
        let neighbours = Mutex::new(LruCache::with_hasher(CACHED, RandomState::new()));
        Arc::new(Self { model, id, neighbours })
    }

    pub(crate) fn made(&self) -> Timestamp {
        Timestamp::from_millis(self.model.origin.made)
    }

    /// In the order of their numbers.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.model.words().iter().map(|word| &**word)
    }

    pub(crate) fn vectors(&self) -> &Vectors {
        self.model.vectors()
    }

    /// Nearest first. The neighbours of a word that the model does not contain come from words with similar spelling.
    pub(super) fn neighbours(&self, word: &str) -> Neighbours {
        if let Some(cached) = self.lock().get(word) {
            return Arc::clone(cached);
        }
        let found: Neighbours = self.model.neighbours(word).into();
        self.lock().put(word.into(), Arc::clone(&found));
        found
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Box<str>, Neighbours, RandomState>> {
        self.neighbours.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelCache {
    pub(crate) fn new(store: Arc<Store>, config: config::WordModel, clock: Clock) -> Self {
        let stop = Stop::default();
        let thread = Background::new(Arc::clone(&store), stop.clone());
        let shared = Shared {
            lease: Lease::new(Arc::clone(&store), clock.clone(), "words"),
            unusable: Mutex::default(),
            store,
            config,
            clock,
            current: ArcSwapOption::empty(),
            looked: Once::new(),
            stop,
        };
        Self { shared: Arc::new(shared), thread }
    }

    /// The first call reads the model from the database.
    pub(crate) fn current(&self) -> Option<Arc<Current>> {
        let current = self.shared.current.load_full();
        if current.is_some() {
            return current;
        }
        // Concurrent first callers wait until one of them has read the model.
        self.shared.look_once();
        self.shared.current.load_full()
    }

    pub(crate) fn in_memory(&self) -> Option<Arc<Current>> {
        self.shared.current.load_full()
    }

    /// Does nothing if the thread already runs.
    pub(super) fn follow(&self) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        self.thread.start("tidings-words", || Ok(move || shared.run()))
    }

    pub(super) fn train(&self, progress: Progress<'_>) -> Result<Arc<Current>> {
        self.shared.publish(self.shared.learn(progress)?)
    }

    /// `read` receives the corpus of the posts, and returns the words and vectors of the model, which is then stored and used.
    pub(super) fn adopt(
        &self,
        _: Operator,
        read: impl FnOnce(&Corpus) -> Result<(Vec<Arc<str>>, Vectors)>,
        progress: Progress<'_>,
    ) -> Result<Arc<Current>> {
        let (corpus, at) = self.shared.read_posts(progress)?;
        let (words, vectors) = read(&corpus)?;
        self.shared.publish(tidings_vectors::adopt(words, vectors, &corpus, at))
    }
}

impl Shared {
    fn recipe(&self) -> Recipe {
        let config::WordModel { dimensions, window, min_posts, vocabulary, corpus, seed, .. } = self.config;
        Recipe { dimensions, window, min_posts, words: vocabulary, corpus, seed }
    }

    /// The model is already in the database.
    fn swap(&self, model: Model, id: i64) -> Arc<Current> {
        let current = Current::new(model, id);
        self.current.store(Some(Arc::clone(&current)));
        // The feeds wait for changes, and may use the previous model.
        self.store.versions().wake();
        current
    }

    /// Newest posts first. Also returns the time at which reading began.
    fn read_posts(&self, progress: Progress<'_>) -> Result<(Corpus, TrainedAt)> {
        let date = self.clock.now();
        let changes = self.store.read(|tx| texts::changes(tx))?;
        let mut corpus = Corpus::new(self.config.corpus);
        let (mut before, mut newest) = (PostKey::MAX, None);
        while !corpus.is_full() {
            // Read in pages, so that no transaction delays the checkpoint of the log for long.
            let page = self.store.read(|tx| texts::page(tx, before))?;
            let Some(last) = page.last() else { break };
            before = last.key;
            let newest = *newest.get_or_insert(page[0].key);
            for post in &page {
                corpus.add(&post.title, &post.post);
            }
            #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
            progress(1.0 - before.as_i64() as f64 / newest.as_i64() as f64)?;
        }
        Ok((corpus, TrainedAt { changes, date: date.as_millis() }))
    }

    fn learn(&self, progress: Progress<'_>) -> Result<Model> {
        let (corpus, at) = self.read_posts(&mut part(progress, 0.0, READING))?;
        Ok(tidings_vectors::learn(corpus, &self.recipe(), at, &mut part(progress, READING, 1.0))?)
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    fn unusable(&self) -> MutexGuard<'_, Option<i64>> {
        self.unusable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
