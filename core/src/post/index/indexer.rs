//! Renews outdated tokens and completes the search index in the background of a service.
//!
//! Of several processes one does so at a time, by lease.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Clock;
use crate::post::reindex;
use crate::record::background::{Background, Stop, log_failure};
use crate::record::error::Result;
use crate::record::lease::Lease;
use crate::store::{Store, Topic};

/// The minimum time between two looks for outdated posts.
const PAUSE: Duration = Duration::from_secs(1);
/// The time until the next look if no post changes, and after a failure.
const INTERVAL: Duration = Duration::from_secs(60);

/// The handle of the thread.
pub(crate) struct Indexer {
    shared: Arc<Shared>,
    thread: Background,
}

struct Shared {
    store: Arc<Store>,
    /// The right to renew tokens for all processes of the database.
    lease: Lease,
    stop: Stop,
}

impl Indexer {
    /// Returns an indexer without a thread.
    pub(crate) fn new(store: Arc<Store>, clock: Clock) -> Self {
        let (lease, stop) = (Lease::new(Arc::clone(&store), clock, "search_index"), Stop::default());
        let thread = Background::new(Arc::clone(&store), stop.clone());
        Self { shared: Arc::new(Shared { store, lease, stop }), thread }
    }

    /// Starts the thread, unless it is running or there is nothing to do.
    pub(crate) fn start(&self) -> Result<()> {
        let store = &self.shared.store;
        if !store.is_on_server() && !store.read(reindex::is_outdated)? {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        self.thread.start("tidings-indexer", || Ok(move || shared.run()))
    }
}

impl Shared {
    fn run(&self) {
        let versions = self.store.versions();
        loop {
            let version = self.store.version(Topic::Posts);
            let renewed = self.renew();
            if let Err(error) = &renewed {
                log_failure(error, "posts cannot be split into words again");
            }
            if renewed.is_ok() && !self.store.is_on_server() {
                break;
            }
            let pause = if renewed.is_ok() { PAUSE } else { INTERVAL };
            if !versions.sleep(pause, || self.stop.is_set()) {
                break;
            }
            versions.wait_for(Topic::Posts, version, INTERVAL, || self.stop.is_set());
        }
    }

    /// Renews outdated posts, also those that servers of an earlier version have written, unless another process does.
    fn renew(&self) -> Result<()> {
        if !self.store.read(reindex::is_outdated)? || !self.lease.hold()? {
            return Ok(());
        }
        // A lease that cannot be renewed ends, while other processes cannot take it either.
        let is_stopped = || self.stop.is_set() || !self.lease.hold().unwrap_or(true);
        let renewed = reindex::renew(&self.store, &is_stopped);
        self.lease.release()?;
        renewed
    }
}
