//! The state of one connection, shared by its socket, its requests and the registry of connections, and that of its streams.
//! Requests only load and store atomics here, so they take no lock.

use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// A client may abandon this many requests before the limit of half its requests applies.
const ABANDONED: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn add(&self, n: usize) -> usize {
        self.0.fetch_add(n, Ordering::Release) + n
    }

    pub(crate) fn remove(&self, n: usize) {
        self.0.fetch_sub(n, Ordering::Release);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: bool) {
        self.0.store(value, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    opened: Instant,
    /// Milliseconds from `opened` to the last progress that the socket saw.
    active_ms: AtomicU64,
    counts: Counts,
    closing: CancellationToken,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) begun: Count,
    /// Until hyper has the whole response.
    pub(crate) running: Count,
    /// Requests that wait for more of their body, or for the client to read their response.
    waiting: Count,
    abandoned: Count,
    /// Parts of the bodies of requests and responses that were transferred.
    pub(crate) progress: Count,
    pub(crate) unsent: Count,
    /// Known once the first request has arrived, with TLS after the handshake.
    pub(crate) is_http2: Flag,
    /// A part of the body of the last request has not been read. HTTP/1 has one request at a time.
    has_unread_body: Flag,
    pub(crate) is_signed_in: Flag,
    /// The connection holds a response that the client does not read, and the server is closing it.
    pub(crate) discards: Flag,
}

impl Deref for Connection {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.counts
    }
}

impl Connection {
    pub(crate) fn new() -> Arc<Self> {
        let (active_ms, counts, closing) = Default::default();
        Arc::new(Self { opened: Instant::now(), active_ms, counts, closing })
    }

    pub(crate) fn begin(self: &Arc<Self>, is_http2: bool) -> Running {
        if is_http2 {
            self.is_http2.set(true);
        }
        self.begun.add(1);
        self.running.add(1);
        Running { connection: Arc::clone(self), is_answered: false }
    }

    /// An HTTP/1 request is answered before its body has arrived. The client may then not know whether it has to send the rest
    /// before its next request: a proxy that does not would have its next request read as the rest of the body.
    pub(crate) fn has_unread_body(&self) -> bool {
        !self.is_http2.is_set() && self.has_unread_body.is_set()
    }

    /// The client did not wait for the response. Returns whether the client has abandoned most of its requests. Such a request
    /// may still be running after its stream has ended, so the limit on streams does not apply to it.
    pub(crate) fn abandon(&self) -> bool {
        let abandoned = self.abandoned.add(1);
        abandoned > ABANDONED && abandoned > self.begun.get() / 2
    }

    pub(crate) fn waits_for_client(&self) -> bool {
        self.running.get() <= self.waiting.get()
    }

    pub(crate) fn set_active(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.opened).as_millis();
        self.active_ms.store(u64::try_from(ms).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn active(&self) -> Instant {
        self.opened + Duration::from_millis(self.active_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    pub(crate) async fn closed(&self) {
        self.closing.cancelled().await;
    }

    /// Closes the connection even if a request is running.
    pub(crate) fn close(&self) {
        self.discards.set(self.running.get() > 0 || self.unsent.get() > 0);
        self.closing.cancel();
    }
}

pub(crate) struct Running {
    pub(super) connection: Arc<Connection>,
    is_answered: bool,
}

impl Running {
    pub(crate) fn set_answered(&mut self) {
        if !self.is_answered {
            self.is_answered = true;
            self.connection.waiting.add(1);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_answered {
            self.connection.waiting.remove(1);
        }
        self.connection.running.remove(1);
    }
}

pub(crate) struct RequestBody<B> {
    body: B,
    connection: Arc<Connection>,
    is_awaited: bool,
}

impl<B: Body> RequestBody<B> {
    pub(crate) fn new(body: B, connection: &Arc<Connection>) -> Self {
        connection.has_unread_body.set(!body.is_end_stream());
        Self { body, connection: Arc::clone(connection), is_awaited: false }
    }
}

impl<B> RequestBody<B> {
    fn set_awaited(&mut self, is_awaited: bool) {
        match (std::mem::replace(&mut self.is_awaited, is_awaited), is_awaited) {
            (false, true) => drop(self.connection.waiting.add(1)),
            (true, false) => self.connection.waiting.remove(1),
            _ => {}
        }
    }
}

impl<B> Drop for RequestBody<B> {
    fn drop(&mut self) {
        self.set_awaited(false);
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for RequestBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.set_awaited(frame.is_pending());
        let frame = ready!(frame);
        if frame.is_none() || self.body.is_end_stream() {
            self.connection.has_unread_body.set(false);
        }
        self.connection.progress.add(1);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[derive(Debug, Default)]
pub(crate) struct StreamState {
    /// The frames that hyper has taken, plus one for the response itself.
    pub(super) taken: Count,
    held: Count,
    released: Notify,
}

impl StreamState {
    pub(crate) fn hold(&self) {
        self.held.add(1);
    }

    pub(crate) fn release(&self) {
        self.held.remove(1);
        self.released.notify_one();
    }

    /// Completes when no part of the response has been taken for `idle`; at the latest after twice that time. A request that is
    /// still running has other limits.
    pub(crate) async fn stalled(&self, idle: Duration) {
        let mut before = 0;
        loop {
            sleep(idle).await;
            let taken = self.taken.get();
            if taken > 0 && taken == before {
                return;
            }
            before = taken;
        }
    }

    pub(crate) async fn all_released(&self) {
        while self.held.get() > 0 {
            self.released.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::stream;
    use http_body_util::StreamBody;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_connection_waits_for_its_client_unless_it_works_on_a_request() {
        let connection = Connection::new();
        assert!(connection.waits_for_client());
        let mut running = connection.begin(false);
        assert!(!connection.waits_for_client());
        let (sender, mut frames) = mpsc::channel::<Result<Frame<Bytes>, std::convert::Infallible>>(1);
        let frames = StreamBody::new(stream::poll_fn(move |cx| frames.poll_recv(cx)));
        let mut body = RequestBody::new(frames, &connection);
        let is_ready = poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_frame(cx).is_ready()));
        assert!(!is_ready.await && connection.waits_for_client());
        sender.send(Ok(Frame::data(Bytes::from_static(b"x")))).await.unwrap();
        let is_ready = poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_frame(cx).is_ready()));
        assert!(is_ready.await && !connection.waits_for_client());
        let is_ready = poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_frame(cx).is_ready()));
        assert!(!is_ready.await && connection.waits_for_client());
        drop(body);
        assert!(!connection.waits_for_client());
        running.set_answered();
        assert!(connection.waits_for_client() && connection.running.get() > 0);
        let other = connection.begin(true);
        assert!(!connection.waits_for_client());
        drop((running, other));
        assert!(connection.waits_for_client() && connection.running.get() == 0);
    }
}
