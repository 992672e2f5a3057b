//! The body of a request: read whole within a limit, or streamed to a blocking operation.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _, stream};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http_body::Body;
use http_body_util::BodyDataStream;
use tidings_core::Error;
use tidings_core::account::Client;
use tidings_core::error::{Code, Problem};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::io::{StreamReader, SyncIoBridge};

use crate::filter::reply::Refusal;
use crate::filter::shares::{Share, Shares};

/// A client takes or sends at least [`BLOCK`] bytes in this time, or its download or upload is broken off.
pub(crate) const BLOCK_TIME: Duration = Duration::from_secs(20);
/// The largest part in which a client takes a download, in bytes.
pub(crate) const BLOCK: usize = 64 * 1024;
const CHUNKS: usize = 16;
/// An unused body that the server reads and discards: its size in bytes, and the time for this.
const LINGER_BYTES: usize = 64 * 1024 * 1024;
const LINGER_TIME: Duration = Duration::from_secs(10);

/// An error means that the body does not arrive completely.
type Chunks<E = ()> = Pin<Box<dyn Stream<Item = Result<Bytes, E>> + Send + Sync>>;

pub(crate) type UploadReader = SyncIoBridge<StreamReader<Chunks<io::Error>, Bytes>>;

#[derive(Default)]
pub(crate) struct Upload {
    chunks: Option<Chunks>,
    length: Option<u64>,
    /// The client sends the whole body before it reads the response, as in HTTP/1.
    keeps_sending: bool,
    taken: usize,
}

impl Upload {
    pub(crate) fn new(headers: &HeaderMap, body: impl Body + Send + Sync + 'static) -> Self {
        if body.is_end_stream() { Self::default() } else { Self::of(headers, BodyDataStream::new(body)) }
    }

    pub(crate) fn of<E>(
        headers: &HeaderMap,
        chunks: impl Stream<Item = Result<impl Buf, E>> + Send + Sync + 'static,
    ) -> Self {
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let keeps_sending = length.map_or(headers.contains_key(TRANSFER_ENCODING), |length| length > 0);
        let chunks =
            chunks.map(|chunk| chunk.map(|mut chunk| chunk.copy_to_bytes(chunk.remaining())).map_err(drop));
        Self { chunks: Some(Box::pin(chunks)), length, keeps_sending, taken: 0 }
    }

    /// Also returns the share of `budget`, the memory that all bodies share, which the caller holds as long as the body. `payload
    /// too large` comes immediately if the head announces more than `limit` bytes, otherwise once they have arrived. The body
    /// must arrive within `time`.
    pub(crate) async fn whole(
        &mut self,
        limit: usize,
        time: Duration,
        client: Client,
        budget: &Arc<Shares<Client>>,
    ) -> Result<(Bytes, Option<Share<Client>>), Refusal> {
        let read = async {
            let Some(first) = self.next(limit).await? else { return Ok((Bytes::new(), None)) };
            let mut share = budget.take(client, first.len())?;
            let mut whole = BytesMut::from(first);
            while let Some(chunk) = self.next(limit).await? {
                share.grow(chunk.len())?;
                whole.extend_from_slice(&chunk);
            }
            Ok((whole.freeze(), Some(share)))
        };
        timeout(time, read).await.unwrap_or_else(|_| Err(self.lost()))
    }

    /// Returns a reader of the body for a blocking operation, and a future that feeds the reader and is awaited together with the
    /// operation. The future returns the number of bytes that arrived. It fails as [`Upload::whole`] does, but `time` applies to
    /// each chunk, and the client must send at least a [`BLOCK`] in each [`BLOCK_TIME`]. The reader then fails as well, so that an
    /// operation never mistakes a part of a body for the whole body.
    pub(crate) fn reader(
        mut self,
        limit: usize,
        time: Duration,
    ) -> (UploadReader, impl Future<Output = Result<usize, Refusal>>) {
        let (sender, receiver) = mpsc::channel(CHUNKS);
        let feed = async move {
            // The time that the client may still take; time for which the operation does not read is not the client's.
            let mut left = BLOCK_TIME;
            loop {
                let began = Instant::now();
                let chunk = timeout(time.min(left), self.next(limit)).await;
                let chunk = chunk.unwrap_or_else(|_| Err(self.lost()))?;
                left = left.saturating_sub(began.elapsed());
                left = BLOCK_TIME.min(left + time_of(chunk.as_ref().map_or(0, Bytes::len)));
                let ended = chunk.is_none();
                // Sending fails when the operation has ended early, which is not an error.
                if sender.send(chunk).await.is_err() || ended {
                    return Ok(self.taken);
                }
            }
        };
        let failed = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let chunks: Chunks<io::Error> = Box::pin(until_none(receiver, failed));
        (SyncIoBridge::new(StreamReader::new(chunks)), feed)
    }

    async fn next(&mut self, limit: usize) -> Result<Option<Bytes>, Refusal> {
        if self.length.is_some_and(|length| length > limit as u64) {
            return Err(Refusal::PayloadTooLarge);
        }
        let Some(chunks) = &mut self.chunks else { return Ok(None) };
        match chunks.next().await {
            Some(Ok(chunk)) => {
                self.taken += chunk.len();
                if self.taken > limit { Err(Refusal::PayloadTooLarge) } else { Ok(Some(chunk)) }
            }
            Some(Err(())) => Err(self.lost()),
            None => {
                self.chunks = None;
                Ok(None)
            }
        }
    }

    fn lost(&mut self) -> Refusal {
        self.chunks = None;
        Error::BadRequest(Problem::new(Code::MalformedBody, "the body did not arrive")).into()
    }
}

fn time_of(bytes: usize) -> Duration {
    let of = |bytes| u32::try_from(bytes).expect("a block is small");
    BLOCK_TIME * of(bytes.min(BLOCK)) / of(BLOCK)
}

impl Drop for Upload {
    /// Reads and discards the rest of an HTTP/1 request for a short time. Such a client may read the response only after it has
    /// sent the body. Closing a connection with unread bytes resets it, which can destroy a response in transit.
    fn drop(&mut self) {
        let Some(mut chunks) = self.chunks.take().filter(|_| self.keeps_sending) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(timeout(LINGER_TIME, async move {
            let mut left = LINGER_BYTES;
            while let Some(Ok(chunk)) = chunks.next().await {
                let Some(rest) = left.checked_sub(chunk.len()) else { break };
                left = rest;
            }
        }));
    }
}

/// Streams what is received until `None`. A sender that ends before has failed.
pub(crate) fn until_none<E>(
    chunks: mpsc::Receiver<Option<Bytes>>,
    failed: impl Fn() -> E + Copy,
) -> impl Stream<Item = Result<Bytes, E>> {
    let next = move |mut chunks: mpsc::Receiver<Option<Bytes>>| async move {
        let chunk = chunks.recv().await.map_or_else(|| Some(Err(failed())), |chunk| chunk.map(Ok));
        Some((chunk?, chunks))
    };
    stream::unfold(chunks, next).fuse()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io::Read as _;
    use std::net::IpAddr;

    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;
    use crate::filter::shares::Part;

    const LIMIT: usize = 10;
    const TIME: Duration = Duration::from_secs(5);

    fn upload(chunks: &[&'static str]) -> Upload {
        let frames: Vec<_> =
            chunks.iter().map(|chunk| Frame::data(Bytes::from_static(chunk.as_bytes()))).collect();
        let body = StreamBody::new(stream::iter(frames.into_iter().map(Ok::<_, Infallible>)));
        Upload::new(&HeaderMap::new(), body)
    }

    fn client() -> Client {
        IpAddr::from([127, 0, 0, 1]).into()
    }

    async fn whole(mut upload: Upload) -> Result<Bytes, String> {
        let budget = Shares::new(2 * LIMIT, Part::OfFree);
        let whole = upload.whole(LIMIT, TIME, client(), &budget).await;
        whole.map(|(whole, _)| whole).map_err(|e| e.result().to_owned())
    }

    #[tokio::test]
    async fn a_body_is_whole_for_any_number_of_chunks() {
        for chunks in [&["0123456789"][..], &["01234", "56789"], &["0", "", "12345", "6789"]] {
            assert_eq!(whole(upload(chunks)).await.unwrap(), "0123456789");
        }
        assert_eq!(whole(upload(&[])).await.unwrap(), "");
    }

    #[tokio::test]
    async fn bodies_together_stay_within_their_budget() {
        let budget = Shares::new(LIMIT, Part::OfFree);
        let whole = async || upload(&["0123", "45"]).whole(LIMIT, TIME, client(), &budget).await;
        let (_body, held) = whole().await.unwrap();
        assert_eq!(whole().await.err().unwrap().result(), "overloaded");
        drop(held);
        whole().await.unwrap();
        assert_eq!(budget.taken(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_arrive_is_refused() {
        let silence = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let silent = Upload::new(&HeaderMap::new(), silence);
        assert_eq!(whole(silent).await.unwrap_err(), "bad request");
    }

    async fn read_through(upload: Upload) -> (Result<String, io::ErrorKind>, Result<(), String>) {
        let (mut reader, feed) = upload.reader(LIMIT, TIME);
        let work = tokio::task::spawn_blocking(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text).map_err(|e| e.kind())
        });
        let (read, sent) = tokio::join!(work, feed);
        (read.unwrap(), sent.map(drop).map_err(|e| e.result().to_owned()))
    }

    #[tokio::test]
    async fn a_reader_reads_the_whole_body_or_fails() {
        let (read, fed) = read_through(upload(&["01234", "", "56789"])).await;
        assert_eq!((read.as_deref(), fed), (Ok("0123456789"), Ok(())));
        let (read, fed) = read_through(upload(&["01234", "567890"])).await;
        assert_eq!((read, fed), (Err(io::ErrorKind::UnexpectedEof), Err("payload too large".into())));
    }

    #[tokio::test]
    async fn a_feed_ends_when_its_reader_is_dropped() {
        let (reader, feed) = upload(&["0"; LIMIT]).reader(LIMIT, TIME);
        drop(reader);
        feed.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_arrives_byte_by_byte_is_refused() {
        let bytes = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"x"))), ()))
        });
        let slow = Upload::new(&HeaderMap::new(), StreamBody::new(Box::pin(bytes)));
        let (mut reader, feed) = slow.reader(usize::MAX, TIME);
        // Time does not advance while a task of the runtime blocks.
        let work = std::thread::spawn(move || reader.read_to_end(&mut Vec::new()).map_err(drop));
        let began = Instant::now();
        assert_eq!(feed.await.unwrap_err().result(), "bad request");
        assert!((BLOCK_TIME..2 * BLOCK_TIME).contains(&began.elapsed()), "{:?}", began.elapsed());
        work.join().unwrap().unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_not_slow_while_the_operation_does_not_read() {
        let blocks =
            stream::iter((0..4 * CHUNKS).map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"x")))));
        let (mut reader, feed) =
            Upload::new(&HeaderMap::new(), StreamBody::new(blocks)).reader(usize::MAX, TIME);
        let feed = tokio::spawn(feed);
        tokio::time::sleep(10 * BLOCK_TIME).await;
        let work = tokio::task::spawn_blocking(move || reader.read_to_end(&mut Vec::new()).map_err(drop));
        assert_eq!(feed.await.unwrap().unwrap(), 4 * CHUNKS);
        assert_eq!(work.await.unwrap().unwrap(), 4 * CHUNKS);
    }
}
