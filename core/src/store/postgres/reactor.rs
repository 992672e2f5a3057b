//! Runs the future of a connection on the thread that waits for its answers.
//!
//! A thread of its own for the sockets of all connections would have to be woken for each statement, and would wake the
//! waiting thread for each answer. That takes as long as many a statement.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Token};

use super::socket::{Readiness, Socket};

/// The source of events that is the socket, and the one that is a call of [`Wake::wake`].
const SOCKET: Token = Token(0);
const CALL: Token = Token(1);

/// Waits for one socket, and for calls of its waker.
pub(super) struct Reactor {
    poll: mio::Poll,
    events: Events,
    socket: Arc<Readiness>,
    calls: Arc<Calls>,
}

/// The calls of a waker.
struct Calls {
    /// Whether there was one since the future was last polled.
    called: AtomicBool,
    /// Whether the thread waits, so that a call must wake it.
    is_waiting: AtomicBool,
    thread: mio::Waker,
}

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The thread changes and reads these in the other order, so that it sees the call, or this the waiting.
        self.called.store(true, Ordering::SeqCst);
        if self.is_waiting.load(Ordering::SeqCst) {
            // Without it the call is noticed when the wait ends.
            let _ = self.thread.wake();
        }
    }
}

impl Reactor {
    /// Takes the socket out of its runtime.
    pub(super) fn new(socket: &Socket) -> io::Result<Self> {
        let poll = mio::Poll::new()?;
        let registry = poll.registry();
        let thread = mio::Waker::new(registry, CALL)?;
        let socket = socket.leave_runtime(|source| {
            source.register(registry, SOCKET, Interest::READABLE | Interest::WRITABLE)
        })?;
        let calls = Arc::new(Calls { called: false.into(), is_waiting: false.into(), thread });
        Ok(Self { poll, events: Events::with_capacity(8), socket, calls })
    }

    /// Polls until `poll` is ready, and waits before it polls again for the socket or for a call of the waker; returns `None`
    /// after `limit`.
    pub(super) fn run<T>(
        &mut self,
        limit: Duration,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Option<T> {
        let waker = Waker::from(Arc::clone(&self.calls));
        let mut context = Context::from_waker(&waker);
        // `None` is a time that never comes.
        let until = Instant::now().checked_add(limit);
        loop {
            self.calls.called.store(false, Ordering::SeqCst);
            if let Poll::Ready(value) = poll(&mut context) {
                return Some(value);
            }
            if self.calls.called.load(Ordering::SeqCst) {
                continue;
            }
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            if rest == Some(Duration::ZERO) {
                return None;
            }
            self.calls.is_waiting.store(true, Ordering::SeqCst);
            if !self.calls.called.load(Ordering::SeqCst) {
                self.wait(rest);
            }
            self.calls.is_waiting.store(false, Ordering::SeqCst);
        }
    }

    /// Polls once. Notices what the socket has received, but does not wait.
    pub(super) fn look(&mut self, poll: impl FnOnce(&mut Context<'_>)) {
        self.wait(Some(Duration::ZERO));
        poll(&mut Context::from_waker(&Waker::from(Arc::clone(&self.calls))));
    }

    /// Waits for an event.
    fn wait(&mut self, limit: Option<Duration>) {
        if let Err(error) = self.poll.poll(&mut self.events, limit) {
            if error.kind() != io::ErrorKind::Interrupted {
                tracing::error!(%error, "waiting for the database server fails");
            }
            return;
        }
        let Readiness { readable, writable, ended } = &*self.socket;
        for event in self.events.iter().filter(|event| event.token() == SOCKET) {
            if event.is_readable() {
                readable.store(true, Ordering::Relaxed);
            }
            if event.is_writable() {
                writable.store(true, Ordering::Relaxed);
            }
            if event.is_read_closed() || event.is_error() {
                ended.store(true, Ordering::Relaxed);
            }
        }
    }
}
