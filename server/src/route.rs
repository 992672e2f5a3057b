//! For each path its methods, and for each the warp filter that answers. The path is checked first (404), then the method (405
//! with `Allow`); token and body are read only afterwards. `HEAD` is answered by a `GET` that changes nothing. Some operations
//! with `GET` count a view or remove a record; their paths refuse `HEAD`.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderValue, Method, Uri};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tidings_core::analysis::Operation as Recorded;
use tidings_core::answer::Encoded;
use tidings_core::operation::{self, Effect, Operation, Spec, Stream};
use tidings_core::{Result, Tidings};
use tower::ServiceExt as _;
use warp::Filter as _;
use warp::filters::BoxedFilter;
use warp::path::Tail;

use crate::filter::caching::Content;
use crate::filter::client;
use crate::filter::coding::Level;
use crate::filter::fields::Given;
use crate::filter::reply::{self, Answer, JSON, Refusal, Response};
use crate::filter::request::{self, Call, Context, Made, Work};
use crate::syndication::{Format, FormatField};

pub(crate) struct Route {
    pub(crate) spec: Spec,
    filter: BoxedFilter<(Response,)>,
    remembered: Option<Remembered>,
}

type Remembered = fn(&Given, &Tidings) -> Option<Result<Arc<Encoded>>>;

/// For handlers that read nothing of the request before they begin.
#[derive(Deserialize)]
pub(crate) struct NoFields {}

#[derive(Deserialize)]
pub(crate) struct PageFile {
    pub(crate) file: String,
}

impl Route {
    pub(crate) fn of<O: Operation>() -> Self {
        let may_remember = matches!(O::SPEC.effect, Effect::Public | Effect::Counts);
        let remembered: Remembered = |given, tidings| given.read::<O>().ok()?.remembered(tidings);
        let filter = running(O::SPEC, |given| Ok(request::boxed::<O>(given.read()?)));
        Self { spec: O::SPEC, filter, remembered: may_remember.then_some(remembered) }
    }

    pub(crate) fn stream<S: Stream, F>(handler: impl Fn(Call, S) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Self::raw(S::SPEC, handler)
    }

    /// The handler reads the body. The route may be no operation of the API: a file of its page, or a callback of other servers.
    pub(crate) fn raw<T: DeserializeOwned + Send + 'static, F>(
        spec: Spec,
        handler: impl Fn(Call, T) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Self { spec, filter: filter(spec, false, Given::read::<T>, handler), remembered: None }
    }

    pub(crate) fn answered_by<T: DeserializeOwned + Send + 'static, F>(
        self,
        handler: impl Fn(Call, T) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Self { filter: filter(self.spec, has_body(&self.spec), Given::read::<T>, handler), ..self }
    }

    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.spec.method == other.spec.method && self.spec.path == other.spec.path
    }

    fn only_reads(&self) -> bool {
        self.spec.only_reads() && self.spec.method == operation::Method::Get
    }

    /// The operation answers all guests alike and changes nothing for them.
    pub(crate) fn public(&self) -> Option<Content> {
        match self.spec.effect {
            Effect::Public => Some(Content::Data),
            Effect::Document => Some(Content::Document),
            Effect::Reads | Effect::ReadsTagged | Effect::Counts | Effect::Writes => None,
        }
    }

    /// Answers a guest from memory, before anything else of the request is read.
    pub(crate) async fn remembered(&self, context: &Context, target: &Uri) -> Option<Answer> {
        let remembered = self.remembered?;
        if self.spec.effect == Effect::Counts && client::is_prefetch(&context.head.headers) {
            return None;
        }
        let rest = target.path()[1..].split_once('/').map_or("", |(_, rest)| rest);
        let given = given(self.spec, rest, context);
        if self.spec.has_formats {
            let FormatField { format } = given.read().ok()?;
            if !matches!(Format::chosen(&context.head.headers, format.as_deref()), Ok(None)) {
                return None;
            }
        }
        match remembered(&given, &context.app.tidings)? {
            Ok(encoded) => Some(context.send(Made::Shared(encoded), JSON, Level::Answer).await),
            Err(error) => Some(Err(error.into())),
        }
    }

    /// Without the headers that depend on the request.
    pub(crate) async fn answer(&self, context: Arc<Context>, target: Uri) -> Response {
        let mut request = http::Request::new(String::new());
        *request.uri_mut() = target;
        request.extensions_mut().insert(context);
        let Ok(response) = warp::service(self.filter.clone()).oneshot(request).await;
        response
    }
}

fn has_body(spec: &Spec) -> bool {
    spec.method == operation::Method::Post
}

/// The generic part of an operation ends before this function: all operations share the code of the filter.
fn running(spec: Spec, read: fn(&Given) -> Result<Work>) -> BoxedFilter<(Response,)> {
    filter(spec, has_body(&spec), read, move |call, work| call.run(spec, work))
}

/// `has_body` tells whether the fields are in the body, which the handler reads otherwise.
fn filter<T: Send + 'static, F>(
    spec: Spec,
    has_body: bool,
    read: fn(&Given) -> Result<T>,
    handler: impl Fn(Call, T) -> F + Clone + Send + Sync + 'static,
) -> BoxedFilter<(Response,)>
where
    F: Future<Output = Answer> + Send + 'static,
{
    path(spec.path)
        .and(warp::ext::get())
        .and(warp::path::tail())
        .then(move |context: Arc<Context>, rest: Tail| {
            let given = given(spec, rest.as_str(), &context);
            let (mut call, handler) = (Call::new(context), handler.clone());
            async move {
                let answer = match call.fields(given, has_body, read).await {
                    Ok(fields) => handler(call, fields).await,
                    Err(refusal) => Err(refusal),
                };
                reply::incomplete(answer, spec.path)
            }
        })
        .boxed()
}

/// Compares the first segment of a template. The table has compared the number of the others.
fn path(template: &'static str) -> BoxedFilter<()> {
    match template.split('/').nth(1) {
        None | Some("") => warp::any().boxed(),
        Some(first) => warp::path(first).boxed(),
    }
}

fn given(spec: Spec, rest: &str, context: &Context) -> Given {
    let query = context.head.uri.query().unwrap_or_default().to_owned();
    Given { spec, segments: segments(rest), query, body: None }
}

pub(crate) fn segments(rest: &str) -> Vec<Vec<u8>> {
    let segments = rest.split('/').filter(|segment| !segment.is_empty());
    segments.map(|segment| percent_decode_str(segment).collect()).collect()
}

pub(crate) struct Methods {
    routes: Vec<Route>,
    allowed: HeaderValue,
    /// `None` if requests are not recorded.
    recorded: Option<Recorded>,
}

impl Methods {
    /// For `HEAD`, returns the operation of `GET` if it only reads.
    pub(crate) fn route(&self, method: &Method) -> Result<&Route, Refusal> {
        let answers = |route: &&Route| {
            route.spec.method.name() == method.as_str() || (method == Method::HEAD && route.only_reads())
        };
        let route = self.routes.iter().find(answers);
        route.ok_or_else(|| Refusal::MethodNotAllowed(self.allowed.clone()))
    }

    pub(crate) fn template(&self) -> &'static str {
        self.routes.first().map_or("", |route| route.spec.path)
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
            paths.entry(route.spec.path).or_default().push(route);
        }
        let mut table = matchit::Router::new();
        for (path, routes) in paths {
            let mut methods: Vec<&str> = routes.iter().map(|route| route.spec.method.name()).collect();
            if routes.iter().any(Route::only_reads) {
                methods.push(Method::HEAD.as_str());
                methods.sort_unstable();
            }
            let allowed = HeaderValue::from_str(&methods.join(", ")).expect("methods are plain text");
            let is_recorded = routes.iter().any(|route| route.spec.is_recorded);
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
