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
    socket: Socket,
    readiness: Arc<Readiness>,
    /// The changes of the socket that wake the thread.
    interest: Interest,
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
    pub(super) fn new(socket: Socket) -> io::Result<Self> {
        let (poll, interest) = (mio::Poll::new()?, Interest::READABLE);
        let registry = poll.registry();
        let thread = mio::Waker::new(registry, CALL)?;
        let readiness = socket.leave_runtime(|source| source.register(registry, SOCKET, interest))?;
        let calls = Arc::new(Calls { called: false.into(), is_waiting: false.into(), thread });
        Ok(Self { poll, events: Events::with_capacity(8), socket, readiness, interest, calls })
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
            self.calls.called.swap(false, Ordering::SeqCst);
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

    /// Watches the socket for what it cannot do now. Whenever the other side of a socket of Unix reads, it can be written: that
    /// must not wake the thread, which waits for an answer.
    fn watch(&mut self) -> io::Result<()> {
        let is_full = !self.readiness.writable.load(Ordering::Relaxed);
        let interest = if is_full { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        if interest != self.interest {
            self.socket.change(|source| source.reregister(self.poll.registry(), SOCKET, interest))?;
            self.interest = interest;
        }
        Ok(())
    }

    /// Waits for an event.
    fn wait(&mut self, limit: Option<Duration>) {
        if let Err(error) = self.watch().and_then(|()| self.poll.poll(&mut self.events, limit)) {
            if error.kind() != io::ErrorKind::Interrupted {
                tracing::error!(%error, "waiting for the database server fails");
            }
            return;
        }
        let Readiness { readable, writable, ended } = &*self.readiness;
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::pin::Pin;
    use std::sync::mpsc;
    use std::thread;

    use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
    use tokio_postgres::Config;

    use super::*;
    use crate::store::postgres::url::Host;
    use crate::store::postgres::wait::{Driver, wait};

    const LONG: Duration = Duration::from_secs(60);

    /// Returns a socket, its reactor, and the other side.
    fn connected() -> (Socket, Reactor, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else {
            panic!("it has an IPv4 address")
        };
        let host = Host { name: address.ip().to_string(), address: None, port: address.port() };
        let (driver, config) = (Driver::start().unwrap(), Config::new());
        let socket = wait(&driver.handle(), LONG, Socket::open(&host, &config)).unwrap().unwrap();
        let reactor = Reactor::new(socket.clone()).unwrap();
        (socket, reactor, listener.accept().unwrap().0)
    }

    /// Reads what has arrived.
    fn read(socket: &mut Socket, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut bytes = [0; 8];
        let mut buffer = ReadBuf::new(&mut bytes);
        Pin::new(socket).poll_read(context, &mut buffer).map(|read| {
            read.unwrap();
            buffer.filled().to_vec()
        })
    }

    #[test]
    fn bytes_and_the_end_of_the_other_side_wake_it() {
        let (mut socket, mut reactor, mut other) = connected();
        assert_eq!(reactor.run(Duration::ZERO, |context| read(&mut socket, context)), None);
        other.write_all(b"some").unwrap();
        assert_eq!(reactor.run(LONG, |context| read(&mut socket, context)).unwrap(), b"some");
        assert_eq!(reactor.run(Duration::ZERO, |context| read(&mut socket, context)), None);
        let (told, waits) = mpsc::channel();
        let writing = thread::spawn(move || {
            waits.recv().unwrap();
            other.write_all(b"more").unwrap();
        });
        let received = reactor.run(LONG, |context| {
            let received = read(&mut socket, context);
            let _ = told.send(());
            received
        });
        assert_eq!(received.unwrap(), b"more");
        writing.join().unwrap();
        assert_eq!(reactor.run(LONG, |context| read(&mut socket, context)).unwrap(), b"");
    }

    #[test]
    fn a_full_socket_is_written_when_the_other_side_has_read() {
        let (mut socket, mut reactor, other) = connected();
        let bytes = vec![7; 1 << 16];
        let mut write = |context: &mut Context<'_>| Pin::new(&mut socket).poll_write(context, &bytes);
        let mut written = 0;
        while let Some(more) = reactor.run(Duration::ZERO, &mut write) {
            written += more.unwrap();
        }
        let reading = thread::spawn(move || io::copy(&mut { other }, &mut io::sink()).unwrap());
        written += reactor.run(LONG, &mut write).unwrap().unwrap();
        drop((socket, reactor));
        assert_eq!(reading.join().unwrap(), written as u64);
    }

    #[test]
    fn a_call_of_another_thread_wakes_it() {
        let (_socket, mut reactor, _other) = connected();
        for _ in 0..1_000 {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let sending = thread::spawn(move || sender.send(3).unwrap());
            let mut receiver = Box::pin(receiver);
            assert_eq!(reactor.run(LONG, |context| receiver.as_mut().poll(context)).unwrap(), Ok(3));
            sending.join().unwrap();
        }
    }

    #[test]
    fn a_look_does_not_wait() {
        let (mut socket, mut reactor, other) = connected();
        reactor.look(|context| assert!(read(&mut socket, context).is_pending()));
        drop(other);
        let mut ended = false;
        reactor.run(LONG, |context| {
            ended = read(&mut socket, context).is_ready();
            if ended { Poll::Ready(()) } else { Poll::Pending }
        });
        reactor.look(|context| assert_eq!(read(&mut socket, context), Poll::Ready(Vec::new())));
        assert!(ended);
    }
}
