//! Gathered writes: small writes of one kind, which wait together and run together.
//!
//! One run reads and writes the rows of all of them with few statements, so that they share round trips to a server, and a row
//! that many of them change is written once.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::gauges::Gauges;
use super::super::pending::Pending;
use super::work::Work;
use super::{JOIN_FOR, Message, QUEUE, Writer};
use crate::{Isolation, StoreError, Tx};

/// Writes of a run, which takes a few milliseconds, in which others wait.
const BATCH: usize = 128;
/// The writes of a run were sent within this time. Others that were sent earlier or later may share its transaction.
const GATHER_FOR: Duration = JOIN_FOR.checked_div(2).expect("2 is not 0");

/// Returns the result of each write, or the error because of which none has an effect.
type Runner<I, T, E> = dyn Fn(&mut dyn Tx, &mut [I]) -> Result<Vec<Result<T, E>>, StoreError> + Send + Sync;

type Sender<T, E> = oneshot::Sender<Result<T, E>>;

pub struct Gathered<I, T, E>(Arc<Shared<I, T, E>>);

struct Shared<I, T, E> {
    waiting: Mutex<Waiting<I, T, E>>,
    isolation: Isolation,
    run: Box<Runner<I, T, E>>,
}

struct Waiting<I, T, E> {
    /// The writer has received a message for each run.
    runs: VecDeque<Run<I, T, E>>,
    count: usize,
}

struct Run<I, T, E> {
    since: Instant,
    writes: Vec<I>,
    callers: Vec<Sender<T, E>>,
}

impl<I, T, E> Waiting<I, T, E> {
    fn joins(&self, now: Instant) -> bool {
        self.runs.back().is_some_and(|last| last.writes.len() < BATCH && now < last.since + GATHER_FOR)
    }

    fn push(&mut self, now: Instant, write: I, caller: Sender<T, E>) {
        if !self.joins(now) {
            self.runs.push_back(Run { since: now, writes: Vec::new(), callers: Vec::new() });
        }
        let last = self.runs.back_mut().expect("one was added if there was none");
        last.writes.push(write);
        last.callers.push(caller);
        self.count += 1;
    }

    fn take(&mut self) -> Option<Run<I, T, E>> {
        let run = self.runs.pop_front()?;
        self.count -= run.writes.len();
        Some(run)
    }
}

impl<I, T, E> Gathered<I, T, E> {
    pub fn new(
        isolation: Isolation,
        run: impl Fn(&mut dyn Tx, &mut [I]) -> Result<Vec<Result<T, E>>, StoreError> + Send + Sync + 'static,
    ) -> Self {
        let waiting = Mutex::new(Waiting { runs: VecDeque::new(), count: 0 });
        Self(Arc::new(Shared { waiting, isolation, run: Box::new(run) }))
    }
}

impl<I, T, E> Shared<I, T, E> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<I, T, E>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    pub(crate) fn gather<I, T, E>(&self, gathered: &Gathered<I, T, E>, write: I) -> Pending<T, E>
    where
        I: Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (caller, result) = oneshot::channel();
        let now = Instant::now();
        let mut waiting = gathered.0.waiting();
        let sent = if waiting.count >= QUEUE {
            Err(StoreError::Overloaded)
        } else if !waiting.joins(now) {
            let (shared, gauges) = (Arc::clone(&gathered.0), Arc::clone(self.gauges()));
            self.send(Message::Write(Box::new(Batch {
                shared,
                gauges,
                sent: now,
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
                waiting.push(now, write, caller);
                Pending::awaited(result)
            }
            Err(error) => Pending::given(Err(error.into())),
        }
    }
}

struct Batch<I, T, E> {
    shared: Arc<Shared<I, T, E>>,
    gauges: Arc<Gauges>,
    sent: Instant,
    /// The first run takes them.
    writes: Vec<I>,
    callers: Vec<Sender<T, E>>,
    results: Option<Result<Vec<Result<T, E>>, StoreError>>,
}

impl<I, T, E> Work for Batch<I, T, E>
where
    I: Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn run(&mut self, tx: &mut dyn Tx) -> bool {
        if self.writes.is_empty()
            && let Some(run) = self.shared.waiting().take()
        {
            (self.writes, self.callers) = (run.writes, run.callers);
            // The message has counted as one.
            self.gauges.waiting.fetch_sub(self.writes.len() - 1, Ordering::Relaxed);
        }
        self.results.insert((self.shared.run)(tx, &mut self.writes)).is_ok()
    }

    fn sent(&self) -> Instant {
        self.sent
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_join_a_run_for_a_while_and_as_long_as_it_is_small() {
        let mut waiting = Waiting::<usize, (), StoreError> { runs: VecDeque::new(), count: 0 };
        let begin = Instant::now();
        let mut push = |after, write| waiting.push(begin + after, write, oneshot::channel().0);
        (0..=BATCH).for_each(|write| push(Duration::ZERO, write));
        push(GATHER_FOR / 2, BATCH + 1);
        push(GATHER_FOR, BATCH + 2);
        push(GATHER_FOR * 3 / 2, BATCH + 3);
        assert_eq!(waiting.count, BATCH + 4);
        let mut take = || waiting.take().map(|run| (run.writes, run.callers.len()));
        assert_eq!(take(), Some(((0..BATCH).collect(), BATCH)));
        assert_eq!(take(), Some((vec![BATCH, BATCH + 1], 2)));
        assert_eq!(take(), Some((vec![BATCH + 2, BATCH + 3], 2)));
        assert_eq!((take(), waiting.count), (None, 0));
    }
}
