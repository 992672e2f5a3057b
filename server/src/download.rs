//! Downloads of any length.
//!
//! The response is a stream: each piece is read when the client has taken the one before, so that a download holds one piece
//! in memory, and no thread or transaction while it waits. Its length is not known in advance. If a piece cannot be read, the
//! connection or the HTTP/2 stream is broken off, so that no client takes a part for the whole.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::HeaderValue;
use http::header::CONTENT_DISPOSITION;
use tidings_core::account::Client;
use tidings_core::audit::AuditExport;
use tidings_core::member_data::DataReader;
use tidings_core::post::PostExport;
use tidings_core::{Error, Result, Tidings};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

use crate::app::{App, AppRef};
use crate::reply::{Answer, Reply};
use crate::request::Call;

/// The maximum number of downloads at the same time. More are answered with `overloaded`.
pub(crate) const DOWNLOADS: usize = 16;
/// The maximum duration of a download, so that slow clients cannot occupy all of them for long.
const TIME: Duration = Duration::from_secs(10 * 60);
/// The pause before a piece is asked for again while the server has too much to do.
const AGAIN: Duration = Duration::from_millis(200);

/// What a download reads. After an error, another call reads the same piece.
pub(crate) trait Pieces: Send + 'static {
    /// Returns the next piece; `None` after the last one.
    fn next(&mut self, tidings: &Tidings) -> Result<Option<Vec<u8>>>;
}

impl Pieces for DataReader {
    fn next(&mut self, tidings: &Tidings) -> Result<Option<Vec<u8>>> {
        Self::next(self, tidings)
    }
}

impl Pieces for PostExport {
    fn next(&mut self, tidings: &Tidings) -> Result<Option<Vec<u8>>> {
        Self::next(self, tidings)
    }
}

impl Pieces for AuditExport {
    fn next(&mut self, tidings: &Tidings) -> Result<Option<Vec<u8>>> {
        Self::next(self, tidings)
    }
}

const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Returns the download of an export with one JSON object on each line.
///
/// # Errors
/// `overloaded` if there are too many downloads; those of the export.
pub(crate) async fn lines(call: &Call, pieces: impl Pieces, name: &'static str) -> Answer {
    let (download, first) = Download::begin(call, permit(call.app())?, pieces).await?;
    let file = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")).expect("a plain name");
    let reply = Reply::download(download.stream(first.into()), NDJSON);
    Ok(reply.with(CONTENT_DISPOSITION, file))
}

/// Returns the right to a download.
///
/// # Errors
/// `overloaded` if there are too many.
pub(crate) fn permit(app: &App) -> Result<OwnedSemaphorePermit> {
    Semaphore::try_acquire_owned(Arc::clone(&app.downloads)).map_err(|_| Error::Overloaded)
}

/// A download that is running.
pub(crate) struct Download<P> {
    app: AppRef,
    client: Client,
    pieces: Arc<Mutex<P>>,
    until: Instant,
    _permit: OwnedSemaphorePermit,
}

impl<P: Pieces> Download<P> {
    /// Begins a download. Also returns its first piece, which shows whether the caller may read at all.
    ///
    /// # Errors
    /// Those of the pieces.
    pub(crate) async fn begin(
        call: &Call,
        permit: OwnedSemaphorePermit,
        pieces: P,
    ) -> Result<(Self, Vec<u8>)> {
        let (client, until) = (call.address().into(), Instant::now() + TIME);
        let pieces = Arc::new(Mutex::new(pieces));
        let download = Self { app: call.app().clone(), client, pieces, until, _permit: permit };
        let first = download.read().await?.unwrap_or_default();
        Ok((download, first))
    }

    /// Calls `look` with the pieces.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&P) -> T) -> T {
        look(&self.pieces.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the stream of the pieces after `first`.
    pub(crate) fn stream(self, first: Bytes) -> impl Stream<Item = Result<Bytes>> + Send + Sync + 'static {
        stream::unfold((Some(first), Some(self)), |(first, download)| async move {
            match (first, download) {
                (Some(first), download) => Some((Ok(first), (None, download))),
                (None, Some(download)) => match download.next().await {
                    Ok(piece) => piece.map(|piece| (Ok(piece), (None, Some(download)))),
                    Err(error) => {
                        tracing::info!(cause = error.detail(), "a download was broken off");
                        Some((Err(error), (None, None)))
                    }
                },
                (None, None) => None,
            }
        })
    }

    /// Returns the next piece, and waits while the server has too much to do.
    async fn next(&self) -> Result<Option<Bytes>> {
        let read = async {
            loop {
                match self.read().await {
                    Err(Error::Overloaded) => sleep(AGAIN).await,
                    read => return read.map(|piece| piece.map(Bytes::from)),
                }
            }
        };
        timeout_at(self.until, read).await.unwrap_or(Err(Error::Overloaded))
    }

    async fn read(&self) -> Result<Option<Vec<u8>>> {
        let (tidings, pieces) = (self.app.tidings.clone(), Arc::clone(&self.pieces));
        let read = move || pieces.lock().unwrap_or_else(PoisonError::into_inner).next(&tidings);
        self.app.lanes.query.run_for(self.client, read).await
    }
}
