//! The handle of the thread that sends mail.

use std::path::PathBuf;
use std::sync::Arc;

use super::smtp::Smtp;
use super::worker::Worker;
use crate::base::clock::Clock;
use crate::base::config::{Config, Mail};
use crate::record::background::{Background, Stop};
use crate::record::error::Result;
use crate::store::Store;

pub(crate) struct Sender {
    store: Arc<Store>,
    clock: Clock,
    config: Mail,
    extra_ca: Option<PathBuf>,
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
            config: config.mail(),
            extra_ca: config.extra_ca.clone(),
            stop,
        }
    }

    /// Does nothing if the service sends no mail, or the thread is running.
    pub(crate) fn start(&self) -> Result<()> {
        if !self.config.is_on() {
            return Ok(());
        }
        self.thread.start("tidings-mail", || {
            let transport = Arc::new(Smtp::new(&self.config, self.extra_ca.as_deref())?);
            let worker = Worker::new(&self.store, &self.clock, self.config.clone(), transport)?;
            let stop = self.stop.clone();
            Ok(move || worker.run(&stop))
        })
    }
}
