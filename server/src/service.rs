//! The API as a tower service, for programs that mount it beside services of their own.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures_util::{Stream, StreamExt as _};
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyStream, StreamBody};
use sync_wrapper::SyncStream;
use tidings_core::{Error, Result, Tidings};
use tokio::task::JoinSet;
use tower::Service;
use warp::path::FullPath;
use warp::{Filter, Rejection};

use crate::config::Config;
use crate::filter::client::PeerAddress;
use crate::filter::reply::{self, Scope};
use crate::router::Router;
use crate::state::App;

/// Returns the API as a tower service, and starts the background work of `tidings` unless it is running already.
///
/// The call blocks while the posts are loaded. Clones of the service share one state, and the service keeps a clone of
/// `tidings`: the database closes after the last of them is dropped.
///
/// # What the program provides
///
/// - A tokio runtime with timers, on which the service is called, and the client's address, as a [`PeerAddress`] extension of
///   each request.
/// - The path: the service answers the paths below [`Config::base_path`] and answers `Not found` to all others. Mounted
///   under `/tidings`, it is given either `base_path: "/tidings"` and the whole path, which also puts the prefix into
///   the OpenAPI document, or no base path and requests whose prefix the program has removed.
///
/// # What [`serve`](crate::serve) adds
///
/// The service itself bounds bodies and imports, rates, and the operations that run or wait, sets CORS headers and
/// compresses responses. What belongs to connections is left to the program: limits on their number and on the streams of
/// each ([`Config::max_connections`]), time limits ([`Config::header_timeout`], [`Config::idle_timeout`]), the memory of
/// responses that clients have not taken ([`Config::responses_limit`]), graceful shutdown, of which `/readyz` does not
/// learn, and the metrics listener ([`Config::metrics_listen`]). Only [`serve`](crate::serve) removes clients from the rate
/// limits every second: here each limit keeps the last 65,536 clients.
///
/// # Errors
/// When a setting is out of bounds ([`Config::check`]), or [`Tidings::start_background`] fails.
///
/// # Examples
///
/// ```
/// use http::{Request, Response};
/// use http_body_util::Empty;
/// use tidings_core::Tidings;
/// use tidings_server::{Config, PeerAddress};
/// use tower::ServiceExt as _;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let tidings = Tidings::start(dir.path().join("campus.db"))?;
/// let config = Config { base_path: "/tidings".parse()?, ..Config::default() };
/// let service = tidings_server::service(tidings, config)?;
///
/// let mut request = Request::get("/tidings/healthz").body(Empty::<bytes::Bytes>::new())?;
/// request.extensions_mut().insert(PeerAddress([192, 0, 2, 1].into()));
/// assert_eq!(service.oneshot(request).await?.status(), 200);
/// # Ok(())
/// # }
/// ```
///
/// `examples/mount.rs` nests the service under a path of another program.
pub fn service<B>(
    tidings: Tidings,
    config: Config,
) -> Result<
    impl Service<
        Request<B>,
        Response = Response<
            impl Body<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + Sync + 'static,
        >,
        Error = Infallible,
        Future: Send + 'static,
    > + Clone
    + Send
    + 'static,
>
where
    B: Body<Data: Send, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + Unpin + 'static,
{
    let mut service = Router::new(&start(tidings, config)?).service();
    // warp needs a `Sync` body, which those of other frameworks are not.
    let sync = |body| StreamBody::new(SyncStream::new(BodyStream::new(body)));
    Ok(tower::service_fn(move |request: Request<B>| service.call(request.map(sync))))
}

/// Returns the API as a warp filter, for warp programs: it answers the paths of the API below [`Config::base_path`], and rejects
/// all others, so that it can be combined with other filters by `or`.
///
/// What [`service`] says of the program around it applies here too. The client's address is the extension [`PeerAddress`] if
/// there is one, otherwise the address that warp knows.
///
/// # Errors
/// Those of [`service`].
///
/// # Examples
///
/// ```
/// use tidings_core::Tidings;
/// use tower::ServiceExt as _;
/// use warp::Filter as _;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let tidings = Tidings::start(dir.path().join("campus.db"))?;
/// let config = tidings_server::Config { base_path: "/tidings".parse()?, ..Default::default() };
/// let own = warp::path("hello").map(|| "Hello");
/// let service = warp::service(own.or(tidings_server::filter(tidings, config)?));
///
/// for (path, status) in [("/hello", 200), ("/tidings/healthz", 200), ("/tidings/nothing", 404)] {
///     let request = warp::http::Request::get(path).body(String::new())?;
///     assert_eq!(service.clone().oneshot(request).await?.status(), status);
/// }
/// # Ok(())
/// # }
/// ```
pub fn filter(
    tidings: Tidings,
    config: Config,
) -> Result<impl Filter<Extract = (warp::reply::Response,), Error = Rejection> + Clone + Send + Sync + 'static>
{
    let router = Router::new(&start(tidings, config)?);
    let query = warp::query::raw().or(warp::any().map(String::new)).unify();
    let peer = warp::ext::optional().and(warp::addr::remote());
    let known = {
        let router = router.clone();
        warp::path::full().and_then(move |path: FullPath| {
            let found = router.has(path.as_str()).then_some(path);
            async { found.ok_or_else(warp::reject::not_found) }
        })
    };
    let request = warp::method().and(known).and(query).and(warp::header::headers_cloned());
    Ok(request.and(peer).and(warp::body::stream()).then(
        move |method,
              path: FullPath,
              query: String,
              headers,
              peer: Option<PeerAddress>,
              remote: Option<SocketAddr>,
              body| {
            let query = if query.is_empty() { query } else { format!("?{query}") };
            let target = format!("{}{query}", path.as_str());
            let mut head = Request::new(()).into_parts().0;
            (head.method, head.headers) = (method, headers);
            head.uri = target.parse().expect("a path and a query are the target of a request");
            let peer = peer.map(|PeerAddress(peer)| peer).or(remote.map(|remote| remote.ip()));
            alone(router.clone().serve(head, StreamBody::new(frames(body)), peer))
        },
    ))
}

/// A filter cannot run inside another one. Dropping the future ends the task.
async fn alone(answer: impl Future<Output = reply::Response> + Send + 'static) -> reply::Response {
    let mut task = JoinSet::new();
    task.spawn(answer);
    match task.join_next().await {
        Some(Ok(response)) => response,
        Some(Err(_)) | None => reply::respond(Err(Error::Overloaded.into()), "", Scope::default()),
    }
}

fn frames<E>(
    chunks: impl Stream<Item = std::result::Result<impl Buf, E>>,
) -> impl Stream<Item = std::result::Result<Frame<Bytes>, E>> {
    chunks.map(|chunk| chunk.map(|mut chunk| Frame::data(chunk.copy_to_bytes(chunk.remaining()))))
}

/// The service has no listener.
fn start(tidings: Tidings, config: Config) -> Result<Arc<App>> {
    config.check()?;
    tidings.start_background()?;
    // Nothing would serve the metrics, so none are collected.
    Ok(App::new(tidings, Config { metrics_listen: None, ..config }))
}

#[cfg(test)]
mod tests;
