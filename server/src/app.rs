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
use crate::lane::Lanes;
use crate::limit::{Limits, QuotaHeaders, RateLimit};
use crate::metrics::Metrics;
use crate::reply::{self, Answer, Refusal, Scope};
use crate::request::Call;
use crate::request_record::RequestRecord;
use crate::route::{Route, Table};
use crate::service::PeerAddress;
use crate::upload::Upload;
use crate::{
    account, admin, analysis, client, docs, feedback, health, home, main_info, newsfeed, notice, post,
    profile, request, search, target, words,
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
        tower::service_fn(move |request: Request<B>| {
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

    /// Marks the server as shutting down; from then on it is not ready.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
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
            (scope.is_public, scope.content) = (route.is_public, route.content);
            scope.by_accept = route.by_accept;
        }
        scope.is_guest = call.is_guest();
        let call = call.of_operation(is_head, scope.is_keepable());
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

/// Returns every operation.
pub(crate) fn routes(core: &tidings_core::config::Config, config: &Config) -> Vec<Route> {
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
        health::routes(),
        home::routes(config),
        docs::routes(core, config),
    ];
    slices.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{header, json, outcome, post, request, service, with};

    #[tokio::test]
    async fn unknown_paths_and_other_methods_are_refused_in_json() {
        let service = service();
        for (method, path, expected) in [
            ("GET", "/nothing", "404 Not found"),
            ("POST", "/", "405 method not allowed"),
            ("GET", "/metrics", "404 Not found"),
            ("POST", "/get_userinfo", "405 method not allowed"),
            ("OPTIONS", "/get_userinfo", "405 method not allowed"),
            ("GET", "/sign_in", "405 method not allowed"),
        ] {
            let answer = service.call(request(method, path)).await;
            assert_eq!(outcome(&answer), expected, "{method} {path}");
            assert_eq!(header(&answer, "content-type"), "application/json; charset=utf-8");
            assert_eq!(header(&answer, "cache-control"), "no-store");
        }
        let answer = service.call(request("DELETE", "/get_userinfo")).await;
        assert_eq!(header(&answer, "allow"), "GET, HEAD");
    }

    #[tokio::test]
    async fn all_paths_are_below_the_base_path() {
        let (service, base) = (service(), "/api/v1");
        let config = Config { base_path: base.parse().unwrap(), ..Config::default() };
        for (path, expected) in [
            ("/api/v1/healthz", "200 success"),
            ("/healthz", "404 Not found"),
            ("/api/v1", "404 Not found"),
            ("/api/v1healthz", "404 Not found"),
            ("/", "404 Not found"),
        ] {
            assert_eq!(outcome(&service.answer(&config, request("GET", path)).await), expected, "{path}");
        }
        let document = service.answer(&config, request("GET", "/api/v1/openapi.json")).await;
        assert_eq!(json(&document)["servers"][0]["url"], base);
    }

    #[tokio::test]
    async fn a_preflight_allows_the_requested_headers() {
        let service = service();
        let preflight = with(request("OPTIONS", "/sign_in"), "origin", "https://app.example.org");
        let preflight = with(preflight, "access-control-request-method", "POST");
        let preflight = with(preflight, "access-control-request-headers", "authorization,content-type");
        let answer = service.call(preflight.clone()).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(header(&answer, "access-control-allow-origin"), "*");
        assert_eq!(header(&answer, "access-control-allow-headers"), "authorization,content-type");
        assert_eq!(header(&answer, "access-control-allow-methods"), "GET,HEAD,POST");
        assert_eq!(header(&answer, "access-control-max-age"), "86400");

        let origin = "https://app.example.org".parse().unwrap();
        let narrow = Config { cors_origins: vec![origin], ..Config::default() };
        let answer = service.answer(&narrow, preflight).await;
        assert_eq!(header(&answer, "access-control-allow-origin"), "https://app.example.org");
        let stranger = with(request("GET", "/healthz"), "origin", "https://evil.example.org");
        let answer = service.answer(&narrow, stranger).await;
        assert_eq!(header(&answer, "access-control-allow-origin"), "");
        assert_eq!(header(&answer, "vary"), "origin");
    }

    #[tokio::test]
    async fn errors_can_be_read_by_other_origins_too() {
        let service = service();
        for path in ["/nowhere", "/sign_in", "/sign_out_all"] {
            let answer = service.call(with(request("GET", path), "origin", "https://a.example")).await;
            assert_eq!(header(&answer, "access-control-allow-origin"), "*", "{path}");
            assert!(header(&answer, "access-control-expose-headers").contains("retry-after"));
        }
    }

    #[tokio::test]
    async fn long_responses_are_compressed_for_clients_that_accept_gzip() {
        let service = service();
        let plain = service.call(request("GET", "/openapi.json")).await;
        let vary = "accept-encoding, authorization";
        assert_eq!((header(&plain, "content-encoding"), header(&plain, "vary")), ("", vary));
        let packed = service.call(with(request("GET", "/openapi.json"), "accept-encoding", "gzip")).await;
        assert_eq!((header(&packed, "content-encoding"), header(&packed, "vary")), ("gzip", vary));
        let mut text = Vec::new();
        let mut unpacked = flate2::read::GzDecoder::new(packed.body().as_ref());
        std::io::Read::read_to_end(&mut unpacked, &mut text).unwrap();
        assert!(text == *plain.body() && packed.body().len() < text.len() / 2);
        let short = service.call(with(request("GET", "/healthz"), "accept-encoding", "gzip")).await;
        assert_eq!((header(&short, "content-encoding"), header(&short, "vary")), ("", ""));
    }

    #[tokio::test]
    async fn a_large_cached_response_is_compressed_like_a_small_one() {
        let service = service();
        let text = "A long notice. ".repeat(1_000);
        let admin = tidings_core::account::Caller::Operator;
        let draft = tidings_core::notice::Draft {
            title: Some("Long".into()),
            post: Some(text.clone()),
            ..tidings_core::notice::Draft::default()
        };
        let id = tidings_core::notice::insert(&service.tidings, &admin, &draft).unwrap().id;
        for path in ["/get_all_notice".to_owned(), format!("/get_notice/{id}")] {
            // The first request may have to read the database.
            service.call(request("GET", &path)).await;
            let packed = service.call(with(request("GET", &path), "accept-encoding", "gzip")).await;
            let mut json = String::new();
            let mut unpacked = flate2::read::GzDecoder::new(packed.body().as_ref());
            std::io::Read::read_to_string(&mut unpacked, &mut json).unwrap();
            assert!(json.contains(&text) && header(&packed, "content-encoding") == "gzip", "{path}");
        }
    }

    #[tokio::test]
    async fn personal_responses_are_not_cached() {
        let service = service();
        let token = format!("Bearer {}", service.member("ann").await);
        for path in ["/get_userinfo", "/update_auto_login/1", "/openapi.json"] {
            let answer = service.call(with(request("GET", path), "authorization", &token)).await;
            assert_eq!(
                (answer.status().as_u16(), header(&answer, "cache-control")),
                (200, "no-store"),
                "{path}"
            );
        }
        let sign_in = post("/sign_in", "application/json", r#"{"id":"ann","pw":"password"}"#);
        let answer = service.call(sign_in).await;
        assert_eq!(
            (outcome(&answer).as_str(), header(&answer, "cache-control")),
            ("200 success", "no-store")
        );
    }

    #[tokio::test]
    async fn a_client_over_the_rate_limit_is_told_when_to_try_again() {
        let service = service();
        let config = Config { rate_limit: std::num::NonZeroU32::new(1), ..Config::default() };
        let server = App::new(service.tidings.clone(), config);
        let call = |address: &str, path: &str| {
            let mut request = request("GET", path);
            request.extensions_mut().insert(PeerAddress(address.parse().unwrap()));
            tower::ServiceExt::oneshot(Arc::clone(&server).service(), request)
        };
        assert_eq!(call("192.0.2.1", "/get_userinfo").await.unwrap().status(), 200);
        let refused = call("192.0.2.1", "/get_userinfo").await.unwrap();
        assert_eq!(
            (refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()),
            (429, "1")
        );
        assert_eq!(refused.headers()["ratelimit"], "\"default\";r=0;t=1");
        assert_eq!(refused.headers()["ratelimit-policy"], "\"default\";q=1;w=1");
        assert_eq!(call("192.0.2.2", "/get_userinfo").await.unwrap().status(), 200);
        assert_eq!(call("192.0.2.1", "/healthz").await.unwrap().status(), 200);
    }

    #[tokio::test]
    async fn a_panic_in_a_handler_is_an_internal_error_and_the_server_goes_on() {
        let service = service();
        let routes = [Route::get("/panic", |_| async { panic!("a mistake") })];
        let mut server = App::new(service.tidings.clone(), Config::default());
        Arc::get_mut(&mut server).unwrap().table = Table::new(routes);
        for _ in 0..2 {
            let answer = tower::ServiceExt::oneshot(Arc::clone(&server).service(), request("GET", "/panic"));
            assert_eq!(answer.await.unwrap().status(), 500);
        }
    }

    #[tokio::test]
    async fn a_server_that_shuts_down_is_alive_and_not_ready() {
        let service = service();
        let server = App::new(service.tidings.clone(), Config::default());
        let status = async |path| {
            let answer =
                tower::ServiceExt::oneshot(Arc::clone(&server).service(), request("GET", path)).await;
            answer.unwrap().status().as_u16()
        };
        assert_eq!((status("/healthz").await, status("/readyz").await), (200, 200));
        server.stop();
        assert_eq!((status("/healthz").await, status("/readyz").await), (200, 503));
    }
}
