//! Where operations run: off the async threads, a bounded number at a time, in a bounded queue.
//!
//! There are several lanes, so that slow work of one kind (searching, hashing passwords, asking the university) never
//! takes the place of another. In those whose work is dear to the server, clients take turns ([`fair`]): one that
//! sends a thousand requests delays another's by one turn.

use std::net::{IpAddr, Ipv4Addr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tidings_core::account::Client;
use tidings_core::config::Verifier;
use tidings_core::{Error, Result};
use tokio::sync::{Semaphore, oneshot};

mod fair;

use fair::{FairPool, Kind};

/// University members whose system is asked at once, each for up to some seconds, and those that may wait.
const UNIVERSITY: usize = 32;
const UNIVERSITY_QUEUE: usize = 64;
/// The most searches that run at once: as many as the store has connections for them.
const QUERIES_MAX: usize = 4;
/// Large bodies that may wait to be read, and large answers to be compressed.
const CODEC_QUEUE: usize = 64;
/// By how much a thread of searches, or of large bodies, is nicer than others: a busy core gives it about a third of what it gives one of
/// them, and an idle core all.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;
/// Imports that run at once: the database has one writer, so more would only wait.
const IMPORTS: usize = 2;

/// A kind of work, with its bounds.
#[derive(Clone)]
pub(crate) enum Lane {
    /// Work that waits, for the disk or another system: on as many of the runtime's blocking threads as run.
    Waiting {
        /// What may be in the lane, running or waiting.
        places: Arc<Semaphore>,
        /// What may run.
        running: Arc<Semaphore>,
        /// How many places there are beside those that run.
        waiting: usize,
    },
    /// Short work that seldom waits: on one thread for each core, that go on with the next piece without
    /// having slept in between. Waking one of many idle threads each time costs more than the work itself.
    Short(crossbeam_channel::Sender<Job>),
    /// Work that keeps a core busy: on a few threads of its own, in a queue that is fair to networks and clients.
    Fair(Arc<FairPool>, Kind),
}

/// A piece of work that gives its answer itself.
type Job = Box<dyn FnOnce() + Send>;

/// The lanes of a server.
pub(crate) struct Lanes {
    /// What reads the database and is soon done.
    pub(crate) read: Lane,
    /// What writes to the database, or reads much of it.
    pub(crate) store: Lane,
    /// Searches, and other queries that may take long.
    pub(crate) query: Lane,
    /// Reading the fields of large bodies, compressing large answers.
    pub(crate) codec: Lane,
    /// What hashes a password: three kinds of work on the same threads, which take turns.
    pub(crate) sign_in: Lane,
    pub(crate) sign_up: Lane,
    pub(crate) change_pw: Lane,
    /// What asks the university.
    pub(crate) university: Lane,
    /// Imports.
    pub(crate) import: Lane,
}

impl Lanes {
    /// Lanes for `operations` on the database at once and `queue` waiting, for `hash_queue` passwords that wait to be
    /// hashed, and for members of the university that `verifier` knows.
    pub(crate) fn new(operations: usize, queue: usize, hash_queue: usize, verifier: &Verifier) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // The core hashes one password for each core; as many others read or write around their hash.
        let passwords = Arc::new(FairPool::new(2 * cores, hash_queue, || {}));
        let university = match verifier {
            // It is waited for, not worked on.
            Verifier::Http { .. } => UNIVERSITY,
            Verifier::None | Verifier::Roster => 2 * cores,
        };
        Self {
            read: Lane::short(cores, queue),
            store: Lane::waiting(operations, queue),
            query: Lane::fair((cores / 2).clamp(1, QUERIES_MAX), queue, lower_priority),
            codec: Lane::fair((cores / 2).max(1), CODEC_QUEUE, lower_priority),
            sign_in: Lane::Fair(Arc::clone(&passwords), Kind::SignIn),
            sign_up: Lane::Fair(Arc::clone(&passwords), Kind::SignUp),
            change_pw: Lane::Fair(passwords, Kind::ChangePw),
            university: Lane::fair(university, UNIVERSITY_QUEUE, || {}),
            import: Lane::waiting(IMPORTS, 0),
        }
    }

    /// How much waits for its turn in each lane.
    pub(crate) fn waiting(&self) -> [(&'static str, usize); 7] {
        let Self { read, store, query, codec, sign_in, sign_up: _, change_pw: _, university, import } = self;
        let lanes = [
            ("read", read),
            ("store", store),
            ("query", query),
            ("codec", codec),
            ("password", sign_in),
            ("university", university),
            ("import", import),
        ];
        lanes.map(|(name, lane)| (name, lane.depth()))
    }
}

impl Lane {
    /// How much waits for its turn.
    fn depth(&self) -> usize {
        match self {
            Self::Waiting { places, running, waiting } => {
                (waiting + running.available_permits()).saturating_sub(places.available_permits())
            }
            Self::Short(jobs) => jobs.len(),
            Self::Fair(threads, _) => threads.depth(),
        }
    }

    fn waiting(running: usize, waiting: usize) -> Self {
        let places = Arc::new(Semaphore::new(running + waiting));
        Self::Waiting { places, running: Arc::new(Semaphore::new(running)), waiting }
    }

    fn short(threads: usize, queue: usize) -> Self {
        let (jobs, next) = crossbeam_channel::bounded::<Job>(queue.max(1));
        for _ in 0..threads {
            let next = next.clone();
            // It ends with the last sender, that is with the server.
            std::thread::spawn(move || next.iter().for_each(|job| job()));
        }
        Self::Short(jobs)
    }

    fn fair(threads: usize, queue: usize, begin: fn()) -> Self {
        Self::Fair(Arc::new(FairPool::new(threads, queue, begin)), Kind::Any)
    }

    /// As [`Lane::run_for`], for the server itself.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run_for(IpAddr::from(Ipv4Addr::LOCALHOST).into(), work).await
    }

    /// Runs `work` of `client` off the async threads, to its end whoever still waits for it.
    ///
    /// In a fair lane, work that has not begun when its caller goes away never does.
    ///
    /// # Errors
    /// What `work` answers; `overloaded` when the lane is full, in a fair one of work that comes first.
    pub(crate) async fn run_for<T: Send + 'static>(
        &self,
        client: Client,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self {
            Self::Fair(threads, kind) => threads.run(*kind, client, work).await,
            Self::Waiting { places, running, .. } => {
                let place = Arc::clone(places).try_acquire_owned().map_err(|_| Error::Overloaded)?;
                let turn = Arc::clone(running).acquire_owned().await.map_err(|_| Error::Overloaded)?;
                let done = tokio::task::spawn_blocking(move || {
                    // Given back when the work has ended, not when its client has gone.
                    let _held = (place, turn);
                    work()
                });
                match done.await {
                    Ok(result) => result,
                    Err(error) if error.is_panic() => Err(panicked()),
                    Err(_) => Err(Error::Overloaded),
                }
            }
            Self::Short(jobs) => {
                let (answer, answered) = oneshot::channel();
                let job = Box::new(move || {
                    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()));
                    let _ = answer.send(result);
                });
                jobs.try_send(job).map_err(|_| Error::Overloaded)?;
                answered.await.unwrap_or(Err(Error::Overloaded))
            }
        }
    }
}

/// Lets the threads of others go first where all cores are busy.
fn lower_priority() {
    // Elsewhere a thread has no priority of its own, or the crate does not reach it.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "a thread of long work keeps its priority");
    }
}

fn panicked() -> Error {
    Error::Internal("the operation panicked".into())
}

#[cfg(test)]
mod tests;
