//! The OpenAPI document, and a page for reading it and trying the operations.

use std::sync::{Arc, OnceLock};

use tidings_core::answer::Encoded;
use tidings_core::api::GetDocument;
use tidings_core::config;
use utoipa::OpenApi as _;
use utoipa::openapi::ServerBuilder;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use crate::config::Config;
use crate::events;
use crate::filter::reply;
use crate::filter::request::Call;
use crate::route::Route;

mod declared;
mod examples;
mod failures;
mod headers;
mod limits;
mod page;
mod schema;
#[cfg(test)]
mod tests;

use declared::Declared;
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
    let declared = declared::all();
    let insertions: Vec<_> = declared.iter().filter_map(Declared::insertion).collect();
    for declared in declared {
        declared.write(&mut document, core);
    }
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    let mut named = Vec::new();
    let live = schema::of::<events::LiveEvents>(&mut named);
    named.push(live);
    let components = document.components.get_or_insert_default();
    components.schemas.extend(named);
    components.security_schemes.insert("token".into(), SecurityScheme::Http(token).into());
    failures::add_shared(components);
    failures::narrow_successes(components);
    declared::write_insertions(components, &insertions);
    Limits::new(core, server).write(&mut document);
    examples::write_successes(&mut document);
    document.servers = Some(vec![ServerBuilder::new().url(limits::url(server)).build()]);
    document.to_pretty_json().expect("the document is JSON")
}

/// Empty if the document and its page are disabled.
pub(crate) fn handlers(core: &config::Config, config: &Config) -> Vec<Route> {
    if config.no_docs {
        return Vec::new();
    }
    let document = Arc::new(Written { core: core.clone(), server: config.clone(), json: OnceLock::new() });
    let page = page::routes(Arc::clone(&document));
    let answer = move |call: Call, _| {
        let document = Arc::clone(&document);
        async move { call.file(&document.get(), reply::JSON).await }
    };
    let mut routes = vec![Route::stream::<GetDocument, _>(answer)];
    routes.extend(page);
    routes
}

/// Written when it is first requested.
struct Written {
    core: config::Config,
    server: Config,
    json: OnceLock<Arc<Encoded>>,
}

impl Written {
    fn get(&self) -> Arc<Encoded> {
        let json = self.json.get_or_init(|| Arc::new(Encoded::new(openapi(&self.core, &self.server))));
        Arc::clone(json)
    }
}
