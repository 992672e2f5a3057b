//! Mounts tidings under `/tidings` in a program with its own pages.
//!
//! Run it with `cargo run -p tidings-server --example mount -- campus.db`, and then
//! `curl http://127.0.0.1:8000/tidings/healthz`.
#![expect(clippy::print_stdout, reason = "the program prints its address")]

use std::convert::Infallible;
use std::error::Error;
use std::pin::pin;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tidings_core::Tidings;
use tidings_server::{Config, PeerAddress};
use tokio::net::TcpListener;
use tower::Service as _;

/// The path that tidings is mounted under.
const MOUNT: &str = "/tidings";

fn main() -> Result<(), Box<dyn Error>> {
    let database = std::env::args().nth(1).unwrap_or_else(|| "campus.db".to_owned());
    // Loads the posts before the runtime starts, so that no async thread blocks.
    let tidings = Tidings::start(database)?;
    tokio::runtime::Runtime::new()?.block_on(run(tidings))
}

async fn run(tidings: Tidings) -> Result<(), Box<dyn Error>> {
    let config = Config { base_path: MOUNT.parse()?, ..Config::default() };
    let service = tidings_server::service(tidings, config)?;
    let listener = TcpListener::bind("127.0.0.1:8000").await?;
    println!("listening on http://{}", listener.local_addr()?);

    let connections = GracefulShutdown::new();
    let mut interrupt = pin!(tokio::signal::ctrl_c());
    loop {
        let (socket, peer) = tokio::select! {
            accepted = listener.accept() => accepted?,
            _ = &mut interrupt => break,
        };
        let service = service.clone();
        let answer = service_fn(move |mut request: Request<Incoming>| {
            let mut service = service.clone();
            async move {
                if is_below(MOUNT, request.uri().path()) {
                    request.extensions_mut().insert(PeerAddress(peer.ip()));
                    Ok::<_, Infallible>(service.call(request).await?.map(Either::Left))
                } else {
                    Ok(Response::new(Either::Right(own_page())))
                }
            }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), answer);
        tokio::spawn(connections.watch(connection));
    }
    connections.shutdown().await;
    // The last clone of the service is dropped here, which closes the database.
    Ok(())
}

/// Returns whether `path` is `mount` or a path below it.
fn is_below(mount: &str, path: &str) -> bool {
    path.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the page of the program itself.
fn own_page() -> Full<Bytes> {
    Full::from("This page is not part of tidings.\n")
}
