//! Threads of the service, each of which runs until its handle is dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::record::error::{Error, Result};
use crate::store::Store;

/// Dropping it stops the thread.
pub(crate) struct Background {
    store: Arc<Store>,
    stop: Stop,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Background {
    /// The thread has to end soon after `stop` is set and the versions of `store` wake it.
    pub(crate) fn new(store: Arc<Store>, stop: Stop) -> Self {
        Self { store, stop, thread: Mutex::default() }
    }

    /// Does nothing if the thread is running. `prepare` returns the body of the thread.
    pub(crate) fn start<R: FnOnce() + Send + 'static>(
        &self,
        name: &str,
        prepare: impl FnOnce() -> Result<R>,
    ) -> Result<()> {
        let mut thread = self.thread();
        if thread.is_none() {
            let started = Builder::new().name(name.into()).spawn(prepare()?);
            *thread = Some(started.map_err(|e| Error::Internal(e.into()))?);
        }
        Ok(())
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.0.store(true, Ordering::Release);
        self.store.versions().wake();
        if let Some(thread) = self.thread().take() {
            let _ = thread.join();
        }
    }
}

/// An outage is logged at debug level only: the store has reported it once.
pub(crate) fn log_failure(error: &Error, what: &str) {
    if error.is_unavailable() {
        tracing::debug!(cause = error.detail(), "{what}");
    } else {
        tracing::error!(cause = error.detail(), "{what}");
    }
}
