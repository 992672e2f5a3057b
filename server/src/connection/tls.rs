//! Built-in TLS: the certificate of the server, which is loaded again when its files change, and the handshake.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tidings_core::clock::Clock;
use tidings_core::config::Invalid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::{Acceptor, ProducesTickets};
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::server::TlsStream;

use crate::config::TlsFiles;
use crate::connection::state::Connection;
use crate::connection::timeouts::TimeoutStream;

mod pair;

use pair::{Stamp, stamp};

const WATCH: Duration = Duration::from_secs(2);
const ALPN: [&[u8]; 2] = [H2, b"http/1.1"];
const H2: &[u8] = b"h2";
const HANDSHAKE: u8 = 22;
/// Bytes that are read of a request in plain HTTP before it is answered.
const PLAIN_MAX: usize = 16 * 1024;
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 42\r\n\
    Connection: close\r\n\
    \r\n\
    This server speaks TLS: use https, please\n";

/// The timeouts are below TLS, so the handshake has the timeout of the first request's head.
type Tcp = TimeoutStream<TcpStream>;

pub(crate) struct Tls {
    active: ArcSwap<Active>,
    watched: Mutex<Watched>,
    /// Encrypts the session tickets, with which clients resume sessions, also after a change of the certificate.
    tickets: Arc<dyn ProducesTickets>,
    /// One permit for each signature that may be computed at the same time. One thread is always left for requests.
    signatures: Semaphore,
    is_stale: AtomicBool,
}

struct Active {
    config: Arc<ServerConfig>,
    /// In milliseconds UTC.
    expires_at: i64,
}

struct Watched {
    files: TlsFiles,
    loaded: Option<[Stamp; 2]>,
    seen: Option<[Stamp; 2]>,
}

pub(crate) struct Loaded {
    active: Active,
    watched: Watched,
}

impl Tls {
    pub(crate) fn load(files: TlsFiles) -> Result<Arc<Self>, Invalid> {
        let tickets = ring::Ticketer::new()
            .map_err(|error| invalid("tls-key", format!("no key for session tickets: {error}")))?;
        let Loaded { active, watched } = load(files, &tickets)?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Arc::new(Self {
            active: ArcSwap::from_pointee(active),
            watched: Mutex::new(watched),
            tickets,
            signatures: Semaphore::new((threads - 1).max(1)),
            is_stale: AtomicBool::new(false),
        }))
    }

    pub(crate) async fn accept(&self, mut tcp: Tcp, connection: &Connection) -> io::Result<TlsStream<Tcp>> {
        let first = tcp.peek().await?;
        if first != HANDSHAKE {
            return Err(refuse(tcp, first).await);
        }
        let hello = LazyConfigAcceptor::new(Acceptor::default(), tcp).await?;
        let accept = {
            // A slow client holds no permit: this part computes the signature and does not wait.
            let _permit = self.signatures.acquire().await.map_err(io::Error::other)?;
            hello.into_stream(Arc::clone(&self.active.load().config))
        };
        let stream = accept.await?;
        if stream.get_ref().1.alpn_protocol() == Some(H2) {
            connection.is_http2.set(true);
        }
        Ok(stream)
    }

    /// The pair does not replace the one in use yet.
    pub(crate) fn load_next(&self, files: TlsFiles) -> Result<Loaded, Invalid> {
        load(files, &self.tickets)
    }

    pub(crate) fn replace(&self, loaded: Loaded) {
        self.replace_locked(&mut self.watched(), loaded);
    }

    fn replace_locked(&self, watched: &mut Watched, loaded: Loaded) {
        *watched = loaded.watched;
        self.active.store(Arc::new(loaded.active));
        self.is_stale.store(false, Ordering::Relaxed);
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the files again whenever they have changed, until this future is dropped. A pair that cannot be used is reported,
    /// and the old one stays in use.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut looks = interval(WATCH);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let tls = Arc::clone(&self);
            let _ = tokio::task::spawn_blocking(move || tls.look()).await;
        }
    }

    /// Loads the files if they have changed, and have not changed since the last look: a program that replaces one after the
    /// other may not have finished.
    fn look(&self) {
        let mut watched = self.watched();
        let now = stamps(&watched.files);
        let has_settled = std::mem::replace(&mut watched.seen, now) == now;
        if now == watched.loaded || !has_settled {
            return;
        }
        watched.loaded = now;
        match self.load_next(watched.files.clone()) {
            Ok(loaded) => {
                self.replace_locked(&mut watched, loaded);
                tracing::info!(
                    expires_in_days = self.remaining_s() / (24 * 60 * 60),
                    "a new certificate is in use"
                );
            }
            Err(error) => {
                self.is_stale.store(true, Ordering::Relaxed);
                tracing::error!("the new certificate is not used, the old one stays in use: {}", error.rule);
            }
        }
    }

    /// Negative after the certificate has expired.
    pub(crate) fn remaining_s(&self) -> i64 {
        (self.active.load().expires_at - Clock::system().now().as_millis()).div_euclid(1_000)
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }
}

async fn refuse(mut tcp: Tcp, first: u8) -> io::Error {
    if first.is_ascii_uppercase() {
        // If bytes stayed unread, the system would reset the connection, and the client would not get the answer.
        let _ = tcp.read(&mut vec![0; PLAIN_MAX]).await;
        let _ = tcp.write_all(PLAIN).await;
        let _ = tcp.shutdown().await;
    }
    io::Error::new(ErrorKind::InvalidData, "the client does not speak TLS")
}

fn load(files: TlsFiles, tickets: &Arc<dyn ProducesTickets>) -> Result<Loaded, Invalid> {
    // Taken first, so that a change during the loading is noticed.
    let loaded = stamps(&files);
    let (key, expires_at) = pair::load(&files)?;
    let active = Active { config: configure(key, Arc::clone(tickets)), expires_at };
    Ok(Loaded { active, watched: Watched { files, seen: loaded, loaded } })
}

fn configure(key: CertifiedKey, tickets: Arc<dyn ProducesTickets>) -> Arc<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites of TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
    config.ticketer = tickets;
    Arc::new(config)
}

fn stamps(files: &TlsFiles) -> Option<[Stamp; 2]> {
    Some([stamp(&files.cert)?, stamp(&files.key)?])
}

fn invalid(setting: &'static str, rule: String) -> Invalid {
    Invalid { settings: vec![setting], rule }
}

#[cfg(test)]
mod tests;
