//! Built-in TLS: the certificate of the server, which is loaded again when its files change.
//!
//! The handshake is part of reading from a connection ([`Socket`]), so all limits of connections hold for it: their
//! number, the timeout for the head of the first request, and the end of a connection for another one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tidings_core::clock::Clock;
use tidings_core::config::Invalid;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::ProducesTickets;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::config::TlsFiles;

mod pair;
mod socket;

use pair::{Pair, Stamp};
pub(crate) use socket::Socket;

/// The server looks for changes of the files at this interval.
const WATCH: Duration = Duration::from_secs(2);
/// The preferred protocol first.
const ALPN: [&[u8]; 2] = [H2, b"http/1.1"];
const H2: &[u8] = b"h2";

pub(crate) struct Tls {
    active: ArcSwap<Active>,
    watched: Mutex<Watched>,
    /// Encrypts the session tickets, with which clients resume sessions, also after a change of the certificate.
    tickets: Arc<dyn ProducesTickets>,
    /// One permit for each signature that may be computed at the same time. One thread is always left for requests.
    signatures: Semaphore,
    /// The files differ from the pair in use.
    is_stale: AtomicBool,
}

struct Active {
    config: Arc<ServerConfig>,
    /// In milliseconds UTC.
    expires_at: i64,
}

struct Watched {
    files: TlsFiles,
    /// The files as they were when they were last loaded.
    loaded: Option<[Stamp; 2]>,
    /// The files as they were at the last look.
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

    /// The pair does not replace the one in use yet.
    pub(crate) fn load_next(&self, files: TlsFiles) -> Result<Loaded, Invalid> {
        load(files, &self.tickets)
    }

    /// Open connections keep their pair.
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
            // The files may be on a slow disk.
            let _ = tokio::task::spawn_blocking(move || tls.look()).await;
        }
    }

    /// Loads the files if they have changed, and have not changed since the last look: a program that replaces one after the
    /// other may not have finished.
    fn look(&self) {
        let mut watched = self.watched();
        let now = stamps(&watched.files);
        let has_settled = std::mem::replace(&mut watched.seen, now.clone()) == now;
        if now == watched.loaded || !has_settled {
            return;
        }
        watched.loaded = now;
        let files = watched.files.clone();
        drop(watched);
        let loaded = self.load_next(files.clone());
        let mut watched = self.watched();
        if watched.files != files {
            // Meanwhile the settings name other files.
            return;
        }
        match loaded {
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

    /// The files differ from the pair in use, and could not be loaded.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }
}

fn load(files: TlsFiles, tickets: &Arc<dyn ProducesTickets>) -> Result<Loaded, Invalid> {
    // Taken first, so that a change during the loading is noticed.
    let loaded = stamps(&files);
    let Pair { key, expires_at } = pair::load(&files)?;
    let active = Active { config: configure(key, Arc::clone(tickets)), expires_at };
    Ok(Loaded { active, watched: Watched { files, seen: loaded.clone(), loaded } })
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

/// `None` if a file is missing.
fn stamps(files: &TlsFiles) -> Option<[Stamp; 2]> {
    Some([Stamp::of(&files.cert)?, Stamp::of(&files.key)?])
}

fn invalid(setting: &'static str, rule: String) -> Invalid {
    Invalid { settings: vec![setting], rule }
}

#[cfg(test)]
mod tests;
