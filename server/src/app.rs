//! The application: one warp filter in front of the routing table, and the state that requests share.
//!
//! warp parses a request and carries its response. One lookup in the table finds the operation; sixty warp filters
//! would each reject the requests that they do not match. `Allow` comes from the same table.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::future::ready;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::future::Either;
use futures_util::{FutureExt as _, TryFutureExt as _};
use http::{HeaderMap, Method, Request};
use tidings_core::analysis::Operation;
use tidings_core::{Error, Tidings};
use tokio::sync::Semaphore;
use tower::{Layer as _, Service};
use warp::filters::path::FullPath;
use warp::reply::{Reply, Response};
use warp::{Filter, Rejection};

use crate::coding::Compressor;
use crate::config::Config;
use crate::cors;
use crate::events::Hub;
use crate::lane::Lanes;
use crate::limit::{Limits, QuotaHeaders, RateLimit};
use crate::metrics::Metrics;
use crate::reply::{self, Answer, Refusal, Scope};
use crate::request::Call;
use crate::request_record::RequestRecord;
use crate::route::{Route, Table};
use crate::service::PeerAddress;
use crate::syndication::Documents;
use crate::upload::Upload;
use crate::{
    account, admin, analysis, client, docs, events, feedback, health, home, main_info, newsfeed, notice,
    post, profile, request, search, target, words,
};

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) tidings: Tidings,
    pub(crate) config: Config,
    pub(crate) lanes: Lanes,
    pub(crate) compressor: Compressor,
    pub(crate) rate_limit: Option<RateLimit>,
    limits: Limits,
    /// The metrics, if they are served.
    pub(crate) metrics: Option<Metrics>,
    /// The hub of live events, if they are on.
    pub(crate) events: Option<Hub>,
    /// The cached documents for feed readers.
    pub(crate) documents: Documents,
    /// One permit for each byte of the memory that the bodies of all requests share.
    pub(crate) bodies: Semaphore,
    stopping: AtomicBool,
    table: Table,
}

impl App {
    pub(crate) fn new(tidings: Tidings, config: Config) -> Arc<Self> {
        Arc::new(Self {
            lanes: Lanes::new(
                config.operations,
                config.operation_queue,
                tidings.config().hash_queue,
                tidings.config().verifier,
                tidings.is_on_server(),
            ),
            compressor: Compressor::new(),
            rate_limit: config.rate_limit.map(RateLimit::per_second),
            limits: Limits::new(&config),
            metrics: config.metrics_listen.map(|_| Metrics::new(&tidings)),
            events: config.event_connections.map(|_| Hub::new(tidings.clone())),
            documents: Documents::new(),
            bodies: Semaphore::new(config.bodies_limit),
            table: Table::new(routes(tidings.config(), &config)),
            stopping: AtomicBool::new(false),
            tidings,
            config,
        })
    }

    /// Returns the API as a tower service that adds CORS headers.
    pub(crate) fn service<B>(
        self: Arc<Self>,
    ) -> impl Service<Request<B>, Response = Response, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + 'static
    where
        B: http_body::Body<Data: Send, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + Sync + 'static,
    {
        let cors = cors::layer(&self.config.cors_origins);
        let names_origin = self.names_origin();
        let mut inner = warp::service(filter(self));
        let mut outer = cors.layer(inner.clone());
        tower::service_fn(move |mut request: Request<B>| {
            target::set_host(&mut request);
            if let Some(refused) = target::refuse(&request) {
                return Either::Left(Either::Left(ready(Ok(refused))));
            }
            if request.method() != Method::OPTIONS {
                Either::Left(Either::Right(outer.call(request)))
            } else if cors::is_preflight(request.headers()) {
                Either::Right(Either::Left(outer.call(request).map_ok(move |mut response| {
                    cors::complete_preflight(response.headers_mut(), names_origin);
                    response
                })))
            } else {
                Either::Right(Either::Right(inner.call(request)))
            }
        })
    }

    /// Returns whether responses repeat the origin of their request, because only certain origins may read them.
    fn names_origin(&self) -> bool {
        !self.config.cors_origins.is_empty()
    }

    /// Marks the server as shutting down and ends the streams of events; from then on it is not ready.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.events.iter().for_each(Hub::close);
    }

    /// Returns whether the server is shutting down.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    async fn respond(
        self: Arc<Self>,
        method: Method,
        path: FullPath,
        query: String,
        headers: HeaderMap,
        peer: Option<PeerAddress>,
        upload: Upload,
    ) -> Response {
        let is_head = method == Method::HEAD;
        let mut scope = Scope { names_origin: self.names_origin(), ..Scope::default() };
        let path = path.as_str().strip_prefix(self.config.base_path.as_str()).unwrap_or_default();
        let observed = self.metrics.as_ref().map(|metrics| (metrics, Instant::now()));
        let observe = |path, answer: &Answer| {
            if let Some((metrics, began)) = observed {
                metrics.count(path, &method, answer.as_ref().err(), began.elapsed());
            }
        };
        let peer = peer.map(|peer| peer.0);
        // Requests to unknown paths and methods also count against the limit.
        let (allowed, quota) = self.count(path, peer, &headers);
        let finish = move |mut response: Response| {
            response.headers_mut().extend(quota.into_iter().flatten());
            if is_head {
                reply::remove_body(&mut response);
            }
            response
        };
        let found = match self.table.find(path) {
            Ok(found) => found,
            Err(refusal) => {
                let answer = allowed.and(Err(refusal));
                observe("", &answer);
                let result = reply::result(&answer);
                let response = reply::respond(answer, "", scope);
                if self.config.analytics {
                    let address = client::of(peer, &headers, &self.config.trust_proxy);
                    let record = RequestRecord::new(request::caller(&headers), address, &headers);
                    let unknown = Operation::unknown(method.as_str());
                    record.record(&self, unknown, path, response.status(), result);
                }
                return finish(response);
            }
        };
        let route = allowed.and_then(|()| found.route(&method));
        let recorded = found.recorded(&method);
        let template = found.template();
        let call = Call::new(Arc::clone(&self), found.segments, query, headers, peer, upload);
        let recorded = recorded.filter(|_| self.config.analytics).map(|op| (RequestRecord::of(&call), op));
        if let Ok(route) = &route {
            (scope.public, scope.has_formats) = (route.public, route.has_formats);
        }
        scope.is_guest = call.is_guest();
        let call = call.of_operation(is_head, scope.kept().is_some());
        let answer = match route {
            Ok(route) => self.answer(route, call).await,
            Err(refusal) => Err(refusal),
        };
        observe(template, &answer);
        let result = reply::result(&answer);
        let response = reply::respond(answer, template, scope);
        if let Some((record, operation)) = recorded {
            record.record(&self, operation, path, response.status(), result);
        }
        finish(response)
    }

    /// Counts a request against the general rate limit. Returns whether it is within the limit, and the headers that tell
    /// the client how much of the limit is left.
    fn count(
        &self,
        path: &str,
        peer: Option<IpAddr>,
        headers: &HeaderMap,
    ) -> (Result<(), Refusal>, Option<QuotaHeaders>) {
        match &self.rate_limit {
            Some(limit) if !health::is_health(path) => {
                let counted = limit.count(client::of(peer, headers, &self.config.trust_proxy).into());
                let quota = limit.headers(&counted);
                (counted.map(drop).map_err(Refusal::from), Some(quota))
            }
            _ => (Ok(()), None),
        }
    }

    /// Removes idle clients from the rate limits.
    pub(crate) fn sweep(&self) {
        self.rate_limit.iter().for_each(RateLimit::sweep);
        self.limits.sweep();
    }

    async fn answer(&self, route: &Route, call: Call) -> Answer {
        let is_signed = || call.caller().is_signed(&self.tidings);
        self.limits.check(route.counted, || call.address().into(), is_signed)?;
        let handled = AssertUnwindSafe(async { route.handle(call).await }).catch_unwind().await;
        handled.unwrap_or_else(|_| Err(Error::Internal("the handler panicked".into()).into()))
    }
}

/// Returns the warp filter that parses a request for the table.
fn filter(app: Arc<App>) -> impl Filter<Extract: Reply, Error = Infallible> + Clone {
    let no_query = warp::any().map(String::new);
    warp::any()
        .map(move || Arc::clone(&app))
        .and(warp::method())
        .and(warp::path::full())
        .and(warp::query::raw().or(no_query).unify())
        .and(warp::header::headers_cloned())
        .and(warp::ext::optional())
        .and(warp::body::stream())
        .then(|app: Arc<App>, method, path, query, headers: HeaderMap, peer, pieces| {
            let upload = Upload::new(&headers, pieces);
            app.respond(method, path, query, headers, peer, upload)
        })
        .recover(|rejection: Rejection| async move {
            let error = Error::Internal(format!("warp refused a request: {rejection:?}").into());
            Ok::<_, Infallible>(reply::respond(Err(error.into()), "", Scope::default()))
        })
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
        admin::routes(),
        notice::routes(),
        main_info::routes(),
        feedback::routes(),
        post::routes(),
        search::routes(),
        words::routes(),
        newsfeed::routes(),
        analysis::routes(),
        events::routes(config),
        health::routes(),
        home::routes(config),
    ];
    slices.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
