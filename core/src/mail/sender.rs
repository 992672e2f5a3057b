//! The handle of the thread that sends mail, and the numbers of what it has sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::smtp::Smtp;
use super::worker::Worker;
use crate::base::clock::Clock;
use crate::base::config::{Config, Mail};
use crate::record::background::{Background, Stop};
use crate::record::error::Result;
use crate::store::Store;

/// The numbers of mails, for monitoring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Mails that wait, as counted at the last look.
    pub pending: i64,
    /// Mails that were given up, as counted at the last look.
    pub dead: i64,
    /// Mails that the mail server has taken since the process started.
    pub sent: u64,
    /// Attempts that have failed since the process started.
    pub failed: u64,
}

/// The sources of [`Figures`].
#[derive(Default)]
pub(super) struct Counters {
    pending: AtomicI64,
    dead: AtomicI64,
    sent: AtomicU64,
    failed: AtomicU64,
}

impl Counters {
    pub(super) fn count(&self, (pending, dead): (i64, i64)) {
        self.pending.store(pending, Ordering::Relaxed);
        self.dead.store(dead, Ordering::Relaxed);
    }

    pub(super) fn ended(&self, was_sent: bool) {
        let counter = if was_sent { &self.sent } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// The handle of the sending thread.
pub(crate) struct Sender {
    store: Arc<Store>,
    clock: Clock,
    config: Mail,
    counters: Arc<Counters>,
    stop: Stop,
    thread: Background,
}

impl Sender {
    /// Returns a sender without a thread.
    pub(crate) fn new(store: &Arc<Store>, clock: &Clock, config: &Config) -> Self {
        let stop = Stop::default();
        Self {
            thread: Background::new(Arc::clone(store), stop.clone()),
            store: Arc::clone(store),
            clock: clock.clone(),
            config: config.mail.clone().with_pages(config.public_url.as_ref()),
            counters: Arc::default(),
            stop,
        }
    }

    /// Starts the thread if the service sends mail, unless it is running.
    pub(crate) fn start(&self) -> Result<()> {
        if !self.config.is_on() {
            return Ok(());
        }
        self.thread.start("tidings-mail", || {
            let transport = Arc::new(Smtp::new(&self.config)?);
            let counters = Arc::clone(&self.counters);
            let worker = Worker::new(&self.store, &self.clock, self.config.clone(), transport, counters)?;
            let stop = self.stop.clone();
            Ok(move || worker.run(&stop))
        })
    }

    /// Returns the numbers of mails.
    pub(crate) fn figures(&self) -> Figures {
        let Counters { pending, dead, sent, failed } = &*self.counters;
        Figures {
            pending: pending.load(Ordering::Relaxed),
            dead: dead.load(Ordering::Relaxed),
            sent: sent.load(Ordering::Relaxed),
            failed: failed.load(Ordering::Relaxed),
        }
    }
}
