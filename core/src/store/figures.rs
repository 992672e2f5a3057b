//! The state of a store in figures, for metrics, readiness and writes that make way for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::{Commits, Follower, Store, StoreError, gauges};

impl Store {
    /// Returns the number of writes in the queue.
    pub(crate) fn waiting(&self) -> usize {
        self.writer.gauges().waiting.load(Ordering::Relaxed)
    }

    /// Returns a function that returns [`Store::waiting`], for a write that can end early when others wait.
    pub(crate) fn waiting_writes(&self) -> impl Fn() -> usize + Clone + Send + use<> {
        let gauges = Arc::clone(self.writer.gauges());
        move || gauges.waiting.load(Ordering::Relaxed)
    }

    /// Returns the commits since the store was opened.
    pub(crate) fn commits(&self) -> Commits {
        self.writer.gauges().commits()
    }

    /// Checks whether writes are expected to succeed: the last commit succeeded, and the files are still the opened ones.
    ///
    /// # Errors
    /// The reason why writes fail.
    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        self.engine.writable()
    }

    /// Returns the milliseconds by which the clock that all processes of the database share is ahead of that of this machine,
    /// as they are measured from time to time; `None` if they share that of this machine.
    pub(crate) fn clock_ahead(&self) -> Option<Arc<AtomicI64>> {
        self.engine.clock_ahead()
    }

    /// Returns the number of commits that have failed since the store was opened.
    pub(crate) fn failures(&self) -> u64 {
        self.engine.failures()
    }

    /// Returns the standbys that follow the primary of a server, as measured in the last second; none for a file.
    pub(crate) fn followers(&self) -> Vec<Follower> {
        self.engine.followers()
    }

    /// Returns the number of statements that this process has run in transactions, of all its databases.
    pub(crate) fn statements() -> u64 {
        gauges::statements()
    }

    /// Returns the size of the write-ahead log in bytes; 0 on a server.
    pub(crate) fn wal_bytes(&self) -> u64 {
        self.engine.wal_bytes()
    }

    /// Returns the size of the database in bytes without blocking: of the file without the write-ahead log, or of a
    /// server's database when it was last measured.
    pub(crate) fn database_bytes(&self) -> u64 {
        self.engine.database_bytes()
    }
}
