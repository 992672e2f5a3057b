//! The server: accepts a bounded number of connections and shuts down gracefully.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONNECTION};
use http::{HeaderMap, HeaderValue, Request, Version};
use hyper::body::{Body as _, Incoming};
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use socket2::SockRef;
use tidings_core::config::Invalid;
use tidings_core::{Error, Tidings};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::registry::{ConnectionPermit, Connections, Refused};
use super::state::{Connection, RequestBody};
use super::stream::{self, StreamExecutor};
use super::timeouts::{TimeoutStream, Timeouts};
use super::tls::Tls;
use super::unsent::{CHARGED_FROM, ResponseBody};
use super::{
    BACKLOG, BROKEN_STREAMS, CONNECTION_UNSENT, CONNECTION_WINDOW, HEAD_MAX, HEAD_MAX_HTTP2, SEND_BUFFER,
    STREAM_BUFFER, STREAM_WINDOW, STREAMS,
};
use crate::config::Config;
use crate::filter::limit;
use crate::filter::reply::{self, Body, Response, Scope};
use crate::filter::{request, target};
use crate::metrics;
use crate::router::Router;
use crate::state::App;

/// In accepting, when the system has no resources for another connection.
const REST: Duration = Duration::from_millis(200);
const AGAIN: Duration = Duration::from_millis(100);
/// For the head of the first request while permits are scarce.
const SCARCE_HEADER_TIMEOUT: Duration = Duration::from_secs(2);

/// Answers requests on `listener` until `shutdown` completes, then closes the listener, lets running requests end,
/// and returns.
///
/// # Errors
/// When a setting is out of bounds ([`Config::check`]), the certificate or the listener cannot be used, or
/// [`Tidings::start_background`] fails.
pub async fn serve(
    tidings: Tidings,
    config: Config,
    listener: std::net::TcpListener,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let server = Server::new(tidings, config)
        .map_err(|invalid| io::Error::new(io::ErrorKind::InvalidInput, invalid))?;
    server.start(listener).await?.serve(shutdown).await;
    Ok(())
}

/// A server that does not serve yet: [`serve`] in steps, for a program that changes settings while it serves, or tells others
/// that it does.
pub struct Server {
    app: Arc<App>,
}

impl Server {
    /// Checks the settings, and loads the certificate if there is one.
    ///
    /// # Errors
    /// When a setting is out of bounds ([`Config::check`]), or the certificate or its key cannot be used.
    pub fn new(tidings: Tidings, config: Config) -> Result<Self, Invalid> {
        config.check()?;
        let tls = config.tls_files().map(Tls::load).transpose()?;
        let config = Config { max_connections: room_for(config.max_connections), ..config };
        let app = App::new(tidings, config);
        if let Some(tls) = tls {
            app.tls.get_or_init(|| tls);
        }
        Ok(Self { app })
    }

    /// Returns a handle that changes the settings.
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.app))
    }

    /// Starts to work in the background, and opens the listener of the metrics. Connections to `listener` wait until
    /// [`Running::serve`].
    ///
    /// # Errors
    /// When a listener cannot be used, or [`Tidings::start_background`] fails.
    pub async fn start(self, listener: std::net::TcpListener) -> io::Result<Running> {
        let Self { app } = self;
        let connections = Connections::new(&app.config, app.config.max_connections);
        listener.set_nonblocking(true)?;
        SockRef::from(&listener).listen(BACKLOG)?;
        let listener = TcpListener::from_std(listener)?;
        let acceptor = Acceptor { listener, connections, waiting: None };
        let metrics = match app.config.metrics_listen {
            Some(address) => Some(metrics::listen(address).await?),
            None => None,
        };
        let tidings = app.tidings.clone();
        app.lanes.store.run(move || tidings.start_background()).await.map_err(io::Error::other)?;
        let mut background = JoinSet::new();
        if let Some(listener) = metrics {
            background.spawn(metrics::serve(Arc::clone(&app), listener));
        }
        if let Some(tls) = app.tls.get() {
            background.spawn(Arc::clone(tls).watch());
        }
        Ok(Running { app, acceptor, _background: background })
    }
}

/// Changes the settings of a [`Server`], also while it serves.
#[derive(Clone)]
pub struct Handle(Arc<App>);

impl Handle {
    /// The names of the settings that [`Handle::reload`] applies.
    pub const SETTINGS: [&str; 4] = ["cors-origin", "rate-limit", "tls-cert", "tls-key"];

    /// Applies [`Handle::SETTINGS`] to requests and connections that arrive from now on, and loads the certificate again.
    /// Other settings stay as they are, and so does whether the server speaks TLS.
    ///
    /// # Errors
    /// When a setting is out of bounds, or the certificate cannot be used. Nothing has changed then.
    pub fn reload(&self, config: &Config) -> Result<(), Invalid> {
        config.check()?;
        let app = &self.0;
        let next = match (app.tls.get(), config.tls_files()) {
            (Some(tls), Some(files)) => Some((tls, tls.load_next(files)?)),
            _ => None,
        };
        app.policy.store(Arc::new(app.policy.load().changed(config)));
        if let Some((tls, next)) = next {
            tls.replace(next);
        }
        Ok(())
    }
}

/// A server that has started.
pub struct Running {
    app: Arc<App>,
    acceptor: Acceptor,
    /// Dropping these tasks aborts them.
    _background: JoinSet<()>,
}

impl Running {
    /// Answers requests until `shutdown` completes, as [`serve`] does.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let Self { app, mut acceptor, _background } = self;
        let shutdown = async {
            shutdown.await;
            app.leave();
            sleep(app.config.stop_delay).await;
        };
        let (router, stop) = (Router::new(&app), CancellationToken::new());
        // Dropping these tasks at the end aborts the requests that still run.
        let mut tasks = JoinSet::new();
        let mut sweep = interval(limit::SWEEP);
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
            tasks.spawn(serve_connection(router.clone(), socket, peer, permit, stop.clone()));
        }
        app.stop();
        drop(acceptor);
        stop.cancel();
        let ended = async { while tasks.join_next().await.is_some() {} };
        if timeout(app.config.shutdown_timeout, ended).await.is_err() {
            tracing::warn!("aborting requests that are still running");
        }
    }
}

async fn serve_connection(
    router: Router,
    socket: TcpStream,
    peer: IpAddr,
    permit: ConnectionPermit,
    stop: CancellationToken,
) {
    let config = &router.app().config;
    let header = if permit.is_scarce {
        SCARCE_HEADER_TIMEOUT.min(config.header_timeout)
    } else {
        config.header_timeout
    };
    let timeouts = Timeouts { header, idle: config.idle_timeout };
    let (connections, connection) = (&permit.connections, &permit.connection);
    let hyper = hyper(StreamExecutor::new(connection, connections, config.idle_timeout));
    let socket = TimeoutStream::new(socket, Arc::clone(connection), timeouts);
    let answer = hyper::service::service_fn(|request: Request<Incoming>| {
        answer(&router, Arc::clone(connections), connection, peer, request)
    });
    let served = async {
        let socket = match router.app().tls.get() {
            None => Either::Left(socket),
            Some(tls) => tokio::select! {
                stream = Box::pin(tls.accept(socket, connection)) => Either::Right(Box::new(stream?)),
                () = stop.cancelled() => return Ok(()),
            },
        };
        let mut served = pin!(hyper.serve_connection(TokioIo::new(socket), answer));
        tokio::select! {
            ended = &mut served => return ended,
            () = stop.cancelled() => served.as_mut().graceful_shutdown(),
        }
        served.await
    };
    tokio::select! {
        ended = served => if let Err(error) = ended {
            tracing::debug!(error, "a connection failed");
        },
        () = connection.closed() => {}
    }
}

fn answer(
    router: &Router,
    connections: Arc<Connections>,
    connection: &Arc<Connection>,
    peer: IpAddr,
    request: Request<Incoming>,
) -> impl Future<Output = Result<http::Response<ResponseBody<Body>>, Infallible>> + Send + use<> {
    let (head, body) = request.into_parts();
    let running = connection.begin(head.version == Version::HTTP_2);
    note_member(router.app(), connection, &head.headers);
    let body = RequestBody::new(body, connection);
    let is_http1 = head.version < Version::HTTP_2;
    let refused = target::refuse_without_host(&head);
    // Not in a closure, into which the head would be moved once more.
    let answered = if connection.unsent.get() < CONNECTION_UNSENT && refused.is_none() {
        Some(router.clone().serve(head, body, Some(peer)))
    } else {
        None
    };
    let app = Arc::clone(router.app());
    async move {
        let stream = stream::current();
        let mut response = match answered {
            Some(answered) => answered.await,
            None => refused.unwrap_or_else(overloaded),
        };
        let mut charge = None;
        let bytes = usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX);
        if bytes >= CHARGED_FROM {
            charge = connections.charge(&running.connection, bytes, stream.clone());
            if charge.is_none() {
                response = overloaded();
            }
        }
        if running.connection.has_unread_body() || (is_http1 && app.is_leaving()) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| ResponseBody::new(body, charge, stream, running)))
    }
}

fn overloaded() -> Response {
    reply::respond(Err(Error::Overloaded.into()), "", Scope::default())
}

fn note_member(app: &App, connection: &Connection, headers: &HeaderMap) {
    if !connection.is_signed_in.is_set()
        && headers.contains_key(AUTHORIZATION)
        && request::caller(headers).has_signed_token(&app.tidings)
    {
        connection.is_signed_in.set(true);
    }
}

fn hyper(streams: StreamExecutor) -> Builder<StreamExecutor> {
    let mut hyper = Builder::new(streams);
    // `TimeoutStream` has the timeout for the head of a request.
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

struct Acceptor {
    listener: TcpListener,
    connections: Arc<Connections>,
    waiting: Option<(TcpStream, IpAddr)>,
}

impl Acceptor {
    /// Waits for a permit. Cancelling the future loses no connection.
    async fn next(&mut self) -> (TcpStream, IpAddr, ConnectionPermit) {
        loop {
            let (socket, peer) = match self.waiting.take() {
                Some(waiting) => waiting,
                None => accept(&self.listener).await,
            };
            match self.connections.admit(peer) {
                Ok(permit) => return (socket, peer, permit),
                Err(Refused::Share) => {
                    tracing::debug!(%peer, "refusing a connection: its address or network has its share");
                    let _ = socket.set_zero_linger();
                }
                Err(Refused::Full) => {
                    self.waiting = Some((socket, peer));
                    // By then, a client may have been idle for long enough.
                    let _ = timeout(AGAIN, self.connections.closed()).await;
                }
            }
        }
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => {
                // Each response is written at once, so waiting to fill a packet would only delay it.
                let _ = socket.set_nodelay(true);
                let _ = SockRef::from(&socket).set_send_buffer_size(SEND_BUFFER);
                return (socket, peer.ip());
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                sleep(REST).await;
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// For the database, the listeners and everything else that the process opens.
#[cfg(unix)]
const RESERVED: u64 = 256;

/// Raises the limit of open files if `wanted` connections need it. Returns how many connections the limit allows.
#[cfg(unix)]
fn room_for(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let needed = wanted as u64 + RESERVED;
    let before = getrlimit(Resource::Nofile);
    if before.current.is_some_and(|current| current < needed) {
        let current = Some(before.maximum.map_or(needed, |maximum| maximum.min(needed)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: before.maximum });
    }
    let room = getrlimit(Resource::Nofile).current.map_or(wanted, |limit| room_of(limit, wanted));
    if room < wanted {
        tracing::warn!(connections = room, wanted, "the limit of open files allows fewer connections");
    }
    room
}

#[cfg(not(unix))]
fn room_for(wanted: usize) -> usize {
    wanted
}

/// A small limit leaves three quarters for connections.
#[cfg(unix)]
fn room_of(limit: u64, wanted: usize) -> usize {
    let room = limit - RESERVED.min(limit / 4);
    usize::try_from(room).map_or(wanted, |room| room.clamp(1, wanted))
}

#[cfg(test)]
mod tests;
