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
use http::{Method, Request, StatusCode, Uri};
use tidings_core::Error;
use tidings_core::account::Caller;
use tidings_core::analysis::{self, Communication, Operation};
use tidings_core::operation::{Effect, Rate};
use tower::Service;

use crate::api::home;
use crate::filter::client::{self, PeerAddress};
use crate::filter::cors;
use crate::filter::limit::Key;
use crate::filter::reply::{self, Body, Refusal, Response, Scope};
use crate::filter::request::Context;
use crate::filter::target;
use crate::filter::upload::Upload;
use crate::route::{Route, Table};
use crate::routes;
use crate::state::{App, AppRef, Policy};

type BoxError = Box<dyn StdError + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Router {
    app: AppRef,
    table: Arc<Table>,
}

impl Router {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        Self::with(app, Table::new(routes::all(app.tidings.config(), &app.config)))
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
        if let Some(key) = context.caller.known_key(&self.app.tidings) {
            policy.limits.check_key(key)?;
        }
        let is_signed = || context.caller.is_signed(&self.app.tidings);
        Ok(policy.limits.check(route.spec.rate, || context.address().into(), is_signed)?)
    }

    /// Without the headers that depend on the request.
    async fn run(&self, policy: &Policy, route: &Route, context: &Arc<Context>, target: Uri) -> Response {
        let is_signed = || context.caller.is_signed(&self.app.tidings);
        let is_write = matches!(route.spec.rate, Rate::Write | Rate::Feedback);
        let was_signed = is_write && is_signed();
        let answer = route.answer(Arc::clone(context), target);
        let answered = AssertUnwindSafe(answer).catch_unwind().await;
        if was_signed && !is_signed() {
            // The operation found that the token was revoked. The next request with it is one of a guest from the beginning.
            drop(policy.limits.check(route.spec.rate, || context.address().into(), || false));
        }
        let panicked = || Err(Error::Internal("the handler panicked".into()).into());
        answered.unwrap_or_else(|_| reply::incomplete(panicked(), route.spec.path))
    }

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
        let body = Upload::new(&head.headers, body);
        let context = Context::new(self.app.clone(), head, body, peer);
        // Boxed here, because it is large, and is moved on its way to the connection.
        Box::pin(async move {
            if let Some(refused) = target::refuse(&context.head) {
                return refused;
            }
            // A request has one set of rules from its beginning to its end.
            let policy = self.app.policy.load();
            if cors::is_preflight(&context.head) {
                return policy.cors.preflight(context.head).await;
            }
            self.respond(&policy, context).await
        })
    }

    async fn respond(&self, policy: &Policy, mut context: Context) -> Response {
        let (method, uri) = (context.head.method.clone(), context.head.uri.clone());
        let names_origin = policy.cors.names_origin();
        let origin = context.head.headers.get(ORIGIN).filter(|_| names_origin).cloned();
        let mut scope = Scope { names_origin, ..Scope::default() };
        if method != Method::OPTIONS {
            scope.readers = policy.cors.readers(origin.as_ref());
        }
        let (path, malformed) = match target::normal_path(uri.path()) {
            Ok(path) => (path, None),
            Err(error) => (uri.path().into(), Some(error)),
        };
        let path = path.strip_prefix(self.app.config.base_path.as_str()).unwrap_or_default();
        let observed = self.app.metrics.as_ref().map(|metrics| (metrics, Instant::now()));
        // Requests to unknown paths and methods also count against the limit.
        let limit = policy.limits.general.as_ref().filter(|_| !home::is_health(path));
        let counted = limit.map(|limit| limit.count(Key::Client(context.address().into())));
        let quota = limit.zip(counted.as_ref()).map(|(limit, counted)| limit.headers(counted));
        let found = malformed.map_or_else(|| self.table.find(path), |error| Err(error.into()));
        let template = found.as_ref().map_or("", |found| found.template());
        let recorded = match &found {
            Ok(found) => found.recorded(&method),
            Err(_) => Some(Operation::unknown(method.as_str())),
        };
        let route = match (counted, found) {
            (Some(Err(error)), _) => Err(error.into()),
            (_, found) => found.and_then(|found| found.route(&method)),
        };
        if let Ok(route) = &route {
            (scope.public, scope.has_formats) = (route.public(), route.spec.has_formats);
            // A tag of the response to a member.
            context.is_personal = route.spec.effect == Effect::ReadsTagged;
        }
        scope.is_guest = matches!(context.caller, Caller::Guest);
        context.is_tagged = scope.kept().is_some() || context.is_personal;
        let context = Arc::new(context);
        let found = route.and_then(|route| {
            self.check(policy, route, &context)?;
            Ok((route, target::within(&uri, path)))
        });
        let remembered = match &found {
            Ok((route, target)) if scope.is_guest => route.remembered(&context, target).await,
            _ => None,
        };
        let response = match (found, remembered) {
            (Ok((route, target)), None) => self.run(policy, route, &context, target).await,
            (Ok(_), Some(answer)) => reply::incomplete(answer, template),
            (Err(refusal), _) => reply::refused(&refusal, template),
        };
        let result = reply::result_of(&response);
        if let Some((metrics, began)) = observed {
            metrics.count(template, &method, result, began.elapsed());
        }
        let mut response = scope.complete(response);
        if let Some(operation) = recorded.filter(|_| self.app.config.analytics) {
            record(&context, operation, path, response.status(), result);
        }
        response.headers_mut().extend(quota.into_iter().flatten());
        if method == Method::HEAD {
            reply::remove_body(&mut response);
        }
        response
    }
}

/// A request that was refused only because of its rate or the load does not count as a communication.
fn record(context: &Context, operation: Operation, path: &str, status: StatusCode, result: &'static str) {
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return;
    }
    let headers = &context.head.headers;
    // A prefetch is no visit, so its client counts like a program without a person.
    let user_agent = if client::is_prefetch(headers) { b"" } else { client::user_agent(headers) };
    let communication = Communication {
        caller: &context.caller,
        operation,
        path,
        status: status.as_u16(),
        result,
        address: context.address(),
        user_agent,
    };
    analysis::record(&context.app.tidings, &communication);
}

#[cfg(test)]
mod tests;
