//! The steps of every request: limits, its operation in the routing table, the headers of its response.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use http::header::ORIGIN;
use http::request::Parts;
use http::{Method, Request, Uri};
use tidings_core::Error;
use tidings_core::account::Caller;
use tidings_core::analysis::Operation;
use tidings_core::operation::{self, Stream};
use tidings_core::operations::{self, Visitor};
use tower::Service;

use crate::api::{
    account_page, audit, data, health, home, import, newsfeed, notice, oidc, post, report, websub,
};
use crate::config::Config;
use crate::filter::client::PeerAddress;
use crate::filter::cors;
use crate::filter::limit::QuotaHeaders;
use crate::filter::policy::Policy;
use crate::filter::reply::{self, Body, Refusal, Response, Scope};
use crate::filter::request::Context;
use crate::filter::request_record::RequestRecord;
use crate::filter::target;
use crate::filter::upload::Upload;
use crate::route::{Route, Table};
use crate::state::{App, AppRef};
use crate::{events, openapi};

type BoxError = Box<dyn StdError + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Router {
    app: AppRef,
    table: Arc<Table>,
}

impl Router {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        Self::with(app, Table::new(routes(app.tidings.config(), &app.config)))
    }

    fn with(app: &Arc<App>, table: Table) -> Self {
        Self { app: Arc::clone(app), table: Arc::new(table) }
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        let path = target::normal_path(path).ok();
        let path = path.as_deref().and_then(|path| path.strip_prefix(self.app.config.base_path.as_str()));
        path.is_some_and(|path| self.table.find(path).is_ok())
    }

    pub(crate) fn app(&self) -> &AppRef {
        &self.app
    }

    /// The responses have the headers of CORS.
    pub(crate) fn service<B>(
        self,
    ) -> impl Service<Request<B>, Response = http::Response<Body>, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + 'static
    where
        B: http_body::Body<Error: Into<BoxError>> + Send + Sync + 'static,
    {
        tower::service_fn(move |request: Request<B>| {
            let peer = request.extensions().get().map(|PeerAddress(peer)| *peer);
            let (head, body) = request.into_parts();
            let answer = self.clone().serve(head, body, peer);
            async move { Ok(answer.await) }
        })
    }

    fn check(&self, policy: &Policy, route: &Route, context: &Context) -> Result<(), Refusal> {
        if let Some(key) = context.caller().known_key(&self.app.tidings) {
            policy.limits.check_key(key)?;
        }
        let is_signed = || context.caller().is_signed(&self.app.tidings);
        Ok(policy.limits.check(route.counted, || context.address().into(), is_signed)?)
    }

    /// Without the headers that depend on the request.
    async fn run<B>(
        &self,
        policy: &Policy,
        route: &Route,
        context: Arc<Context>,
        target: Uri,
        body: B,
    ) -> Response
    where
        B: http_body::Body<Error: Into<BoxError>> + Send + Sync + 'static,
    {
        let (caller, address) = (context.caller().clone(), context.address());
        let is_signed = || caller.is_signed(&self.app.tidings);
        let was_signed = route.counted.is_write() && is_signed();
        let answered = AssertUnwindSafe(route.answer(context, target, body)).catch_unwind().await;
        if was_signed && !is_signed() {
            // The operation found that the token was revoked. The next request with it is one of a guest from the beginning.
            drop(policy.limits.check(route.counted, || address.into(), || false));
        }
        let panicked = || Err(Error::Internal("the handler panicked".into()).into());
        answered.unwrap_or_else(|_| reply::incomplete(panicked(), route.path))
    }

    /// `peer` is the other end of the connection, if it is known.
    pub(crate) fn serve<B>(
        self,
        mut head: Parts,
        body: B,
        peer: Option<IpAddr>,
    ) -> impl Future<Output = Response> + Send + use<B>
    where
        B: http_body::Body<Error: Into<BoxError>> + Send + Sync + 'static,
    {
        target::set_host(&mut head);
        let mut context = Context::new(self.app.clone(), head, peer);
        context.has_body = !body.is_end_stream();
        // Boxed here, because it is large, and is moved on its way to the connection.
        Box::pin(async move {
            if let Some(refused) = target::refuse(&context.head) {
                drop(Upload::new(&context.head.headers, body));
                return refused;
            }
            // A request has one set of rules from its beginning to its end.
            let policy = self.app.policy.load();
            if cors::is_preflight(&context.head) {
                drop(Upload::new(&context.head.headers, body));
                return policy.cors.preflight(context.head).await;
            }
            self.respond(&policy, context, body).await
        })
    }

    async fn respond<B>(&self, policy: &Policy, mut context: Context, body: B) -> Response
    where
        B: http_body::Body<Error: Into<BoxError>> + Send + Sync + 'static,
    {
        let method = context.head.method.clone();
        let names_origin = policy.cors.names_origin();
        let origin = context.head.headers.get(ORIGIN).filter(|_| names_origin).cloned();
        let mut scope = Scope { names_origin, ..Scope::default() };
        if method != Method::OPTIONS {
            scope.readers = policy.cors.readers(origin.as_ref());
        }
        let uri = context.head.uri.clone();
        let (path, malformed) = match target::normal_path(uri.path()) {
            Ok(path) => (path, None),
            Err(error) => (uri.path().into(), Some(error)),
        };
        let path = path.strip_prefix(self.app.config.base_path.as_str()).unwrap_or_default();
        let observed = self.app.metrics.as_ref().map(|metrics| (metrics, Instant::now()));
        // Requests to unknown paths and methods also count against the limit.
        let (allowed, quota) = count(policy, path, &context);
        let found = malformed.map_or_else(|| self.table.find(path), |error| Err(error.into()));
        let template = found.as_ref().map_or("", |found| found.template());
        let recorded = match &found {
            Ok(found) => found.recorded(&method),
            Err(_) => Some(Operation::unknown(method.as_str())),
        };
        let recorded =
            recorded.filter(|_| self.app.config.analytics).map(|op| (RequestRecord::of(&context), op));
        let route = match (allowed, found) {
            (Err(refusal), _) | (_, Err(refusal)) => Err(refusal),
            (Ok(()), Ok(found)) => found.route(&method),
        };
        if let Ok(route) = &route {
            (scope.public, scope.has_formats) = (route.public, route.has_formats);
        }
        scope.is_guest = matches!(context.caller(), Caller::Guest);
        context.is_personal = route.as_ref().is_ok_and(|route| route.is_tagged());
        context.is_tagged = scope.kept().is_some() || context.is_personal;
        let route = route.and_then(|route| self.check(policy, route, &context).map(|()| route));
        let response = match route {
            Ok(route) => {
                let (context, target) = (Arc::new(context), target::within(&uri, path));
                let remembered =
                    if scope.is_guest { route.remembered(&context, &target).await } else { None };
                match remembered {
                    Some(answer) => {
                        drop(Upload::new(&context.head.headers, body));
                        reply::incomplete(answer, template)
                    }
                    None => self.run(policy, route, context, target, body).await,
                }
            }
            Err(refusal) => {
                drop(Upload::new(&context.head.headers, body));
                reply::incomplete(Err(refusal), template)
            }
        };
        let result = reply::result_of(&response);
        if let Some((metrics, began)) = observed {
            metrics.count(template, &method, result, began.elapsed());
        }
        let mut response = scope.complete(response);
        if let Some((record, operation)) = recorded {
            record.record(&self.app, operation, path, response.status(), result);
        }
        if let Some(quota) = quota {
            response.headers_mut().extend(*quota);
        }
        if method == Method::HEAD {
            reply::remove_body(&mut response);
        }
        response
    }
}

/// Returns whether the request is within the general rate limit, and the headers with the rest of the limit.
fn count(policy: &Policy, path: &str, call: &Context) -> (Result<(), Refusal>, Option<Box<QuotaHeaders>>) {
    match &policy.limits.general {
        Some(limit) if !health::is_health(path) => {
            let counted = limit.count(call.address().into());
            let quota = Box::new(limit.headers(&counted));
            (counted.map(drop).map_err(Refusal::from), Some(quota))
        }
        _ => (Ok(()), None),
    }
}

pub(crate) fn routes(core: &tidings_core::config::Config, config: &Config) -> Vec<Route> {
    struct Declared(Vec<Route>);

    impl Visitor for Declared {
        fn visit<O: operation::Operation>(&mut self) {
            self.0.push(Route::of::<O>());
        }

        fn stream<S: Stream>(&mut self) {
            // Its handler is below.
        }
    }

    let mut declared = Declared(Vec::new());
    operations::each(&mut declared);
    let handlers = [
        data::handlers(),
        oidc::handlers(),
        import::handlers(),
        audit::handlers(),
        notice::handlers(),
        post::handlers(),
        newsfeed::handlers(),
        websub::handlers(),
        report::handlers(),
        events::handlers(),
        health::handlers(),
        home::handlers(config),
        account_page::handlers(core, config),
        openapi::handlers(core, config),
    ];
    let handlers: Vec<Route> = handlers.into_iter().flatten().collect();
    let is_handled = |route: &Route| handlers.iter().any(|other| other.is_of(route));
    declared.0.retain(|route| !is_handled(route));
    declared.0.extend(handlers);
    declared.0
}

#[cfg(test)]
mod tests;
