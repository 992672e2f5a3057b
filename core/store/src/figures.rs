//! The state of a store in figures, for metrics, readiness and writes that make way for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::{Commits, Follower, Store, StoreError, gauges};

impl Store {
    pub fn waiting(&self) -> usize {
        self.writer.gauges().waiting.load(Ordering::Relaxed)
    }

    pub fn waiting_writes(&self) -> impl Fn() -> usize + Clone + Send + use<> {
        let gauges = Arc::clone(self.writer.gauges());
        move || gauges.waiting.load(Ordering::Relaxed)
    }

    pub fn commits(&self) -> Commits {
        self.writer.gauges().commits()
    }

    /// The last commit succeeded, and the files are still the opened ones.
    pub fn writable(&self) -> Result<(), StoreError> {
        self.engine.writable()
    }

    /// The milliseconds by which the clock that all processes of the database share is ahead of that of this machine; `None` if
    /// they share that of this machine.
    pub fn clock_ahead(&self) -> Option<Arc<AtomicI64>> {
        self.engine.clock_ahead()
    }

    pub fn failures(&self) -> u64 {
        self.engine.failures()
    }

    /// Measured in the last second; none for a file.
    pub fn followers(&self) -> Vec<Follower> {
        self.engine.followers()
    }

    /// Counts the statements of all databases of this process.
    pub fn statements() -> u64 {
        gauges::statements()
    }

    /// In bytes; 0 on a server.
    pub fn wal_bytes(&self) -> u64 {
        self.engine.wal_bytes()
    }

    /// In bytes, without the write-ahead log. A server's database is not measured on each call.
    pub fn database_bytes(&self) -> u64 {
        self.engine.database_bytes()
    }
}
