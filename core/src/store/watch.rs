//! Who changed what when: how caches learn of commits, this process's at once and another's soon.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::sqlite::{Connection, SqliteTx, data_version};
use super::{StoreError, Topic, version_in};

/// How often other processes' commits are looked for.
const INTERVAL: Duration = Duration::from_millis(200);

/// The revision at which each topic last changed.
#[derive(Default)]
pub(crate) struct Versions {
    revisions: [AtomicI64; Topic::ALL.len()],
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Versions {
    /// The revision at which `topic` last changed.
    pub(crate) fn get(&self, topic: Topic) -> i64 {
        self.revisions[topic as usize].load(Ordering::Acquire)
    }

    /// Says that `topics` changed at `revision`.
    pub(super) fn publish(&self, topics: &[Topic], revision: i64) {
        for topic in topics {
            self.revisions[*topic as usize].fetch_max(revision, Ordering::AcqRel);
        }
        // Taken and let go, so that nobody is between looking and waiting.
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Waits until `topic` has changed since `revision`; false when the store closes instead.
    pub(crate) fn wait_for(&self, topic: Topic, revision: i64) -> bool {
        let waiting = |closed: &mut bool| !*closed && self.get(topic) <= revision;
        let closed = self.changed.wait_while(self.lock(), waiting);
        !*closed.unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps for `duration`; false, and at once, when the store closes.
    pub(crate) fn sleep(&self, duration: Duration) -> bool {
        let until = Instant::now() + duration;
        let mut closed = self.lock();
        while !*closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            closed = self.changed.wait_timeout(closed, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Wakes everybody who waits here, for good.
    pub(crate) fn close(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that looks for other processes' commits; it ends with the store.
pub(super) struct Watcher {
    versions: Arc<Versions>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Publishes what has changed up to now, and then as it changes.
    pub(super) fn start(connection: Connection, versions: Arc<Versions>) -> Result<Self, StoreError> {
        let mut seen = data_version(&connection)?;
        publish(&connection, &versions)?;
        let watched = Arc::clone(&versions);
        let watch = move || {
            while watched.sleep(INTERVAL) {
                let looked = data_version(&connection).and_then(|version| {
                    if version != seen {
                        publish(&connection, &watched)?;
                        seen = version;
                    }
                    Ok(())
                });
                if let Err(error) = looked {
                    tracing::warn!(%error, "cannot look for other processes' changes");
                }
            }
        };
        let thread = std::thread::Builder::new().name("tidings-watch".into()).spawn(watch);
        Ok(Self { versions, thread: Some(thread.map_err(StoreError::other)?) })
    }
}

fn publish(connection: &Connection, versions: &Versions) -> Result<(), StoreError> {
    let mut tx = SqliteTx::begin(connection)?;
    let read = Topic::ALL.iter().try_for_each(|topic| {
        let revision = version_in(&mut tx, *topic)?;
        if revision > versions.get(*topic) {
            versions.publish(&[*topic], revision);
        }
        Ok(())
    });
    tx.rollback();
    read
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.versions.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
