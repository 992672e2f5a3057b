//! Deferred writes: they join the next commit, and no caller waits for them.

use std::ops::ControlFlow;
use std::time::Instant;

use super::{Isolation, StoreError, Tx};

/// A deferred write: data such as counters and log lines, collected in memory until the next commit.
///
/// In each commit it writes until its [`TimeSlice`] is over and leaves the rest to the next commit. So it delays the
/// writes that callers wait for by at most one time slice, however much data it has collected.
pub(crate) trait Deferred: Send + 'static {
    /// Returns whether other writes may run at the same time as this one.
    fn isolation(&self) -> Isolation;

    /// Writes a part of the collected data. On `Err` the store rolls back this call.
    ///
    /// The store may call this again before [`Deferred::done`]: then it has rolled back the earlier call, whose data the
    /// implementation writes again.
    ///
    /// An implementation writes a small part even if the time is already over, so that every commit makes progress.
    fn write(&mut self, tx: &mut dyn Tx, time: TimeSlice) -> Result<(), StoreError>;

    /// Receives the outcome of the last [`Deferred::write`] after the commit, before the next transaction begins.
    ///
    /// Returns `Continue` when there is more to write: it joins the next commit, which follows immediately. Otherwise
    /// the store drops the deferred write, because all its data is written or none can be written now.
    ///
    /// The store calls this after every `write` except one that panicked, which it rolls back and drops.
    fn done(&mut self, written: Result<(), StoreError>) -> ControlFlow<()>;
}

/// The time that a deferred write has in one commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeSlice(Option<Instant>);

impl TimeSlice {
    /// Returns a time slice that lasts until `end`.
    pub(crate) fn until(end: Instant) -> Self {
        Self(Some(end))
    }

    /// Returns a time slice without an end, for a transaction that delays no other write.
    pub(crate) const fn unlimited() -> Self {
        Self(None)
    }

    /// Returns whether the time is over.
    pub(crate) fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

/// Returns a deferred write that runs `work` once, even if the commit fails.
#[cfg(test)]
pub(crate) fn once(
    work: impl FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static,
) -> impl Deferred {
    struct Once<F>(F);
    impl<F: FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static> Deferred for Once<F> {
        fn isolation(&self) -> Isolation {
            Isolation::Alone
        }
        fn write(&mut self, tx: &mut dyn Tx, _: TimeSlice) -> Result<(), StoreError> {
            (self.0)(tx)
        }
        fn done(&mut self, _: Result<(), StoreError>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    Once(work)
}
