//! Connection timeouts: closes connections that are idle or take too long over a request. The timeout depends on what the
//! connection waits for: the next request, the rest of a request's head, or everything after the head. hyper's own timer has one
//! limit for the first two, restarts it for each request, and has none until it has recognised the protocol.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::connection::state::Connection;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) header: Duration,
    pub(crate) idle: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Request,
    Head,
    /// The rest of the body, the processing, and the client reading the response. In HTTP/1 the time starts again whenever a byte
    /// is read or written; in HTTP/2, where bytes may belong to any frame, whenever a part of a body is transferred.
    Response,
}

pub(crate) trait Discard {
    /// The system drops unsent bytes when the socket is closed, because the client does not read them.
    fn discard(&self);
}

impl Discard for TcpStream {
    fn discard(&self) {
        // This fails on a broken socket, which has no unsent bytes.
        let _ = self.set_zero_linger();
    }
}

pub(crate) struct TimeoutStream<S: Discard> {
    socket: S,
    connection: Arc<Connection>,
    timeouts: Timeouts,
    waiting: Waiting,
    since: Instant,
    /// When a byte was last read, or written of a response.
    last_io: Instant,
    begun: usize,
    progress: usize,
    /// When the client stopped reading the written bytes; `None` while it reads.
    write_blocked_since: Option<Instant>,
    is_http2: bool,
    /// The timeout expired while the client left a response unread.
    is_unread: bool,
    timer: Pin<Box<Sleep>>,
}

impl<S: Discard> Drop for TimeoutStream<S> {
    fn drop(&mut self) {
        if self.is_unread || self.connection.discards.is_set() {
            self.socket.discard();
        }
    }
}

impl<S: Discard> TimeoutStream<S> {
    pub(crate) fn new(socket: S, connection: Arc<Connection>, timeouts: Timeouts) -> Self {
        let now = Instant::now();
        Self {
            socket,
            connection,
            timeouts,
            waiting: Waiting::Head,
            since: now,
            last_io: now,
            begun: 0,
            progress: 0,
            write_blocked_since: None,
            is_http2: false,
            is_unread: false,
            timer: Box::pin(tokio::time::sleep_until(now + timeouts.header)),
        }
    }

    fn set_since(&mut self, since: Instant) {
        if self.since != since {
            self.since = since;
            self.connection.set_active(since);
        }
    }

    fn set_last_io(&mut self) -> Instant {
        self.last_io = Instant::now();
        self.last_io
    }

    fn update(&mut self) {
        let (begun, running) = (self.connection.begun.get(), self.connection.running.get() > 0);
        self.is_http2 |= self.connection.is_http2.is_set();
        let waiting = match self.waiting {
            _ if running => Waiting::Response,
            Waiting::Head if begun == self.begun => Waiting::Head,
            _ => Waiting::Request,
        };
        let progress = if self.is_http2 { self.connection.progress.get() } else { self.progress };
        if (waiting, begun, progress) != (self.waiting, self.begun, self.progress) {
            (self.waiting, self.begun, self.progress) = (waiting, begun, progress);
            // In HTTP/1, a request begins with the last byte of its head, and ends with that of its response. Reading the clock
            // again would be more expensive than the difference is worth.
            self.set_since(if self.is_http2 { Instant::now() } else { self.last_io });
        }
    }

    fn on_read(&mut self, read: &[u8], now: Instant) {
        // An HTTP/2 connection begins with these bytes, and carries more than heads between requests.
        self.is_http2 |= self.waiting == Waiting::Head && read.starts_with(b"PRI");
        match self.waiting {
            Waiting::Head if self.is_http2 => self.waiting = Waiting::Request,
            _ if self.is_http2 => {}
            Waiting::Response => self.set_since(now),
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

    /// Returns the timeout error from `end` on, and wakes the task at `end`.
    fn wait_until(&mut self, cx: &mut Context<'_>, end: Instant) -> Poll<io::Error> {
        loop {
            // A timer that is already set may fire too early, but this costs less than setting the timer for each request.
            if self.timer.is_elapsed() || self.timer.deadline() > end {
                if Instant::now() >= end {
                    return Poll::Ready(self.time_out());
                }
                self.timer.as_mut().reset(end);
            }
            ready!(self.timer.as_mut().poll(cx));
        }
    }

    fn time_out(&mut self) -> io::Error {
        self.is_unread = self.waiting == Waiting::Response || self.write_blocked_since.is_some();
        io::ErrorKind::TimedOut.into()
    }

    fn on_written<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_blocked_since = None;
            if self.waiting == Waiting::Response && !self.is_http2 {
                let now = self.set_last_io();
                self.set_since(now);
            }
            return written;
        }
        let since = *self.write_blocked_since.get_or_insert_with(Instant::now);
        self.wait_until(cx, since + self.timeouts.idle).map(Err)
    }
}

impl TimeoutStream<TcpStream> {
    pub(crate) async fn peek(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        let peeked = poll_fn(|cx| match self.socket.poll_peek(cx, &mut ReadBuf::new(&mut byte)) {
            Poll::Pending => self.wait_until(cx, self.since + self.limit()).map(Err),
            peeked @ Poll::Ready(_) => peeked,
        });
        match peeked.await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(byte[0]),
        }
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
        self.update();
        let end = self.since + self.limit();
        if read.is_pending() {
            return self.wait_until(cx, end).map(Err);
        }
        let now = self.set_last_io();
        if now >= end {
            return Poll::Ready(Err(self.time_out()));
        }
        self.on_read(&buffer.filled()[before..], now);
        read
    }
}

impl<S: AsyncWrite + Discard + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.on_written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.on_written(cx, written)
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

    /// Reads until the timeout expires, and returns the seconds that it took.
    async fn time_until_closed(server: &mut TimeoutStream<DuplexStream>) -> u64 {
        let began = Instant::now();
        let error = loop {
            match server.read(&mut [0; 64]).await {
                Ok(0) => panic!("the client closed the connection"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        began.elapsed().as_secs()
    }

    /// Sends a few bytes, such as PINGs, every so many seconds for as long as the connection is open.
    fn ping(mut client: DuplexStream, seconds: u64) {
        tokio::spawn(async move {
            while client.write_all(b"ping").await.is_ok() {
                sleep(Duration::from_secs(seconds)).await;
            }
        });
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_its_timeout_whether_it_begins_or_not() {
        let (mut server, _client, _) = connection();
        assert_eq!(time_until_closed(&mut server).await, 10);
        let (mut server, client, _) = connection();
        ping(client, 3);
        assert!((10..=13).contains(&time_until_closed(&mut server).await), "in small parts");
    }

    #[tokio::test(start_paused = true)]
    async fn between_requests_the_idle_timeout_applies_and_then_that_of_a_head() {
        for begins_another in [false, true] {
            let (mut server, mut client, requests) = connection();
            client.write_all(b"GET").await.unwrap();
            server.read_exact(&mut [0; 3]).await.unwrap();
            drop(requests.begin(false));
            if begins_another {
                let unfinished = timeout(Duration::from_secs(70), server.read(&mut [0; 64])).await;
                unfinished.unwrap_err();
                client.write_all(b"GET").await.unwrap();
            }
            assert_eq!(time_until_closed(&mut server).await, if begins_another { 10 } else { 75 });
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_request_may_take_longer_while_bytes_move() {
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
    async fn frames_between_http2_requests_do_not_extend_the_idle_timeout() {
        let (mut server, mut client, requests) = connection();
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        server.read_exact(&mut [0; 24]).await.unwrap();
        drop(requests.begin(true));
        ping(client, 20);
        assert!((75..=80).contains(&time_until_closed(&mut server).await));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_the_client_does_not_read_times_out() {
        let (mut server, _client, requests) = connection();
        let _running = requests.begin(false);
        let began = Instant::now();
        let error = server.write_all(&[0; 1_000]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed().as_secs()), (io::ErrorKind::TimedOut, 75));
    }

    #[tokio::test(start_paused = true)]
    async fn in_http2_only_parts_of_bodies_extend_the_timeout_of_a_request() {
        for (parts, expected) in [(0, 75..=95), (3, 3 * 60 + 75..=3 * 60 + 115)] {
            let (mut server, client, connection) = connection();
            let _running = connection.begin(true);
            ping(client, 20);
            tokio::spawn(async move {
                for _ in 0..parts {
                    sleep(Duration::from_secs(60)).await;
                    connection.progress.add(1);
                }
            });
            assert!(expected.contains(&time_until_closed(&mut server).await), "{parts}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn writes_in_http2_do_not_extend_the_timeout() {
        let (mut server, client, connection) = connection();
        let _running = connection.begin(true);
        ping(client, 20);
        let began = Instant::now();
        let error = loop {
            let mut piece = [0; 4];
            if let Err(error) = server.read_exact(&mut piece).await {
                break error;
            }
            // The server answers each PING, and the client has room for all answers.
            server.write_all(b"p").await.unwrap();
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!((75..=95).contains(&began.elapsed().as_secs()));
    }
}
