use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use crate::base::lock::lock;
use crate::record::error::{Error, Result};
use crate::store::Store;

/// Dropping it stops its threads.
pub(crate) struct Background {
    store: Arc<Store>,
    stop: Stop,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Background {
    /// A thread has to end soon after `stop` is set and the versions of `store` wake it.
    pub(crate) fn new(store: Arc<Store>, stop: Stop) -> Self {
        Self { store, stop, threads: Mutex::default() }
    }

    /// Does nothing if a thread with this name is running. `prepare` returns the body of the thread.
    pub(crate) fn start<R: FnOnce() + Send + 'static>(
        &self,
        name: &str,
        prepare: impl FnOnce() -> Result<R>,
    ) -> Result<()> {
        let mut threads = lock(&self.threads);
        if threads.iter().all(|thread| thread.thread().name() != Some(name)) {
            let started = Builder::new().name(name.into()).spawn(prepare()?);
            threads.push(started.map_err(|e| Error::Internal(e.into()))?);
        }
        Ok(())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.0.store(true, Ordering::Release);
        self.store.versions().wake();
        for thread in lock(&self.threads).drain(..) {
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
