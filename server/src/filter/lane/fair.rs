//! A thread pool whose queue is fair to networks and clients.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tidings_core::account::Client;
use tidings_core::{Error, Result};
use tokio::sync::oneshot;

use super::panicked;
use super::queue::{FairQueue, Pushed, Ticket};

/// A job that counts itself as ended and then sends its own result.
type Job = Box<dyn FnOnce(&Shared) + Send>;

/// Kinds take turns on the threads of a pool. Within each kind, networks and then clients take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    SignIn,
    SignUp,
    ChangePw,
}

/// The threads end after the last handle is dropped and the queue is empty.
pub(crate) struct FairPool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Notified when a job is queued and when the pool closes.
    changed: Condvar,
    threads: usize,
    /// Maximum number of waiting jobs, in addition to the running ones.
    queue: usize,
}

struct State {
    waiting: FairQueue<Kind, Job>,
    running: usize,
    is_closed: bool,
}

impl FairPool {
    /// Each thread calls `begin` first. The queue has room for `queue` jobs.
    pub(super) fn new(threads: usize, queue: usize, begin: fn()) -> Self {
        let state = State { waiting: FairQueue::new(queue), running: 0, is_closed: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), threads, queue });
        for _ in 0..threads {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                begin();
                shared.work();
            });
        }
        Self { shared }
    }

    pub(super) fn depth(&self) -> usize {
        self.shared.lock().waiting.len()
    }

    /// Runs `work` when its turn comes. If the caller stops waiting, work that has not begun is removed from the queue, and work
    /// that has begun is completed. `overloaded` means that the queue is full and all waiting jobs come before this one.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        kind: Kind,
        client: Client,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |shared: &Shared| {
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()));
            // This is done before the result is sent, because the caller may send another request immediately and
            // must find the thread idle.
            shared.lock().running -= 1;
            let _ = answer.send(result);
        });
        let ticket = self.shared.push(kind, client, job)?;
        let mut waiting = Waiting { shared: &self.shared, ticket: Some(ticket) };
        let answer = answered.await;
        waiting.ticket = None;
        // A job that was displaced from the queue is dropped without a result.
        answer.unwrap_or(Err(Error::Overloaded))
    }

    #[cfg(test)]
    pub(super) fn load(&self) -> (usize, usize) {
        let state = self.shared.lock();
        (state.waiting.len(), state.running)
    }
}

impl Drop for FairPool {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn push(&self, kind: Kind, client: Client, job: Job) -> Result<Ticket<Kind>> {
        let mut state = self.lock();
        // An idle thread takes a new job immediately, so the job needs no room in the queue.
        let idle = self.threads - state.running;
        state.waiting.capacity = self.queue + idle;
        let pushed = state.waiting.push(kind, client, job);
        drop(state);
        match pushed {
            Pushed::Waiting(ticket) => {
                self.changed.notify_one();
                Ok(ticket)
            }
            Pushed::Displaced(ticket, _) => Ok(ticket),
            Pushed::Refused(_) => Err(Error::Overloaded),
        }
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.waiting.pop() {
                state.running += 1;
                drop(state);
                job(self);
                state = self.lock();
            } else if state.is_closed {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a job from the queue when its caller stops waiting.
struct Waiting<'s> {
    shared: &'s Shared,
    ticket: Option<Ticket<Kind>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = &self.ticket {
            // The job is dropped after the lock is released.
            let _job = self.shared.lock().waiting.remove(ticket);
        }
    }
}
