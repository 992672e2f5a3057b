//! Worker pools ("lanes"): a bounded queue for each kind of work, in front of threads that may block.
//! Slow work of one kind (searching, hashing passwords, asking the university) never takes the capacity of another kind. Within a
//! lane, clients take turns ([`queue`]): a client that sends a thousand requests delays another's by one turn.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidings_core::account::Client;
use tidings_core::operation::Work;
use tidings_core::{Error, Result};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

mod queue;

use queue::{FairQueue, Pushed, Ticket};

/// Running, and waiting, requests to the university's system. Each takes up to several seconds.
const UNIVERSITY: usize = 32;
const UNIVERSITY_QUEUE: usize = 64;
/// Concurrent searches in an SQLite file: the store has this number of connections for them.
const QUERIES_MAX: usize = 4;
/// Waiting jobs that parse large bodies or compress large responses.
const CODEC_QUEUE: usize = 64;
const HASH_QUEUE: usize = 64;
/// On a busy core, a thread with this nice value gets about a third of the time of others, on an idle core all of it.
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

/// Reads are quick up to this average duration.
const QUICK: Duration = Duration::from_micros(200);
/// A read has this share of the average, and older ones less: it covers approximately this number of reads.
const READS: u64 = 64;

#[derive(Clone)]
pub(crate) struct Lane {
    turns: Arc<Turns>,
    kind: Kind,
    /// `None` for those of the calling runtime.
    threads: Option<Handle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Any,
    SignIn,
    SignUp,
    ChangePw,
}

pub(crate) struct Lanes {
    pub(crate) read: Lane,
    pub(crate) pace: Pace,
    pub(crate) store: Lane,
    pub(crate) query: Lane,
    pub(crate) codec: Lane,
    sign_in: Lane,
    sign_up: Lane,
    change_pw: Lane,
    pub(crate) university: Lane,
    pub(crate) import: Lane,
    remote: Lane,
    _low_priority: LowPriority,
}

impl Lanes {
    /// `operations` on the database run at a time, and `queue` wait. Sign-ins may wait for another system (`asks`). `connections`
    /// is the number of connections for reads to a database on a server, half of which are for long ones: then operations wait for
    /// the network and use no core meanwhile.
    pub(crate) fn new(operations: usize, queue: usize, asks: bool, connections: Option<usize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (reads, queries) = connections.map_or_else(
            || (cores, (cores / 2).clamp(1, QUERIES_MAX)),
            |connections| (connections, (connections / 2).max(1)),
        );
        let codecs = (cores / 2).max(1);
        let low_priority = LowPriority::new(queries + codecs);
        // The service hashes one password per CPU core at a time. The same number of jobs can read or write before or
        // after hashing.
        let passwords = Arc::new(Turns::new(2 * cores, HASH_QUEUE));
        let password = |kind| Lane { turns: Arc::clone(&passwords), kind, threads: None };
        // Jobs that wait for another system use no core.
        let university = if asks { UNIVERSITY } else { 2 * cores };
        Self {
            read: Lane::new(reads, queue),
            pace: Pace::default(),
            store: Lane::new(operations, queue),
            query: Lane::new(queries, queue).on(&low_priority),
            codec: Lane::new(codecs, CODEC_QUEUE).on(&low_priority),
            sign_in: password(Kind::SignIn),
            sign_up: password(Kind::SignUp),
            change_pw: password(Kind::ChangePw),
            university: Lane::new(university, UNIVERSITY_QUEUE),
            import: Lane::new(IMPORTS, 0),
            remote: Lane::new(REMOTE, 0),
            _low_priority: low_priority,
        }
    }

    pub(crate) fn waiting(&self) -> [(&'static str, usize); 8] {
        let Self { read, store, query, codec, sign_in, university, import, remote, .. } = self;
        [
            ("read", read),
            ("store", store),
            ("query", query),
            ("codec", codec),
            ("password", sign_in),
            ("university", university),
            ("import", import),
            ("remote", remote),
        ]
        .map(|(name, lane)| (name, lane.turns.state().waiting.len()))
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
    fn new(running: usize, waiting: usize) -> Self {
        Self { turns: Arc::new(Turns::new(running, waiting)), kind: Kind::Any, threads: None }
    }

    fn on(self, LowPriority(runtime): &LowPriority) -> Self {
        Self { threads: runtime.as_ref().map(|runtime| runtime.handle().clone()), ..self }
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run_for(IpAddr::from(Ipv4Addr::LOCALHOST).into(), work).await
    }

    /// Runs `work` outside the async threads. Work that has begun is completed even if the caller stops waiting; other work is
    /// then dropped. `overloaded` means that the lane is full of work that comes before this work.
    pub(crate) async fn run_for<T: Send + 'static>(
        &self,
        client: Client,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let turn = self.turns.take(self.kind, client).await?;
        let work = move || {
            let result = work();
            // Before the result is sent: the caller may send another request at once.
            drop(turn);
            result
        };
        let done = match &self.threads {
            Some(threads) => threads.spawn_blocking(work),
            None => spawn_blocking(work),
        };
        done.await.unwrap_or_else(|error| {
            let panicked = || Error::Internal("the operation panicked".into());
            Err(if error.is_panic() { panicked() } else { Error::Overloaded })
        })
    }
}

struct Turns {
    running: usize,
    state: Mutex<State>,
}

struct State {
    running: usize,
    waiting: FairQueue<Kind, oneshot::Sender<Turn>>,
}

struct Turn(Arc<Turns>);

impl Turns {
    fn new(running: usize, waiting: usize) -> Self {
        Self { running, state: Mutex::new(State { running: 0, waiting: FairQueue::new(waiting) }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take(self: &Arc<Self>, kind: Kind, client: Client) -> Result<Turn> {
        let (sender, given) = oneshot::channel();
        let ticket = {
            let mut state = self.state();
            if state.running < self.running {
                state.running += 1;
                return Ok(Turn(Arc::clone(self)));
            }
            match state.waiting.push(kind, client, sender) {
                Pushed::Waiting(ticket) | Pushed::Displaced(ticket, _) => ticket,
                Pushed::Refused(_) => return Err(Error::Overloaded),
            }
        };
        let _waiting = Waiting { turns: self, ticket };
        given.await.map_err(|_| Error::Overloaded)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let next = state.waiting.pop();
        if next.is_none() {
            state.running -= 1;
        }
        drop(state);
        if let Some(next) = next {
            // If that caller has just gone, the turn is dropped once more.
            let _ = next.send(Self(Arc::clone(&self.0)));
        }
    }
}

struct Waiting<'t> {
    turns: &'t Turns,
    ticket: Ticket,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.turns.state().waiting.remove(self.ticket);
    }
}

/// Threads for work that may take long, which leave a busy core to others.
struct LowPriority(Option<Runtime>);

impl LowPriority {
    fn new(threads: usize) -> Self {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(threads)
            .on_thread_start(lower_priority)
            .build();
        Self(Some(runtime.expect("a runtime without I/O and time needs nothing from the system")))
    }
}

impl Drop for LowPriority {
    /// A task may drop the last reference, and must not wait for the threads.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

pub(crate) fn lower_priority() {
    // Only Linux has a priority for each thread that the crate can set.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of a thread cannot be lowered");
    }
}

/// The duration of the latest reads, as an exponential moving average in nanoseconds: a read from memory takes some microseconds,
/// and one that waits for the disk takes much longer.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU64);

impl Pace {
    pub(crate) fn is_quick(&self) -> bool {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)) <= QUICK
    }

    pub(crate) fn measure<T>(&self, read: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = read();
        self.add(began.elapsed());
        result
    }

    fn add(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let average = self.0.load(Ordering::Relaxed);
        // Of two reads that end at the same time only one may count, which is harmless.
        self.0.store(average - average / READS + took / READS, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
