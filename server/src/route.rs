//! The table of operations: for each path its methods, for each method its handler.
//!
//! A request is looked up once, however many operations there are: first its path (404), then its method (405
//! with `Allow`), and only then are token and body read. The same table says what `Allow` lists, and a test
//! compares it with the OpenAPI document.

use std::collections::BTreeMap;
use std::pin::Pin;

use http::{HeaderValue, Method};
use percent_encoding::percent_decode_str;
use tidings_core::Error;
use tidings_core::analysis::Operation;

use crate::limit::Counted;
use crate::reply::{Answer, Refusal};
use crate::request::Call;

type Handler = Box<dyn Fn(Call) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync>;

/// An operation: its method, the template of its path as the documents write it, and its handler.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Whether it tells everybody the same and changes nothing.
    pub(crate) is_public: bool,
    /// What a request counts as where clients are limited.
    pub(crate) counted: Counted,
    /// Whether asking for it is recorded.
    is_recorded: bool,
    handler: Handler,
}

impl Route {
    /// A `GET` operation.
    pub(crate) fn get<F>(path: &'static str, handler: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let handler: Handler = Box::new(move |call| Box::pin(handler(call)));
        let counted = Counted::Nothing;
        Self { method: Method::GET, path, is_public: false, counted, is_recorded: true, handler }
    }

    /// A `POST` operation.
    pub(crate) fn post<F>(path: &'static str, handler: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Self { method: Method::POST, ..Self::get(path, handler) }
    }

    /// The same, telling everybody who brings no token the same and changing nothing: its answers may be kept.
    pub(crate) fn public(self) -> Self {
        Self { is_public: true, ..self }
    }

    /// The same, which a client may do so often.
    pub(crate) fn counts_as(self, counted: Counted) -> Self {
        Self { counted, ..self }
    }

    /// The same, but asking for it is no communication.
    pub(crate) fn unrecorded(self) -> Self {
        Self { is_recorded: false, ..self }
    }

    /// Begins to answer a call.
    pub(crate) fn handle(&self, call: Call) -> impl Future<Output = Answer> + Send + use<> {
        (self.handler)(call)
    }
}

/// The operations of one path.
struct Methods {
    routes: Vec<Route>,
    /// What `Allow` says.
    allowed: HeaderValue,
    /// What the access log calls the path, unless asking for it is no communication.
    recorded: Option<Operation>,
}

/// What stands behind a path.
pub(crate) struct Matched<'t> {
    methods: &'t Methods,
    /// The parameters of the path, percent-decoded.
    pub(crate) segments: Vec<Vec<u8>>,
}

impl<'t> Matched<'t> {
    /// The operation with this method.
    ///
    /// # Errors
    /// `method not allowed` when there are others.
    pub(crate) fn route(&self, method: &Method) -> Result<&'t Route, Refusal> {
        let route = self.methods.routes.iter().find(|route| route.method == method);
        route.ok_or_else(|| Refusal::MethodNotAllowed(self.methods.allowed.clone()))
    }

    /// The path as the documents write it.
    pub(crate) fn template(&self) -> &'static str {
        self.methods.routes.first().map_or("", |route| route.path)
    }

    /// What the access log calls a request with this method, if it is a communication.
    pub(crate) fn recorded(&self, method: &Method) -> Option<Operation> {
        self.methods.recorded.map(|operation| operation.by(method.as_str()))
    }
}

/// All operations.
pub(crate) struct Table(matchit::Router<Methods>);

impl Table {
    /// The table of these operations.
    pub(crate) fn new(routes: impl IntoIterator<Item = Route>) -> Self {
        let mut paths: BTreeMap<&'static str, Vec<Route>> = BTreeMap::new();
        for route in routes {
            paths.entry(route.path).or_default().push(route);
        }
        let mut table = matchit::Router::new();
        for (path, routes) in paths {
            let methods: Vec<&str> = routes.iter().map(|route| route.method.as_str()).collect();
            let allowed = HeaderValue::from_str(&methods.join(", ")).expect("methods are plain text");
            let is_recorded = routes.iter().any(|route| route.is_recorded);
            let recorded = is_recorded.then(|| Operation::new("GET", path));
            table
                .insert(path, Methods { routes, allowed, recorded })
                .expect("no two templates are the same path");
        }
        Self(table)
    }

    /// What stands behind a path.
    ///
    /// # Errors
    /// `Not found` for a path that has no operation.
    pub(crate) fn find(&self, path: &str) -> Result<Matched<'_>, Refusal> {
        let found = self.0.at(path).map_err(|_| Error::NotFound)?;
        let segments = found.params.iter().map(|(_, segment)| percent_decode_str(segment).collect());
        Ok(Matched { methods: found.value, segments: segments.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let none = |_: Call| async { Err(Error::NotFound.into()) };
        Table::new([
            Route::get("/remove_notice/{notice_obi}", none),
            Route::post("/remove_notice/{notice_obi}", none),
            Route::post("/category_search/{category_name}/{num}", none),
            Route::get("/get_all_notice", none),
        ])
    }

    fn find(method: &str, path: &str) -> String {
        let table = table();
        let found = table.find(path);
        match found.and_then(|found| Ok((found.route(&method.parse().unwrap())?, found.segments))) {
            Ok((route, segments)) => {
                let segments = segments.iter().map(|segment| format!(" {}", segment.escape_ascii()));
                format!("{} {}{}", route.method, route.path, segments.collect::<String>())
            }
            Err(Refusal::MethodNotAllowed(allowed)) => format!("allowed: {}", allowed.to_str().unwrap()),
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn the_path_is_looked_up_first_and_then_the_method() {
        assert_eq!(find("GET", "/remove_notice/x"), "GET /remove_notice/{notice_obi} x");
        assert_eq!(find("POST", "/remove_notice/x"), "POST /remove_notice/{notice_obi} x");
        assert_eq!(find("PUT", "/remove_notice/x"), "allowed: GET, POST");
        for method in ["HEAD", "POST", "OPTIONS", "BREW"] {
            assert_eq!(find(method, "/get_all_notice"), "allowed: GET", "{method}");
        }
        for path in
            ["/", "", "*", "/get_all_notice/", "//get_all_notice", "/GET_ALL_NOTICE", "/remove_notice/"]
        {
            assert_eq!(find("GET", path), "Not found", "{path}");
        }
    }

    #[test]
    fn segments_are_decoded_after_the_path_is_cut() {
        let decoded = "POST /category_search/{category_name}/{num} a/b\\x00\\xff% 1";
        assert_eq!(find("POST", "/category_search/a%2Fb%00%fF%/1"), decoded);
        assert_eq!(find("POST", "/category_search/a/b/1"), "Not found");
    }
}
