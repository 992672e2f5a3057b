//! Waiting for the driver on threads that block.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

use super::super::StoreError;

/// The runtime on which connections run. It has one thread, which only moves bytes.
pub(super) struct Driver(Option<Runtime>);

impl Driver {
    pub(super) fn start() -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("tidings-pg")
            .enable_io()
            .enable_time()
            .build()
            .map_err(StoreError::other)?;
        Ok(Self(Some(runtime)))
    }

    pub(super) fn handle(&self) -> Handle {
        self.0.as_ref().expect("only `drop` takes the runtime").handle().clone()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A runtime must not wait for its threads when it is dropped on a thread of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Maximum time that the answer to a statement, or a row of its result, takes to arrive on a connection without a shorter
/// limit. It is long because a statement may be: a server that answers nothing is noticed by the watching thread.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(300);

/// Waits for the answers of a connection.
pub(super) struct Waiter {
    driver: Handle,
    max: Duration,
    /// The generation of new connections. Greater than that of this connection as soon as the server counts as lost.
    current: watch::Receiver<u64>,
    generation: u64,
}

impl Waiter {
    pub(super) fn new(driver: Handle, current: watch::Receiver<u64>) -> Self {
        let generation = *current.borrow();
        Self { driver, max: ANSWER_MAX, current, generation }
    }

    pub(super) fn limit(&mut self, max: Duration) {
        self.max = max;
    }

    pub(super) fn max(&self) -> Duration {
        self.max
    }

    /// Returns whether the connection belongs to a server that counts as lost.
    pub(super) fn is_abandoned(&self) -> bool {
        *self.current.borrow() > self.generation
    }

    /// Blocks the thread until `future` is ready; returns `None` when it takes too long.
    pub(super) fn wait<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        self.wait_within(self.max, future)
    }

    /// Does the same as [`Waiter::wait`] with another time limit.
    pub(super) fn wait_within<T>(&mut self, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
        let generation = self.generation;
        let abandoned = self.current.wait_for(|current| *current > generation);
        wait(&self.driver, limit, async {
            match select(pin!(future), pin!(abandoned)).await {
                Either::Left((value, _)) => Some(value),
                Either::Right(_) => None,
            }
        })
        .flatten()
    }
}

/// Blocks the thread until `future` is ready; returns `None` after `limit`.
///
/// Unlike [`Handle::block_on`], it may run on a thread of another runtime.
pub(super) fn wait<T>(driver: &Handle, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let _context = driver.enter();
    pollster::block_on(tokio::time::timeout(limit, future)).ok()
}
