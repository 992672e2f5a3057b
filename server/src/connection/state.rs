//! The state of one connection, shared by its socket, its requests and the registry of connections, and that of its streams.
//!
//! Requests only load and store atomics here, so they take no lock.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

/// A client may abandon this many requests before the limit of half its requests applies.
const ABANDONED: usize = 100;

#[derive(Debug)]
pub(crate) struct Connection {
    opened: Instant,
    begun: AtomicUsize,
    running: AtomicUsize,
    /// Requests that wait for more of their body.
    awaiting: AtomicUsize,
    /// Requests whose response the client is reading.
    answering: AtomicUsize,
    abandoned: AtomicUsize,
    progress: AtomicUsize,
    /// Milliseconds from `opened` to the last progress that the socket saw.
    active_ms: AtomicU64,
    unsent: AtomicUsize,
    is_http2: AtomicBool,
    /// A part of the body of the last request has not been read. HTTP/1 has one request at a time.
    has_unread_body: AtomicBool,
    is_signed_in: AtomicBool,
    is_closing: AtomicBool,
    discards: AtomicBool,
    task: OnceLock<AbortHandle>,
}

impl Connection {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            begun: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            awaiting: AtomicUsize::new(0),
            answering: AtomicUsize::new(0),
            abandoned: AtomicUsize::new(0),
            progress: AtomicUsize::new(0),
            active_ms: AtomicU64::new(0),
            unsent: AtomicUsize::new(0),
            is_http2: AtomicBool::new(false),
            has_unread_body: AtomicBool::new(false),
            is_signed_in: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            discards: AtomicBool::new(false),
            task: OnceLock::new(),
        })
    }

    /// The request runs until the returned value is dropped.
    pub(crate) fn begin(self: &Arc<Self>, is_http2: bool) -> Running {
        if is_http2 {
            self.set_http2();
        }
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::Relaxed);
        Running { connection: Arc::clone(self), is_answered: false }
    }

    /// An HTTP/1 request is answered before its body has arrived. The client may then not know whether it has to send the rest
    /// before its next request: a proxy that does not would have its next request read as the rest of the body.
    pub(crate) fn has_unread_body(&self) -> bool {
        !self.is_http2() && self.has_unread_body.load(Ordering::Relaxed)
    }

    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// The client did not wait for the response. Returns whether the client has abandoned most of its requests. Such a request
    /// may still be running after its stream has ended, so the limit on streams does not apply to it.
    pub(crate) fn abandon(&self) -> bool {
        let abandoned = self.abandoned.fetch_add(1, Ordering::Relaxed) + 1;
        abandoned > ABANDONED && abandoned > self.begun() / 2
    }

    /// Until hyper has the whole response, a request is running.
    pub(crate) fn has_running(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }

    /// The connection has no request, or each request waits for more of its body or for the client to read its response.
    pub(crate) fn waits_for_client(&self) -> bool {
        let waiting = self.awaiting.load(Ordering::Relaxed) + self.answering.load(Ordering::Relaxed);
        self.running.load(Ordering::Relaxed) <= waiting
    }

    pub(crate) fn set_http2(&self) {
        self.is_http2.store(true, Ordering::Relaxed);
    }

    /// Known once the first request has arrived, with TLS after the handshake.
    pub(crate) fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Changes whenever a part of the body of a request or a response is transferred.
    pub(crate) fn progress(&self) -> usize {
        self.progress.load(Ordering::Relaxed)
    }

    pub(crate) fn add_progress(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_active(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.opened).as_millis();
        self.active_ms.store(u64::try_from(ms).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn active(&self) -> Instant {
        self.opened + Duration::from_millis(self.active_ms.load(Ordering::Relaxed))
    }

    /// In bytes.
    pub(crate) fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Relaxed)
    }

    pub(crate) fn add_unsent(&self, bytes: usize) {
        self.unsent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn remove_unsent(&self, bytes: usize) {
        self.unsent.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A request had a token that this server signed.
    pub(crate) fn is_signed_in(&self) -> bool {
        self.is_signed_in.load(Ordering::Relaxed)
    }

    pub(crate) fn set_signed_in(&self) {
        self.is_signed_in.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_task(&self, task: AbortHandle) {
        // A connection is accepted once, so its task is set once.
        let _ = self.task.set(task);
        // This thread or that of `close` sees what the other one has set.
        fence(Ordering::SeqCst);
        if self.is_closing() {
            self.abort();
        }
    }

    fn abort(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    /// The server closes the connection to make room for others.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// The connection holds a response that the client does not read, and the server is closing it.
    pub(crate) fn discards(&self) -> bool {
        self.discards.load(Ordering::Relaxed)
    }

    /// Closes the connection even if a request is running.
    pub(crate) fn close(&self) {
        self.discards.store(self.has_running() || self.unsent() > 0, Ordering::Relaxed);
        self.is_closing.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.abort();
    }
}

pub(crate) struct Running {
    connection: Arc<Connection>,
    is_answered: bool,
}

impl Running {
    pub(crate) fn set_answered(&mut self) {
        if !self.is_answered {
            self.is_answered = true;
            self.connection.answering.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_answered {
            self.connection.answering.fetch_sub(1, Ordering::Relaxed);
        }
        self.connection.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Each frame counts as progress of the connection.
pub(crate) struct RequestBody<B> {
    body: B,
    connection: Arc<Connection>,
    is_awaited: bool,
}

impl<B: Body> RequestBody<B> {
    pub(crate) fn new(body: B, connection: &Arc<Connection>) -> Self {
        connection.has_unread_body.store(!body.is_end_stream(), Ordering::Relaxed);
        Self { body, connection: Arc::clone(connection), is_awaited: false }
    }
}

impl<B> RequestBody<B> {
    fn set_awaited(&mut self, is_awaited: bool) {
        if is_awaited && !self.is_awaited {
            self.connection.awaiting.fetch_add(1, Ordering::Relaxed);
        } else if self.is_awaited && !is_awaited {
            self.connection.awaiting.fetch_sub(1, Ordering::Relaxed);
        }
        self.is_awaited = is_awaited;
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
            self.connection.has_unread_body.store(false, Ordering::Relaxed);
        }
        self.connection.add_progress();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[derive(Debug)]
pub(crate) struct StreamState {
    /// The frames that hyper has taken, plus one for the response itself.
    taken: AtomicUsize,
    /// 0 or 1.
    held: AtomicUsize,
    released: Notify,
}

impl StreamState {
    pub(crate) fn new() -> Arc<Self> {
        let (taken, held) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { taken, held, released: Notify::new() })
    }

    pub(crate) fn add_progress(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.taken.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn hold(&self) {
        self.held.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn release(&self) {
        self.held.fetch_sub(1, Ordering::Release);
        self.released.notify_one();
    }

    /// Completes when no part of the response has been taken for `idle`; at the latest after twice that time. A request that is
    /// still running has other limits.
    pub(crate) async fn stalled(&self, idle: Duration) {
        let mut before = 0;
        loop {
            sleep(idle).await;
            let taken = self.taken.load(Ordering::Relaxed);
            if taken > 0 && taken == before {
                return;
            }
            before = taken;
        }
    }

    pub(crate) async fn all_released(&self) {
        while self.held.load(Ordering::Acquire) > 0 {
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
        assert!(connection.waits_for_client() && connection.has_running());
        let other = connection.begin(true);
        assert!(!connection.waits_for_client());
        drop((running, other));
        assert!(connection.waits_for_client() && !connection.has_running());
    }
}
