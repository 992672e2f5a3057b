//! What rides along with commits.

use std::time::Instant;

use super::{StoreError, Tx};

/// What rides along with a commit.
///
/// A rider writes for as long as its [`Slice`] lasts and leaves the rest to the next commit, so that however much has
/// gathered, whoever writes meanwhile waits for a slice and not for all of it.
pub(crate) trait Rider: Send + 'static {
    /// Does a slice of its work; what it did is undone on `Err`.
    ///
    /// It does a little of it even when the slice is over already, so that it comes to an end, and what is done before a
    /// report is in it.
    fn write(&mut self, tx: &mut dyn Tx, slice: Slice) -> Result<(), StoreError>;

    /// Hears, before anything else is written, whether what it did is on disk, and says whether it goes with the next
    /// commit, too. One whose work panicked is dropped instead.
    fn arrive(&mut self, written: Result<(), StoreError>) -> Ride;
}

/// Whether a rider goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ride {
    /// All that waited is written, or nothing can be written now.
    Ends,
    /// More waits: it goes with the next commit, at once.
    GoesOn,
}

/// The time that a rider has in one commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice(Option<Instant>);

impl Slice {
    /// A slice that lasts until `end`.
    pub(crate) fn until(end: Instant) -> Self {
        Self(Some(end))
    }

    /// For a work that nobody waits behind.
    pub(crate) const fn endless() -> Self {
        Self(None)
    }

    /// Whether the time is up.
    pub(crate) fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

/// A rider that does a work once and does not care what becomes of it.
#[cfg(test)]
pub(crate) fn rider(work: impl FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static) -> impl Rider {
    struct Careless<F>(F);
    impl<F: FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static> Rider for Careless<F> {
        fn write(&mut self, tx: &mut dyn Tx, _: Slice) -> Result<(), StoreError> {
            (self.0)(tx)
        }
        fn arrive(&mut self, _: Result<(), StoreError>) -> Ride {
            Ride::Ends
        }
    }
    Careless(work)
}
