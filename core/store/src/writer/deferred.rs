//! The deferred writes that wait for a commit.

use std::time::Instant;

use super::DEFER_TIME;
use crate::Deferred;

#[derive(Default)]
pub(super) struct DeferredWrites {
    pub(super) writes: Vec<Box<dyn Deferred>>,
    /// When they join a commit; `None` if there are none.
    pub(super) due: Option<Instant>,
    /// Some of them were due and could not join a commit.
    pub(super) were_passed_over: bool,
}

impl DeferredWrites {
    pub(super) fn push(&mut self, write: Box<dyn Deferred>) {
        self.due.get_or_insert_with(|| Instant::now() + DEFER_TIME);
        self.writes.push(write);
    }

    /// For writes that have already waited: all of them join the next commit.
    pub(super) fn push_due(&mut self, writes: impl IntoIterator<Item = Box<dyn Deferred>>) {
        writes.into_iter().for_each(|write| self.push(write));
        self.flush();
    }

    pub(super) fn flush(&mut self) {
        if !self.is_empty() {
            self.due = Some(Instant::now());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    pub(super) fn are_due(&self) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
    }

    pub(super) fn take(&mut self) -> Vec<Box<dyn Deferred>> {
        self.due = None;
        self.were_passed_over = false;
        std::mem::take(&mut self.writes)
    }

    /// The due writes join another transaction, which follows at once.
    pub(super) fn pass_over_due(&mut self) {
        self.were_passed_over |= self.are_due();
    }

    /// The transaction does not admit this due write, so it joins another one, which follows at once.
    pub(super) fn pass_over(&mut self, write: Box<dyn Deferred>) {
        self.push_due([write]);
        self.were_passed_over = true;
    }
}
