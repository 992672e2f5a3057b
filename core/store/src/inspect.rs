//! Access to a whole database for checks and repairs, on any engine. It needs no [`Store`](super::Store): a database that does
//! not open can still be checked.

use super::{StoreError, Tx};

/// Callers use [`read`](trait.Inspected.html#method.read) and [`write`](trait.Inspected.html#method.write).
pub trait Inspected {
    fn read_with(&self, work: &mut dyn FnMut(&mut dyn Tx)) -> Result<(), StoreError>;

    /// Rolls back if `work` returns false. `work` may run more than once, and sees the counters of all earlier commits.
    fn write_with(&self, work: &mut dyn FnMut(&mut dyn Tx) -> bool) -> Result<(), StoreError>;
}

impl dyn Inspected + '_ {
    pub fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let (mut work, mut result) = (Some(work), None);
        self.read_with(&mut |tx| result = work.take().map(|work| work(tx)))?;
        result.expect("`read_with` has run the work")
    }

    /// `work` may run more than once, and sees the counters of all earlier commits.
    pub fn write<T, E: From<StoreError>>(
        &self,
        mut work: impl FnMut(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut result = None;
        self.write_with(&mut |tx| result.insert(work(tx)).is_ok())?;
        result.expect("`write_with` has run the work")
    }
}
