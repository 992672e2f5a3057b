//! Each piece is read when the client has taken the one before, so a download holds one piece in memory, and no thread or
//! transaction while it waits. If a piece cannot be read, the connection or the HTTP/2 stream is broken off, so that no client
//! takes a part for the whole. Each caller has few places, and a client that reads too slowly loses its place.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http::HeaderValue;
use http::header::CONTENT_DISPOSITION;
use tidings_core::account::Client;
use tidings_core::export::{Export, ExportLines};
use tidings_core::{Error, Result};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::filter::shares::{DownloadShare, Of};
use crate::filter::upload::{BLOCK, BLOCK_TIME, until_none};
use crate::state::AppRef;

/// Slow clients cannot occupy all downloads for longer.
const TIME: Duration = Duration::from_secs(10 * 60);
const AGAIN: Duration = Duration::from_millis(200);

const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

pub(crate) async fn lines<E: ExportLines>(call: Call, operation: E) -> Answer {
    let export = operation.export(call.tidings(), call.caller());
    let (download, first) = Download::begin(&call, Of::Admin, export).await?;
    let file = HeaderValue::try_from(format!("attachment; filename=\"{}\"", E::FILE)).expect("a plain name");
    let reply = Reply::stream(download.stream(first.into()), NDJSON);
    Ok(reply.with(CONTENT_DISPOSITION, file))
}

pub(crate) struct Download<P> {
    app: AppRef,
    client: Client,
    pieces: Arc<Mutex<P>>,
    until: Instant,
    place: Option<DownloadShare>,
}

impl<P: Export> Download<P> {
    /// Also returns the first piece, which shows whether the caller may read at all: only then the download takes a place.
    pub(crate) async fn begin(call: &Call, of: Of, pieces: P) -> Result<(Self, Vec<u8>)> {
        let (client, until) = (call.address().into(), Instant::now() + TIME);
        let pieces = Arc::new(Mutex::new(pieces));
        let mut download = Self { app: call.app().clone(), client, pieces, until, place: None };
        let first = download.read().await?.unwrap_or_default();
        let account = call.caller().account(call.tidings());
        download.place = Some(call.app().downloads.take(account, client, of)?);
        Ok((download, first))
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&P) -> T) -> T {
        look(&self.pieces.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A task reads the pieces after `first`. It ends, and returns the place, if the client takes them too slowly.
    pub(crate) fn stream(self, first: Bytes) -> impl Stream<Item = Result<Bytes>> + Send + Sync + 'static {
        let (sender, blocks) = mpsc::channel(1);
        tokio::spawn(async move {
            match self.send(first, &sender).await {
                Ok(()) => drop(sender.send(None).await),
                Err(error) => tracing::info!(cause = error.detail(), "a download was broken off"),
            }
        });
        until_none(blocks, || Error::Overloaded)
    }

    async fn send(&self, first: Bytes, to: &mpsc::Sender<Option<Bytes>>) -> Result<()> {
        let mut piece = Some(first);
        while let Some(mut rest) = piece {
            while !rest.is_empty() {
                let taken = timeout(BLOCK_TIME, to.reserve()).await;
                let turn = taken.map_err(|_| Error::Internal("the client reads too slowly".into()))?;
                let Ok(turn) = turn else { return Ok(()) };
                turn.send(Some(rest.split_to(BLOCK.min(rest.len()))));
            }
            piece = self.next().await?;
        }
        Ok(())
    }

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
        let read = self.app.lanes.query.run_for(self.client, read).await;
        read.map(|part| part.map(|(piece, _)| piece))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::StreamExt as _;
    use tidings_core::account::Caller;
    use tidings_core::export::Part;
    use tidings_core::{Tidings, admin, post};
    use tower::ServiceExt as _;

    use super::*;
    use crate::config::Config;
    use crate::filter::reply::Body;
    use crate::filter::request::Context;
    use crate::filter::upload::Upload;
    use crate::router::Router;
    use crate::state::App;
    use crate::testing::{Service, by, request, service};

    async fn begin(app: &Arc<App>, token: &str, path: &str) -> Result<Body, u16> {
        let response = Router::new(app).service().oneshot(by(token, request("GET", path))).await.unwrap();
        let status = response.status().as_u16();
        if status == 200 { Ok(response.into_body()) } else { Err(status) }
    }

    fn insert_posts(service: &Service, number: usize) {
        let text = "x".repeat(2_000);
        let line = |n| format!(r#"{{"title":"{n}","url":"https://a.example/{n}","post":"{text}"}}"#);
        let lines = (0..number).map(line).collect::<Vec<_>>().join("\n");
        let mut progress = tidings_core::import::to_the_end;
        post::import(&service.tidings, &Caller::Operator, lines.as_bytes(), &mut progress).unwrap();
    }

    #[tokio::test]
    async fn a_member_takes_two_places_and_none_of_administrators() {
        let service = service();
        let app = service.app(Config::default());
        let (ann, boss, other) =
            (service.member("ann").await, service.admin("boss").await, service.admin("other").await);
        insert_posts(&service, 250);
        let mut held = Vec::new();
        for member in ["a1x", "a2x", "a3x", "a4x"] {
            let token = service.member(member).await;
            for _ in 0..2 {
                held.push(begin(&app, &token, "/get_my_data").await.unwrap());
            }
            assert_eq!(begin(&app, &token, "/get_my_data").await.err(), Some(429));
        }
        assert_eq!(begin(&app, &ann, "/get_my_data").await.err(), Some(429), "of the address");
        for _ in 0..4 {
            held.push(begin(&app, &boss, "/export_posts").await.unwrap());
        }
        assert_eq!(begin(&app, &boss, "/export_audit").await.err(), Some(429));
        assert_eq!(begin(&app, &ann, "/export_posts").await.err(), Some(403));
        let export = begin(&app, &other, "/export_posts").await.unwrap();
        let lines = http_body_util::BodyExt::collect(export).await.unwrap().to_bytes();
        assert_eq!(lines.split(|byte| *byte == b'\n').count(), 251);
        drop(held);
        while begin(&app, &ann, "/get_my_data").await.is_err() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_download_is_broken_off_when_the_right_ends() {
        let service = service();
        let app = service.app(Config::default());
        let (boss, _other) = (service.admin("boss").await, service.admin("other").await);
        insert_posts(&service, 250);
        let export = begin(&app, &boss, "/export_posts").await.unwrap();
        service.tidings.call(&Caller::Operator, admin::Revoke { user_id: "boss".into() }).unwrap();
        let read = http_body_util::BodyExt::collect(export).await;
        assert_eq!(read.err().map(|error| error.to_string()).as_deref(), Some("overloaded"));
    }

    struct Endless;

    impl Export for Endless {
        fn next(&mut self, _: &Tidings) -> Result<Option<Part>> {
            Ok(Some((vec![0; 2 * BLOCK], 1)))
        }
    }

    #[tokio::test]
    async fn a_client_that_reads_too_slowly_loses_its_place() {
        let service = service();
        let app = service.app(Config::default());
        let boss = service.admin("boss").await;
        let head = by(&boss, request("GET", "/export_posts")).into_parts().0;
        let context = Context::new(Arc::clone(&app), head, Upload::default(), None);
        let call = Call::new(Arc::new(context));
        let (download, first) = Download::begin(&call, Of::Admin, Endless).await.unwrap();
        let mut blocks = pin!(download.stream(first.into()));
        for _ in 0..10 {
            assert_eq!(blocks.next().await.unwrap().unwrap().len(), BLOCK);
        }
        assert_eq!(app.downloads.admins.taken(), 1);
        let began = Instant::now();
        while app.downloads.admins.taken() > 0 {
            tokio::time::pause();
            sleep(2 * BLOCK_TIME).await;
            tokio::time::resume();
            // The next block may still be read, which takes as long as it takes.
            sleep(Duration::from_millis(100)).await;
        }
        assert!(began.elapsed() < TIME / 2);
        while let Some(block) = blocks.next().await {
            if block.is_err() {
                return;
            }
        }
        panic!("the download seems complete");
    }
}
