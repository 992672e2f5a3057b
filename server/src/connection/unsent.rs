//! The memory of responses that clients have not read yet, bounded for all connections together.
//! A response is charged when it is created. The charge is part of the memory itself, wherever hyper and h2 hold it, so it ends
//! when the last byte has been handed to the system.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::connection::state::{Connection, Count, Running, StreamState};

/// In bytes; smaller responses are part of the cost of a connection or a stream.
pub(crate) const CHARGED_FROM: usize = 4 * 1024;
/// The maximum size of an HTTP/2 frame in bytes: the amount that a client has to read for its response to make progress.
const SLICE: usize = 16 * 1024;

#[derive(Debug)]
pub(crate) struct Charge {
    total: Arc<Count>,
    connection: Arc<Connection>,
    bytes: usize,
    stream: Option<Arc<StreamState>>,
}

impl Charge {
    /// `total` is of all connections. The stream ends only when the bytes are released.
    pub(super) fn new(
        total: &Arc<Count>,
        connection: &Arc<Connection>,
        bytes: usize,
        stream: Option<Arc<StreamState>>,
    ) -> Self {
        total.add(bytes);
        connection.unsent.add(bytes);
        if let Some(stream) = &stream {
            stream.hold();
        }
        Self { total: Arc::clone(total), connection: Arc::clone(connection), bytes, stream }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.total.remove(self.bytes);
        self.connection.unsent.remove(self.bytes);
        if let Some(stream) = &self.stream {
            stream.release();
        }
    }
}

struct Charged {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

pub(crate) struct ResponseBody<B> {
    body: B,
    rest: Bytes,
    charge: Option<Charge>,
    stream: Option<Arc<StreamState>>,
    running: Running,
}

impl<B> ResponseBody<B> {
    pub(crate) fn new(
        body: B,
        charge: Option<Charge>,
        stream: Option<Arc<StreamState>>,
        mut running: Running,
    ) -> Self {
        running.set_answered();
        if let Some(stream) = &stream {
            stream.taken.add(1);
        }
        Self { body, rest: Bytes::new(), charge, stream, running }
    }

    fn slice(&mut self) -> Option<Frame<Bytes>> {
        if self.rest.is_empty() {
            return None;
        }
        self.running.connection.progress.add(1);
        let slice = match &self.stream {
            Some(stream) => {
                stream.taken.add(1);
                self.rest.split_to(SLICE.min(self.rest.len()))
            }
            None => std::mem::take(&mut self.rest),
        };
        Some(Frame::data(slice))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Some(slice) = self.slice() {
            return Poll::Ready(Some(Ok(slice)));
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        let frame = match frame.into_data() {
            Ok(bytes) => {
                self.rest = match self.charge.take() {
                    Some(charge) => Bytes::from_owner(Charged { bytes, _charge: charge }),
                    None => bytes,
                };
                self.slice().unwrap_or_else(|| Frame::data(Bytes::new()))
            }
            Err(frame) => frame,
        };
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(body.lower() + rest);
        hint
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    const LENGTH: usize = 2 * SLICE + 1;

    fn body(total: &Arc<Count>, connection: &Arc<Connection>, is_http2: bool) -> ResponseBody<Full<Bytes>> {
        let stream = is_http2.then(Arc::default);
        let charge = Charge::new(total, connection, LENGTH, stream.clone());
        let running = connection.begin(is_http2);
        ResponseBody::new(Full::from(vec![7; LENGTH]), Some(charge), stream, running)
    }

    #[tokio::test]
    async fn a_response_is_charged_until_its_last_byte_is_dropped() {
        let (total, connection) = (Arc::default(), Connection::new());
        let mut body = body(&total, &connection, true);
        assert_eq!((total.get(), connection.unsent.get()), (LENGTH, LENGTH));
        let mut slices = Vec::new();
        while let Some(frame) = body.frame().await {
            slices.push(frame.unwrap().into_data().unwrap());
        }
        assert_eq!(slices.iter().map(Bytes::len).collect::<Vec<_>>(), [SLICE, SLICE, 1]);
        drop(body);
        slices.truncate(1);
        let unsent = (total.get(), connection.unsent.get());
        assert_eq!(unsent, (LENGTH, LENGTH), "one slice keeps all of the memory");
        slices.clear();
        assert_eq!((total.get(), connection.unsent.get()), (0, 0));
    }

    #[tokio::test]
    async fn a_response_ends_with_its_last_slice_and_has_an_exact_size() {
        let (total, connection) = (Arc::default(), Connection::new());
        for (is_http2, frames) in [(true, 3), (false, 1)] {
            let mut body = body(&total, &connection, is_http2);
            assert_eq!(body.size_hint().exact(), Some(LENGTH as u64));
            for frame in 1..=frames {
                assert!(!body.is_end_stream());
                let progress = connection.progress.get();
                body.frame().await.unwrap().unwrap();
                assert_eq!(connection.progress.get(), progress + 1);
                assert!(body.is_end_stream() == (frame == frames), "frame {frame} of {frames}");
            }
            assert!(connection.running.get() > 0);
            drop(body);
            assert!(connection.running.get() == 0);
        }
    }
}
