//! One commit of the writer: the queued writes and the deferred writes, in one transaction.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::refuse::{refuse, refuse_deferred};
use super::work::Work;
use super::{DEFER_TIME, Inbox, Message, QUEUE};
use crate::store::effects::Extent;
use crate::store::engine::{Committer, WriteTx};
use crate::store::watch::Versions;
use crate::store::{Deferred, Isolation, StoreError, TimeSlice, Topic, Tx};

/// Limits on the number and the duration of the writes of one commit. The first write waits at most this long. Tests say
/// which writes share a commit, on any machine.
pub(super) const GROUP_SIZE: usize = 1_024;
const GROUP_TIME: Duration = Duration::from_millis(if cfg!(test) { 2_000 } else { 20 });
/// The part of that time that is reserved for deferred writes, even if a single write has used all of the time.
const DEFERRED_TIME: Duration = Duration::from_millis(5);

/// The deferred writes that gather data until they join a commit.
#[derive(Default)]
pub(super) struct DeferredWrites {
    writes: Vec<Box<dyn Deferred>>,
    /// The time when they join a commit; `None` if there are none.
    due: Option<Instant>,
    /// Whether some of them were due and could not join a commit.
    were_passed_over: bool,
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
        self.were_passed_over = false;
        std::mem::take(&mut self.writes)
    }

    /// Leaves a due write, which the transaction does not admit, to another one that follows at once.
    fn pass_over(&mut self, write: Box<dyn Deferred>) {
        self.push(write);
        self.flush();
        self.were_passed_over = true;
    }
}

/// Commits `first`, the writes after it in the queue and the deferred writes that are due, and sends the callers their
/// results. If the transaction fails as a whole and the engine advises it, all of them run again in another one. Works that
/// must not run in the same transaction run in several.
///
/// Afterwards `deferred` contains the deferred writes that are not due or have more data.
pub(super) fn commit_group(
    committer: &mut impl Committer,
    versions: &Versions,
    first: Option<Box<dyn Work>>,
    inbox: &Inbox,
    deferred: &mut DeferredWrites,
) {
    let mut writes = first.into_iter().collect();
    let mut fate = Fate::Shared;
    loop {
        match try_group(committer, versions, &mut writes, inbox, deferred, fate) {
            Ok(Fate::Shared) if writes.is_empty() && !deferred.were_passed_over => return,
            Ok(next) => fate = next,
            Err(error) => {
                committer.ended(Err(&error));
                if let Err(error) = committer.retry(error) {
                    refuse_all(committer, &error, writes, inbox, deferred);
                    return;
                }
            }
        }
    }
}

/// What the failure of a short write means for the short writes before it in the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// All of them run again.
    Shared,
    /// Nothing: each has a savepoint of its own.
    Own,
}

/// Returns the isolation with which a transaction begins whose first work is the first of these.
fn first_isolation<C: Committer>(writes: &VecDeque<Box<dyn Work>>, deferred: &DeferredWrites) -> Isolation {
    let write = writes.front().map(|work| work.isolation());
    let first = write.or_else(|| deferred.writes.first().map(|write| write.isolation()));
    match first {
        Some(Isolation::Concurrent | Isolation::Locking) | None if C::HAS_OTHERS => Isolation::Concurrent,
        _ => Isolation::Alone,
    }
}

/// Runs `writes`, the writes in the queue and the deferred writes that are due in one transaction, as far as their isolation
/// admits it. The first that it does not admit stays in `writes`. If it fails as a whole in a way in which it may succeed later,
/// `writes` and `deferred` contain all of them, and nothing is committed.
///
/// Returns the fate of those that run in the next transaction: their own if they run again because one of them failed.
fn try_group<C: Committer>(
    committer: &mut C,
    versions: &Versions,
    writes: &mut VecDeque<Box<dyn Work>>,
    inbox: &Inbox,
    deferred: &mut DeferredWrites,
    fate: Fate,
) -> Result<Fate, StoreError> {
    let mut isolation = first_isolation::<C>(writes, deferred);
    let mut group = Group::new(committer.begin(isolation)?, inbox.is_replaying, fate);
    let began = Instant::now();
    while let Some(work) = writes.pop_front() {
        if !isolation.admits(work.isolation()) {
            writes.push_front(work);
            break;
        }
        isolation = isolation.and(work.isolation());
        group.run_write(work);
        while writes.is_empty()
            && group.can_commit()
            && group.tx.takes_more()
            && group.len() < GROUP_SIZE
            && began.elapsed() < time_of_writes(deferred)
        {
            match inbox.next_queued() {
                Some(Message::Write(work)) => writes.push_back(work),
                Some(Message::Flush(work)) => {
                    deferred.flush();
                    writes.push_back(work);
                }
                Some(Message::Defer(write)) => deferred.push(write),
                None => break,
            }
        }
    }
    let are_due = deferred.are_due();
    // If only the commit follows, its answer also tells whether the statements before it have failed.
    if are_due || group.tx.is_settled() || group.has_savepoint() {
        group.release_shared();
    }
    if group.must_run_again {
        return Ok(group.start_over(writes));
    }
    let mut batch = Vec::new();
    if are_due {
        let time = TimeSlice::until((began + GROUP_TIME).max(Instant::now() + DEFERRED_TIME));
        group.wait_briefly();
        // All of them run even when the time is over. Each component defers at most one write, which then writes only a
        // small part.
        for write in deferred.take() {
            if isolation.admits(write.isolation()) {
                isolation = isolation.and(write.isolation());
                batch.extend(group.run_deferred(write, time));
            } else {
                deferred.pass_over(write);
            }
        }
    }
    let done = std::mem::take(&mut group.done);
    let is_unsettled = group.shared.is_some();
    let (has_changes, revision) = (group.has_changes, group.tx.revision());
    let outcome = match group.end() {
        Ok(topics) if has_changes => committer.confirm().map(|()| topics),
        outcome => outcome,
    };
    if let Err(error) = &outcome
        && error.is_temporary()
    {
        run_again(done, writes);
        for (write, _) in batch {
            deferred.push(write);
        }
        deferred.flush();
        return outcome.map(|_| fate);
    }
    // Nothing is committed, and perhaps because of one of the statements whose answers the commit has read.
    if is_unsettled && matches!(&outcome, Err(error) if !matches!(error, StoreError::OutcomeUnknown(_))) {
        run_again(done, writes);
        return Ok(Fate::Own);
    }
    if has_changes || outcome.is_err() {
        committer.ended(outcome.as_ref().map(drop));
    }
    let outcome = outcome.map(|topics| {
        if has_changes {
            inbox.gauges.committed(done.iter().map(|work| work.writes()).sum::<usize>() + batch.len());
        }
        if !topics.is_empty() {
            versions.publish(&topics, revision);
        }
    });
    for work in done {
        work.answer(outcome.clone());
    }
    for (mut write, result) in batch {
        if write.done(result.and_then(|()| outcome.clone())) == ControlFlow::Continue(()) {
            deferred.push(write);
            // It has already waited.
            deferred.flush();
        }
    }
    Ok(Fate::Shared)
}

/// Queues writes that have run before those that the transaction did not admit.
fn run_again(done: Vec<Box<dyn Work>>, writes: &mut VecDeque<Box<dyn Work>>) {
    let later = std::mem::replace(writes, done.into());
    writes.extend(later);
}

/// Answers writes that cannot be committed: `writes`, the deferred writes and, if the engine says so, the queue.
fn refuse_all<C: Committer>(
    _: &C,
    error: &StoreError,
    writes: VecDeque<Box<dyn Work>>,
    inbox: &Inbox,
    deferred: &mut DeferredWrites,
) {
    for work in writes {
        refuse(work, error);
    }
    if C::REFUSES_QUEUE {
        // Writes that arrive meanwhile are not refused here.
        for _ in 0..QUEUE {
            match inbox.next_queued() {
                Some(Message::Write(work) | Message::Flush(work)) => refuse(work, error),
                Some(Message::Defer(write)) => deferred.push(write),
                None => break,
            }
        }
    }
    for write in deferred.take() {
        refuse_deferred(write, error);
    }
}

/// Returns the time for the queued writes of a group.
fn time_of_writes(deferred: &DeferredWrites) -> Duration {
    if deferred.are_due() { GROUP_TIME.saturating_sub(DEFERRED_TIME) } else { GROUP_TIME }
}

/// The transaction of a group: a failed write does not affect the others. Short writes share their fate; each long write and
/// each deferred write has a savepoint of its own.
struct Group<T> {
    tx: T,
    /// The writes that ran, without those that panicked.
    done: Vec<Box<dyn Work>>,
    /// The state before the latest writes, if they share their fate.
    shared: Option<Shared>,
    /// The fate of short writes.
    fate: Fate,
    /// Whether all writes must run again, each with its own fate.
    must_run_again: bool,
    /// Whether there is anything to commit.
    has_changes: bool,
    /// The error because of which the whole transaction cannot be committed.
    broken: Option<StoreError>,
    /// Whether every write runs twice.
    is_replaying: bool,
}

/// The state of a group before short writes that share their fate.
struct Shared {
    /// The number of writes before.
    writes: usize,
    /// The effects before.
    extent: Extent,
    /// Whether there is a savepoint. Without one, nothing comes before them in the transaction.
    has_savepoint: bool,
}

impl<T: WriteTx> Group<T> {
    fn new(tx: T, is_replaying: bool, fate: Fate) -> Self {
        let (done, shared, broken) = (Vec::new(), None, None);
        Self { tx, done, shared, fate, must_run_again: false, has_changes: false, broken, is_replaying }
    }

    /// Returns whether the transaction can be committed, as far as is known.
    fn can_commit(&self) -> bool {
        self.broken.is_none() && !self.must_run_again
    }

    /// Returns whether the latest writes share a savepoint.
    fn has_savepoint(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.has_savepoint)
    }

    /// Rolls back, so that all writes run again.
    fn start_over(self, writes: &mut VecDeque<Box<dyn Work>>) -> Fate {
        run_again(self.done, writes);
        self.tx.rollback();
        Fate::Own
    }

    /// Returns the number of writes that ran.
    fn len(&self) -> usize {
        self.done.len()
    }

    fn run_write(&mut self, work: Box<dyn Work>) {
        if work.is_long() || self.fate == Fate::Own {
            self.release_shared();
            if self.must_run_again {
                self.done.push(work);
            } else {
                self.run_apart(work);
            }
        } else {
            self.run_shared(work);
        }
    }

    /// Runs a write in a savepoint of its own.
    fn run_apart(&mut self, mut work: Box<dyn Work>) {
        if let Err(error) = self.begin_savepoint() {
            self.refuse(work, &error);
        } else if let Err(error) = self.rehearse(|tx| work.run(tx)) {
            self.refuse(work, &error);
        } else {
            match self.run(|tx| (work.run(tx), ())) {
                Some(((), Err(error))) if !error.is_temporary() => work.answer(Err(error)),
                Some(((), settled)) => {
                    self.broken = self.broken.take().or(settled.err());
                    self.done.push(work);
                }
                None => {}
            }
        }
    }

    /// Runs a short write together with the short writes before it. If it fails and has changed something, all of them run
    /// again, each in a savepoint of its own.
    fn run_shared(&mut self, mut work: Box<dyn Work>) {
        if self.shared.is_none() {
            // The first ones need none: without them nothing is left of the transaction.
            let has_savepoint = self.has_changes || !self.done.is_empty();
            let begun = if has_savepoint { self.begin_savepoint() } else { self.check() };
            if let Err(error) = begun {
                return self.refuse(work, &error);
            }
            let (writes, extent) = (self.done.len(), self.tx.effects().extent());
            self.shared = Some(Shared { writes, extent, has_savepoint });
        }
        if let Err(error) = self.rehearse(|tx| work.run(tx)) {
            return self.refuse(work, &error);
        }
        // Changes of the schema are not counted, but no write changes it.
        let before = (self.tx.changes(), self.tx.effects().extent());
        let succeeded = catch_unwind(AssertUnwindSafe(|| work.run(&mut self.tx)));
        let has_changed = before != (self.tx.changes(), self.tx.effects().extent());
        self.done.push(work);
        match succeeded {
            Ok(true) if self.tx.is_sound() => self.has_changes = true,
            Ok(false) if !has_changed && self.tx.is_sound() => {}
            _ => self.run_again(),
        }
    }

    /// Rolls back the writes that share their fate, and runs each of them again in a savepoint of its own: without a savepoint
    /// in another transaction.
    fn run_again(&mut self) {
        let Some(shared) = self.shared.take() else { return };
        if !shared.has_savepoint {
            self.broken = self.tx.fault();
            self.must_run_again = self.broken.is_none();
            return;
        }
        self.tx.effects().truncate(shared.extent);
        let undone = self.tx.run("ROLLBACK TO work", &[]);
        self.release(undone.map(drop));
        for work in self.done.split_off(shared.writes) {
            self.run_apart(work);
        }
    }

    /// Ends the sharing of the short writes: what follows does not affect them.
    fn release_shared(&mut self) {
        if self.shared.is_some() {
            if self.tx.settle().is_err() {
                return self.run_again();
            }
            if self.shared.take().is_some_and(|shared| shared.has_savepoint) {
                self.release(Ok(()));
            }
        }
    }

    /// Answers a write that cannot run in this transaction, unless it runs again in another one.
    fn refuse(&mut self, work: Box<dyn Work>, error: &StoreError) {
        if error.is_temporary() {
            self.done.push(work);
        } else {
            refuse(work, error);
        }
    }

    /// Runs a deferred write; returns it with its result, unless it was refused or panicked.
    fn run_deferred(
        &mut self,
        mut write: Box<dyn Deferred>,
        time: TimeSlice,
    ) -> Option<(Box<dyn Deferred>, Result<(), StoreError>)> {
        let begun = self.begin_savepoint().and_then(|()| self.rehearse(|tx| write.write(tx, time)));
        match begun {
            Err(error) if error.is_temporary() => return Some((write, Err(error))),
            Err(error) => {
                refuse_deferred(write, &error);
                return None;
            }
            Ok(()) => {}
        }
        let (result, settled) = self.run(|tx| {
            let result = write.write(tx, time);
            (result.is_ok(), result)
        })?;
        Some((write, result.and(settled)))
    }

    /// Runs a write and rolls it back if every write runs twice.
    fn rehearse<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> Result<(), StoreError> {
        if !self.is_replaying {
            return Ok(());
        }
        self.tx.rehearse(work).inspect_err(|error| self.broken = Some(error.clone()))
    }

    fn wait_briefly(&mut self) {
        if let Err(error) = self.tx.wait_briefly() {
            self.broken.get_or_insert(error);
        }
    }

    /// Checks that the transaction can go on.
    fn check(&self) -> Result<(), StoreError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn begin_savepoint(&mut self) -> Result<(), StoreError> {
        self.check()?;
        self.tx.send("SAVEPOINT work", &[]).inspect_err(|error| self.broken = Some(error.clone()))
    }

    /// Runs `work` in the open savepoint and releases it; rolls it back if `work` returns false, or if one of the statements
    /// that it has [sent](Tx::send) fails, whose error is the second value. Returns `None` if `work` panicked.
    fn run<R>(&mut self, work: impl FnOnce(&mut T) -> (bool, R)) -> Option<(R, Result<(), StoreError>)> {
        let extent = self.tx.effects().extent();
        let finished = catch_unwind(AssertUnwindSafe(|| work(&mut self.tx)));
        let succeeded = finished.as_ref().is_ok_and(|(succeeded, _)| *succeeded);
        let settled = if succeeded { self.tx.settle() } else { Ok(()) };
        let keep = succeeded && settled.is_ok();
        self.has_changes |= keep;
        if !keep {
            self.tx.effects().truncate(extent);
        }
        let undone = if keep { Ok(()) } else { self.tx.run("ROLLBACK TO work", &[]).map(drop) };
        self.release(undone);
        if finished.is_err() {
            // The sender was dropped with the closure, which gives the caller an error.
            tracing::error!("a write panicked and was rolled back");
        }
        Some((finished.ok()?.1, settled))
    }

    /// Releases the open savepoint, after its changes were rolled back if that was necessary.
    fn release(&mut self, undone: Result<(), StoreError>) {
        if let Err(error) = undone.and_then(|()| self.tx.send("RELEASE work", &[])) {
            self.broken = Some(error);
        } else {
            self.broken = self.tx.fault();
        }
    }

    /// Commits the successful writes, and returns the changed topics.
    fn end(self) -> Result<Vec<Topic>, StoreError> {
        let Self { tx, has_changes, broken, .. } = self;
        match broken {
            Some(error) => {
                tx.rollback();
                Err(error)
            }
            None if has_changes => tx.commit(),
            // Nothing to keep, so no fsync.
            None => {
                tx.rollback();
                Ok(Vec::new())
            }
        }
    }
}
