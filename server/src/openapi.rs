//! The OpenAPI document, and a page for reading it and trying the operations.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use tidings_core::answer::Encoded;
use tidings_core::api::GetDocument;
use tidings_core::config;
use utoipa::OpenApi as _;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, RefOr, ServerBuilder};

use crate::config::Config;
use crate::events;
use crate::filter::reply;
use crate::filter::request::Call;
use crate::route::Route;

mod declared;
mod failures;
mod limits;
mod page;
mod schema;
#[cfg(test)]
mod tests;

use declared::Writer;
use limits::Limits;

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Schemas can have this keyword here only as an extension.
const CONST: &str = "const";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "tidings",
        description = "Accounts, analytics, notices, feedback, posts, search and newsfeeds.\n\n\
            Every answer of an operation has a `result`: `success`, or what went wrong. A failure that an operation \
            names has status 200; every other one has the status that says so. Bodies are JSON or forms with the \
            same fields: in a form a list is a repeated key or one text with commas. Every response to a request whose \
            head could be read has the header `Tidings-Result`, which repeats `result`; with a general rate limit also \
            `RateLimit` and `RateLimit-Policy`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "account", description = "Members: sign-up, sign-in, their own data and settings"),
        (name = "admin", description = "For administrators: the members, the blacklist, API keys and the audit trail"),
        (name = "notice", description = "Announcements by administrators"),
        (name = "feedback", description = "Messages from members to the administrators"),
        (name = "post", description = "Posts, with their views and likes"),
        (name = "search", description = "Searching posts, and similar words"),
        (name = "newsfeed", description = "Lists of posts for members and guests"),
        (name = "analysis", description = "Statistics of the traffic, and the access log"),
        (name = "server", description = "Health checks, and this document"),
    ),
)]
struct Document;

/// Returns the OpenAPI 3.1 document of the API with these settings of the service and of the server, as JSON.
pub fn openapi(core: &config::Config, server: &Config) -> String {
    let mut document = Document::openapi();
    let insertions = Writer::write_all(&mut document, core);
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    let (live, others) = schema::of::<events::LiveEvents>();
    let components = document.components.get_or_insert_default();
    components.schemas.extend(others.into_iter().chain([live]));
    components.security_schemes.insert("token".into(), SecurityScheme::Http(token).into());
    failures::add_shared(components);
    failures::narrow_successes(components);
    declared::write_insertions(components, &insertions);
    Limits::new(core, server).write(&mut document);
    failures::write_examples(&mut document);
    document.servers = Some(vec![ServerBuilder::new().url(limits::url(server)).build()]);
    document.to_pretty_json().expect("the document is JSON")
}

fn operations(document: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    document.paths.paths.values_mut().flat_map(|item| [&mut item.get, &mut item.post]).flatten()
}

/// The object with status 200.
fn answer_of(operation: &mut Operation) -> Option<&mut Content> {
    let RefOr::T(done) = operation.responses.responses.get_mut("200")? else { return None };
    let RefOr::T(content) = done.content.get_mut(JSON)? else { return None };
    Some(content)
}

/// Empty if the document and its page are disabled.
pub(crate) fn handlers(core: &config::Config, config: &Config) -> Vec<Route> {
    if config.no_docs {
        return Vec::new();
    }
    let (core, config) = (core.clone(), config.clone());
    let document = Arc::new(prepared(move || openapi(&core, &config)));
    let page = page::routes(Arc::clone(&document));
    let answer = move |call: Call, _| {
        let document = Arc::clone(&document);
        async move { call.file(&document, reply::JSON).await }
    };
    [Route::stream::<GetDocument, _>(answer)].into_iter().chain(page).collect()
}

type Prepared = LazyLock<Arc<Encoded>, Box<dyn FnOnce() -> Arc<Encoded> + Send>>;

fn prepared<B: Into<Bytes>>(content: impl FnOnce() -> B + Send + 'static) -> Prepared {
    LazyLock::new(Box::new(|| Arc::new(Encoded::new(content()))))
}
