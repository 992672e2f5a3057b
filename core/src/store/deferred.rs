//! Deferred writes: written with the next commit, while nobody waits for them.

use std::ops::ControlFlow;
use std::time::Instant;

use super::{StoreError, Tx};

/// A deferred write: counters, log lines and the like, gathered in memory until a commit takes them along.
///
/// In each commit it writes for as long as its [`TimeSlice`] lasts and leaves the rest to the next one. So however much
/// has gathered, the writes that are waited for are held up by one time slice at most.
pub(crate) trait Deferred: Send + 'static {
    /// Writes some of what has gathered; on `Err` the store undoes what this call wrote.
    ///
    /// It writes a little even when the time is over already, so that it makes progress with each commit.
    fn write(&mut self, tx: &mut dyn Tx, time: TimeSlice) -> Result<(), StoreError>;

    /// Is told whether what the last [`Deferred::write`] wrote is on disk, before the next transaction begins.
    ///
    /// Returns `Continue` when there is more to write: the next commit takes it along, at once. Otherwise everything is
    /// written, or nothing can be written now, and the deferred write is dropped.
    ///
    /// It follows every `write` but one that panicked: that one is undone, and the deferred write is dropped.
    fn done(&mut self, written: Result<(), StoreError>) -> ControlFlow<()>;
}

/// The time that a deferred write has in one commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeSlice(Option<Instant>);

impl TimeSlice {
    /// A time slice that lasts until `end`.
    pub(crate) fn until(end: Instant) -> Self {
        Self(Some(end))
    }

    /// All the time it takes, where no other write waits.
    pub(crate) const fn unlimited() -> Self {
        Self(None)
    }

    /// Whether the time is over.
    pub(crate) fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

/// A deferred write that runs `work` once, whatever becomes of it.
#[cfg(test)]
pub(crate) fn once(
    work: impl FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static,
) -> impl Deferred {
    struct Once<F>(F);
    impl<F: FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static> Deferred for Once<F> {
        fn write(&mut self, tx: &mut dyn Tx, _: TimeSlice) -> Result<(), StoreError> {
            (self.0)(tx)
        }
        fn done(&mut self, _: Result<(), StoreError>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    Once(work)
}
