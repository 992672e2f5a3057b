//! The deferred writes that wait for a commit.

use std::time::Instant;

use super::DEFER_TIME;
use crate::store::{Deferred, Isolation};

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

    /// Adds writes that have already waited: all of them join the next commit.
    pub(super) fn push_due(&mut self, writes: impl IntoIterator<Item = Box<dyn Deferred>>) {
        writes.into_iter().for_each(|write| self.push(write));
        self.flush();
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

    /// Returns the isolation of the first one.
    pub(super) fn first_isolation(&self) -> Option<Isolation> {
        self.writes.first().map(|write| write.isolation())
    }

    /// Returns whether some of them were due and could not join a commit.
    pub(super) fn were_passed_over(&self) -> bool {
        self.were_passed_over
    }

    pub(super) fn are_due(&self) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
    }

    pub(super) fn take(&mut self) -> Vec<Box<dyn Deferred>> {
        self.due = None;
        self.were_passed_over = false;
        std::mem::take(&mut self.writes)
    }

    /// Leaves the due writes to another transaction that follows at once.
    pub(super) fn pass_over_due(&mut self) {
        self.were_passed_over |= self.are_due();
    }

    /// Leaves a due write, which the transaction does not admit, to another one that follows at once.
    pub(super) fn pass_over(&mut self, write: Box<dyn Deferred>) {
        self.push_due([write]);
        self.were_passed_over = true;
    }
}
