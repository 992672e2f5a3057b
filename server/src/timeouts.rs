//! A socket that is not waited for without end.
//!
//! What may take long is told apart by what the connection does: it waits for a request, a request's head is
//! arriving, a request is being worked on, an answer is being taken. hyper's own timer knows one limit for the
//! first two, starts it anew for each request, and knows none before it has recognised the protocol.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::connection::Connection;

/// How long a connection may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Over the head of a request.
    pub(crate) header: Duration,
    /// Over anything else that the client is waited for.
    pub(crate) idle: Duration,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// The next request, since the last one ended.
    Request,
    /// The rest of a request's head, since its first byte came.
    Head,
    /// An answer, or bytes of the body that it needs, since a byte was last read or written; in HTTP/2, where bytes
    /// may be of anything, since a piece of a body last moved.
    Answer,
}

/// A socket that can be closed without sending what it holds.
pub(crate) trait Discard {
    /// Makes the system forget unsent bytes when the socket is dropped: nobody takes them.
    fn discard(&self);
}

impl Discard for TcpStream {
    fn discard(&self) {
        // Fails on a socket that has broken off: nothing is held then.
        let _ = self.set_zero_linger();
    }
}

/// A socket that fails with `TimedOut` when its client takes too long.
pub(crate) struct TimeoutStream<S: Discard> {
    socket: S,
    connection: Arc<Connection>,
    timeouts: Timeouts,
    waiting: Waiting,
    since: Instant,
    /// How many requests had begun when last looked.
    begun: usize,
    /// The progress of the connection when last looked.
    progress: usize,
    /// Since when the client takes nothing of what is written.
    stuck: Option<Instant>,
    is_http2: bool,
    /// Whether the client has not taken what was sent.
    is_refused: bool,
    timer: Pin<Box<Sleep>>,
}

impl<S: Discard> Drop for TimeoutStream<S> {
    fn drop(&mut self) {
        if self.is_refused || self.connection.discards() {
            self.socket.discard();
        }
    }
}

impl<S: Discard> TimeoutStream<S> {
    /// A socket just opened: the head of its first request is due.
    pub(crate) fn new(socket: S, connection: Arc<Connection>, timeouts: Timeouts) -> Self {
        let now = Instant::now();
        Self {
            socket,
            connection,
            timeouts,
            waiting: Waiting::Head,
            since: now,
            begun: 0,
            progress: 0,
            stuck: None,
            is_http2: false,
            is_refused: false,
            timer: Box::pin(tokio::time::sleep_until(now + timeouts.header)),
        }
    }

    fn set_since(&mut self, now: Instant) {
        self.since = now;
        self.connection.set_active(now);
    }

    /// Looks what the connection is waiting for now.
    fn look(&mut self, now: Instant) {
        let (begun, running) = (self.connection.begun(), self.connection.has_running());
        self.is_http2 |= self.connection.is_http2();
        let waiting = match self.waiting {
            _ if running => Waiting::Answer,
            Waiting::Head if begun == self.begun => Waiting::Head,
            _ => Waiting::Request,
        };
        let progress = if self.is_http2 { self.connection.progress() } else { self.progress };
        if (waiting, begun, progress) != (self.waiting, self.begun, self.progress) {
            (self.waiting, self.begun, self.progress) = (waiting, begun, progress);
            self.set_since(now);
        }
    }

    /// Takes note of bytes that were read.
    fn note(&mut self, read: &[u8], now: Instant) {
        // A client of HTTP/2 begins with this, and sends more between requests than heads.
        self.is_http2 |= self.waiting == Waiting::Head && read.starts_with(b"PRI");
        match self.waiting {
            Waiting::Head if self.is_http2 => self.waiting = Waiting::Request,
            _ if self.is_http2 => {}
            Waiting::Answer => self.set_since(now),
            Waiting::Request => {
                self.waiting = Waiting::Head;
                self.set_since(now);
            }
            Waiting::Head => {}
        }
    }

    fn limit(&self) -> Duration {
        if self.waiting == Waiting::Head { self.timeouts.header } else { self.timeouts.idle }
    }

    /// Fails from `end` on, and sees to it that the task wakes by then.
    fn wait_until(&mut self, cx: &mut Context<'_>, end: Instant) -> Poll<io::Error> {
        while Instant::now() < end {
            // A timer that is set already may ring too early: that is rarer than setting it for each request.
            if self.timer.is_elapsed() || self.timer.deadline() > end {
                self.timer.as_mut().reset(end);
            }
            ready!(self.timer.as_mut().poll(cx));
        }
        Poll::Ready(self.time_out())
    }

    fn time_out(&mut self) -> io::Error {
        self.is_refused = self.waiting == Waiting::Answer || self.stuck.is_some();
        io::ErrorKind::TimedOut.into()
    }

    /// What comes of a write: the client may take nothing for a while.
    fn written<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let now = Instant::now();
        if written.is_ready() {
            self.stuck = None;
            if self.waiting == Waiting::Answer && !self.is_http2 {
                self.set_since(now);
            }
            return written;
        }
        let since = *self.stuck.get_or_insert(now);
        self.wait_until(cx, since + self.timeouts.idle).map(Err)
    }
}

impl<S: AsyncRead + Discard + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(cx, buffer);
        let now = Instant::now();
        self.look(now);
        let end = self.since + self.limit();
        if read.is_pending() {
            return self.wait_until(cx, end).map(Err);
        }
        if now >= end {
            return Poll::Ready(Err(self.time_out()));
        }
        self.note(&buffer.filled()[before..], now);
        read
    }
}

impl<S: AsyncWrite + Discard + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::{sleep, timeout};

    use super::*;

    const TIMEOUTS: Timeouts = Timeouts { header: Duration::from_secs(10), idle: Duration::from_secs(75) };

    impl Discard for DuplexStream {
        fn discard(&self) {}
    }

    fn connection() -> (TimeoutStream<DuplexStream>, DuplexStream, Arc<Connection>) {
        let (server, client) = duplex(64);
        let connection = Connection::new();
        (TimeoutStream::new(server, Arc::clone(&connection), TIMEOUTS), client, connection)
    }

    /// Reads until the socket gives up, and says after how many seconds it did.
    async fn time_until_closed(server: &mut TimeoutStream<DuplexStream>) -> u64 {
        let began = Instant::now();
        let error = loop {
            match server.read(&mut [0; 64]).await {
                Ok(0) => panic!("the client has gone"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_says_nothing_is_given_the_time_of_a_head() {
        let (mut server, _client, _) = connection();
        assert_eq!(time_until_closed(&mut server).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
        let (mut server, mut client, _) = connection();
        tokio::spawn(async move {
            while client.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(3)).await;
            }
        });
        assert!((10..=13).contains(&time_until_closed(&mut server).await));
    }

    #[tokio::test(start_paused = true)]
    async fn between_requests_there_is_more_time_and_then_a_head_must_come_again() {
        let (mut server, mut client, requests) = connection();
        client.write_all(b"GET").await.unwrap();
        server.read_exact(&mut [0; 3]).await.unwrap();
        drop(requests.begin(false));
        let unfinished = timeout(Duration::from_secs(70), server.read(&mut [0; 64])).await;
        unfinished.unwrap_err();
        client.write_all(b"GET").await.unwrap();
        assert_eq!(time_until_closed(&mut server).await, 10);
        let (mut server, mut client, requests) = connection();
        client.write_all(b"GET").await.unwrap();
        server.read_exact(&mut [0; 3]).await.unwrap();
        drop(requests.begin(false));
        assert_eq!(time_until_closed(&mut server).await, 75);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_runs_may_take_longer_as_long_as_something_moves() {
        let (mut server, mut client, requests) = connection();
        let _running = requests.begin(false);
        tokio::spawn(async move {
            for _ in 0..3 {
                sleep(Duration::from_secs(60)).await;
                client.write_all(b"a piece of a body").await.unwrap();
            }
            sleep(Duration::from_secs(600)).await;
        });
        assert_eq!(time_until_closed(&mut server).await, 3 * 60 + 75);
    }

    #[tokio::test(start_paused = true)]
    async fn what_http2_sends_between_requests_is_no_head_and_prolongs_nothing() {
        let (mut server, mut client, requests) = connection();
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        server.read_exact(&mut [0; 24]).await.unwrap();
        drop(requests.begin(true));
        tokio::spawn(async move {
            while client.write_all(b"ping").await.is_ok() {
                sleep(Duration::from_secs(20)).await;
            }
        });
        assert!((75..=80).contains(&time_until_closed(&mut server).await));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_takes_is_given_up() {
        let (mut server, _client, requests) = connection();
        let _running = requests.begin(false);
        let began = Instant::now();
        let error = server.write_all(&[0; 1_000]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed().as_secs()), (io::ErrorKind::TimedOut, 75));
    }
    /// Sends PINGs, or what else prolongs nothing, for as long as somebody reads them.
    fn ping(mut client: DuplexStream) {
        tokio::spawn(async move {
            while client.write_all(b"ping").await.is_ok() {
                sleep(Duration::from_secs(20)).await;
            }
        });
    }

    #[tokio::test(start_paused = true)]
    async fn in_http2_only_what_moves_of_bodies_prolongs_a_request() {
        let (mut server, client, connection) = connection();
        let _running = connection.begin(true);
        ping(client);
        assert!((75..=95).contains(&time_until_closed(&mut server).await));
        let (mut server, client, connection) = self::connection();
        let _running = connection.begin(true);
        ping(client);
        tokio::spawn(async move {
            for _ in 0..3 {
                sleep(Duration::from_secs(60)).await;
                connection.add_progress();
            }
        });
        assert!((3 * 60 + 75..=3 * 60 + 115).contains(&time_until_closed(&mut server).await));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_written_in_http2_prolongs_nothing() {
        let (mut server, client, connection) = connection();
        let _running = connection.begin(true);
        ping(client);
        let began = Instant::now();
        let error = loop {
            let mut piece = [0; 4];
            if let Err(error) = server.read_exact(&mut piece).await {
                break error;
            }
            // Each is answered, as PINGs are; the client has room for all of them.
            server.write_all(b"p").await.unwrap();
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!((75..=95).contains(&began.elapsed().as_secs()));
    }
}
