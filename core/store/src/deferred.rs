//! Deferred writes: they join the next commit, and no caller waits for them.

use std::ops::ControlFlow;
use std::time::Instant;

use super::{Isolation, StoreError, Tx};

/// Data such as counters and log lines, collected in memory until the next commit. In each commit it writes until its
/// [`TimeSlice`] is over, so it delays the writes that callers wait for by at most one time slice.
pub trait Deferred: Send + 'static {
    fn isolation(&self) -> Isolation;

    /// Writes a part of the collected data, a small one even if the time is already over, so that every commit makes progress.
    /// The store may call this again before [`Deferred::done`]: then it has rolled back the earlier call, whose data is written
    /// again.
    fn write(&mut self, tx: &mut dyn Tx, time: TimeSlice) -> Result<(), StoreError>;

    /// Receives the outcome of the last [`Deferred::write`] after the commit, before the next transaction begins; not after a
    /// `write` that panicked, which is rolled back and dropped. `Continue` means that there is more to write, in the next commit,
    /// which follows immediately.
    fn done(&mut self, written: Result<(), StoreError>) -> ControlFlow<()>;
}

#[derive(Clone, Copy, Debug)]
pub struct TimeSlice(Option<Instant>);

impl TimeSlice {
    pub fn until(end: Instant) -> Self {
        Self(Some(end))
    }

    /// For a transaction that delays no other write.
    pub const fn unlimited() -> Self {
        Self(None)
    }

    pub fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}
