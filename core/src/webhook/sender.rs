//! The handle of the thread that sends deliveries, and the numbers of what it has sent.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::send::Http;
use super::worker::Worker;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::store::Store;

/// The numbers of deliveries, for monitoring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Deliveries that wait, as counted a few seconds ago.
    pub pending: i64,
    /// Deliveries that were given up, as counted a few seconds ago.
    pub dead: i64,
    /// Deliveries that their receivers have accepted since the process started.
    pub delivered: u64,
    /// Attempts that have failed since the process started.
    pub failed: u64,
}

/// What [`Figures`] are read from.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) pending: AtomicI64,
    pub(super) dead: AtomicI64,
    pub(super) delivered: AtomicU64,
    pub(super) failed: AtomicU64,
}

/// The handle of the sending thread. Dropping it stops the thread.
pub(crate) struct Sender {
    store: Arc<Store>,
    clock: Clock,
    allows_private: bool,
    counters: Arc<Counters>,
    is_stopped: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Sender {
    /// Returns a sender without a thread.
    pub(crate) fn new(store: &Arc<Store>, clock: &Clock, allows_private: bool) -> Self {
        Self {
            store: Arc::clone(store),
            clock: clock.clone(),
            allows_private,
            counters: Arc::default(),
            is_stopped: Arc::default(),
            thread: Mutex::default(),
        }
    }

    /// Starts the thread, unless it is running.
    pub(crate) fn start(&self) -> Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let transport = Arc::new(Http::new(self.allows_private));
            let worker = Worker::new(&self.store, &self.clock, transport, Arc::clone(&self.counters));
            let is_stopped = Arc::clone(&self.is_stopped);
            let run = move || worker.run(&is_stopped);
            let started = std::thread::Builder::new().name("tidings-hooks".into()).spawn(run);
            *thread = Some(started.map_err(|e| Error::Internal(e.into()))?);
        }
        Ok(())
    }

    /// Returns the numbers of deliveries.
    pub(crate) fn figures(&self) -> Figures {
        let Counters { pending, dead, delivered, failed } = &*self.counters;
        Figures {
            pending: pending.load(Ordering::Relaxed),
            dead: dead.load(Ordering::Relaxed),
            delivered: delivered.load(Ordering::Relaxed),
            failed: failed.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Release);
        self.store.versions().wake();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
    }
}
