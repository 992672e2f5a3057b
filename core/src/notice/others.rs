//! Shows the views of notices that other processes have counted: a thread of the service reads their numbers after each change.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::cache::NoticeCache;
use super::sql;
use super::views::ViewCounter;
use crate::record::background::{Background, Stop};
use crate::record::error::Result;
use crate::store::{Store, StoreError, Topic, version_in};

/// Together with the time until this process learns of a change, this is less than a second.
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) struct OtherViews {
    shared: Arc<Shared>,
    thread: Background,
}

struct Shared {
    store: Arc<Store>,
    views: Arc<ViewCounter>,
    stop: Stop,
    /// The version of the views that were read last.
    known: AtomicI64,
}

impl OtherViews {
    pub(crate) fn new(store: Arc<Store>, notices: &NoticeCache) -> Self {
        let stop = Stop::default();
        let thread = Background::new(Arc::clone(&store), stop.clone());
        let shared =
            Arc::new(Shared { store, views: Arc::clone(notices.views()), stop, known: AtomicI64::new(0) });
        Self { shared, thread }
    }

    /// For a program without the thread.
    pub(crate) fn refresh(&self) -> Result<()> {
        if self.shared.known.load(Ordering::Relaxed) < self.shared.store.version(Topic::NoticeViews) {
            self.shared.read()?;
        }
        Ok(())
    }

    pub(crate) fn start(&self) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        self.thread.start("tidings-views", || Ok(move || shared.run()))
    }
}

impl Shared {
    fn run(&self) {
        let versions = self.store.versions();
        let is_stopped = || self.stop.is_set();
        loop {
            let known = self.known.load(Ordering::Relaxed);
            versions.wait_for(Topic::NoticeViews, known, Duration::MAX, is_stopped);
            if let Err(error) = self.read() {
                tracing::debug!(%error, "the views of other processes cannot be read");
            }
            if !versions.sleep(PAUSE, is_stopped) {
                return;
            }
        }
    }

    /// A flush can make this impossible; then the next call reads the views.
    fn read(&self) -> Result<(), StoreError> {
        let mut version = 0;
        let is_shown = self.views.others(|| {
            self.store.read(|tx| {
                version = version_in(tx, Topic::NoticeViews)?;
                sql::views(tx)
            })
        })?;
        if is_shown {
            self.known.store(version, Ordering::Relaxed);
        }
        Ok(())
    }
}
