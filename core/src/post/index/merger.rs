//! Keeps the search index merged: in the background of a service, and after the writes of a program without background
//! work, such as an import on the command line.
//!
//! Of several processes one merges at a time, by lease. The index stays right without it: see `postgres/merge.rs`. On SQLite
//! there is nothing to do, because FTS5 merges its parts itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::lease::Lease;
use crate::store::{Store, StoreError, Topic};

/// The minimum time between two looks whether a merge is due.
const PAUSE: Duration = Duration::from_secs(1);
/// The time until the next look if no post changes, and after a failure.
const INTERVAL: Duration = Duration::from_secs(60);

/// The handle of the merging thread. Dropping it stops the thread.
pub(crate) struct Merger {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    store: Arc<Store>,
    /// The right to merge for all processes of the database.
    lease: Lease,
    is_stopped: AtomicBool,
}

impl Merger {
    /// Returns a merger without a thread.
    pub(crate) fn new(store: Arc<Store>, clock: Clock) -> Self {
        let lease = Lease::new(Arc::clone(&store), clock, "search_index");
        let shared = Arc::new(Shared { store, lease, is_stopped: AtomicBool::new(false) });
        Self { shared, thread: Mutex::default() }
    }

    /// Starts the thread, unless it is running or the engine merges the index itself.
    pub(crate) fn start(&self) -> Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() && self.shared.store.is_on_server() {
            let shared = Arc::clone(&self.shared);
            let started =
                std::thread::Builder::new().name("tidings-merger".into()).spawn(move || shared.run());
            *thread = Some(started.map_err(|e| Error::Internal(e.into()))?);
        }
        Ok(())
    }

    /// Merges after a write, unless the thread does. A failure is logged: the next write tries again.
    pub(crate) fn after_write(&self) {
        let has_thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if self.shared.store.is_on_server() && !has_thread {
            let _ = self.shared.merge();
        }
    }
}

impl Drop for Merger {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Release);
        self.shared.store.versions().wake();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let versions = self.store.versions();
        loop {
            let version = self.store.version(Topic::Posts);
            let pause = if self.merge().is_ok() { PAUSE } else { INTERVAL };
            if !versions.sleep(pause, || self.is_stopped()) {
                break;
            }
            versions.wait_for(Topic::Posts, version, INTERVAL, || self.is_stopped());
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Merges as long as that is due, unless another process does. A failure is logged.
    fn merge(&self) -> Result<(), StoreError> {
        let merged = self.try_to_merge();
        match &merged {
            Err(StoreError::Interrupted) => tracing::debug!("merging the search index was interrupted"),
            Err(error) => tracing::warn!(%error, "the search index cannot be merged"),
            Ok(()) => {}
        }
        merged
    }

    fn try_to_merge(&self) -> Result<(), StoreError> {
        if !self.store.read(super::is_merge_due)? || !self.lease.hold()? {
            return Ok(());
        }
        // A lease that cannot be renewed ends, while other processes cannot take it either.
        let is_stopped = || self.is_stopped() || !self.lease.hold().unwrap_or(true);
        let merged = super::merge(&*self.store, &is_stopped);
        self.lease.release()?;
        merged
    }
}
