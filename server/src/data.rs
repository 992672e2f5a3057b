//! The download of everything that is stored about a member.
//!
//! The response is a stream: each piece is read when the client has taken the one before, so that a download holds one piece
//! in memory, and no thread or transaction while it waits. Its length is not known in advance. If a piece cannot be read, the
//! connection or the HTTP/2 stream is broken off, so that no client takes a part for the whole.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http::header::CONTENT_DISPOSITION;
use tidings_core::account::Client;
use tidings_core::account::data::{DataReader, MemberData};
use tidings_core::{Error, Result};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout_at};

use crate::app::App;
use crate::docs;
use crate::reply::{Answer, JSON, Reply};
use crate::request::Call;
use crate::route::Route;

/// The maximum number of downloads at the same time. More are answered with `overloaded`.
pub(crate) const DOWNLOADS: usize = 16;
/// The maximum duration of a download, so that slow clients cannot occupy all of them for long.
const TIME: Duration = Duration::from_secs(10 * 60);
/// The pause before a piece is asked for again while the server has too much to do.
const AGAIN: Duration = Duration::from_millis(200);

pub(crate) fn routes() -> Vec<Route> {
    vec![Route::get("/get_my_data", get_my_data).reads()]
}

/// Returns everything that is stored about the member
///
/// The response is a download of any length, sent as it is read: lists may change meanwhile. At most 16 downloads run at the
/// same time, each for at most ten minutes. The hash of the password and other secrets are left out.
#[utoipa::path(
    get,
    path = "/get_my_data",
    tag = "account",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<MemberData>), docs::Members),
)]
pub(crate) async fn get_my_data(call: Call) -> Answer {
    let app = Arc::clone(call.app());
    let permit = Arc::clone(&app.downloads).try_acquire_owned().map_err(|_| Error::Overloaded)?;
    let reader = DataReader::new(call.tidings(), call.caller());
    let (client, until) = (call.address().into(), Instant::now() + TIME);
    let download = Download { app, client, reader: Arc::new(Mutex::new(reader)), until, _permit: permit };
    // The first piece shows whether the caller is a member.
    let first = download.read().await?.unwrap_or_default();
    let name = download.file_name();
    let begin =
        Bytes::from([br#"{"result":"success","#, first.strip_prefix(b"{").unwrap_or(&first)].concat());
    let pieces = stream::unfold((Some(begin), Some(download)), |(begin, download)| async move {
        match (begin, download) {
            (Some(begin), download) => Some((Ok(begin), (None, download))),
            (None, Some(download)) => match download.next().await {
                Ok(piece) => piece.map(|piece| (Ok(piece), (None, Some(download)))),
                Err(error) => {
                    tracing::info!(cause = error.detail(), "a download of a member's data was broken off");
                    Some((Err(error), (None, None)))
                }
            },
            (None, None) => None,
        }
    });
    Ok(Reply::download(pieces, JSON).with(CONTENT_DISPOSITION, name))
}

/// A download that is running.
struct Download {
    app: Arc<App>,
    client: Client,
    reader: Arc<Mutex<DataReader>>,
    until: Instant,
    _permit: OwnedSemaphorePermit,
}

impl Download {
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
        let (tidings, reader) = (self.app.tidings.clone(), Arc::clone(&self.reader));
        let read = move || reader.lock().unwrap_or_else(PoisonError::into_inner).next(&tidings);
        self.app.lanes.query.run_for(self.client, read).await
    }

    /// Returns the header that names the file.
    fn file_name(&self) -> HeaderValue {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        // The university's ids may have other characters, which a header would have to quote.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let id: String = reader.id().chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let header = HeaderValue::try_from(format!("attachment; filename=\"{id}.json\""));
        header.unwrap_or(HeaderValue::from_static("attachment"))
    }
}
