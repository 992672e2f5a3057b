//! The routing table: for each path its methods, for each method its handler.
//!
//! A request takes one lookup, regardless of the number of operations. The path is checked first (404), then the method (405 with
//! `Allow`). Token and body are read only afterwards.
//!
//! `HEAD` is answered by the operation of `GET` if that changes nothing. Some operations with `GET` count a view or remove a
//! record; their paths refuse `HEAD`, so that a client that only looks for a path changes nothing.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use http::{HeaderValue, Method, Uri};
use tidings_core::Tidings;
use tidings_core::analysis::Operation as Recorded;
use tidings_core::answer::Encoded;
use tidings_core::operation::{self, Effect, Fields, Operation, Rate, Spec, Stream};
use tower::ServiceExt as _;
use warp::filters::BoxedFilter;

use crate::endpoint;
use crate::filter::caching::Content;
use crate::filter::client;
use crate::filter::fields::Given;
use crate::filter::limit::Counted;
use crate::filter::reply::{Answer, Refusal, Response};
use crate::filter::request::{Call, Context};
use crate::syndication::{Format, FormatField};

pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    only_reads: bool,
    /// The operation answers all guests alike and changes nothing for them.
    pub(crate) public: Option<Content>,
    /// The format is that of `Accept`.
    pub(crate) has_formats: bool,
    pub(crate) counted: Counted,
    is_recorded: bool,
    filter: BoxedFilter<(Response,)>,
    pub(crate) spec: Option<Spec>,
    remembered: Option<Remembered>,
}

/// `None` if the answer is not in memory.
type Remembered = fn(&Given, &Tidings) -> Option<tidings_core::Result<Arc<Encoded>>>;

impl Route {
    /// For a route that is no operation of the API: a file of its page, or a callback of other servers.
    pub(crate) fn raw<F>(
        method: Method,
        path: &'static str,
        handler: impl Fn(Call) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let filter = endpoint::filter(path, handler);
        Self {
            method,
            path,
            only_reads: false,
            public: None,
            has_formats: false,
            counted: Counted::Nothing,
            is_recorded: true,
            filter,
            spec: None,
            remembered: None,
        }
    }

    pub(crate) fn of<O: Operation>() -> Self {
        let may_remember = matches!(O::SPEC.effect, Effect::Public | Effect::Counts);
        let remembered = may_remember.then_some(endpoint::remembered::<O> as Remembered);
        Self { remembered, ..Self::declared(O::SPEC, endpoint::declared::<O>()) }
    }

    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.method == other.method && self.path == other.path
    }

    pub(crate) fn stream<S: Stream, F>(handler: impl Fn(Call, S) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Self::declared(S::SPEC, endpoint::handled(S::SPEC, false, handler))
    }

    pub(crate) fn answered_by<T: Fields, F>(
        self,
        handler: impl Fn(Call, T) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let spec = self.spec.expect("the operation is declared");
        let has_body = spec.method == operation::Method::Post;
        Self { filter: endpoint::handled(spec, has_body, handler), ..self }
    }

    fn declared(spec: Spec, filter: BoxedFilter<(Response,)>) -> Self {
        let method = match spec.method {
            operation::Method::Get => Method::GET,
            operation::Method::Post => Method::POST,
        };
        let counted = match spec.rate {
            Rate::General => Counted::Nothing,
            Rate::SignUp => Counted::SignUp,
            Rate::Search => Counted::Search,
            Rate::Write => Counted::Write,
            Rate::Feedback => Counted::Feedback,
        };
        Self {
            method,
            path: spec.path,
            only_reads: spec.only_reads() && spec.method == operation::Method::Get,
            public: match spec.effect {
                Effect::Public => Some(Content::Data),
                Effect::Document => Some(Content::Document),
                Effect::Reads | Effect::ReadsTagged | Effect::Counts | Effect::Writes => None,
            },
            has_formats: spec.has_formats,
            counted,
            is_recorded: spec.is_recorded,
            filter,
            spec: Some(spec),
            remembered: None,
        }
    }

    /// Applies to the response to a member.
    pub(crate) fn is_tagged(&self) -> bool {
        self.spec.is_some_and(|spec| spec.effect == Effect::ReadsTagged)
    }

    /// The operation changes nothing, so `HEAD` is answered.
    pub(crate) fn reads(self) -> Self {
        Self { only_reads: true, ..self }
    }

    /// The operation is public, and its response is a document or a file of the program.
    pub(crate) fn document(self) -> Self {
        Self { public: Some(Content::Document), ..self.reads() }
    }

    /// Excludes the requests from the access log and the counters.
    pub(crate) fn unrecorded(self) -> Self {
        Self { is_recorded: false, ..self }
    }

    /// Answers a guest from memory, before anything else of the request is read.
    pub(crate) async fn remembered(&self, context: &Arc<Context>, target: &Uri) -> Option<Answer> {
        let (spec, remembered) = self.spec.zip(self.remembered)?;
        if spec.effect == Effect::Counts && client::is_prefetch(&context.head.headers) {
            return None;
        }
        let segments = target.path()[1..].split_once('/').map_or("", |(_, rest)| rest);
        let given = Given {
            spec,
            segments: endpoint::segments(segments),
            query: target.query().unwrap_or_default().to_owned(),
            body: None,
        };
        if spec.has_formats {
            let FormatField { format } = given.read().ok()?;
            if !matches!(Format::chosen(&context.head.headers, format.as_deref()), Ok(None)) {
                return None;
            }
        }
        match remembered(&given, &context.app.tidings)? {
            Ok(encoded) => Some(context.encoded(&encoded).await),
            Err(error) => Some(Err(error.into())),
        }
    }

    /// Without the headers that depend on the request.
    pub(crate) async fn answer<B>(&self, context: Arc<Context>, target: Uri, body: B) -> Response
    where
        B: http_body::Body<Error: Into<Box<dyn Error + Send + Sync>>> + Send + Sync + 'static,
    {
        let mut request = http::Request::new(body);
        *request.uri_mut() = target;
        request.extensions_mut().insert(context);
        let Ok(response) = warp::service(self.filter.clone()).oneshot(request).await;
        response
    }
}

pub(crate) struct Methods {
    routes: Vec<Route>,
    /// The value of `Allow`.
    allowed: HeaderValue,
    /// `None` if requests are not recorded.
    recorded: Option<Recorded>,
}

impl Methods {
    /// For `HEAD`, returns the operation of `GET` if it only reads.
    pub(crate) fn route(&self, method: &Method) -> Result<&Route, Refusal> {
        let answers = |route: &&Route| {
            route.method == method
                || (method == Method::HEAD && route.only_reads && route.method == Method::GET)
        };
        let route = self.routes.iter().find(answers);
        route.ok_or_else(|| Refusal::MethodNotAllowed(self.allowed.clone()))
    }

    pub(crate) fn template(&self) -> &'static str {
        self.routes.first().map_or("", |route| route.path)
    }

    /// `None` if requests are not recorded.
    pub(crate) fn recorded(&self, method: &Method) -> Option<Recorded> {
        self.recorded.map(|operation| operation.by(method.as_str()))
    }
}

pub(crate) struct Table(matchit::Router<Methods>);

impl Table {
    pub(crate) fn new(routes: impl IntoIterator<Item = Route>) -> Self {
        let mut paths: BTreeMap<&'static str, Vec<Route>> = BTreeMap::new();
        for route in routes {
            paths.entry(route.path).or_default().push(route);
        }
        let mut table = matchit::Router::new();
        for (path, routes) in paths {
            let mut methods: Vec<&str> = routes.iter().map(|route| route.method.as_str()).collect();
            if routes.iter().any(|route| route.only_reads) {
                methods.push(Method::HEAD.as_str());
                methods.sort_unstable();
            }
            let allowed = HeaderValue::from_str(&methods.join(", ")).expect("methods are plain text");
            let is_recorded = routes.iter().any(|route| route.is_recorded);
            let recorded = is_recorded.then(|| Recorded::new("GET", path));
            table
                .insert(path, Methods { routes, allowed, recorded })
                .expect("no two templates match the same path");
        }
        Self(table)
    }

    pub(crate) fn find(&self, path: &str) -> Result<&Methods, Refusal> {
        let found = self.0.at(path).map_err(|_| Refusal::UnknownPath)?;
        Ok(found.value)
    }
}

#[cfg(test)]
mod tests {
    use tidings_core::{feedback, notice, search};

    use super::*;

    fn table() -> Table {
        Table::new([
            Route::of::<notice::Remove>(),
            Route::of::<feedback::SendOnNotice>(),
            Route::of::<search::FindInCategory>(),
            Route::of::<notice::List>(),
        ])
    }

    fn find(method: &str, path: &str) -> String {
        let table = table();
        match table.find(path).and_then(|found| found.route(&method.parse().unwrap())) {
            Ok(route) => format!("{} {}", route.method, route.path),
            Err(Refusal::MethodNotAllowed(allowed)) => format!("allowed: {}", allowed.to_str().unwrap()),
            Err(other) => other.result().to_owned(),
        }
    }

    #[test]
    fn the_path_is_looked_up_first_and_then_the_method() {
        assert_eq!(find("GET", "/remove_notice/x"), "GET /remove_notice/{notice_obi}");
        assert_eq!(find("POST", "/remove_notice/x"), "POST /remove_notice/{notice_obi}");
        assert_eq!(find("PUT", "/remove_notice/x"), "allowed: GET, POST");
        for method in ["GET", "HEAD"] {
            assert_eq!(find(method, "/get_all_notice"), "GET /get_all_notice", "{method}");
        }
        for method in ["POST", "OPTIONS", "BREW"] {
            assert_eq!(find(method, "/get_all_notice"), "allowed: GET, HEAD", "{method}");
        }
        assert_eq!(find("HEAD", "/remove_notice/x"), "allowed: GET, POST");
        for path in
            ["/", "", "*", "/get_all_notice/", "//get_all_notice", "/GET_ALL_NOTICE", "/remove_notice/"]
        {
            assert_eq!(find("GET", path), "Not found", "{path}");
        }
    }
}
