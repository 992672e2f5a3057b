//! Waiting for the driver on threads that block.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio::task::coop::unconstrained;

use super::super::StoreError;
use super::reactor::Reactor;
use super::socket::Socket;

/// The runtime in which connections begin, and in which those for whole tables run. It has one thread.
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

/// The future of a connection, which moves its bytes. It is ready when the connection has ended.
pub(super) type Driving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The time in which a connection may be used: until its server counts as lost.
pub(super) struct Lifetime {
    /// The generation of new connections.
    current: watch::Receiver<u64>,
    generation: u64,
}

impl Lifetime {
    /// Returns the lifetime of a connection that begins now.
    pub(super) fn begin(current: watch::Receiver<u64>) -> Self {
        let generation = *current.borrow();
        Self { current, generation }
    }

    fn is_over(&self) -> bool {
        *self.current.borrow() > self.generation
    }

    /// Returns the value of `future`, or `None` if the lifetime ends before.
    pub(super) async fn limit<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        let generation = self.generation;
        // A task that blocks cannot return to its runtime to be allowed to wait again.
        let over = unconstrained(self.current.wait_for(|current| *current > generation));
        match select(pin!(future), pin!(over)).await {
            Either::Left((value, _)) => Some(value),
            Either::Right(_) => None,
        }
    }
}

/// Waits for the answers of a connection, and moves its bytes meanwhile.
pub(super) struct Waiter {
    /// The connection, until it has ended.
    connection: Option<Driving>,
    reactor: Reactor,
    max: Duration,
    lifetime: Lifetime,
}

impl Waiter {
    /// Takes a connection with its socket out of its runtime.
    pub(super) fn new(connection: Driving, socket: &Socket, lifetime: Lifetime) -> Result<Self, StoreError> {
        let reactor =
            Reactor::new(socket.clone()).map_err(|error| StoreError::Disconnected(error.to_string()))?;
        Ok(Self { connection: Some(connection), reactor, max: ANSWER_MAX, lifetime })
    }

    pub(super) fn limit(&mut self, max: Duration) {
        self.max = max;
    }

    pub(super) fn max(&self) -> Duration {
        self.max
    }

    /// Returns whether the connection belongs to a server that counts as lost.
    pub(super) fn is_abandoned(&self) -> bool {
        self.lifetime.is_over()
    }

    /// Blocks the thread until `future` is ready; returns `None` when it takes too long.
    pub(super) fn wait<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        self.wait_within(self.max, future)
    }

    /// Does the same as [`Waiter::wait`] with another time limit.
    pub(super) fn wait_within<T>(&mut self, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
        let Self { connection, reactor, lifetime, .. } = self;
        let mut limited = pin!(lifetime.limit(future));
        reactor.run(limit, |context| match limited.as_mut().poll(context) {
            // The future may have just sent a statement.
            Poll::Pending => {
                advance(connection, context);
                Poll::Pending
            }
            ready @ Poll::Ready(_) => ready,
        })?
    }

    /// Sends what is to be sent, and receives what has arrived, without waiting.
    pub(super) fn look(&mut self) {
        self.reactor.look(|context| advance(&mut self.connection, context));
    }
}

impl Drop for Waiter {
    /// The client is dropped, so this sends the end of the connection.
    fn drop(&mut self) {
        self.look();
    }
}

/// Moves the bytes of a connection that have arrived or are to be sent.
fn advance(connection: &mut Option<Driving>, context: &mut Context<'_>) {
    // It is put back only after the poll, so that one that panics is not polled again.
    if let Some(mut driving) = connection.take()
        && driving.as_mut().poll(context).is_pending()
    {
        *connection = Some(driving);
    }
}

/// Blocks the thread until `future` is ready; returns `None` after `limit`.
///
/// Unlike [`Handle::block_on`], it may run on a thread of another runtime.
pub(super) fn wait<T>(driver: &Handle, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let _context = driver.enter();
    // As in `Lifetime::limit`.
    pollster::block_on(unconstrained(tokio::time::timeout(limit, future))).ok()
}
