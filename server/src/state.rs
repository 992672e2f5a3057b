use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use lru::LruCache;
use tidings_core::account::{Account, Client};
use tidings_core::answer::Encoded;
use tidings_core::config::Verifier;
use tidings_core::{READ_CONNECTIONS, Surface, Tidings};

use crate::config::Config;
use crate::connection::tls::Tls;
use crate::events::hub::Hub;
use crate::filter::coding::Compressor;
use crate::filter::cors::Cors;
use crate::filter::lane::{IMPORTS, IMPORTS_OF_ONE, Lanes, REMOTE, REMOTE_OF_ONE};
use crate::filter::limit::Limits;
use crate::filter::shares::{Downloads, Part, Shares};
use crate::metrics::Metrics;

const DOCUMENTS: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");

pub(crate) struct App {
    pub(crate) tidings: Tidings,
    pub(crate) config: Config,
    pub(crate) lanes: Lanes,
    pub(crate) compressor: Compressor,
    pub(crate) policy: ArcSwap<Policy>,
    pub(crate) tls: OnceLock<Arc<Tls>>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) events: Hub,
    pub(crate) documents: Documents,
    /// In bytes, for the bodies of all requests.
    pub(crate) bodies: Arc<Shares<Client>>,
    pub(crate) downloads: Downloads,
    pub(crate) imports: Arc<Shares<Account>>,
    /// For requests to servers that callers name.
    pub(crate) remote: Arc<Shares<Account>>,
    leaving: AtomicBool,
}

impl App {
    pub(crate) fn new(tidings: Tidings, config: Config) -> Arc<Self> {
        let tidings = tidings.through(Surface::Http);
        Arc::new(Self {
            lanes: Lanes::new(
                config.operations,
                config.operation_queue,
                tidings.config().verifier == Verifier::Http || tidings.config().oidc.is_on(),
                tidings.is_on_server().then_some(READ_CONNECTIONS),
            ),
            compressor: Compressor::new(),
            policy: ArcSwap::from_pointee(Policy::new(&config, tidings.config().client_limits)),
            tls: OnceLock::new(),
            metrics: config.metrics_listen.map(|_| Metrics::new()),
            events: Hub::new(tidings.clone(), config.event_streams()),
            documents: Documents::new(),
            bodies: Shares::new(config.bodies_limit, Part::OfFree),
            downloads: Downloads::new(),
            imports: Shares::new(IMPORTS, Part::AtMost(IMPORTS_OF_ONE)),
            remote: Shares::new(REMOTE, Part::AtMost(REMOTE_OF_ONE)),
            leaving: AtomicBool::new(false),
            tidings,
            config,
        })
    }

    /// The server is about to shut down: it is not ready, and closes connections after their responses.
    pub(crate) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Also ends the streams of events.
    pub(crate) fn stop(&self) {
        self.leave();
        self.events.close();
    }

    pub(crate) fn sweep(&self) {
        self.policy.load().limits.sweep();
    }
}

/// The rules that a running server can change. A request has those that were in force when it arrived.
pub(crate) struct Policy {
    pub(crate) cors: Cors,
    pub(crate) limits: Limits,
}

impl Policy {
    pub(crate) fn new(config: &Config, limits_clients: bool) -> Self {
        Self { cors: Cors::new(&config.cors_origins), limits: Limits::new(config.rate_limit, limits_clients) }
    }

    /// Clients keep the used part of a limit that does not change.
    pub(crate) fn changed(&self, config: &Config) -> Self {
        Self { cors: Cors::new(&config.cors_origins), limits: self.limits.changed(config.rate_limit) }
    }
}

/// The documents of feed readers that many clients ask for, by their addresses, each with the answer from which it was made.
pub(crate) struct Documents(Mutex<LruCache<String, SourceAndDocument>>);

type SourceAndDocument = (Arc<Encoded>, Arc<Encoded>);

impl Documents {
    fn new() -> Self {
        Self(Mutex::new(LruCache::new(DOCUMENTS)))
    }

    pub(crate) fn get(&self, address: &str, source: &Arc<Encoded>) -> Option<Arc<Encoded>> {
        let mut documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, document) = documents.get(address)?;
        Arc::ptr_eq(of, source).then(|| Arc::clone(document))
    }

    pub(crate) fn insert(&self, address: String, source: Arc<Encoded>, document: &Arc<Encoded>) {
        let mut documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        documents.put(address, (source, Arc::clone(document)));
    }
}

pub(crate) type AppRef = Arc<App>;
