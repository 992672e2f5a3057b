//! Lanes: one bounded queue for each kind of work, in front of threads that may block.
//!
//! Slow work of one kind (searching, hashing passwords, asking the university) never takes the capacity of another kind. In the
//! lanes of expensive work, clients take turns ([`fair`]): a client that sends a thousand requests delays another's by one turn.

use std::net::{IpAddr, Ipv4Addr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tidings_core::account::Client;
use tidings_core::operation::Work;
use tidings_core::{Error, Result};
use tokio::sync::{Semaphore, oneshot};

mod fair;
mod pace;
mod queue;

use fair::{FairPool, Kind};
use pace::Pace;

use crate::filter::shares::{Part, Shares};

/// Running, and waiting, requests to the university's system. Each takes up to several seconds.
const UNIVERSITY: usize = 32;
const UNIVERSITY_QUEUE: usize = 64;
/// Concurrent searches in an SQLite file: the store has this number of connections for them.
const QUERIES_MAX: usize = 4;
/// Waiting jobs that parse large bodies or compress large responses.
const CODEC_QUEUE: usize = 64;
/// The maximum number of passwords that wait to be hashed.
const HASH_QUEUE: usize = 64;
/// The nice value of the threads that search, handle large bodies or compress shared responses: on a busy core they get
/// about a third of the time of other threads, on an idle core all of it.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;
/// Concurrent imports. The database has one writer, so more than two gain nothing when their bodies arrive fast; the others are
/// for imports that wait for their bodies.
pub(crate) const IMPORTS: usize = 8;
/// Concurrent imports of one administrator or API key.
pub(crate) const IMPORTS_OF_ONE: usize = 2;
/// Concurrent requests to servers that callers name, each of which takes up to half a minute, and of those of one caller.
pub(crate) const REMOTE: usize = 8;
pub(crate) const REMOTE_OF_ONE: usize = 2;

#[derive(Clone)]
pub(crate) enum Lane {
    /// Work that waits for the disk or another system, on the runtime's blocking threads.
    Waiting {
        /// For work in the lane, running or waiting. One client has a part of them.
        places: Arc<Shares<Client>>,
        /// For running work.
        running: Arc<Semaphore>,
        /// Maximum number of waiting jobs, in addition to the running ones.
        waiting: usize,
    },
    /// Short work that seldom waits, on one thread for each CPU core. A thread takes the next job without sleeping in between:
    /// waking one of many idle threads for each job costs more than the job.
    Short(crossbeam_channel::Sender<Job>),
    /// Work that occupies a CPU core, on a few dedicated threads, with a queue that is fair to networks and clients.
    Fair(Arc<FairPool>, Kind),
}

/// A job that sends its own result.
type Job = Box<dyn FnOnce() + Send>;

pub(crate) struct Lanes {
    pub(crate) read: Lane,
    /// The recent duration of reads of a few rows.
    pub(crate) pace: Pace,
    /// Writes to the database, and long reads.
    pub(crate) store: Lane,
    /// Searches and other queries that may take long.
    pub(crate) query: Lane,
    /// Parsing large bodies and compressing large responses.
    pub(crate) codec: Lane,
    /// Password hashing: three lanes on the same threads, which take turns.
    pub(crate) sign_in: Lane,
    pub(crate) sign_up: Lane,
    pub(crate) change_pw: Lane,
    pub(crate) university: Lane,
    pub(crate) import: Lane,
    /// Requests to servers that callers name.
    pub(crate) remote: Lane,
}

impl Lanes {
    /// Returns lanes for `operations` concurrent operations on the database and `queue` waiting ones, and for sign-ins, which
    /// may wait for another system (`asks`).
    ///
    /// `connections` is the number of connections for reads to a database on a server, half of which are for long ones: then
    /// operations wait for the network and use no core meanwhile.
    pub(crate) fn new(operations: usize, queue: usize, asks: bool, connections: Option<usize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (reads, queries) = connections.map_or_else(
            || (cores, (cores / 2).clamp(1, QUERIES_MAX)),
            |connections| (connections, (connections / 2).max(1)),
        );
        // The service hashes one password per CPU core at a time. The same number of jobs can read or write before or
        // after hashing.
        let passwords = Arc::new(FairPool::new(2 * cores, HASH_QUEUE, || {}));
        // Jobs that wait for another system use no core.
        let university = if asks { UNIVERSITY } else { 2 * cores };
        Self {
            read: Lane::short(reads, queue),
            pace: Pace::default(),
            store: Lane::waiting(operations, queue),
            query: Lane::fair(queries, queue, lower_priority),
            codec: Lane::fair((cores / 2).max(1), CODEC_QUEUE, lower_priority),
            sign_in: Lane::Fair(Arc::clone(&passwords), Kind::SignIn),
            sign_up: Lane::Fair(Arc::clone(&passwords), Kind::SignUp),
            change_pw: Lane::Fair(passwords, Kind::ChangePw),
            university: Lane::fair(university, UNIVERSITY_QUEUE, || {}),
            import: Lane::waiting(IMPORTS, 0),
            remote: Lane::waiting(REMOTE, 0),
        }
    }

    /// The labels are those of the lanes in `/metrics`.
    pub(crate) fn waiting(&self) -> [(&'static str, usize); 8] {
        let Self { read, store, query, codec, sign_in, university, import, remote, .. } = self;
        let lanes = [
            ("read", read),
            ("store", store),
            ("query", query),
            ("codec", codec),
            ("password", sign_in),
            ("university", university),
            ("import", import),
            ("remote", remote),
        ];
        lanes.map(|(name, lane)| (name, lane.depth()))
    }

    pub(crate) fn of(&self, work: Work) -> &Lane {
        match work {
            Work::Few | Work::Read => &self.read,
            Work::Query => &self.query,
            Work::Store => &self.store,
            Work::SignIn => &self.sign_in,
            Work::SignUp => &self.sign_up,
            Work::Password => &self.change_pw,
            Work::University => &self.university,
            Work::Long => &self.import,
            Work::Remote => &self.remote,
        }
    }
}

impl Lane {
    fn depth(&self) -> usize {
        match self {
            Self::Waiting { places, running, waiting } => {
                (waiting + running.available_permits()).saturating_sub(places.free())
            }
            Self::Short(jobs) => jobs.len(),
            Self::Fair(threads, _) => threads.depth(),
        }
    }

    fn waiting(running: usize, waiting: usize) -> Self {
        let places = Shares::new(running + waiting, Part::OfFree);
        Self::Waiting { places, running: Arc::new(Semaphore::new(running)), waiting }
    }

    fn short(threads: usize, queue: usize) -> Self {
        let (jobs, next) = crossbeam_channel::bounded::<Job>(queue.max(1));
        for _ in 0..threads {
            let next = next.clone();
            // The thread ends when the last sender is dropped, with the server.
            std::thread::spawn(move || next.iter().for_each(|job| job()));
        }
        Self::Short(jobs)
    }

    fn fair(threads: usize, queue: usize, begin: fn()) -> Self {
        Self::Fair(Arc::new(FairPool::new(threads, queue, begin)), Kind::Any)
    }

    /// For work of the server itself.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run_for(IpAddr::from(Ipv4Addr::LOCALHOST).into(), work).await
    }

    /// Runs `work` outside the async threads. Work that has begun is completed even if the caller stops waiting; other work is
    /// then dropped. `overloaded` means that the lane is full; in a fair lane, that it is full of work that comes before this
    /// work.
    pub(crate) async fn run_for<T: Send + 'static>(
        &self,
        client: Client,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self {
            Self::Fair(threads, kind) => threads.run(*kind, client, work).await,
            Self::Waiting { places, running, .. } => {
                let place = places.take(client, 1).map_err(|_| Error::Overloaded)?;
                let turn = Arc::clone(running).acquire_owned().await.map_err(|_| Error::Overloaded)?;
                let done = tokio::task::spawn_blocking(move || {
                    // The permits are returned when the work ends, even if the client has disconnected.
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
                    if answer.is_closed() {
                        return;
                    }
                    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()));
                    let _ = answer.send(result);
                });
                jobs.try_send(job).map_err(|_| Error::Overloaded)?;
                answered.await.unwrap_or(Err(Error::Overloaded))
            }
        }
    }
}

/// Of the calling thread.
pub(crate) fn lower_priority() {
    // Only Linux has a priority for each thread that the crate can set.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of a thread cannot be lowered");
    }
}

fn panicked() -> Error {
    Error::Internal("the operation panicked".into())
}

#[cfg(test)]
mod tests;
