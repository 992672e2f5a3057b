//! Gathered writes: small writes of one kind, which wait together and run together.
//!
//! One run reads and writes the rows of all of them with few statements, so that they share the way to a server and back, and
//! a row that many of them change is written once.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::gauges::Gauges;
use super::super::pending::Pending;
use super::work::Work;
use super::{Message, QUEUE, Writer};
use crate::store::{Isolation, StoreError, Tx};

/// Maximum number of writes of a run. It takes a few milliseconds, in which others wait.
const BATCH: usize = 128;

/// Runs writes: returns the result of each, or the error because of which none has an effect.
type Run<I, T, E> = dyn Fn(&mut dyn Tx, &mut [I]) -> Result<Vec<Result<T, E>>, StoreError> + Send + Sync;

/// The channel to a caller.
type Sender<T, E> = oneshot::Sender<Result<T, E>>;

/// Writes of one kind that wait for the writer.
pub(crate) struct Gathered<I, T, E>(Arc<Shared<I, T, E>>);

struct Shared<I, T, E> {
    /// The writer has received a message for each [`BATCH`] of them, and one for the rest.
    waiting: Mutex<VecDeque<(I, Sender<T, E>)>>,
    isolation: Isolation,
    run: Box<Run<I, T, E>>,
}

impl<I, T, E> Gathered<I, T, E> {
    pub(in crate::store) fn new(
        isolation: Isolation,
        run: impl Fn(&mut dyn Tx, &mut [I]) -> Result<Vec<Result<T, E>>, StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared { waiting: Mutex::default(), isolation, run: Box::new(run) }))
    }
}

impl<I, T, E> Shared<I, T, E> {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<(I, Sender<T, E>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    /// Queues a write that runs together with others of its kind.
    pub(in crate::store) fn gather<I, T, E>(&self, gathered: &Gathered<I, T, E>, write: I) -> Pending<T, E>
    where
        I: Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (caller, result) = oneshot::channel();
        let mut waiting = gathered.0.waiting();
        let count = waiting.len();
        // The writer takes a batch for each message, so there are as many messages as batches.
        let sent = if count >= QUEUE {
            Err(StoreError::Overloaded)
        } else if count.is_multiple_of(BATCH) {
            let (shared, gauges) = (Arc::clone(&gathered.0), Arc::clone(self.gauges()));
            self.send(Message::Write(Box::new(Batch {
                shared,
                gauges,
                writes: Vec::new(),
                callers: Vec::new(),
                results: None,
            })))
        } else {
            self.gauges().waiting.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        match sent {
            Ok(()) => {
                waiting.push_back((write, caller));
                Pending::awaited(result)
            }
            Err(error) => Pending::given(Err(error.into())),
        }
    }
}

/// Writes that run together.
struct Batch<I, T, E> {
    shared: Arc<Shared<I, T, E>>,
    gauges: Arc<Gauges>,
    /// The writes, which the first run takes.
    writes: Vec<I>,
    callers: Vec<Sender<T, E>>,
    /// The results of the last run.
    results: Option<Result<Vec<Result<T, E>>, StoreError>>,
}

impl<I, T, E> Work for Batch<I, T, E>
where
    I: Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn run(&mut self, tx: &mut dyn Tx) -> bool {
        if self.writes.is_empty() {
            let mut waiting = self.shared.waiting();
            let count = waiting.len().min(BATCH);
            (self.writes, self.callers) = waiting.drain(..count).unzip();
            // The message has counted as one.
            self.gauges.waiting.fetch_sub(count.saturating_sub(1), Ordering::Relaxed);
        }
        self.results.insert((self.shared.run)(tx, &mut self.writes)).is_ok()
    }

    fn isolation(&self) -> Isolation {
        self.shared.isolation
    }

    fn is_long(&self) -> bool {
        false
    }

    fn writes(&self) -> usize {
        self.writes.len()
    }

    fn answer(self: Box<Self>, commit: Result<(), StoreError>) {
        // Without results the senders are dropped, which gives the callers an error, as after a panic. Sending fails when
        // the caller has dropped the `Pending`.
        match self.results {
            Some(Ok(results)) => {
                for (caller, result) in self.callers.into_iter().zip(results) {
                    let _ = caller.send(result.and_then(|value| Ok(commit.clone().map(|()| value)?)));
                }
            }
            Some(Err(error)) => {
                for caller in self.callers {
                    let _ = caller.send(Err(error.clone().into()));
                }
            }
            None => {}
        }
    }
}
