//! Accepting connections, a bounded number at once, and stopping without breaking off what runs.
//!
//! warp's own server sets no timers and no bounds, so its filter runs in this loop, on hyper's connections.

use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tidings_core::{Tidings, analysis, newsfeed};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tower::Service as _;

use crate::app::{App, Peer};
use crate::client::RateLimit;
use crate::config::Config;
use crate::metrics;
use crate::patience::{Answering, Limits, Patient, Requests};

/// The most bytes of a request's head.
const HEAD_MAX: usize = 64 * 1024;
const HEAD_MAX_HTTP2: u32 = 64 * 1024;
/// How long accepting rests when the system has no room for another connection.
const REST: Duration = Duration::from_millis(200);

/// Answers requests on `listener` until `shutdown` is there; then accepts no more, lets what runs end, and
/// returns.
///
/// # Errors
/// When the listener cannot be used, or the feeds cannot be loaded.
pub async fn serve(
    tidings: Tidings,
    config: Config,
    listener: std::net::TcpListener,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let listener = listen_on(listener)?;
    let limits = Limits { header: config.header_timeout, idle: config.idle_timeout };
    let places = Arc::new(Semaphore::new(config.max_connections));
    let app = App::new(tidings, config);
    warm(&app).await?;
    let service = Arc::clone(&app).service();
    let hyper = hyper();
    // Dropped at the end, as the connections are.
    let mut watchers = JoinSet::new();
    let graceful = GracefulShutdown::new();
    if let Some(address) = app.config.metrics_listen {
        watchers.spawn(metrics::serve(Arc::clone(&app), metrics::listen(address).await?));
    }
    // Dropped at the end, it breaks off what still runs.
    let mut connections = JoinSet::new();
    let mut sweep = interval(RateLimit::SWEEP);
    let mut shutdown = pin!(shutdown);
    loop {
        let (socket, peer, place) = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            _ = sweep.tick(), if app.rate_limit.is_some() => {
                app.rate_limit.iter().for_each(RateLimit::sweep);
                continue;
            }
            accepted = accept(&listener, &places) => accepted,
        };
        let (service, requests) = (service.clone(), Requests::default());
        let io = TokioIo::new(Patient::new(socket, requests.clone(), limits));
        let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            let running = requests.begin();
            request.extensions_mut().insert(Peer(peer));
            let answered = service.clone().call(request);
            async { answered.await.map(|answer| answer.map(|body| Answering::new(body, running))) }
        });
        let connection = graceful.watch(hyper.serve_connection(io, answer).into_owned());
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error, "a connection broke off");
            }
            drop(place);
        });
    }
    app.stop();
    drop(listener);
    if timeout(app.config.shutdown_timeout, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests that are still running are broken off");
    }
    Ok(())
}

fn listen_on(listener: std::net::TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Loads what answers are made of in memory, where nothing may wait for the database.
async fn warm(app: &App) -> io::Result<()> {
    let tidings = app.tidings.clone();
    let warmed = app.lanes.store.run(move || {
        newsfeed::warm(&tidings)?;
        analysis::warm(&tidings)
    });
    warmed.await.map_err(io::Error::other)
}

fn hyper() -> Builder<TokioExecutor> {
    let mut hyper = Builder::new(TokioExecutor::new());
    // How long a head may take is ours to say.
    hyper.http1().header_read_timeout(None).max_buf_size(HEAD_MAX);
    hyper.http2().max_header_list_size(HEAD_MAX_HTTP2);
    hyper
}

/// The next connection, when there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, IpAddr, OwnedSemaphorePermit) {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => {
                // Answers are written whole: waiting to fill a packet only delays them.
                let _ = socket.set_nodelay(true);
                return (socket, peer.ip(), place);
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
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::oneshot;
    use tokio::time::Instant;

    use super::*;
    use crate::testing;

    struct Server {
        address: SocketAddr,
        stop: oneshot::Sender<()>,
        served: tokio::task::JoinHandle<io::Result<()>>,
        _service: testing::Service,
    }

    fn server(config: Config) -> Server {
        let service = testing::service();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let served = serve(service.tidings.clone(), config, listener, async { stopped.await.unwrap_or(()) });
        Server { address, stop, served: tokio::spawn(served), _service: service }
    }

    /// What the server sends until it closes.
    async fn until_closed(mut socket: TcpStream) -> String {
        let mut answer = String::new();
        let _ = timeout(Duration::from_secs(5), socket.read_to_string(&mut answer)).await.unwrap();
        answer
    }

    async fn send(server: &Server, bytes: &str) -> TcpStream {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        socket.write_all(bytes.as_bytes()).await.unwrap();
        socket
    }

    const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n";

    #[tokio::test]
    async fn a_head_that_does_not_end_and_a_silent_connection_are_closed() {
        let short = Duration::from_millis(100);
        let server = server(Config { header_timeout: short, ..Config::default() });
        assert_eq!(until_closed(send(&server, "GET /healthz HTTP/1.1\r\nHost: h").await).await, "");
        assert_eq!(until_closed(send(&server, "").await).await, "");
    }

    #[tokio::test]
    async fn a_connection_without_a_next_request_is_closed_after_the_idle_time() {
        let short = Duration::from_millis(100);
        let server = server(Config { idle_timeout: short, ..Config::default() });
        let answer = until_closed(send(&server, HEALTH).await).await;
        assert!(answer.ends_with(r#"{"result":"success"}"#), "{answer}");
    }

    #[tokio::test]
    async fn connections_over_the_limit_wait_for_a_place() {
        let server = server(Config { max_connections: 1, ..Config::default() });
        let mut first = send(&server, HEALTH).await;
        first.read_exact(&mut [0; 16]).await.unwrap();
        let mut second = send(&server, HEALTH).await;
        let waiting = timeout(Duration::from_millis(100), second.read_exact(&mut [0; 1])).await;
        waiting.unwrap_err();
        drop(first);
        timeout(Duration::from_secs(5), second.read_exact(&mut [0; 16])).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_shutdown_closes_idle_connections_at_once_and_lets_a_request_end() {
        let server = server(Config::default());
        let mut idle = send(&server, HEALTH).await;
        idle.read_exact(&mut [0; 16]).await.unwrap();
        let body = "id=nobody&pw=x";
        let head = format!(
            "POST /sign_in HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
            body.len()
        );
        let mut running = send(&server, &head).await;
        running.read_exact(&mut [0; 25]).await.unwrap();
        server.stop.send(()).unwrap();
        until_closed(idle).await;
        running.write_all(body.as_bytes()).await.unwrap();
        let answer = until_closed(running).await;
        assert!(answer.ends_with(r#"{"result":"No member"}"#), "{answer}");
        server.served.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_shutdown_waits_for_its_time_and_no_longer() {
        let short = Duration::from_millis(200);
        let server = server(Config { shutdown_timeout: short, ..Config::default() });
        let head = "POST /sign_in HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
        let mut running = send(&server, head).await;
        running.read_exact(&mut [0; 25]).await.unwrap();
        let began = Instant::now();
        server.stop.send(()).unwrap();
        server.served.await.unwrap().unwrap();
        assert!((short..short * 5).contains(&began.elapsed()), "{:?}", began.elapsed());
        assert_eq!(until_closed(running).await, "");
    }
}
