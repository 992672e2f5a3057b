//! Shows the views of notices that other processes have counted: a thread of the service reads their numbers after each change.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::cache::NoticeCache;
use super::sql;
use super::views::ViewCounter;
use crate::error::{Error, Result};
use crate::store::{Store, StoreError, Topic, version_in};

/// The minimum time between two reads. With the time until this process learns of a change, it is less than a second.
const PAUSE: Duration = Duration::from_millis(500);

/// The handle of the thread. Dropping it stops the thread.
pub(crate) struct OtherViews {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    store: Arc<Store>,
    views: Arc<ViewCounter>,
    is_stopped: AtomicBool,
}

impl OtherViews {
    /// Returns the handle without a thread.
    pub(crate) fn new(store: Arc<Store>, notices: &NoticeCache) -> Self {
        let shared = Shared { store, views: Arc::clone(notices.views()), is_stopped: AtomicBool::new(false) };
        Self { shared: Arc::new(shared), thread: Mutex::default() }
    }

    /// Starts the thread, unless it is running.
    pub(crate) fn start(&self) -> Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let started =
                std::thread::Builder::new().name("tidings-views".into()).spawn(move || shared.run());
            *thread = Some(started.map_err(|e| Error::Internal(e.into()))?);
        }
        Ok(())
    }
}

impl Drop for OtherViews {
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
        let is_stopped = || self.is_stopped.load(Ordering::Acquire);
        let mut known = 0;
        loop {
            versions.wait_for(Topic::NoticeViews, known, Duration::MAX, is_stopped);
            match self.read() {
                Ok(Some(version)) => known = version,
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "the views of other processes cannot be read"),
            }
            if !versions.sleep(PAUSE, is_stopped) {
                return;
            }
        }
    }

    /// Reads the views of all notices. Returns their version, unless a flush made that impossible.
    fn read(&self) -> Result<Option<i64>, StoreError> {
        let mut version = 0;
        let is_shown = self.views.others(|| {
            self.store.read(|tx| {
                version = version_in(tx, Topic::NoticeViews)?;
                sql::views(tx)
            })
        })?;
        Ok(is_shown.then_some(version))
    }
}
