//! Keeps the search index merged, and renews outdated tokens: in the background of a service, and after the writes of a
//! program without background work, such as an import on the command line.
//!
//! Of several processes one merges at a time, by lease. The index stays right without it: see `postgres/merge.rs`. On SQLite
//! only tokens are to be renewed, because FTS5 merges its parts itself.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Clock;
use crate::post::reindex;
use crate::record::background::{Background, Stop, log_failure};
use crate::record::error::Result;
use crate::record::lease::Lease;
use crate::store::{Store, StoreError, Topic};

/// The minimum time between two looks whether a merge is due.
const PAUSE: Duration = Duration::from_secs(1);
/// The time until the next look if no post changes, and after a failure.
const INTERVAL: Duration = Duration::from_secs(60);

/// The handle of the merging thread.
pub(crate) struct Merger {
    shared: Arc<Shared>,
    thread: Background,
}

struct Shared {
    store: Arc<Store>,
    /// The right to merge for all processes of the database.
    lease: Lease,
    stop: Stop,
}

impl Merger {
    /// Returns a merger without a thread.
    pub(crate) fn new(store: Arc<Store>, clock: Clock) -> Self {
        let (lease, stop) = (Lease::new(Arc::clone(&store), clock, "search_index"), Stop::default());
        let thread = Background::new(Arc::clone(&store), stop.clone());
        Self { shared: Arc::new(Shared { store, lease, stop }), thread }
    }

    /// Starts the thread, unless it is running or there is nothing to do.
    pub(crate) fn start(&self) -> Result<()> {
        if !self.shared.store.is_on_server() && !self.shared.store.read(reindex::has_outdated_tokens)? {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        self.thread.start("tidings-merger", || Ok(move || shared.run()))
    }

    /// Merges after a write, unless the thread does. A failure is logged: the next write tries again.
    pub(crate) fn after_write(&self) {
        if self.shared.store.is_on_server() && !self.thread.is_started() {
            let _ = self.shared.merge();
        }
    }
}

impl Shared {
    fn run(&self) {
        let versions = self.store.versions();
        loop {
            let version = self.store.version(Topic::Posts);
            let kept = self.renew().and(self.merge());
            if kept.is_ok() && !self.store.is_on_server() {
                break;
            }
            let pause = if kept.is_ok() { PAUSE } else { INTERVAL };
            if !versions.sleep(pause, || self.is_stopped()) {
                break;
            }
            versions.wait_for(Topic::Posts, version, INTERVAL, || self.is_stopped());
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// Renews outdated tokens, also those of posts that servers of an earlier version have written, unless another process does.
    /// A failure is logged.
    fn renew(&self) -> Result<(), StoreError> {
        let renewed = self.try_to_renew();
        if let Err(error) = &renewed {
            log_failure(error, "posts cannot be split into words again");
        }
        renewed.map_err(StoreError::other)
    }

    fn try_to_renew(&self) -> Result<()> {
        if !self.store.read(reindex::has_outdated_tokens)? || !self.lease.hold()? {
            return Ok(());
        }
        let is_stopped = || self.is_stopped() || !self.lease.hold().unwrap_or(true);
        let renewed = reindex::renew_tokens(&self.store, &is_stopped);
        self.lease.release()?;
        renewed
    }

    /// Merges as long as that is due, unless another process does. A failure is logged.
    fn merge(&self) -> Result<(), StoreError> {
        let merged = self.try_to_merge();
        match &merged {
            Err(StoreError::Interrupted) => tracing::debug!("merging the search index was interrupted"),
            Err(error) => log_failure(&error.clone().into(), "the search index cannot be merged"),
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
