//! One commit of the writer: the queued writes and the deferred writes, in one transaction.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::work::Work;
use super::{DEFER_TIME, Inbox, Message};
use crate::store::sqlite::{Connection, SqliteTx};
use crate::store::watch::Versions;
use crate::store::{Arg, Deferred, Row, StoreError, TimeSlice, Topic, Tx};

/// Limits on the number and the duration of the writes of one commit. The first write waits at most this long.
pub(super) const GROUP_SIZE: usize = 1_024;
const GROUP_TIME: Duration = Duration::from_millis(20);
/// The part of that time that is reserved for deferred writes, even if a single write has used all of the time.
const DEFERRED_TIME: Duration = Duration::from_millis(5);

/// The deferred writes that gather data until they join a commit.
#[derive(Default)]
pub(super) struct DeferredWrites {
    writes: Vec<Box<dyn Deferred>>,
    /// The time when they join a commit; `None` if there are none.
    due: Option<Instant>,
}

impl DeferredWrites {
    pub(super) fn push(&mut self, write: Box<dyn Deferred>) {
        self.due.get_or_insert_with(|| Instant::now() + DEFER_TIME);
        self.writes.push(write);
    }

    /// Makes them join the next commit.
    pub(super) fn flush(&mut self) {
        if !self.is_empty() {
            self.due = Some(Instant::now());
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn len(&self) -> usize {
        self.writes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    fn are_due(&self) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
    }

    fn take(&mut self) -> Vec<Box<dyn Deferred>> {
        self.due = None;
        std::mem::take(&mut self.writes)
    }
}

/// Commits `first`, the writes after it in the queue and the deferred writes that are due, and sends the callers their
/// results.
///
/// Afterwards `deferred` contains the deferred writes that are not due or have more data.
pub(super) fn commit_group(
    connection: &Connection,
    versions: &Versions,
    first: Option<Box<dyn Work>>,
    inbox: &Inbox,
    deferred: &mut DeferredWrites,
) {
    let mut group = match inbox.health.check().and_then(|()| SqliteTx::begin_write(connection)) {
        Ok(tx) => Group::new(tx, inbox.is_replaying),
        Err(error) => {
            inbox.health.committed(Err(&error));
            if let Some(work) = first {
                refuse(work, &error);
            }
            for write in deferred.take() {
                refuse_deferred(write, &error);
            }
            return;
        }
    };
    let began = Instant::now();
    let mut next = first;
    while let Some(work) = next {
        group.run_write(work);
        next = None;
        while next.is_none()
            && group.broken.is_none()
            && group.len() < GROUP_SIZE
            && began.elapsed() < time_of_writes(deferred)
        {
            match inbox.next_queued() {
                Some(Message::Write(work)) => next = Some(work),
                Some(Message::Flush(work)) => {
                    deferred.flush();
                    next = Some(work);
                }
                Some(Message::Defer(write)) => deferred.push(write),
                None => break,
            }
        }
    }
    group.release_shared();
    let mut batch = Vec::new();
    if deferred.are_due() {
        let time = TimeSlice::until((began + GROUP_TIME).max(Instant::now() + DEFERRED_TIME));
        // All of them run even when the time is over. Each component defers at most one write, which then writes only a
        // small part.
        for write in deferred.take() {
            batch.extend(group.run_deferred(write, time));
        }
    }
    let done = std::mem::take(&mut group.done);
    let committed = group.commit(inbox, versions, done.len() + batch.len());
    for work in done {
        work.answer(committed.clone());
    }
    for (mut write, result) in batch {
        if write.done(result.and_then(|()| committed.clone())) == ControlFlow::Continue(()) {
            deferred.push(write);
            // It has already waited.
            deferred.flush();
        }
    }
}

/// Returns the time for the queued writes of a group.
fn time_of_writes(deferred: &DeferredWrites) -> Duration {
    if deferred.are_due() { GROUP_TIME.saturating_sub(DEFERRED_TIME) } else { GROUP_TIME }
}

/// The transaction of a group: a failed write does not affect the others. Short writes share a savepoint; each long
/// write and each deferred write has its own.
struct Group<'c> {
    tx: SqliteTx<'c>,
    /// The writes that ran, without those that panicked.
    done: Vec<Box<dyn Work>>,
    /// The state at the savepoint that the latest writes share, if it is open.
    shared: Option<Shared>,
    /// Whether there is anything to commit.
    has_changes: bool,
    /// The error with which SQLite has rolled back the whole transaction.
    broken: Option<StoreError>,
    /// Whether every write runs twice.
    is_replaying: bool,
}

/// The state of a group at the savepoint of short writes.
struct Shared {
    /// The number of writes before it.
    writes: usize,
    /// The number of additions to counters before it.
    additions: usize,
}

impl<'c> Group<'c> {
    fn new(tx: SqliteTx<'c>, is_replaying: bool) -> Self {
        Self { tx, done: Vec::new(), shared: None, has_changes: false, broken: None, is_replaying }
    }

    /// Returns the number of writes that ran.
    fn len(&self) -> usize {
        self.done.len()
    }

    fn run_write(&mut self, work: Box<dyn Work>) {
        if work.is_long() {
            self.release_shared();
            self.run_apart(work);
        } else {
            self.run_shared(work);
        }
    }

    /// Runs a write in a savepoint of its own.
    fn run_apart(&mut self, mut work: Box<dyn Work>) {
        if let Err(error) = self.begin_savepoint() {
            refuse(work, &error);
        } else if let Err(error) = self.rehearse(|tx| work.run(tx)) {
            refuse(work, &error);
        } else if self.run(|tx| (work.run(tx), ())).is_some() {
            self.done.push(work);
        }
    }

    /// Runs a short write in the savepoint of the short writes before it. If it fails and has changed something, all of
    /// them run again, each in a savepoint of its own.
    fn run_shared(&mut self, mut work: Box<dyn Work>) {
        if self.shared.is_none() {
            if let Err(error) = self.begin_savepoint() {
                return refuse(work, &error);
            }
            self.shared = Some(Shared { writes: self.done.len(), additions: self.tx.additions() });
        }
        if let Err(error) = self.rehearse(|tx| work.run(tx)) {
            return refuse(work, &error);
        }
        // Changes of the schema are not counted, but no write changes it.
        let before = (self.tx.changes(), self.tx.additions());
        let succeeded = catch_unwind(AssertUnwindSafe(|| work.run(&mut self.tx)));
        let has_changed = before != (self.tx.changes(), self.tx.additions());
        self.done.push(work);
        match succeeded {
            Ok(true) if self.tx.is_open() => self.has_changes = true,
            Ok(false) if !has_changed && self.tx.is_open() => {}
            _ => self.run_again(),
        }
    }

    /// Rolls back the writes that share the savepoint, and runs each of them again in a savepoint of its own.
    fn run_again(&mut self) {
        let Some(shared) = self.shared.take() else { return };
        self.tx.truncate_additions(shared.additions);
        let undone = self.tx.run("ROLLBACK TO work", &[]);
        self.release(undone.map(drop));
        for work in self.done.split_off(shared.writes) {
            self.run_apart(work);
        }
    }

    /// Releases the savepoint of the short writes, if it is open.
    fn release_shared(&mut self) {
        if self.shared.take().is_some() {
            self.release(Ok(()));
        }
    }

    /// Runs a deferred write; returns it with its result, unless it was refused or panicked.
    fn run_deferred(
        &mut self,
        mut write: Box<dyn Deferred>,
        time: TimeSlice,
    ) -> Option<(Box<dyn Deferred>, Result<(), StoreError>)> {
        let begun = self.begin_savepoint().and_then(|()| self.rehearse(|tx| write.write(tx, time)));
        if let Err(error) = begun {
            refuse_deferred(write, &error);
            return None;
        }
        self.run(|tx| {
            let result = write.write(tx, time);
            (result.is_ok(), (write, result))
        })
    }

    /// Runs a write and rolls it back if every write runs twice.
    fn rehearse<T>(&mut self, work: impl FnOnce(&mut SqliteTx<'_>) -> T) -> Result<(), StoreError> {
        if !self.is_replaying {
            return Ok(());
        }
        self.tx.rehearse(work).inspect_err(|error| self.broken = Some(error.clone()))
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
        let undone = if keep { Ok(()) } else { self.tx.run("ROLLBACK TO work", &[]).map(drop) };
        self.release(undone);
        if finished.is_err() {
            // The sender was dropped with the closure, which gives the caller an error.
            tracing::error!("a write panicked and was rolled back");
        }
        Some(finished.ok()?.1)
    }

    /// Releases the open savepoint, after its changes were rolled back if that was necessary.
    fn release(&mut self, undone: Result<(), StoreError>) {
        if let Err(error) = undone.and_then(|()| self.tx.run("RELEASE work", &[])) {
            self.broken = Some(error);
        } else if !self.tx.is_open() {
            self.broken = Some(StoreError::other("the transaction was rolled back"));
        }
    }

    /// Commits the successful ones of so many writes, and publishes the changed topics.
    fn commit(self, inbox: &Inbox, versions: &Versions, writes: usize) -> Result<(), StoreError> {
        let Self { tx, has_changes, broken, .. } = self;
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
fn refuse(mut work: Box<dyn Work>, error: &StoreError) {
    // A write that panics without a transaction is dropped, which gives its caller an error.
    if catch_unwind(AssertUnwindSafe(|| work.run(&mut RefusingTx(error)))).is_ok() {
        work.answer(Err(error.clone()));
    }
}

/// Does the same as [`refuse`] for a deferred write, and drops it.
fn refuse_deferred(mut write: Box<dyn Deferred>, error: &StoreError) {
    let refused = write.write(&mut RefusingTx(error), TimeSlice::unlimited());
    let _ = write.done(refused.and_then(|()| Err(error.clone())));
}
