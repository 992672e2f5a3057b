//! A socket that is not waited for without end.
//!
//! What may take long is told apart by what the connection does: it waits for a request, a request's head is
//! arriving, a request is being worked on, an answer is being taken. hyper's own timer knows one limit for the
//! first two, starts it anew for each request, and knows none before it has recognised the protocol.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The requests of a connection, as its service counts them and its socket looks them up.
#[derive(Clone, Default)]
pub(crate) struct Requests(Arc<Counts>);

#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    running: AtomicUsize,
}

impl Requests {
    /// Counts a request, which runs until what is returned is dropped.
    pub(crate) fn begin(&self) -> Running {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        self.0.running.fetch_add(1, Ordering::Relaxed);
        Running(Arc::clone(&self.0))
    }

    fn begun(&self) -> usize {
        self.0.begun.load(Ordering::Relaxed)
    }

    fn are_running(&self) -> bool {
        self.0.running.load(Ordering::Relaxed) > 0
    }
}

/// A request that is running.
pub(crate) struct Running(Arc<Counts>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer; its request runs until it is sent.
pub(crate) struct Answering<B> {
    body: B,
    _running: Running,
}

impl<B> Answering<B> {
    pub(crate) fn new(body: B, running: Running) -> Self {
        Self { body, _running: running }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Answering<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How long a connection may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
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
    /// An answer, or bytes of the body that it needs, since a byte was last read or written.
    Answer,
}

/// A socket that fails with `TimedOut` when its client takes too long.
pub(crate) struct Patient<S> {
    socket: S,
    requests: Requests,
    limits: Limits,
    waiting: Waiting,
    since: Instant,
    /// How many requests had begun when last looked.
    begun: usize,
    /// Since when the client takes nothing of what is written.
    stuck: Option<Instant>,
    is_http2: bool,
    timer: Pin<Box<Sleep>>,
}

impl<S> Patient<S> {
    /// A socket just opened: the head of its first request is due.
    pub(crate) fn new(socket: S, requests: Requests, limits: Limits) -> Self {
        let now = Instant::now();
        Self {
            socket,
            requests,
            limits,
            waiting: Waiting::Head,
            since: now,
            begun: 0,
            stuck: None,
            is_http2: false,
            timer: Box::pin(tokio::time::sleep_until(now + limits.header)),
        }
    }

    /// Looks what the connection is waiting for now.
    fn look(&mut self, now: Instant) {
        let (begun, running) = (self.requests.begun(), self.requests.are_running());
        let waiting = match self.waiting {
            _ if running => Waiting::Answer,
            Waiting::Head if begun == self.begun => Waiting::Head,
            _ => Waiting::Request,
        };
        if (waiting, begun) != (self.waiting, self.begun) {
            (self.waiting, self.begun, self.since) = (waiting, begun, now);
        }
    }

    /// Takes note of bytes that were read.
    fn note(&mut self, read: &[u8], now: Instant) {
        // A client of HTTP/2 begins with this, and sends more between requests than heads.
        self.is_http2 |= self.waiting == Waiting::Head && read.starts_with(b"PRI");
        match self.waiting {
            Waiting::Answer => self.since = now,
            Waiting::Head if self.is_http2 => self.waiting = Waiting::Request,
            Waiting::Request if !self.is_http2 => (self.waiting, self.since) = (Waiting::Head, now),
            Waiting::Head | Waiting::Request => {}
        }
    }

    fn limit(&self) -> Duration {
        if self.waiting == Waiting::Head { self.limits.header } else { self.limits.idle }
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
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }

    /// What comes of a write: the client may take nothing for a while.
    fn written<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let now = Instant::now();
        if written.is_ready() {
            (self.stuck, self.since) = (None, if self.waiting == Waiting::Answer { now } else { self.since });
            return written;
        }
        let since = *self.stuck.get_or_insert(now);
        self.wait_until(cx, since + self.limits.idle).map(Err)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
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
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.note(&buffer.filled()[before..], now);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
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

    const LIMITS: Limits = Limits { header: Duration::from_secs(10), idle: Duration::from_secs(75) };

    fn connection() -> (Patient<DuplexStream>, DuplexStream, Requests) {
        let (server, client) = duplex(64);
        let requests = Requests::default();
        (Patient::new(server, requests.clone(), LIMITS), client, requests)
    }

    /// Reads until the socket gives up, and says after how many seconds it did.
    async fn patience_of(server: &mut Patient<DuplexStream>) -> u64 {
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
        assert_eq!(patience_of(&mut server).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
        let (mut server, mut client, _) = connection();
        tokio::spawn(async move {
            while client.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(3)).await;
            }
        });
        assert!((10..=13).contains(&patience_of(&mut server).await));
    }

    #[tokio::test(start_paused = true)]
    async fn between_requests_there_is_more_time_and_then_a_head_must_come_again() {
        let (mut server, mut client, requests) = connection();
        client.write_all(b"GET").await.unwrap();
        server.read_exact(&mut [0; 3]).await.unwrap();
        drop(requests.begin());
        let unfinished = timeout(Duration::from_secs(70), server.read(&mut [0; 64])).await;
        unfinished.unwrap_err();
        client.write_all(b"GET").await.unwrap();
        assert_eq!(patience_of(&mut server).await, 10);
        let (mut server, mut client, requests) = connection();
        client.write_all(b"GET").await.unwrap();
        server.read_exact(&mut [0; 3]).await.unwrap();
        drop(requests.begin());
        assert_eq!(patience_of(&mut server).await, 75);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_runs_may_take_longer_as_long_as_something_moves() {
        let (mut server, mut client, requests) = connection();
        let _running = requests.begin();
        tokio::spawn(async move {
            for _ in 0..3 {
                sleep(Duration::from_secs(60)).await;
                client.write_all(b"a piece of a body").await.unwrap();
            }
            sleep(Duration::from_secs(600)).await;
        });
        assert_eq!(patience_of(&mut server).await, 3 * 60 + 75);
    }

    #[tokio::test(start_paused = true)]
    async fn what_http2_sends_between_requests_is_no_head_and_prolongs_nothing() {
        let (mut server, mut client, requests) = connection();
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        server.read_exact(&mut [0; 24]).await.unwrap();
        drop(requests.begin());
        tokio::spawn(async move {
            while client.write_all(b"ping").await.is_ok() {
                sleep(Duration::from_secs(20)).await;
            }
        });
        assert!((75..=80).contains(&patience_of(&mut server).await));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_takes_is_given_up() {
        let (mut server, _client, requests) = connection();
        let _running = requests.begin();
        let began = Instant::now();
        let error = server.write_all(&[0; 1_000]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed().as_secs()), (io::ErrorKind::TimedOut, 75));
    }
}
