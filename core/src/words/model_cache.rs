//! The word model of a service: in memory, in its file, and up to date with the posts.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::RandomState;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use lru::LruCache;

use super::recipe;
use crate::account::Operator;
use crate::base::clock::{Clock, Timestamp};
use crate::base::config;
use crate::base::files::{beside, directory, private, sync_directory, word_model};
use crate::post::texts;
use crate::record::background::{Background, Stop};
use crate::record::error::{Error, Result};
use crate::record::id::PostKey;
use crate::record::lease::Lease;
use crate::store::{Store, StoreError};
use tidings_vectors::{Cancelled, Corpus, Model, Progress, Recipe, TrainedAt, Vectors, file, part};

mod follow;
mod stored;

/// The number of unknown words whose neighbours are cached, with approximately 300 bytes each.
const CACHED: NonZeroUsize = NonZeroUsize::new(4_096).expect("not zero");
/// The fraction of the training progress that reading the posts takes.
const READING: f64 = 0.1;

/// The word model of a database, and the thread that updates it.
///
/// The file is read when the model is first needed.
pub(crate) struct ModelCache {
    shared: Arc<Shared>,
    thread: Background,
}

/// The model in use.
pub(crate) struct Current {
    pub(super) model: Model,
    /// A cache of the neighbours of unknown words.
    unknown: Mutex<LruCache<Box<str>, Neighbours, RandomState>>,
}

/// The numbers of words with their similarities, most similar first.
type Neighbours = Arc<[(u32, f32)]>;

/// The data that the thread and the readers share.
struct Shared {
    store: Arc<Store>,
    path: PathBuf,
    config: config::WordModel,
    clock: Clock,
    current: ArcSwapOption<Current>,
    /// The right to learn words for all servers of the database.
    lease: Lease,
    /// When the model of the database was made, if this program cannot use it.
    unusable: Mutex<Option<i64>>,
    /// Guards the first check of the file.
    checked: Once,
    /// The state of the file at the last check.
    seen: Mutex<FileState>,
    stop: Stop,
}

/// The modification time and the length of the file; `None` if it does not exist.
type FileState = Option<(SystemTime, u64)>;

/// The exclusive right to make a model, until it is dropped.
struct Turn {
    _lock: Option<File>,
}

/// The reason why no model was made.
pub(super) enum Ended {
    /// The work was cancelled.
    Cancelled,
    Failed(Error),
}

impl From<Cancelled> for Ended {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
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
            Ended::Cancelled => Self::Overloaded,
            Ended::Failed(error) => error,
        }
    }
}

impl Current {
    fn new(model: Model) -> Arc<Self> {
        Arc::new(Self { model, unknown: Mutex::new(LruCache::with_hasher(CACHED, RandomState::new())) })
    }

    /// Returns when the model was made.
    pub(crate) fn made(&self) -> Timestamp {
        Timestamp::from_millis(self.model.origin.made)
    }

    /// Returns the words in the order of their numbers.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.model.words().iter().map(|word| &**word)
    }

    /// Returns the vectors of the words in the order of their numbers.
    pub(crate) fn vectors(&self) -> &Vectors {
        self.model.vectors()
    }

    /// Passes the neighbours of `word` to `take`, nearest first, until it returns `false`. For a word that the model
    /// does not have, they come from words with similar spelling.
    pub(super) fn neighbours(&self, word: &str, mut take: impl FnMut(&Arc<str>, f32) -> bool) {
        let mut take = |(number, similarity)| take(self.model.word(number), similarity);
        if let Some(number) = self.model.number(word) {
            self.model.neighbours(number).all(&mut take);
            return;
        }
        let cached = self.lock().get(word).cloned();
        let neighbours = cached.unwrap_or_else(|| {
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

impl ModelCache {
    /// Creates the model of the database at the path `database`.
    pub(crate) fn new(store: Arc<Store>, database: &Path, config: config::WordModel, clock: Clock) -> Self {
        let stop = Stop::default();
        let thread = Background::new(Arc::clone(&store), stop.clone());
        let shared = Shared {
            lease: Lease::new(Arc::clone(&store), clock.clone(), "words"),
            unusable: Mutex::default(),
            store,
            path: word_model(database),
            config,
            clock,
            current: ArcSwapOption::empty(),
            checked: Once::new(),
            seen: Mutex::default(),
            stop,
        };
        Self { shared: Arc::new(shared), thread }
    }

    /// Returns the current model. The first call reads the file.
    pub(crate) fn current(&self) -> Option<Arc<Current>> {
        let current = self.shared.current.load_full();
        if current.is_some() {
            return current;
        }
        // Concurrent first callers wait until one of them has read the file.
        self.shared.checked.call_once(|| self.shared.check());
        self.shared.current.load_full()
    }

    /// Returns the current model if it is in memory.
    pub(crate) fn in_memory(&self) -> Option<Arc<Current>> {
        self.shared.current.load_full()
    }

    /// Starts the thread that updates the model, unless it runs already.
    pub(super) fn follow(&self) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        self.thread.start("tidings-words", || Ok(move || shared.run()))
    }

    /// Learns the words of the posts, and writes and uses the new model.
    ///
    /// # Errors
    /// `overloaded` if another process is training; an error of the store or the disk.
    pub(super) fn train(&self, progress: Progress<'_>) -> Result<Arc<Current>> {
        self.make(progress, |shared, progress| shared.learn(progress))
    }

    /// Makes, writes and uses a model of the words and vectors that `read` returns. `read` receives the corpus, which
    /// contains the words of posts.
    ///
    /// # Errors
    /// The errors of [`WordModel::train`] and of `read`.
    pub(super) fn adopt(
        &self,
        _: Operator,
        read: impl FnOnce(&Corpus) -> Result<(Vec<Arc<str>>, Vectors)>,
        progress: Progress<'_>,
    ) -> Result<Arc<Current>> {
        self.make(progress, |shared, progress| {
            let (corpus, at) = shared.read_posts(&mut part(progress, 0.0, READING))?;
            let (words, vectors) = read(&corpus)?;
            Ok(tidings_vectors::adopt(words, vectors, &corpus, at, &mut part(progress, READING, 1.0))?)
        })
    }

    fn make(
        &self,
        progress: Progress<'_>,
        make: impl FnOnce(&Shared, Progress<'_>) -> Result<Model, Ended>,
    ) -> Result<Arc<Current>> {
        let shared = &self.shared;
        let _turn = shared.turn().ok_or(Error::Overloaded)?;
        let model = make(shared, progress)?;
        let failed = |e: io::Error| {
            Error::Internal(format!("cannot write the word model {}: {e}", shared.path.display()).into())
        };
        // First, so that the servers do not replace the file with the model before.
        shared.publish(&model)?;
        shared.write(&model).map_err(failed)?;
        Ok(shared.swap(model))
    }
}

impl Shared {
    fn recipe(&self) -> Recipe {
        recipe(&self.config)
    }

    fn swap(&self, model: Model) -> Arc<Current> {
        let current = Current::new(model);
        self.current.store(Some(Arc::clone(&current)));
        // The feeds wait for changes, and may use the previous model.
        self.store.versions().wake();
        current
    }

    /// Reads the file if it has changed since the last check.
    fn check(&self) {
        let mut seen = self.seen();
        let now = stamp(&self.path);
        if *seen == now {
            return;
        }
        *seen = now;
        let Some((_, length)) = now else { return };
        match File::open(&self.path).and_then(|file| file::read(file, length)) {
            Ok(model) => drop(self.swap(model)),
            // The model will be learned again; nothing else is lost.
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "the word model cannot be read");
            }
        }
    }

    /// Writes the file atomically, readable by its owner only.
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

    /// Acquires the right to make a model; `None` if another process has it.
    fn turn(&self) -> Option<Turn> {
        let lock = private(OpenOptions::new().write(true).create(true)).open(beside(&self.path, ".lock"));
        match lock.map(|lock| (lock.try_lock(), lock)) {
            Ok((Err(TryLockError::WouldBlock), _)) => None,
            Ok((_, lock)) => Some(Turn { _lock: Some(lock) }),
            // If the lock file cannot be created, two processes may do the same work; the model that is written last
            // remains.
            Err(_) => Some(Turn { _lock: None }),
        }
    }

    /// Reads the words of the posts, newest first. Returns them with the time at which reading began.
    fn read_posts(&self, progress: Progress<'_>) -> Result<(Corpus, TrainedAt), Ended> {
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

    /// Learns a model from the posts.
    fn learn(&self, progress: Progress<'_>) -> Result<Model, Ended> {
        let (corpus, at) = self.read_posts(&mut part(progress, 0.0, READING))?;
        Ok(tidings_vectors::learn(corpus, &self.recipe(), at, &mut part(progress, READING, 1.0))?)
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    fn unusable(&self) -> MutexGuard<'_, Option<i64>> {
        self.unusable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, FileState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamp(path: &Path) -> FileState {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}
