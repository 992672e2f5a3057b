//! The application: the routing table with what every request passes, and the state that requests share.

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::ArcSwap;
use futures_util::FutureExt as _;
use http::header::ORIGIN;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request};
use tidings_core::account::{Account, Client};
use tidings_core::analysis::Operation;
use tidings_core::{Error, Surface, Tidings};
use tower::Service;

use crate::coding::Compressor;
use crate::config::Config;
use crate::cors;
use crate::download::Downloads;
use crate::events::Hub;
use crate::lane::Lanes;
use crate::limit::QuotaHeaders;
use crate::metrics::Metrics;
use crate::per_connection::PerConnection;
use crate::policy::Policy;
use crate::reply::{self, Answer, Body, Refusal, Response, Scope};
use crate::request::Call;
use crate::request_record::RequestRecord;
use crate::route::{Route, Table};
use crate::service::PeerAddress;
use crate::shares::{Part, Shares};
use crate::syndication::Documents;
use crate::tls::Tls;
use crate::upload::Upload;
use crate::{
    account, admin, analysis, audit, data, docs, events, feedback, health, home, import, key, lookup,
    main_info, members, newsfeed, notice, otp, post, profile, report, search, sessions, target, webhook,
    weights, words,
};

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) tidings: Tidings,
    pub(crate) config: Config,
    pub(crate) lanes: Lanes,
    pub(crate) compressor: Compressor,
    /// The rules that a reload can change.
    pub(crate) policy: ArcSwap<Policy>,
    /// The certificate, if the server speaks TLS.
    pub(crate) tls: OnceLock<Arc<Tls>>,
    /// The metrics, if they are served.
    pub(crate) metrics: Option<Metrics>,
    /// The hub of live events, if they are on.
    pub(crate) events: Option<Hub>,
    /// The cached documents for feed readers.
    pub(crate) documents: Documents,
    /// The memory in bytes that the bodies of all requests share.
    pub(crate) bodies: Arc<Shares<Client>>,
    /// The places of downloads.
    pub(crate) downloads: Downloads,
    /// The places of imports.
    pub(crate) imports: Arc<Shares<Account>>,
    leaving: AtomicBool,
    table: Table,
}

impl App {
    pub(crate) fn new(tidings: Tidings, config: Config) -> Arc<Self> {
        let tidings = tidings.through(Surface::Http);
        Arc::new(Self {
            lanes: Lanes::new(
                config.operations,
                config.operation_queue,
                tidings.config().hash_queue,
                tidings.config().verifier,
                tidings.is_on_server().then_some(tidings.config().postgres_read_connections),
            ),
            compressor: Compressor::new(),
            policy: ArcSwap::from_pointee(Policy::new(&config)),
            tls: OnceLock::new(),
            metrics: config.metrics_listen.map(|_| Metrics::new(&tidings)),
            events: config.event_connections.map(|_| Hub::new(tidings.clone(), config.event_streams())),
            documents: Documents::new(),
            bodies: Shares::new(config.bodies_limit, Part::OfFree),
            downloads: Downloads::new(),
            imports: import::places(),
            table: Table::new(routes(tidings.config(), &config)),
            leaving: AtomicBool::new(false),
            tidings,
            config,
        })
    }

    /// Returns the API as a tower service. Its responses have the headers of CORS.
    pub(crate) fn service<B>(
        self: Arc<Self>,
    ) -> impl Service<Request<B>, Response = http::Response<Body>, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + 'static
    where
        B: http_body::Body + Send + Sync + 'static,
    {
        let app = AppRef::new(self);
        tower::service_fn(move |request: Request<B>| {
            let peer = request.extensions().get().map(|PeerAddress(peer)| *peer);
            let (head, body) = request.into_parts();
            let answer = app.clone().serve(head, body, peer);
            async move { Ok(*answer.await) }
        })
    }

    /// Marks the server as about to shut down: it is not ready, and closes connections after their responses.
    pub(crate) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server is about to shut down.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Marks the server as shutting down and ends the streams of events.
    pub(crate) fn stop(&self) {
        self.leave();
        self.events.iter().for_each(Hub::close);
    }

    /// Counts a request against the general rate limit. Returns whether it is within the limit, and the headers that tell
    /// the client how much of the limit is left.
    fn count(policy: &Policy, path: &str, call: &Call) -> (Result<(), Refusal>, Option<Box<QuotaHeaders>>) {
        match &policy.limits.general {
            Some(limit) if !health::is_health(path) => {
                let counted = limit.count(call.address().into());
                let quota = Box::new(limit.headers(&counted));
                (counted.map(drop).map_err(Refusal::from), Some(quota))
            }
            _ => (Ok(()), None),
        }
    }

    /// Removes idle clients from the rate limits.
    pub(crate) fn sweep(&self) {
        self.policy.load().limits.sweep();
    }

    async fn answer(&self, policy: &Policy, route: &Route, call: Call) -> Answer {
        if let Some(key) = call.caller().known_key(&self.tidings) {
            policy.limits.check_key(key)?;
        }
        let (caller, address) = (call.caller().clone(), call.address());
        let is_signed = || caller.is_signed(&self.tidings);
        policy.limits.check(route.counted, || address.into(), is_signed)?;
        let was_signed = route.counted.is_write() && is_signed();
        let handled = AssertUnwindSafe(async { route.handle(call).await }).catch_unwind().await;
        if was_signed && !is_signed() {
            // The operation found that the token was revoked. The next request with it is one of a guest from the beginning.
            drop(policy.limits.check(route.counted, || address.into(), || false));
        }
        handled.unwrap_or_else(|_| Err(Error::Internal("the handler panicked".into()).into()))
    }
}

/// The state of all requests, as those of one connection refer to it.
pub(crate) type AppRef = PerConnection<App>;

impl AppRef {
    /// Answers a request that arrived on a connection from `peer`, if it is known.
    pub(crate) fn serve<B>(
        self,
        mut head: Parts,
        body: B,
        peer: Option<IpAddr>,
    ) -> impl Future<Output = Response> + Send + use<B>
    where
        B: http_body::Body + Send + Sync + 'static,
    {
        target::set_host(&mut head);
        let upload = Upload::new(&head.headers, body);
        let call = Call::new(self.clone(), head, peer, upload);
        // Boxed here, because it is large, and is moved on its way to the connection.
        Box::pin(async move {
            if let Some(refused) = target::refuse(call.head()) {
                return refused;
            }
            // A request has one set of rules from its beginning to its end.
            let policy = self.policy.load();
            if cors::is_preflight(call.head()) {
                return policy.cors.preflight(call.head().clone()).await;
            }
            self.respond(&policy, call).await
        })
    }

    async fn respond(&self, policy: &Policy, mut call: Call) -> Response {
        let (method, is_head) = (call.head().method.clone(), call.is_head());
        let names_origin = policy.cors.names_origin();
        let origin = call.headers().get(ORIGIN).filter(|_| names_origin).cloned();
        let mut scope = Scope { names_origin, ..Scope::default() };
        if method != Method::OPTIONS {
            scope.readers = policy.cors.readers(origin.as_ref());
        }
        let target = call.head().uri.path_and_query().cloned();
        let raw = target.as_ref().map_or("", PathAndQuery::path);
        let (path, malformed) = match target::normal_path(raw) {
            Ok(path) => (path, None),
            Err(error) => (raw.into(), Some(error)),
        };
        let path = path.strip_prefix(self.config.base_path.as_str()).unwrap_or_default();
        let observed = self.metrics.as_ref().map(|metrics| (metrics, Instant::now()));
        let observe = |path, answer: &Answer| {
            if let Some((metrics, began)) = observed {
                metrics.count(path, &method, answer.as_ref().err(), began.elapsed());
            }
        };
        // Requests to unknown paths and methods also count against the limit.
        let (allowed, quota) = App::count(policy, path, &call);
        let finish = move |mut response: Response| {
            if let Some(quota) = quota {
                response.headers_mut().extend(*quota);
            }
            if is_head {
                reply::remove_body(&mut response);
            }
            response
        };
        let found = match malformed.map_or_else(|| self.table.find(path), |error| Err(error.into())) {
            Ok(found) => found,
            Err(refusal) => {
                let answer = allowed.and(Err(refusal));
                observe("", &answer);
                let result = reply::result(&answer);
                let response = reply::respond(answer, "", scope);
                if self.config.analytics {
                    let record = RequestRecord::of(&call);
                    let unknown = Operation::unknown(method.as_str());
                    record.record(self, unknown, path, response.status(), result);
                }
                return finish(response);
            }
        };
        let route = allowed.and_then(|()| found.route(&method));
        let recorded = found.recorded(&method);
        let template = found.template();
        call.set_segments(found.segments);
        let recorded = recorded.filter(|_| self.config.analytics).map(|op| (RequestRecord::of(&call), op));
        if let Ok(route) = &route {
            (scope.public, scope.has_formats) = (route.public, route.has_formats);
        }
        scope.is_guest = call.is_guest();
        if scope.kept().is_some() {
            call.tag_response();
        }
        let answer = match route {
            Ok(route) => self.answer(policy, route, call).await,
            Err(refusal) => Err(refusal),
        };
        observe(template, &answer);
        let result = reply::result(&answer);
        let response = reply::respond(answer, template, scope);
        if let Some((record, operation)) = recorded {
            record.record(self, operation, path, response.status(), result);
        }
        finish(response)
    }
}

/// Returns every operation, the OpenAPI document and its page.
pub(crate) fn routes(core: &tidings_core::config::Config, config: &Config) -> Vec<Route> {
    let mut routes = operations(config);
    routes.extend(docs::routes(core, config));
    routes
}

/// Returns every operation that the OpenAPI document describes, except the document itself.
pub(crate) fn operations(config: &Config) -> Vec<Route> {
    let slices = [
        account::routes(),
        profile::routes(),
        data::routes(),
        sessions::routes(),
        otp::routes(),
        admin::routes(),
        key::routes(),
        lookup::routes(),
        webhook::routes(),
        members::routes(),
        import::routes(),
        audit::routes(),
        notice::routes(),
        main_info::routes(),
        feedback::routes(),
        post::routes(),
        search::routes(),
        words::routes(),
        newsfeed::routes(),
        weights::routes(),
        analysis::routes(),
        report::routes(),
        events::routes(config),
        health::routes(),
        home::routes(config),
    ];
    slices.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
