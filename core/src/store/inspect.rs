//! Access to a whole database for checks and repairs, on any engine.
//!
//! An inspection has connections of its own, because it runs without a [`Store`](super::Store): a database that does not
//! open can still be checked.

use super::{StoreError, Tx};

#[cfg(feature = "postgres")]
pub(crate) use super::postgres::{InspectedServer, ServerTarget};
pub(crate) use super::sqlite::inspect::{InspectedFile, version};

/// A database that is being checked or repaired. Use [`read`](trait.Inspected.html#method.read) and
/// [`write`](trait.Inspected.html#method.write).
pub(crate) trait Inspected {
    /// Runs `work` once on the currently committed state.
    ///
    /// # Errors
    /// When no transaction can begin.
    fn read_with(&self, work: &mut dyn FnMut(&mut dyn Tx)) -> Result<(), StoreError>;

    /// Runs `work` in a writing transaction, which sees the counters of all earlier commits. Rolls back if `work` returns
    /// false. `work` may run more than once: only the changes of its last run count.
    ///
    /// # Errors
    /// When nothing is written because no transaction can begin or the commit fails.
    fn write_with(&self, work: &mut dyn FnMut(&mut dyn Tx) -> bool) -> Result<(), StoreError>;
}

impl dyn Inspected + '_ {
    /// Runs `work` on the currently committed state.
    ///
    /// # Errors
    /// The error of `work`, or the store's own.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let (mut work, mut result) = (Some(work), None);
        self.read_with(&mut |tx| result = work.take().map(|work| work(tx)))?;
        result.expect("`read_with` has run the work")
    }

    /// Runs `work` in a writing transaction, which sees the counters of all earlier commits. `work` may run more than
    /// once.
    ///
    /// # Errors
    /// The error of `work`, or the store's own.
    pub(crate) fn write<T, E: From<StoreError>>(
        &self,
        mut work: impl FnMut(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut result = None;
        self.write_with(&mut |tx| result.insert(work(tx)).is_ok())?;
        result.expect("`write_with` has run the work")
    }
}
