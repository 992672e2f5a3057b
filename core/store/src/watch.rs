//! Notifies caches of commits: of this process immediately, of other processes within a quarter of a second.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::topic::last_change_in;
use super::{StoreError, Topic, Tx};

const INTERVAL: Duration = Duration::from_millis(200);
/// Intervals between two trial writes while writes fail: one second.
pub(super) const TRY_EVERY: u32 = 5;

#[derive(Default)]
pub struct Versions {
    revisions: [AtomicI64; Topic::ALL.len()],
    /// For each topic, a number that grows with each published change.
    changes: [AtomicI64; Topic::ALL.len()],
    closed: Mutex<bool>,
    #[cfg(any(test, feature = "testing"))]
    pub(super) simulation: super::testing::Simulation,
    changed: Condvar,
}

impl Versions {
    /// Returns the revision at which `topic` last changed.
    pub fn get(&self, topic: Topic) -> i64 {
        self.revisions[topic as usize].load(Ordering::Acquire)
    }

    /// The number is at least the revision of `topic`.
    pub(super) fn changes(&self, topic: Topic) -> i64 {
        self.changes[topic as usize].load(Ordering::Acquire)
    }

    /// Records that `topics` changed at `revision`, which may be smaller than that of an earlier change.
    pub(super) fn publish(&self, topics: &[Topic], revision: i64) {
        for topic in topics {
            self.revisions[*topic as usize].fetch_max(revision, Ordering::AcqRel);
            let grown = |number: i64| Some((number + 1).max(revision));
            // Cannot fail, because `grown` always returns a number.
            let _ = self.changes[*topic as usize].fetch_update(Ordering::AcqRel, Ordering::Acquire, grown);
        }
        // `wake` takes the lock, so no thread can miss the change between its check and its wait.
        self.wake();
    }

    /// Waits until `topic` has changed since `revision`, `timeout` is over, or a wake-up finds `stopped` true.
    pub fn wait_for(&self, topic: Topic, revision: i64, timeout: Duration, stopped: impl Fn() -> bool) {
        let waiting = |closed: &mut bool| !*closed && !stopped() && self.get(topic) <= revision;
        drop(self.changed.wait_timeout_while(self.lock(), timeout, waiting));
    }

    /// Returns false early when the store closes or a wake-up finds `stopped` true.
    pub fn sleep(&self, duration: Duration, stopped: impl Fn() -> bool) -> bool {
        let sleeping = |closed: &mut bool| !*closed && !stopped();
        let slept = self.changed.wait_timeout_while(self.lock(), duration, sleeping);
        slept.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    pub fn wake(&self) {
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

pub(super) trait Watch: Send + 'static {
    /// Publishes the commits of other processes, and checks the state of the database.
    fn look(&mut self, versions: &Versions);
}

/// Dropping it ends the thread.
pub(super) struct Watcher {
    versions: Arc<Versions>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    pub(super) fn start(versions: Arc<Versions>, mut watch: impl Watch) -> Result<Self, StoreError> {
        let watched = Arc::clone(&versions);
        let look = move || {
            while watched.sleep(INTERVAL, || false) {
                watch.look(&watched);
            }
        };
        let thread = std::thread::Builder::new().name("tidings-watch".into()).spawn(look);
        Ok(Self { versions, thread: Some(thread.map_err(StoreError::other)?) })
    }
}

pub(super) fn publish(tx: &mut dyn Tx, versions: &Versions) -> Result<(), StoreError> {
    Topic::ALL.iter().try_for_each(|topic| {
        // Not limited to the horizon: a long transaction must not hide later commits.
        let revision = last_change_in(tx, *topic)?;
        if revision > versions.get(*topic) {
            versions.publish(&[*topic], revision);
        }
        Ok(())
    })
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.versions.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
