//! Keeps the word model: on disk beside the database, in memory, and up with the posts.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::RandomState;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use lru::LruCache;

use super::recipe;
use crate::account::Operator;
use crate::clock::{Clock, Timestamp};
use crate::config;
use crate::error::{Error, Result};
use crate::files::{beside, directory, private, sync_directory, word_model};
use crate::post::texts;
use crate::store::{Store, StoreError};
use tidings_words::{Corpus, Go, Model, Moment, Recipe, Stopped, Vectors, file, part};

mod follow;

/// Unknown words whose neighbours are remembered, with some 300 bytes each.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(4_096).expect("not zero");
/// How much of the work of learning is reading the posts.
const READING: f64 = 0.1;

/// The word model of a database: the present one, and the thread that learns the next.
///
/// Nothing is read from disk before a model is first asked for.
pub(crate) struct Words {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A model in use.
pub(crate) struct Current {
    pub(super) model: Model,
    /// The neighbours of unknown words that were asked for.
    unknown: Mutex<LruCache<Box<str>, Neighbours, RandomState>>,
}

/// Words by their numbers and how alike they are, the most first.
type Neighbours = Arc<[(u32, f32)]>;

/// What the thread and the readers share.
struct Shared {
    store: Arc<Store>,
    path: PathBuf,
    config: config::Words,
    clock: Clock,
    current: ArcSwapOption<Current>,
    /// The first look at the file.
    looked: Once,
    /// What the latest look saw.
    seen: Mutex<Seen>,
    stopped: AtomicBool,
}

/// What is seen of the file, if it is there: when it was changed, and its length.
type Seen = Option<(SystemTime, u64)>;

/// The right to make a model, until it is dropped.
struct Turn {
    _lock: Option<File>,
}

/// A try at learning that ended without a model.
pub(super) enum Ended {
    /// It was told to stop.
    Stopped,
    Failed(Error),
}

impl From<Stopped> for Ended {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Ended> for Error {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Stopped => Self::Overloaded,
            Ended::Failed(error) => error,
        }
    }
}

impl Current {
    fn new(model: Model) -> Arc<Self> {
        Arc::new(Self { model, unknown: Mutex::new(LruCache::with_hasher(REMEMBERED, RandomState::new())) })
    }

    /// The words that it knows, in the order of their numbers.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.model.words().iter().map(|word| &**word)
    }

    /// The vectors of the words, by number.
    pub(crate) fn vectors(&self) -> &Vectors {
        self.model.vectors()
    }

    /// Hands the neighbours of `word`, the nearest first, to `take`, as long as it wants more; of a word that the
    /// model does not know, those of the words that are written like it.
    pub(super) fn neighbours(&self, word: &str, mut take: impl FnMut(&Arc<str>, f32) -> bool) {
        let mut take = |(number, similarity)| take(self.model.word(number), similarity);
        if let Some(number) = self.model.number(word) {
            self.model.neighbours(number).all(&mut take);
            return;
        }
        let remembered = self.lock().get(word).cloned();
        let neighbours = remembered.unwrap_or_else(|| {
            let found: Neighbours = self.model.neighbours_of_unknown(word).into();
            self.lock().put(word.into(), Arc::clone(&found));
            found
        });
        neighbours.iter().copied().all(&mut take);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Box<str>, Neighbours, RandomState>> {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Words {
    /// The model of the database at `database`.
    pub(crate) fn new(store: Arc<Store>, database: &Path, config: config::Words, clock: Clock) -> Self {
        let shared = Shared {
            store,
            path: word_model(database),
            config,
            clock,
            current: ArcSwapOption::empty(),
            looked: Once::new(),
            seen: Mutex::default(),
            stopped: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), thread: Mutex::default() }
    }

    /// The present model, if there is one: in memory, else on disk.
    pub(crate) fn current(&self) -> Option<Arc<Current>> {
        let current = self.shared.current.load_full();
        if current.is_some() {
            return current;
        }
        // Who comes while another reads the file for the first time waits until that is done.
        self.shared.looked.call_once(|| self.shared.look());
        self.shared.current.load_full()
    }

    /// The present model, if there is one in memory; the disk is not looked at.
    pub(crate) fn in_memory(&self) -> Option<Arc<Current>> {
        self.shared.current.load_full()
    }

    /// When the present model was made, if there is one in memory.
    pub(crate) fn made(&self) -> Option<Timestamp> {
        self.shared.current.load().as_ref().map(|current| Timestamp::from_millis(current.model.origin.made))
    }

    /// Starts the thread that keeps the model up with the posts, where that is wanted; it ends with the service.
    pub(super) fn follow(&self) -> Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let keeper =
                std::thread::Builder::new().name("tidings-words".into()).spawn(move || shared.keep());
            *thread = Some(keeper.map_err(|e| Error::Internal(e.into()))?);
        }
        Ok(())
    }

    /// Learns the words of the posts, whatever model there is, and keeps it.
    ///
    /// # Errors
    /// `overloaded` when another process is at it; when the store or the disk fails.
    pub(super) fn train(&self, go: Go<'_>) -> Result<Arc<Current>> {
        self.make(go, |shared, go| shared.learn(go))
    }

    /// Takes over words and vectors; `read` gives them, told which words stand in posts.
    ///
    /// # Errors
    /// As [`Words::train`], and those of `read`.
    pub(super) fn adopt(
        &self,
        _: Operator,
        read: impl FnOnce(&Corpus) -> Result<(Vec<Arc<str>>, Vectors)>,
        go: Go<'_>,
    ) -> Result<Arc<Current>> {
        self.make(go, |shared, go| {
            let (corpus, at) = shared.read_posts(&mut part(go, 0.0, READING))?;
            let (words, vectors) = read(&corpus)?;
            Ok(tidings_words::adopt(words, vectors, &corpus, at, &mut part(go, READING, 1.0))?)
        })
    }

    fn make(
        &self,
        go: Go<'_>,
        make: impl FnOnce(&Shared, Go<'_>) -> Result<Model, Ended>,
    ) -> Result<Arc<Current>> {
        let shared = &self.shared;
        let _turn = shared.turn().ok_or(Error::Overloaded)?;
        let model = make(shared, go)?;
        let failed = |e: io::Error| {
            Error::Internal(format!("cannot write the word model {}: {e}", shared.path.display()).into())
        };
        shared.write(&model).map_err(failed)?;
        Ok(shared.swap(model))
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.store.versions().wake();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn recipe(&self) -> Recipe {
        recipe(&self.config)
    }

    fn swap(&self, model: Model) -> Arc<Current> {
        let current = Current::new(model);
        self.current.store(Some(Arc::clone(&current)));
        // Who waits for changes may be using the one before.
        self.store.versions().wake();
        current
    }

    /// Reads the file if it is another one than was seen before.
    fn look(&self) {
        let mut seen = self.seen();
        let now = stamp(&self.path);
        if *seen == now {
            return;
        }
        *seen = now;
        let Some((_, length)) = now else { return };
        match File::open(&self.path).and_then(|file| file::read(file, length)) {
            Ok(model) => drop(self.swap(model)),
            // Learned again when the time has come; nothing else is lost.
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "the word model cannot be read");
            }
        }
    }

    /// Writes the file: whole or not at all, for its owner alone.
    fn write(&self, model: &Model) -> io::Result<()> {
        let mut seen = self.seen();
        let draft = beside(&self.path, ".new");
        let _ = fs::remove_file(&draft);
        let written =
            private(OpenOptions::new().write(true).create_new(true)).open(&draft).and_then(|file| {
                file::write(model, &file)?;
                file.sync_all()?;
                fs::rename(&draft, &self.path)?;
                sync_directory(directory(&self.path))
            });
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        *seen = stamp(&self.path);
        written
    }

    /// The right to make a model, if no other process has it.
    fn turn(&self) -> Option<Turn> {
        let lock = private(OpenOptions::new().write(true).create(true)).open(beside(&self.path, ".lock"));
        match lock.map(|lock| (lock.try_lock(), lock)) {
            Ok((Err(TryLockError::WouldBlock), _)) => None,
            Ok((_, lock)) => Some(Turn { _lock: Some(lock) }),
            // Without a place for locks two may do the same work, and the later one's stays.
            Err(_) => Some(Turn { _lock: None }),
        }
    }

    /// Reads the words of the posts, the newest first, and when that began.
    fn read_posts(&self, go: Go<'_>) -> Result<(Corpus, Moment), Ended> {
        let date = self.clock.now();
        let changes = self.store.read(|tx| texts::changes(tx))?;
        let mut corpus = Corpus::new(self.config.corpus);
        let (mut before, mut newest) = (i64::MAX, None);
        while !corpus.is_full() {
            // A page at a time, so that no transaction holds up the log for long.
            let page = self.store.read(|tx| texts::page(tx, before))?;
            let Some(last) = page.last() else { break };
            before = last.key;
            let newest = *newest.get_or_insert(page[0].key);
            for post in &page {
                corpus.add(&post.title, &post.post);
            }
            #[expect(clippy::cast_precision_loss, reason = "nobody looks at the last digits")]
            go(1.0 - before as f64 / newest as f64)?;
        }
        Ok((corpus, Moment { changes, date: date.as_millis() }))
    }

    /// Learns from the posts.
    fn learn(&self, go: Go<'_>) -> Result<Model, Ended> {
        let (corpus, at) = self.read_posts(&mut part(go, 0.0, READING))?;
        Ok(tidings_words::learn(corpus, &self.recipe(), at, &mut part(go, READING, 1.0))?)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamp(path: &Path) -> Seen {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}
