//! Tests of the service mounted in another program and called over HTTP.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use serde_json::{Value, json};
use tidings_cluster::only_on_sqlite;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::*;
use crate::testing::{self, outcome, request};

const MOUNT: &str = "/tidings";

/// The way in which the host program passes the path to the service.
#[derive(Clone, Copy)]
enum Prefix {
    Kept,
    Removed,
}

/// A program that serves tidings under [`MOUNT`] and its own page everywhere else.
struct Host {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Host {
    async fn start(tidings: &Tidings, config: Config, prefix: Prefix) -> Self {
        let base_path = if matches!(prefix, Prefix::Kept) { MOUNT } else { "" };
        let config = Config { base_path: base_path.parse().unwrap(), ..config };
        let service = service(tidings.clone(), config).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, mut stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let connections = GracefulShutdown::new();
            loop {
                let (socket, peer) = tokio::select! {
                    accepted = listener.accept() => accepted.unwrap(),
                    _ = &mut stopped => break,
                };
                let service = service.clone();
                let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
                    let mut service = service.clone();
                    async move {
                        let Some(rest) = request.uri().path().strip_prefix(MOUNT) else {
                            return Ok(Response::new(Either::Right(Full::from("the host's own page"))));
                        };
                        if matches!(prefix, Prefix::Removed) {
                            *request.uri_mut() = rest.parse().unwrap();
                        }
                        request.extensions_mut().insert(PeerAddress(peer.ip()));
                        Ok::<_, Infallible>(service.call(request).await?.map(Either::Left))
                    }
                });
                let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), answer);
                tokio::spawn(connections.watch(connection));
            }
            drop(listener);
            connections.shutdown().await;
        });
        Self { address, stop, served }
    }

    /// Sends the head of a request and the bytes after it on a new connection.
    async fn begin(&self, line: &str, headers: &str, body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let head = format!("{line} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n{headers}\r\n{body}");
        socket.write_all(head.as_bytes()).await.unwrap();
        socket
    }

    async fn call(&self, line: &str, headers: &str, body: &str) -> Reply {
        let headers = format!("Content-Length: {}\r\n{headers}", body.len());
        Reply::read(self.begin(line, &headers, body).await).await
    }

    async fn get(&self, path: &str) -> Reply {
        self.call(&format!("GET {path}"), "", "").await
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.served.await.unwrap();
    }
}

/// A response as it arrived.
struct Reply {
    head: String,
    body: String,
}

impl Reply {
    async fn read(mut socket: TcpStream) -> Self {
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        Self { head: head.to_lowercase(), body: body.to_owned() }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn outcome(&self) -> String {
        let status = self.head.split(' ').nth(1).unwrap();
        format!("{status} {}", self.json()["result"].as_str().unwrap())
    }
}

#[tokio::test]
async fn operations_are_found_below_the_mount_and_the_host_keeps_its_other_paths() {
    let tidings = testing::service();
    for (prefix, url) in [(Prefix::Kept, MOUNT), (Prefix::Removed, "/")] {
        let host = Host::start(&tidings.tidings, Config::default(), prefix).await;
        assert_eq!(host.get("/tidings/healthz").await.outcome(), "200 success");
        assert_eq!(host.get("/tidings/get_all_notice?x=1").await.outcome(), "200 success");
        assert_eq!(host.get("/tidings/nothing").await.outcome(), "404 Not found");
        assert_eq!(host.call("POST /tidings/healthz", "", "").await.outcome(), "405 method not allowed");
        assert_eq!(host.get("/healthz").await.body, "the host's own page");
        let document = host.get("/tidings/openapi.json").await.json();
        assert_eq!(document["servers"][0]["url"], url);
        let answer = host.call("GET /tidings/healthz", "Origin: https://app.example.org\r\n", "").await;
        assert!(answer.head.contains("access-control-allow-origin: *"), "{}", answer.head);
        host.stop().await;
    }
}

fn post_line(n: u32) -> String {
    format!("{}\n", json!({ "title": "a post", "url": format!("https://a.example/{n}") }))
}

/// Begins an import of posts and returns once the service reads its body.
async fn begin_import(host: &Host, token: &str) -> TcpStream {
    let headers = format!(
        "Authorization: Bearer {token}\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\
         Expect: 100-continue\r\n"
    );
    let mut socket = host.begin("POST /tidings/import_posts", &headers, "").await;
    let mut begun = [0; 25];
    socket.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket
}

async fn send_chunk(socket: &mut TcpStream, text: &str) {
    socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await.unwrap();
}

#[tokio::test]
async fn an_import_is_streamed_and_a_graceful_shutdown_waits_for_it() {
    let tidings = testing::service();
    let token = tidings.admin("root").await;
    let host = Host::start(&tidings.tidings, Config::default(), Prefix::Kept).await;
    let mut import = begin_import(&host, &token).await;
    send_chunk(&mut import, &post_line(1)).await;
    let Host { address, stop, served } = host;
    stop.send(()).unwrap();
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    send_chunk(&mut import, &post_line(2)).await;
    import.write_all(b"0\r\n\r\n").await.unwrap();
    let report = Reply::read(import).await;
    assert_eq!((report.outcome().as_str(), &report.json()["inserted"]), ("200 success", &json!(2)));
    served.await.unwrap();
}

#[tokio::test]
async fn the_database_closes_when_the_last_service_is_dropped() {
    only_on_sqlite!("it is about the write-ahead log");
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("test.db");
    let host = Host::start(&Tidings::open(&database).unwrap(), Config::default(), Prefix::Kept).await;
    assert_eq!(host.get("/tidings/insert_device/pc").await.outcome(), "200 success");
    let log = dir.path().join("test.db-wal");
    assert!(log.exists());
    host.stop().await;
    // The connection's task may drop its clone of the service slightly later.
    let closed = async {
        while log.exists() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), closed).await.unwrap();
}

#[tokio::test]
async fn the_host_says_which_client_a_request_comes_from() {
    let tidings = testing::service();
    let rate_limit = NonZeroU32::new(1);
    let service = service(tidings.tidings.clone(), Config { rate_limit, ..Config::default() }).unwrap();
    let call = async |address: Option<&str>| {
        let mut request = request("GET", "/insert_device/pc");
        if let Some(address) = address {
            request.extensions_mut().insert(PeerAddress(address.parse().unwrap()));
        }
        service.clone().oneshot(request).await.unwrap().status().as_u16()
    };
    assert_eq!(call(Some("192.0.2.1")).await, 200);
    assert_eq!(call(Some("192.0.2.2")).await, 200);
    assert_eq!(call(Some("192.0.2.1")).await, 429);
    assert_eq!((call(None).await, call(None).await), (200, 429));
}

#[tokio::test]
async fn a_body_that_is_not_sync_is_accepted() {
    let tidings = testing::service();
    let service = service(tidings.tidings.clone(), Config::default()).unwrap();
    let body = Full::new(Bytes::from_static(br#"{"id":"ann","pw":"password"}"#)).boxed_unsync();
    let request = Request::post("/sign_in").header("content-type", "application/json").body(body).unwrap();
    let (head, body) = service.oneshot(request).await.unwrap().into_parts();
    let answer = Response::from_parts(head, body.collect().await.map_err(Into::into).unwrap().to_bytes());
    assert_eq!(outcome(&answer), "200 No member");
}

#[test]
fn a_setting_out_of_bounds_is_refused() {
    let tidings = testing::service();
    let config = Config { max_connections: 0, ..Config::default() };
    let refused = service::<http_body_util::Empty<Bytes>>(tidings.tidings.clone(), config).err();
    assert!(
        matches!(&refused, Some(tidings_core::Error::InvalidSetting(invalid)) if invalid.settings == ["max-connections"])
    );
}
