//! Threads whose work waits in a queue that is fair to networks and clients.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tidings_core::account::Client;
use tidings_core::fair::{FairQueue, Pushed, Ticket};
use tidings_core::{Error, Result};
use tokio::sync::oneshot;

use super::panicked;

/// A piece of work that says when it has ended, and then gives its answer itself.
type Job = Box<dyn FnOnce(&Shared) + Send>;

/// What takes turns in a lane before networks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Work of a lane that has one kind only.
    Any,
    SignIn,
    SignUp,
    ChangePw,
}

/// Threads that end with the last handle to them, once they have ended what waits.
pub(crate) struct FairPool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Something waits, or nothing will any more.
    changed: Condvar,
    threads: usize,
    /// How much may wait beside what the threads work on.
    queue: usize,
}

struct State {
    waiting: FairQueue<Kind, Job>,
    running: usize,
    is_closed: bool,
}

impl FairPool {
    /// So many threads, each beginning with `begin`, with so many places to wait.
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

    /// How much waits for its turn.
    pub(super) fn depth(&self) -> usize {
        self.shared.lock().waiting.len()
    }

    /// Runs `work` when its turn comes. It leaves the queue when the caller goes away, and runs to its end once it has
    /// begun.
    ///
    /// # Errors
    /// What `work` answers; `overloaded` when others come first in a full queue.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        kind: Kind,
        client: Client,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |shared: &Shared| {
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()));
            // Before the answer: its caller may come again at once, and shall find the place free.
            shared.lock().running -= 1;
            let _ = answer.send(result);
        });
        let ticket = self.shared.push(kind, client, job)?;
        let mut waiting = Waiting { shared: &self.shared, ticket: Some(ticket) };
        let answer = answered.await;
        waiting.ticket = None;
        // A job that gave way to another was dropped without an answer.
        answer.unwrap_or(Err(Error::Overloaded))
    }

    /// How many jobs wait and how many run.
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
        // An idle thread takes what is pushed at once, so that it needs no place to wait.
        let idle = self.threads - state.running;
        state.waiting.set_capacity(self.queue + idle);
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

/// Takes a job out of the queue when nobody waits for it any more.
struct Waiting<'s> {
    shared: &'s Shared,
    ticket: Option<Ticket<Kind>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = &self.ticket {
            // Dropped after the lock is released.
            let _job = self.shared.lock().waiting.remove(ticket);
        }
    }
}
