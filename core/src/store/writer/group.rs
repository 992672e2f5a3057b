//! One commit of the writer: the queued writes and the deferred writes, in one transaction.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::{Inbox, Message};
use crate::store::sqlite::{Connection, SqliteTx};
use crate::store::watch::Versions;
use crate::store::{Arg, Deferred, Row, StoreError, TimeSlice, Topic, Tx};

/// Limits on the number and the duration of the writes of one commit. The first write waits at most this long.
pub(super) const GROUP_SIZE: usize = 1_024;
const GROUP_TIME: Duration = Duration::from_millis(20);
/// The part of that time that is reserved for deferred writes, even if a single write has used all of the time.
const DEFERRED_TIME: Duration = Duration::from_millis(5);

/// A queued write. It returns its outcome, which is not on disk yet.
pub(super) type Work = Box<dyn FnOnce(&mut dyn Tx) -> Finished + Send>;

/// The outcome of a write that is not on disk yet.
pub(super) struct Finished {
    /// Whether its changes are committed; otherwise they are rolled back.
    pub(super) succeeded: bool,
    /// Sends the caller the result, given the outcome of the commit.
    pub(super) answer: Answer,
}

type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// The deferred writes that wait for a commit.
pub(super) type DeferredWrites = Vec<Box<dyn Deferred>>;

/// Commits `first`, the writes after it in the queue and the deferred writes, and sends the callers their results.
///
/// Afterwards `deferred` contains the deferred writes that have more data.
pub(super) fn commit_group(
    connection: &Connection,
    versions: &Versions,
    first: Option<Work>,
    inbox: &Inbox,
    deferred: &mut DeferredWrites,
) {
    let mut group = match inbox.health.check().and_then(|()| SqliteTx::begin_write(connection)) {
        Ok(tx) => Group { tx, has_changes: false, broken: None },
        Err(error) => {
            inbox.health.committed(Err(&error));
            if let Some(work) = first {
                refuse(work, &error);
            }
            for write in deferred.drain(..) {
                refuse_deferred(write, &error);
            }
            return;
        }
    };
    let began = Instant::now();
    let mut answers = Vec::new();
    let mut next = first;
    while let Some(work) = next {
        answers.extend(group.run_write(work));
        next = None;
        while next.is_none()
            && group.broken.is_none()
            && answers.len() < GROUP_SIZE
            && began.elapsed() < time_of_writes(deferred)
        {
            match inbox.next_queued() {
                Some(Message::Write(work)) => next = Some(work),
                Some(Message::Defer(write)) => deferred.push(write),
                None => break,
            }
        }
    }
    let time = TimeSlice::until((began + GROUP_TIME).max(Instant::now() + DEFERRED_TIME));
    let mut batch = Vec::new();
    // All of them run even when the time is over. Each component defers at most one write, which then writes only a
    // small part.
    for write in deferred.drain(..) {
        batch.extend(group.run_deferred(write, time));
    }
    let committed = group.commit(inbox, versions, answers.len() + batch.len());
    for answer in answers {
        answer(committed.clone());
    }
    for (mut write, result) in batch {
        if write.done(result.and_then(|()| committed.clone())) == ControlFlow::Continue(()) {
            deferred.push(write);
        }
    }
}

/// Returns the time for the queued writes of a group.
fn time_of_writes(deferred: &DeferredWrites) -> Duration {
    if deferred.is_empty() { GROUP_TIME } else { GROUP_TIME.saturating_sub(DEFERRED_TIME) }
}

/// The transaction of a group. Each write runs in its own savepoint, so a failed write does not affect the others.
struct Group<'c> {
    tx: SqliteTx<'c>,
    /// Whether there is anything to commit.
    has_changes: bool,
    /// The error with which SQLite has rolled back the whole transaction.
    broken: Option<StoreError>,
}

impl Group<'_> {
    /// Runs a write. Returns the function that sends its result, unless the write was refused here or panicked.
    fn run_write(&mut self, work: Work) -> Option<Answer> {
        if let Err(error) = self.begin_savepoint() {
            refuse(work, &error);
            return None;
        }
        self.run(|tx| {
            let finished = work(tx);
            (finished.succeeded, finished.answer)
        })
    }

    /// Runs a deferred write; returns it with its result, unless it was refused or panicked.
    fn run_deferred(
        &mut self,
        mut write: Box<dyn Deferred>,
        time: TimeSlice,
    ) -> Option<(Box<dyn Deferred>, Result<(), StoreError>)> {
        if let Err(error) = self.begin_savepoint() {
            refuse_deferred(write, &error);
            return None;
        }
        self.run(|tx| {
            let result = write.write(tx, time);
            (result.is_ok(), (write, result))
        })
    }

    fn begin_savepoint(&mut self) -> Result<(), StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.tx.run("SAVEPOINT work", &[]).map(drop).inspect_err(|error| self.broken = Some(error.clone()))
    }

    /// Runs `work` in the open savepoint and releases it; rolls it back if `work` returns false. Returns `None` if `work`
    /// panicked.
    fn run<T>(&mut self, work: impl FnOnce(&mut SqliteTx<'_>) -> (bool, T)) -> Option<T> {
        let additions = self.tx.additions();
        let finished = catch_unwind(AssertUnwindSafe(|| work(&mut self.tx)));
        let keep = finished.as_ref().is_ok_and(|(keep, _)| *keep);
        self.has_changes |= keep;
        if !keep {
            self.tx.truncate_additions(additions);
        }
        let undone = if keep { Ok(0) } else { self.tx.run("ROLLBACK TO work", &[]) };
        if let Err(error) = undone.and_then(|_| self.tx.run("RELEASE work", &[])) {
            self.broken = Some(error);
        } else if !self.tx.is_open() {
            self.broken = Some(StoreError::other("the transaction was rolled back"));
        }
        if finished.is_err() {
            // The sender was dropped with the closure, which gives the caller an error.
            tracing::error!("a write panicked and was rolled back");
        }
        Some(finished.ok()?.1)
    }

    /// Commits the successful writes and publishes the changed topics.
    fn commit(self, inbox: &Inbox, versions: &Versions, writes: usize) -> Result<(), StoreError> {
        let Self { tx, has_changes, broken } = self;
        let revision = tx.revision();
        let committed = match broken {
            Some(error) => {
                tx.rollback();
                Err(error)
            }
            // A commit to a file that was just replaced is not acknowledged.
            None if has_changes => {
                let committed = tx.commit().and_then(|topics| inbox.health.check().map(|()| topics));
                committed.inspect(|_| inbox.gauges.committed(writes))
            }
            // Nothing to keep, so no fsync.
            None => {
                tx.rollback();
                Ok(Vec::new())
            }
        };
        if has_changes || committed.is_err() {
            inbox.health.committed(committed.as_ref().map(drop));
        }
        let topics = committed?;
        if !topics.is_empty() {
            versions.publish(&topics, revision);
        }
        Ok(())
    }
}

/// A transaction that refuses every statement.
struct RefusingTx<'e>(&'e StoreError);

impl Tx for RefusingTx<'_> {
    fn rows(&mut self, _: &str, _: &[Arg<'_>]) -> Result<Vec<Row>, StoreError> {
        Err(self.0.clone())
    }
    fn run(&mut self, _: &str, _: &[Arg<'_>]) -> Result<u64, StoreError> {
        Err(self.0.clone())
    }
    fn revision(&self) -> i64 {
        0
    }
    fn touch(&mut self, _: Topic) {}
    fn count(&mut self, _: i64, _: Option<i64>, _: i64) {}
    fn count_on(&mut self, _: i64, _: i64, _: i64) {}
}

/// Answers a write without a transaction, by running it in one that refuses every statement.
fn refuse(work: Work, error: &StoreError) {
    (work(&mut RefusingTx(error)).answer)(Err(error.clone()));
}

/// Does the same as [`refuse`] for a deferred write, and drops it.
fn refuse_deferred(mut write: Box<dyn Deferred>, error: &StoreError) {
    let refused = write.write(&mut RefusingTx(error), TimeSlice::unlimited());
    let _ = write.done(refused.and_then(|()| Err(error.clone())));
}
