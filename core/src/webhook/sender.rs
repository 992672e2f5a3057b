//! The handle of the thread that sends deliveries, and the numbers of what it has sent.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::send::Http;
use super::worker::{Counters, Worker};
use crate::base::clock::Clock;
use crate::base::config::Config;
use crate::record::background::{Background, Stop};
use crate::record::error::Result;
use crate::store::Store;

/// The numbers of deliveries, for monitoring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Deliveries that wait, as counted a few seconds ago.
    pub pending: i64,
    /// Deliveries that were given up, as counted a few seconds ago.
    pub dead: i64,
}

pub(crate) struct Sender {
    store: Arc<Store>,
    clock: Clock,
    allows_private: bool,
    ca: Option<PathBuf>,
    counters: Arc<Counters>,
    stop: Stop,
    thread: Background,
}

impl Sender {
    /// Does not start the thread.
    pub(crate) fn new(store: &Arc<Store>, clock: &Clock, config: &Config) -> Self {
        let stop = Stop::default();
        Self {
            thread: Background::new(Arc::clone(store), stop.clone()),
            store: Arc::clone(store),
            clock: clock.clone(),
            allows_private: config.private_addresses,
            ca: config.extra_ca.clone(),
            counters: Arc::default(),
            stop,
        }
    }

    /// Does nothing if the thread is running.
    pub(crate) fn start(&self) -> Result<()> {
        self.thread.start("tidings-hooks", || {
            let transport = Arc::new(Http::new(self.allows_private, self.ca.as_deref())?);
            let worker = Worker::new(&self.store, &self.clock, transport, Arc::clone(&self.counters));
            let stop = self.stop.clone();
            Ok(move || worker.run(&stop))
        })
    }

    pub(crate) fn figures(&self) -> Figures {
        let Counters { pending, dead } = &*self.counters;
        Figures { pending: pending.load(Ordering::Relaxed), dead: dead.load(Ordering::Relaxed) }
    }
}
