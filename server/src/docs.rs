//! The OpenAPI document, and a page for reading it and trying the operations.

use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use tidings_core::answer::Encoded;
use tidings_core::config;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi, Ref, RefOr, ServerBuilder};
use utoipa::{Modify, OpenApi as _};

use crate::config::Config;
use crate::reply::{self, Answer};
use crate::request::Call;
use crate::route::Route;
use crate::router;
use crate::{
    account, audit, data, events, feedback, health, home, import, lookup, main_info, otp, post, report,
    search, sessions, words,
};

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

pub(crate) use failures::{Administrators, DuplicateUrl, Members, Missing};
use limits::Limits;
pub(crate) use schema::{Done, Success};

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
    paths(
        account::sign_up,
        account::sign_in,
        account::sign_in_up,
        account::change_pw,
        account::sign_out_all,
        sessions::get_sessions,
        sessions::sign_out_session,
        otp::get_otp,
        otp::begin_otp,
        otp::enable_otp,
        otp::disable_otp,
        otp::renew_recovery_codes,
        data::get_my_data,
        data::get_member_data,
        import::import_members,
        import::import_acts,
        import::import_roster,
        sessions::get_member_sessions,
        sessions::sign_out_member,
        sessions::sign_out_member_session,
        audit::export_audit,
        main_info::get_main_info,
        main_info::update_main_info,
        feedback::notice_feedback,
        feedback::send_feedback,
        feedback::get_all_feedback,
        feedback::get_feedback,
        feedback::update_feedback,
        post::get_post,
        post::get_categories,
        post::get_posts,
        post::export_posts,
        post::post_view,
        post::post_like,
        post::post_unlike,
        post::post_hide,
        post::post_unhide,
        post::insert_post,
        post::update_post,
        post::remove_post,
        post::import::import_posts,
        lookup::find_ids,
        search::search_logging,
        search::priority_search,
        search::category_search,
        search::domain_search,
        search::get_user_lately_search,
        words::get_similarity_words,
        report::reports,
        report::reports_file,
        events::events,
        health::healthz,
        health::readyz,
        home::home,
        openapi_json,
        page::docs,
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
        for declared in declared::all() {
            declared.write(document);
        }
        sort(document);
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
        let components = document.components.get_or_insert_default();
        components.security_schemes.insert("token".into(), SecurityScheme::Http(token).into());
        failures::add_shared(components);
        for item in document.paths.paths.values_mut() {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                complete(operation);
                headers::write(operation);
                facts::write_parameters(operation);
            }
        }
        facts::write_components(components);
        failures::narrow_successes(components);
        bodies::write(document);
    }
}

/// Puts the paths into the order of the last document.
fn sort(document: &mut OpenApi) {
    let last = String::from_utf8(unpacked(TEMPLATE)).expect("JSON is UTF-8");
    let path = |line: &str| Some(line.strip_prefix("    \"/")?.split_once('"')?.0.to_owned());
    let places: Vec<String> = last.lines().filter_map(path).collect();
    document
        .paths
        .paths
        .sort_by_key(|path, _| places.iter().position(|place| *place == path[1..]).unwrap_or(usize::MAX));
}

/// Adds the form as an alternative to the JSON body, the responses that every operation of this kind can have, and who may
/// call the operation.
fn complete(operation: &mut Operation) {
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
    let has_refusal = operation.responses.responses.contains_key("403");
    let callers = match (operation.operation_id.as_deref(), &operation.security, has_refusal) {
        // Their refusal has status 200.
        (
            Some("admin_remove_user" | "check_admin" | "insert_notice" | "update_notice" | "remove_notice"),
            ..,
        ) => "For administrators.",
        (Some("get_log_user" | "get_log_user_date"), ..) => {
            "For administrators, and for members about themselves."
        }
        (Some("find_ids"), ..) => "Anyone may call it for posts and notices.",
        (_, None, _) => "Anyone may call it.",
        (_, Some(either), _) if either.len() > 1 => "Anyone may call it; a token that fails is as none.",
        (_, Some(_), true) => "For administrators.",
        (_, Some(_), false) => "For members.",
    };
    let description = operation.description.get_or_insert_default();
    let separator = if description.is_empty() { "" } else { "\n\n" };
    *description = format!("{description}{separator}{callers}");
    for (status, name) in responses {
        let response = Ref::from_response_name(name);
        operation.responses.responses.entry(status.into()).or_insert(response.into());
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
                let declared = declared.iter().find(|declared| declared.spec.name() == id);
                let documented = match declared {
                    Some(declared) => (declared.refusals)(core),
                    None => failures::documented(id, core),
                };
                failures::add_documented(operation, components, documented);
            }
        }
    }
    Limits::new(core, server).write(&mut document);
    caching::write(&mut document, &router::operations(server));
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
pub(crate) fn routes(core: &config::Config, config: &Config) -> Vec<Route> {
    if !config.docs {
        return Vec::new();
    }
    let document = Arc::new(Settled { core: core.clone(), server: config.clone(), json: OnceLock::new() });
    let mut routes = vec![Route::get("/openapi.json", move |call| openapi_json(call, Arc::clone(&document)))];
    routes.extend(page::routes());
    routes.into_iter().map(|route| route.document().unrecorded()).collect()
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

/// Returns this document
#[utoipa::path(get, path = "/openapi.json", tag = "server", responses((status = 200, body = Object)))]
async fn openapi_json(call: Call, document: Arc<Settled>) -> Answer {
    call.file(&document.get(), reply::JSON).await
}
