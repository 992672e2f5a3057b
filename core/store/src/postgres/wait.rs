//! Waiting for the answers of connections on threads that block.
//!
//! Each connection has a runtime of its own, which runs on the thread that waits. A thread for the sockets of all connections
//! would have to be woken for each statement, and would wake the waiting thread for each answer, which takes as long as many a
//! statement.

use std::future::poll_fn;
use std::panic;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio::sync::watch;
use tokio::task::{block_in_place, yield_now};

use super::super::StoreError;

pub(super) struct Driver(Option<Runtime>);

impl Driver {
    /// Fails when the process has no more files: the connection can be tried again.
    pub(super) fn start() -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self(Some(runtime.map_err(|error| StoreError::Disconnected(error.to_string()))?)))
    }

    /// Returns `None` after `limit`.
    pub(super) fn wait<T: Send>(&self, limit: Duration, future: impl Future<Output = T> + Send) -> Option<T> {
        let runtime = self.0.as_ref().expect("only `drop` takes the runtime");
        let run = || runtime.block_on(async { tokio::time::timeout(limit, future).await.ok() });
        match Handle::try_current().map(|outer| outer.runtime_flavor()) {
            // A task of a runtime with one thread must not run another one on it.
            Ok(RuntimeFlavor::CurrentThread) => thread::scope(|scope| {
                scope.spawn(run).join().unwrap_or_else(|panic| panic::resume_unwind(panic))
            }),
            _ => block_in_place(run),
        }
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

/// Limits the time until an answer, or a row of a result, on a connection without a shorter limit. It is long because a statement
/// may be: the watching thread notices a server that answers nothing.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(300);

/// Moves the bytes of a connection. It is ready when the connection has ended.
pub(super) type Driving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connection may be used until its server counts as lost.
pub(super) struct Lifetime {
    current: watch::Receiver<u64>,
    generation: u64,
}

impl Lifetime {
    pub(super) fn begin(current: watch::Receiver<u64>) -> Self {
        let generation = *current.borrow();
        Self { current, generation }
    }

    fn is_over(&self) -> bool {
        *self.current.borrow() > self.generation
    }

    /// Returns `None` if the lifetime ends before the future.
    pub(super) async fn limit<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        let generation = self.generation;
        let over = self.current.wait_for(|current| *current > generation);
        match select(pin!(future), pin!(over)).await {
            Either::Left((value, _)) => Some(value),
            Either::Right(_) => None,
        }
    }
}

/// Moves the bytes of a connection while it waits.
pub(super) struct Waiter {
    /// `None` once it has ended.
    connection: Option<Driving>,
    max: Duration,
    lifetime: Lifetime,
    // Declared last: the connection belongs to it.
    driver: Driver,
}

impl Waiter {
    /// The connection has begun in the runtime of this driver.
    pub(super) fn new(connection: Driving, driver: Driver, lifetime: Lifetime) -> Self {
        Self { connection: Some(connection), max: ANSWER_MAX, lifetime, driver }
    }

    pub(super) fn limit(&mut self, max: Duration) {
        self.max = max;
    }

    pub(super) fn max(&self) -> Duration {
        self.max
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.lifetime.is_over()
    }

    /// Returns `None` when the future takes too long.
    pub(super) fn wait_within<T: Send>(
        &mut self,
        limit: Duration,
        future: impl Future<Output = T> + Send,
    ) -> Option<T> {
        let Self { connection, driver, lifetime, .. } = self;
        let mut limited = pin!(lifetime.limit(future));
        let answered = driver.wait(
            limit,
            poll_fn(|context| match limited.as_mut().poll(context) {
                // The future may have just sent a statement.
                Poll::Pending => {
                    advance(connection, context);
                    Poll::Pending
                }
                ready @ Poll::Ready(_) => ready,
            }),
        );
        answered.flatten()
    }

    /// Sends and receives without waiting.
    pub(super) fn look(&mut self) {
        let Self { connection, driver, .. } = self;
        let looked = async {
            // The runtime looks at the socket.
            yield_now().await;
            poll_fn(|context| {
                advance(connection, context);
                Poll::Ready(())
            })
            .await;
        };
        driver.wait(Duration::MAX, looked);
    }
}

impl Drop for Waiter {
    /// The client is dropped, so this sends the end of the connection.
    fn drop(&mut self) {
        self.look();
    }
}

fn advance(connection: &mut Option<Driving>, context: &mut Context<'_>) {
    // It is put back only after the poll, so that one that panics is not polled again.
    if let Some(mut driving) = connection.take()
        && driving.as_mut().poll(context).is_pending()
    {
        *connection = Some(driving);
    }
}
