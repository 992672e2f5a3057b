//! The OpenAPI document, and a page for reading it and trying the operations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use tidings_core::answer::Encoded;
use tidings_core::api::GetDocument;
use tidings_core::config;
use tidings_core::operation::Access;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi, Ref, RefOr, ServerBuilder};
use utoipa::{Modify, OpenApi as _};

use crate::config::Config;
use crate::events;
use crate::reply;
use crate::request::Call;
use crate::route::Route;

mod bodies;
mod caching;
mod declared;
mod examples;
mod facts;
mod failures;
mod headers;
mod limits;
mod page;
mod schema;
#[cfg(test)]
mod tests;

use limits::Limits;
use schema::Done;

/// The size of the buffer in which files of the program are unpacked.
const BUFFER: usize = 1 << 16;
const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const FORM: &str = "application/x-www-form-urlencoded";

/// The keyword that schemas can have here only as an extension.
const CONST: &str = "const";

/// The operation whose body has an object in it, which a form cannot have.
const NESTED: &str = "pin_feed_weights";

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
    components(schemas(events::LiveEvents)),
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
    modifiers(&Common),
)]
struct Document;

/// The part of the document that is common to all operations.
struct Common;

impl Modify for Common {
    fn modify(&self, document: &mut OpenApi) {
        let declared = declared::all();
        let accesses: BTreeMap<_, _> =
            declared.iter().map(|declared| (declared.spec.name(), declared.spec.access)).collect();
        for declared in declared {
            declared.write(document);
        }
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
        let components = document.components.get_or_insert_default();
        components.security_schemes.insert("token".into(), SecurityScheme::Http(token).into());
        failures::add_shared(components);
        for item in document.paths.paths.values_mut() {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                let access = operation.operation_id.as_deref().and_then(|id| accesses.get(id));
                complete(operation, access.copied());
                headers::write(operation);
                facts::write_parameters(operation);
            }
        }
        facts::write_components(components);
        failures::narrow_successes(components);
        bodies::write(document);
    }
}

/// Adds the form as an alternative to the JSON body, the responses that every operation of this kind can have, and who may
/// call the operation.
fn complete(operation: &mut Operation, access: Option<Access>) {
    let mut responses = vec![
        ("400", "BadRequest"),
        ("405", "MethodNotAllowed"),
        ("414", failures::URI_TOO_LONG),
        ("429", "TooManyRequests"),
        ("431", failures::HEAD_TOO_LARGE),
        ("500", failures::internal(operation)),
        ("503", "Overloaded"),
    ];
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        let is_flat = body.content.len() == 1 && operation.operation_id.as_deref() != Some(NESTED);
        if let Some(json) = body.content.get(JSON).filter(|_| is_flat).cloned() {
            body.content.insert(FORM.into(), json);
        }
        let is_import = body.content.contains_key(NDJSON) || body.content.contains_key(CSV);
        responses.push(("413", if is_import { "ImportTooLarge" } else { "BodyTooLarge" }));
        responses.push(("415", "UnsupportedMediaType"));
    }
    if let Some(RefOr::T(done)) = operation.responses.responses.get_mut("200") {
        done.description = "The answer of the operation.".into();
    }
    let callers = match access {
        Some(access) => callers(access),
        None => undeclared_callers(operation).into(),
    };
    let description = operation.description.get_or_insert_default();
    let separator = if description.is_empty() { "" } else { "\n\n" };
    *description = format!("{description}{separator}{callers}");
    for (status, name) in responses {
        let response = Ref::from_response_name(name);
        operation.responses.responses.entry(status.into()).or_insert(response.into());
    }
}

/// Returns who may call an operation, in words.
fn callers(access: Access) -> Cow<'static, str> {
    Cow::Borrowed(match access {
        Access::Open => "Anyone may call it.",
        Access::Anyone => "Anyone may call it; a token that fails is as none.",
        Access::AnyoneFor(objects) => return format!("Anyone may call it for {objects}.").into(),
        Access::Members => "For members.",
        Access::Own(_) => "For administrators, and for members about themselves.",
        Access::Admins(_) | Access::Persons => "For administrators.",
    })
}

/// Does the same as [`callers`] for an operation that is not declared.
fn undeclared_callers(operation: &Operation) -> &'static str {
    let has_refusal = operation.responses.responses.contains_key("403");
    match (&operation.security, has_refusal) {
        (None, _) => "Anyone may call it.",
        (Some(either), _) if either.len() > 1 => "Anyone may call it; a token that fails is as none.",
        (Some(_), true) => "For administrators.",
        (Some(_), false) => "For members.",
    }
}

/// The document with the settings of [`limits::placeholders`]. The code that builds it would be a tenth of the program, so the
/// program contains the result, which a test compares with the code.
const TEMPLATE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/template.json.br"));

/// Returns a file that the build script has compressed.
fn unpacked(file: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    brotli::Decompressor::new(file, BUFFER)
        .read_to_end(&mut content)
        .expect("the build script wrote the file");
    content
}

/// Does the same as [`openapi`], from the code.
///
/// It is public only for the compiler, which would otherwise take the descriptions of operations for dead code: the tests
/// write `template.json` with it.
#[doc(hidden)]
pub fn described(core: &config::Config, server: &Config) -> String {
    let mut document = Document::openapi();
    let declared = declared::all();
    if let Some(components) = &mut document.components {
        for item in document.paths.paths.values_mut() {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                let id = operation.operation_id.as_deref().unwrap_or_default();
                let documented = declared.iter().find(|declared| declared.spec.name() == id);
                let documented = documented.map_or_else(Vec::new, |declared| (declared.refusals)(core));
                failures::add_documented(operation, components, &documented);
            }
        }
    }
    Limits::new(core, server).write(&mut document);
    caching::write(&mut document, &declared);
    examples::write_successes(&mut document);
    document.servers = Some(vec![ServerBuilder::new().url(limits::url(server)).build()]);
    document.to_pretty_json().expect("the document is JSON")
}

/// Returns the OpenAPI 3.1 document of the API with these settings of the service and of the server, as JSON.
pub fn openapi(core: &config::Config, server: &Config) -> String {
    let template = String::from_utf8(unpacked(TEMPLATE)).expect("JSON is UTF-8");
    limits::settle(template, core, server)
}

/// Returns the routes of the document and its page, if they are enabled.
pub(crate) fn handlers(core: &config::Config, config: &Config) -> Vec<Route> {
    if !config.docs {
        return Vec::new();
    }
    let document = Arc::new(Settled { core: core.clone(), server: config.clone(), json: OnceLock::new() });
    let answer = move |call: Call, _| {
        let document = Arc::clone(&document);
        async move { call.file(&document.get(), reply::JSON).await }
    };
    let mut routes = vec![Route::stream::<GetDocument, _>(answer)];
    routes.extend(page::routes());
    routes
}

/// The document with the settings in force, which is prepared when it is first asked for.
struct Settled {
    core: config::Config,
    server: Config,
    json: OnceLock<Arc<Encoded>>,
}

impl Settled {
    fn get(&self) -> Arc<Encoded> {
        let json = self.json.get_or_init(|| Arc::new(Encoded::new(openapi(&self.core, &self.server))));
        Arc::clone(json)
    }
}
