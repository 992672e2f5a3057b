//! Gathered reads: small reads of one kind, which wait together and run together.
//!
//! On a server, a read makes several round trips, each of which costs more than the read. So one transaction reads for all that
//! wait, with as many statements as for one. On SQLite each read runs at once, on the thread of the caller.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Pending, Store, StoreError, Tx};

/// At most this many transactions read at the same time.
const THREADS: usize = 2;
/// Reads per transaction.
const BATCH: usize = 64;
/// From this number of waiting reads on, another transaction begins. Fewer wait for the end of the running one: a transaction of
/// many reads costs little more than one of few, and several servers share the processors of the database.
const BESIDE: usize = 32;
/// From this number of reads of a transaction on, the next one begins later …
const MANY: usize = 4;
/// … by this time, in which the callers that were answered send further requests. So fewer transactions read for more of them:
/// three servers on two processors answer a third more.
const GATHER_TIME: Duration = Duration::from_micros(500);
const QUEUE: usize = 4_096;

type Run<I, T, E> = dyn Fn(&mut dyn Tx, &[I]) -> Result<Vec<Result<T, E>>, StoreError> + Send + Sync;

type Sender<T, E> = oneshot::Sender<Result<T, E>>;

pub struct GatheredReads<I, T, E> {
    shared: Arc<Shared<I, T, E>>,
    /// Started with the first read.
    threads: OnceLock<Vec<JoinHandle<()>>>,
}

struct Shared<I, T, E> {
    store: Arc<Store>,
    waiting: Mutex<Waiting<I, T, E>>,
    arrived: Condvar,
    run: Box<Run<I, T, E>>,
}

struct Waiting<I, T, E> {
    reads: VecDeque<(I, Sender<T, E>)>,
    running: usize,
    is_closed: bool,
}

impl<I, T, E> Waiting<I, T, E> {
    fn is_due(&self) -> bool {
        self.reads.len() >= if self.running == 0 { 1 } else { BESIDE }
    }
}

impl<I, T, E> GatheredReads<I, T, E>
where
    I: Send + 'static,
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    /// An error of `run` is that of all reads, so `run` returns the error of one read as the result of that read.
    pub fn new(
        store: &Arc<Store>,
        run: impl Fn(&mut dyn Tx, &[I]) -> Result<Vec<Result<T, E>>, StoreError> + Send + Sync + 'static,
    ) -> Self {
        let waiting = Mutex::new(Waiting { reads: VecDeque::new(), running: 0, is_closed: false });
        let (store, arrived) = (Arc::clone(store), Condvar::new());
        Self {
            shared: Arc::new(Shared { store, waiting, arrived, run: Box::new(run) }),
            threads: OnceLock::new(),
        }
    }

    /// Reads in a transaction that begins after this call.
    pub fn submit(&self, read: I) -> Pending<T, E> {
        if !self.shared.store.is_on_server() || self.threads.get_or_init(|| self.start()).is_empty() {
            return Pending::given(self.shared.read_one(read));
        }
        let (caller, result) = oneshot::channel();
        let mut waiting = self.shared.waiting();
        if waiting.reads.len() >= QUEUE {
            return Pending::given(Err(StoreError::Overloaded.into()));
        }
        waiting.reads.push_back((read, caller));
        let is_due = waiting.is_due();
        drop(waiting);
        if is_due {
            self.shared.arrived.notify_one();
        }
        Pending::awaited(result)
    }

    /// Returns fewer if the system refuses more.
    fn start(&self) -> Vec<JoinHandle<()>> {
        let start = |_| {
            let shared = Arc::clone(&self.shared);
            std::thread::Builder::new().name("tidings-read".into()).spawn(move || shared.read_all())
        };
        (0..THREADS).map_while(|number| start(number).ok()).collect()
    }
}

impl<I, T, E: From<StoreError>> Shared<I, T, E> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<I, T, E>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_one(&self, read: I) -> Result<T, E> {
        let mut results = self.store.read(|tx| (self.run)(tx, &[read]))?;
        results.pop().unwrap_or_else(|| Err(StoreError::other("a read has no result").into()))
    }

    fn read_all(&self) {
        let mut waiting = self.waiting();
        loop {
            let is_idle = |waiting: &mut Waiting<I, T, E>| !waiting.is_due() && !waiting.is_closed;
            waiting = self.arrived.wait_while(waiting, is_idle).unwrap_or_else(PoisonError::into_inner);
            let count = waiting.reads.len().min(BATCH);
            if count == 0 {
                return;
            }
            let (reads, callers): (Vec<I>, Vec<Sender<T, E>>) = waiting.reads.drain(..count).unzip();
            waiting.running += 1;
            drop(waiting);
            // After a panic the senders are dropped, which gives the callers an error.
            let results = catch_unwind(AssertUnwindSafe(|| self.store.read(|tx| (self.run)(tx, &reads))));
            match results {
                Ok(Ok(results)) => {
                    for (caller, result) in callers.into_iter().zip(results) {
                        // Fails when the caller has dropped the `Pending`.
                        let _ = caller.send(result);
                    }
                }
                Ok(Err(error)) => {
                    for caller in callers {
                        let _ = caller.send(Err(StoreError::clone(&error).into()));
                    }
                }
                Err(_) => tracing::error!("a read panicked"),
            }
            if count >= MANY {
                std::thread::sleep(GATHER_TIME);
            }
            waiting = self.waiting();
            waiting.running -= 1;
        }
    }
}

impl<I, T, E> Drop for GatheredReads<I, T, E> {
    fn drop(&mut self) {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.take().unwrap_or_default() {
            let _ = thread.join();
        }
    }
}
