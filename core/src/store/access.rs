//! Access for work that runs in a service and in an inspection.

use super::inspect::Inspected;
use super::{Isolation, Store, StoreError, Tx};

/// A database that is open for a service or for an inspection.
pub(crate) trait Access {
    /// Runs `work` on the currently committed state.
    ///
    /// # Errors
    /// The error of `work` or of the store.
    fn read<T>(&self, work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>) -> Result<T, StoreError>;

    /// Runs `work` in a transaction and returns when its changes are on disk. `work` may run more than once. An inspection runs
    /// all work alone.
    ///
    /// # Errors
    /// The error of `work` or of the store.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite merges its index itself"))]
    fn write<T: Send + 'static>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError>;

    /// Makes the space of deleted rows free for new ones at once, which happens some time later otherwise. Ends early when
    /// `is_stopped` returns true.
    ///
    /// # Errors
    /// An error of the store.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite reuses the space at once"))]
    fn reclaim(&self, _table: &'static str, _is_stopped: &dyn Fn() -> bool) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Access for Store {
    fn read<T>(&self, work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>) -> Result<T, StoreError> {
        Self::read(self, work)
    }

    fn write<T: Send + 'static>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_long(isolation, work)
    }

    fn reclaim(&self, table: &'static str, is_stopped: &dyn Fn() -> bool) -> Result<(), StoreError> {
        self.engine.reclaim(table, is_stopped)
    }
}

impl Access for dyn Inspected + '_ {
    fn read<T>(&self, work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.read(work)
    }

    fn write<T: Send + 'static>(
        &self,
        _: Isolation,
        work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write(work)
    }
}
