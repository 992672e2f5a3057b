//! Notifies caches of commits: of this process immediately, of other processes within a quarter of a second.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::sqlite::{self, Connection, Health, SqliteTx, data_version};
use super::{StoreError, Topic, version_in};

/// The interval between two checks for commits of other processes.
const INTERVAL: Duration = Duration::from_millis(200);
/// Number of intervals between two trial writes while writes fail: one second.
const TRY_EVERY: u32 = 5;

/// The revision at which each topic last changed.
#[derive(Default)]
pub(crate) struct Versions {
    revisions: [AtomicI64; Topic::ALL.len()],
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Versions {
    /// Returns the revision at which `topic` last changed.
    pub(crate) fn get(&self, topic: Topic) -> i64 {
        self.revisions[topic as usize].load(Ordering::Acquire)
    }

    /// Records that `topics` changed at `revision`, and wakes all waiting threads.
    pub(super) fn publish(&self, topics: &[Topic], revision: i64) {
        for topic in topics {
            self.revisions[*topic as usize].fetch_max(revision, Ordering::AcqRel);
        }
        // `wake` takes the lock, so no thread can miss the change between its check and its wait.
        self.wake();
    }

    /// Waits until `topic` has changed since `revision`, `timeout` is over, or a wake-up finds `stopped` true.
    pub(crate) fn wait_for(
        &self,
        topic: Topic,
        revision: i64,
        timeout: Duration,
        stopped: impl Fn() -> bool,
    ) {
        let waiting = |closed: &mut bool| !*closed && !stopped() && self.get(topic) <= revision;
        drop(self.changed.wait_timeout_while(self.lock(), timeout, waiting));
    }

    /// Sleeps for `duration`. Returns false early when the store closes or a wake-up finds `stopped` true.
    pub(crate) fn sleep(&self, duration: Duration, stopped: impl Fn() -> bool) -> bool {
        let sleeping = |closed: &mut bool| !*closed && !stopped();
        let slept = self.changed.wait_timeout_while(self.lock(), duration, sleeping);
        slept.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Wakes all waiting threads, so that they check whether to stop.
    pub(crate) fn wake(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Ends all waits, now and in the future.
    fn close(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that watches for commits of other processes and for changes of the database's files. Ends with the store.
pub(super) struct Watcher {
    versions: Arc<Versions>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Publishes the current versions and starts the thread, which publishes later changes.
    pub(super) fn start(
        connection: Connection,
        versions: Arc<Versions>,
        health: Arc<Health>,
    ) -> Result<Self, StoreError> {
        let mut seen = data_version(&connection)?;
        publish(&connection, &versions)?;
        let watched = Arc::clone(&versions);
        // If another process is writing, the watcher does not wait; it tries again after the interval.
        connection.busy_timeout(Duration::ZERO)?;
        let watch = move || {
            let mut intervals = 0;
            while watched.sleep(INTERVAL, || false) {
                health.check_closely();
                intervals = (intervals + 1) % TRY_EVERY;
                if intervals == 0 && health.needs_probe() {
                    try_to_write(&connection, &health);
                }
                let looked = data_version(&connection).and_then(|version| {
                    if version != seen {
                        publish(&connection, &watched)?;
                        seen = version;
                    }
                    Ok(())
                });
                if let Err(error) = looked {
                    tracing::warn!(%error, "cannot check for changes of other processes");
                }
            }
            if health.must_abandon() {
                sqlite::abandon(&connection);
            }
        };
        let thread = std::thread::Builder::new().name("tidings-watch".into()).spawn(watch);
        Ok(Self { versions, thread: Some(thread.map_err(StoreError::other)?) })
    }
}

/// Commits a new revision without other changes, to find out whether writes succeed again while no caller writes.
fn try_to_write(connection: &Connection, health: &Health) {
    let tried = SqliteTx::begin_write(connection).and_then(SqliteTx::commit).and_then(|_| health.check());
    if tried.is_ok() {
        health.committed(Ok(()));
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
