//! Accepting connections, a bounded number at once, and stopping without breaking off what runs.
//!
//! warp's own server sets no timers and no bounds, so its filter runs in this loop, on hyper's connections.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{Request, Version};
use hyper::body::{Body as _, Incoming};
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use socket2::SockRef;
use tidings_core::{Error, Tidings};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tower::Service;
use warp::reply::Response;

use crate::app::App;
use crate::config::Config;
use crate::connection::{Connection, RequestBody};
use crate::connections::{ConnectionPermit, Connections, Refused};
use crate::limit::RateLimit;
use crate::reply::{self, Scope};
use crate::service::PeerAddress;
use crate::stream::{self, StreamExecutor};
use crate::timeouts::{TimeoutStream, Timeouts};
use crate::unsent::{CHARGED_FROM, ResponseBody};
use crate::{files, metrics, request};

/// The most bytes of a request's head …
const HEAD_MAX: usize = 64 * 1024;
/// … and of each of those that a connection of HTTP/2 may hold at once.
const HEAD_MAX_HTTP2: u32 = 16 * 1024;
/// Requests at once on a connection of HTTP/2.
const STREAMS: u32 = 32;
/// Bytes of an upload that may be under way on a stream and on a connection of HTTP/2.
const STREAM_WINDOW: u32 = 128 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// Bytes of a response that h2 holds of each stream.
const STREAM_BUFFER: usize = 64 * 1024;
/// Streams that a client of HTTP/2 may break by breaking its rules.
const BROKEN_STREAMS: usize = 256;
/// Bytes that a client has not taken from which its connection gets no more responses: all its streams with 128 KiB.
const CONNECTION_UNSENT: usize = 4 * 1024 * 1024;
/// Bytes of a response that the system holds of each connection. Linux takes twice as much, its own records included,
/// and a guest's feed fits in whole. Without it, the system would hold up to 4 MiB.
const SEND_BUFFER: usize = 128 * 1024;
/// Connections that wait to be accepted, as far as the system allows it: beyond it their first packets are lost, and
/// come again only a second later.
const BACKLOG: i32 = 4_096;
/// How long accepting rests when the system has no room for another connection.
const REST: Duration = Duration::from_millis(200);
/// How soon a connection that waits for a place is looked at again.
const AGAIN: Duration = Duration::from_millis(100);
/// How long the first head may take while places are scarce.
const SCARCE_HEADER_TIMEOUT: Duration = Duration::from_secs(2);

/// Answers requests on `listener` until `shutdown` is there; then accepts no more, lets what runs end, and
/// returns.
///
/// # Errors
/// When the listener cannot be used, or [`Tidings::start_background`] fails.
pub async fn serve(
    tidings: Tidings,
    config: Config,
    listener: std::net::TcpListener,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = Connections::new(&config, files::room_for(config.max_connections));
    let mut acceptor = Acceptor { listener: listen_on(listener)?, connections, waiting: None };
    let app = App::new(tidings, config);
    let tidings = app.tidings.clone();
    app.lanes.store.run(move || tidings.start_background()).await.map_err(io::Error::other)?;
    let service = Arc::clone(&app).service();
    // Dropped at the end, as the connections are.
    let mut watchers = JoinSet::new();
    let graceful = GracefulShutdown::new();
    if let Some(address) = app.config.metrics_listen {
        watchers.spawn(metrics::serve(Arc::clone(&app), metrics::listen(address).await?));
    }
    // Dropped at the end, it breaks off what still runs.
    let mut tasks = JoinSet::new();
    let mut sweep = interval(RateLimit::SWEEP);
    let mut shutdown = pin!(shutdown);
    loop {
        let (socket, peer, permit) = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = tasks.join_next() => continue,
            _ = sweep.tick() => {
                app.sweep();
                continue;
            }
            accepted = acceptor.next() => accepted,
        };
        let connection = Arc::clone(&permit.connection);
        let task =
            tasks.spawn(serve_connection(Arc::clone(&app), service.clone(), socket, peer, permit, &graceful));
        connection.set_task(task);
    }
    app.stop();
    drop(acceptor);
    if timeout(app.config.shutdown_timeout, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests that are still running are broken off");
    }
    Ok(())
}

/// Answers the requests of one connection.
fn serve_connection<S>(
    app: Arc<App>,
    service: S,
    socket: TcpStream,
    peer: IpAddr,
    permit: ConnectionPermit,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + use<S>
where
    S: Service<Request<RequestBody<Incoming>>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    S::Future: 'static,
{
    let config = &app.config;
    let header = if permit.is_scarce {
        SCARCE_HEADER_TIMEOUT.min(config.header_timeout)
    } else {
        config.header_timeout
    };
    let timeouts = Timeouts { header, idle: config.idle_timeout };
    let (connections, connection) = (Arc::clone(permit.connections()), Arc::clone(&permit.connection));
    let hyper = hyper(StreamExecutor::new(&connection, &connections, config.idle_timeout));
    let io = TokioIo::new(TimeoutStream::new(socket, Arc::clone(&connection), timeouts));
    let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        let running = connection.begin(request.version() == Version::HTTP_2);
        note_member(&app, &connection, &request);
        request.extensions_mut().insert(PeerAddress(peer));
        let request = request.map(|body| RequestBody::new(body, &connection));
        let answered = (connection.unsent() < CONNECTION_UNSENT).then(|| service.clone().call(request));
        let connections = Arc::clone(&connections);
        async move {
            let stream = stream::current();
            let (response, charge) = match answered {
                Some(answered) => {
                    let Ok(response) = answered.await;
                    match usize::try_from(response.body().size_hint().lower()) {
                        Ok(bytes) if bytes < CHARGED_FROM => (response, None),
                        Ok(bytes) => match connections.charge(running.connection(), bytes, stream.clone()) {
                            Some(charge) => (response, Some(charge)),
                            None => (overloaded(), None),
                        },
                        Err(_) => (overloaded(), None),
                    }
                }
                None => (overloaded(), None),
            };
            Ok::<_, Infallible>(response.map(|body| ResponseBody::new(body, charge, stream, running)))
        }
    });
    let served = graceful.watch(hyper.serve_connection(io, answer).into_owned());
    async move {
        if let Err(error) = served.await {
            tracing::debug!(error, "a connection broke off");
        }
        drop(permit);
    }
}

fn overloaded() -> Response {
    reply::respond(Err(Error::Overloaded.into()), "", Scope::default())
}

/// Takes note that the connection is a member's, when the request says so.
fn note_member<B>(app: &App, connection: &Connection, request: &Request<B>) {
    if !connection.is_signed_in()
        && request.headers().contains_key(AUTHORIZATION)
        && request::caller(request.headers()).has_signed_token(&app.tidings)
    {
        connection.set_signed_in();
    }
}

fn listen_on(listener: std::net::TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    SockRef::from(&listener).listen(BACKLOG)?;
    TcpListener::from_std(listener)
}

fn hyper(streams: StreamExecutor) -> Builder<StreamExecutor> {
    let mut hyper = Builder::new(streams);
    // How long a head may take is ours to say.
    hyper.http1().header_read_timeout(None).max_buf_size(HEAD_MAX);
    hyper
        .http2()
        .max_header_list_size(HEAD_MAX_HTTP2)
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(STREAM_BUFFER)
        .max_local_error_reset_streams(BROKEN_STREAMS);
    hyper
}

/// Accepts connections.
struct Acceptor {
    listener: TcpListener,
    connections: Arc<Connections>,
    /// One that there is no place for yet.
    waiting: Option<(TcpStream, IpAddr)>,
}

impl Acceptor {
    /// The next connection, when there is a place for it. Nothing is lost when this is given up and asked again.
    async fn next(&mut self) -> (TcpStream, IpAddr, ConnectionPermit) {
        loop {
            let (socket, peer) = match self.waiting.take() {
                Some(waiting) => waiting,
                None => accept(&self.listener).await,
            };
            match self.connections.admit(peer) {
                Ok(permit) => return (socket, peer, permit),
                Err(Refused::Share) => {
                    tracing::debug!(%peer, "an address has its share of the connections");
                    let _ = socket.set_zero_linger();
                }
                Err(Refused::Full) => {
                    self.waiting = Some((socket, peer));
                    // Whether one has closed, or its client has been silent for long enough.
                    let _ = timeout(AGAIN, self.connections.closed()).await;
                }
            }
        }
    }
}

/// The next connection.
async fn accept(listener: &TcpListener) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => {
                // Answers are written whole: waiting to fill a packet only delays them.
                let _ = socket.set_nodelay(true);
                let _ = SockRef::from(&socket).set_send_buffer_size(SEND_BUFFER);
                return (socket, peer.ip());
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted for now");
                sleep(REST).await;
            }
        }
    }
}

/// Whether only the connection failed that was to be accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests;
