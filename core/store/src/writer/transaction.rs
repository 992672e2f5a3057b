//! The transaction of a group of writes.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::GROUP_SIZE;
use super::refuse::{refuse, refuse_deferred};
use super::work::Work;
use crate::effects::Mark;
use crate::engine::WriteTx;
use crate::{Deferred, StoreError, TimeSlice, Topic};

/// A deferred write can be repeated later, and must not delay the writes of callers.
const BRIEF_WAIT: Duration = Duration::from_secs(2);

/// Which short writes are rolled back when one of them fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rollback {
    /// All of them so far, which then run again.
    Group,
    /// Only the failed one: each has a savepoint of its own.
    Single,
}

pub(super) fn run_again(done: Vec<Box<dyn Work>>, writes: &mut VecDeque<Box<dyn Work>>) {
    let later = std::mem::replace(writes, done.into());
    writes.extend(later);
}

/// A failed write does not affect the others. Short writes share their rollback; each long write and each deferred write has a
/// savepoint of its own.
pub(super) struct Group<T> {
    pub(super) tx: T,
    /// Without those that panicked.
    pub(super) done: Vec<Box<dyn Work>>,
    /// The state before the latest writes, if they share their rollback.
    shared: Option<Shared>,
    rollback: Rollback,
    /// All writes must run again, each with its own rollback.
    pub(super) must_run_again: bool,
    pub(super) has_changes: bool,
    /// The error because of which the whole transaction cannot be committed.
    broken: Option<StoreError>,
    is_replaying: bool,
}

struct Shared {
    writes: usize,
    mark: Mark,
    /// Without a savepoint, nothing comes before these writes in the transaction.
    has_savepoint: bool,
}

impl<T: WriteTx> Group<T> {
    pub(super) fn new(tx: T, is_replaying: bool, rollback: Rollback) -> Self {
        let (done, shared, broken) = (Vec::new(), None, None);
        Self { tx, done, shared, rollback, must_run_again: false, has_changes: false, broken, is_replaying }
    }

    /// Only the answer to the commit will tell whether a statement of the writes has failed.
    pub(super) fn is_unsettled(&self) -> bool {
        self.shared.is_some()
    }

    pub(super) fn takes_more(&self) -> bool {
        self.broken.is_none() && !self.must_run_again && self.done.len() < GROUP_SIZE
    }

    pub(super) fn start_over(self, writes: &mut VecDeque<Box<dyn Work>>) -> Rollback {
        run_again(self.done, writes);
        self.tx.rollback();
        Rollback::Single
    }

    pub(super) fn run_write(&mut self, work: Box<dyn Work>) {
        let has_savepoint = work.is_long() || self.rollback == Rollback::Single;
        if has_savepoint {
            self.release_shared();
        }
        if self.must_run_again {
            self.done.push(work);
            return;
        }
        self.limit_waits(Duration::MAX);
        if work.is_long() {
            self.tx.expect_long(true);
            self.run_in_savepoint(work);
            self.tx.expect_long(false);
        } else if has_savepoint {
            self.run_in_savepoint(work);
        } else {
            self.run_shared(work);
        }
    }

    fn run_in_savepoint(&mut self, mut work: Box<dyn Work>) {
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

    /// If the write fails and has changed something, all short writes before it run again, each in a savepoint of its own.
    fn run_shared(&mut self, mut work: Box<dyn Work>) {
        if self.shared.is_none() {
            // The first writes need no savepoint: without them nothing is left of the transaction.
            let has_savepoint = self.has_changes || !self.done.is_empty();
            let begun = if has_savepoint { self.begin_savepoint() } else { self.check() };
            if let Err(error) = begun {
                return self.refuse(work, &error);
            }
            let (writes, mark) = (self.done.len(), self.tx.effects().mark());
            self.shared = Some(Shared { writes, mark, has_savepoint });
        }
        if let Err(error) = self.rehearse(|tx| work.run(tx)) {
            return self.refuse(work, &error);
        }
        // Changes of the schema are not counted, but no write changes it.
        let before = (self.tx.changes(), self.tx.effects().mark());
        let succeeded = catch_unwind(AssertUnwindSafe(|| work.run(&mut self.tx)));
        let has_changed = before != (self.tx.changes(), self.tx.effects().mark());
        self.done.push(work);
        match succeeded {
            Ok(true) if self.tx.is_sound() => self.has_changes = true,
            Ok(false) if !has_changed && self.tx.is_sound() => {}
            _ => self.run_again(),
        }
    }

    /// Rolls back the writes that share their rollback. Each runs again in a savepoint of its own: in this transaction if there
    /// is a savepoint before them, otherwise in another one.
    fn run_again(&mut self) {
        let Some(shared) = self.shared.take() else { return };
        if !shared.has_savepoint {
            self.broken = self.tx.fault();
            self.must_run_again = self.broken.is_none();
            return;
        }
        self.tx.effects().truncate(shared.mark);
        let undone = self.tx.run("ROLLBACK TO work", &[]);
        self.release(undone.map(drop));
        for work in self.done.split_off(shared.writes) {
            self.run_in_savepoint(work);
        }
    }

    /// The short writes so far are safe from a failure of later writes.
    pub(super) fn release_shared(&mut self) {
        if self.shared.is_some() {
            if self.tx.settle().is_err() {
                return self.run_again();
            }
            if self.shared.take().is_some_and(|shared| shared.has_savepoint) {
                self.release(Ok(()));
            }
        }
    }

    /// Only the commit follows: unless there is a savepoint, its answer also tells whether a statement has failed.
    pub(super) fn release_last(&mut self) {
        if self.tx.is_settled() || self.shared.as_ref().is_some_and(|shared| shared.has_savepoint) {
            self.release_shared();
        }
    }

    /// A temporary error keeps the write: it runs again in another transaction.
    fn refuse(&mut self, work: Box<dyn Work>, error: &StoreError) {
        if error.is_temporary() {
            self.done.push(work);
        } else {
            refuse(work, error);
        }
    }

    /// Returns `None` if the write was refused or panicked.
    pub(super) fn run_deferred(
        &mut self,
        mut write: Box<dyn Deferred>,
        time: TimeSlice,
    ) -> Option<(Box<dyn Deferred>, Result<(), StoreError>)> {
        self.limit_waits(BRIEF_WAIT);
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

    /// Rolls the run back.
    fn rehearse<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> Result<(), StoreError> {
        if !self.is_replaying {
            return Ok(());
        }
        self.tx.rehearse(work).inspect_err(|error| self.broken = Some(error.clone()))
    }

    fn limit_waits(&mut self, max: Duration) {
        if let Err(error) = self.tx.limit_waits(max) {
            self.broken.get_or_insert(error);
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn begin_savepoint(&mut self) -> Result<(), StoreError> {
        self.check()?;
        self.tx.send("SAVEPOINT work", &[]).inspect_err(|error| self.broken = Some(error.clone()))
    }

    /// Runs `work` in the open savepoint and releases it; rolls it back if `work` returns false, or if one of the statements that
    /// it has [sent](Tx::send) fails. The second value is the error of that statement, or the temporary one because of which
    /// `work` returned false. Returns `None` if `work` panicked.
    fn run<R>(&mut self, work: impl FnOnce(&mut T) -> (bool, R)) -> Option<(R, Result<(), StoreError>)> {
        let mark = self.tx.effects().mark();
        let finished = catch_unwind(AssertUnwindSafe(|| work(&mut self.tx)));
        let succeeded = finished.as_ref().is_ok_and(|(succeeded, _)| *succeeded);
        let settled = if succeeded { self.settle() } else { self.tx.conflict().map_or(Ok(()), Err) };
        let keep = succeeded && settled.is_ok();
        self.has_changes |= keep;
        if !keep {
            self.tx.effects().truncate(mark);
        }
        let undone = if keep { Ok(()) } else { self.tx.run("ROLLBACK TO work", &[]).map(drop) };
        self.release(undone);
        if finished.is_err() {
            // The sender was dropped with the closure, which gives the caller an error.
            tracing::error!("a write panicked and was rolled back");
        }
        Some((finished.ok()?.1, settled))
    }

    /// Also fails if the write has ignored the failure of a statement.
    fn settle(&mut self) -> Result<(), StoreError> {
        self.tx.settle()?;
        if self.tx.is_sound() {
            return Ok(());
        }
        Err(self.tx.conflict().unwrap_or_else(|| StoreError::other("a statement of the write has failed")))
    }

    fn release(&mut self, undone: Result<(), StoreError>) {
        if let Err(error) = undone.and_then(|()| self.tx.send("RELEASE work", &[])) {
            self.broken = Some(error);
        } else {
            self.broken = self.tx.fault();
        }
    }

    pub(super) fn end(self) -> Result<Vec<Topic>, StoreError> {
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
