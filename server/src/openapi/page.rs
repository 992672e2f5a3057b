//! A page that lists the operations, and on request loads an explorer for reading the OpenAPI document and trying them. It is
//! part of the binary and loads nothing from other hosts.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderValue, Method};
use serde_json::Value;
use tidings_core::answer::Encoded;
use tidings_core::api::GetPage;
use tidings_core::{Error, Result};

use super::Written;
use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::filter::security::{PAGE_ISOLATION, PAGE_POLICY};
use crate::route::Route;

pub(super) const PAGE: &str = "/docs/";
pub(super) const PAGE_FILES: &str = "/docs/{file}";

/// Shows the document.
const COMPONENT: &str = "scalar.js";
const INDEX: &str = "index.html";
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const SCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");

pub(super) fn routes(document: Arc<Written>) -> [Route; 3] {
    let files = Arc::new(Files {
        document,
        index: OnceLock::new(),
        start: OnceLock::new(),
        component: OnceLock::new(),
    });
    let page = Arc::clone(&files);
    [
        Route::stream::<GetPage, _>(|_, _| async { Ok(Reply::moved(HeaderValue::from_static("docs/"))) }),
        Route::raw(Method::GET, PAGE, move |call| file(call, INDEX.into(), Arc::clone(&page)))
            .document()
            .unrecorded(),
        Route::raw(Method::GET, PAGE_FILES, move |mut call: Call| {
            let name = call.segments().map(|[name]| name);
            let files = Arc::clone(&files);
            async { file(call, name?, files).await }
        })
        .document()
        .unrecorded(),
    ]
}

async fn file(call: Call, name: String, files: Arc<Files>) -> Answer {
    let (file, media_type) = files.get(&name)?;
    let mut reply = call.file(file, media_type).await?;
    for (header, value) in [(CONTENT_SECURITY_POLICY, PAGE_POLICY)].into_iter().chain(PAGE_ISOLATION) {
        reply = reply.described(header, value);
    }
    Ok(reply)
}

/// Each is prepared when it is first requested.
struct Files {
    document: Arc<Written>,
    index: OnceLock<Arc<Encoded>>,
    start: OnceLock<Arc<Encoded>>,
    component: OnceLock<Arc<Encoded>>,
}

impl Files {
    /// Also returns its media type.
    fn get(&self, name: &str) -> Result<(&Arc<Encoded>, HeaderValue)> {
        let text = |text: &'static str| Arc::new(Encoded::new(text));
        match name {
            INDEX => Ok((self.index.get_or_init(|| Arc::new(Encoded::new(index(&self.document)))), HTML)),
            "start.js" => Ok((self.start.get_or_init(|| text(include_str!("page/start.js"))), SCRIPT)),
            COMPONENT => {
                let component =
                    || scalar_api_reference::get_asset(COMPONENT).expect("the crate has this file");
                Ok((self.component.get_or_init(|| Arc::new(Encoded::new(component()))), SCRIPT))
            }
            _ => Err(Error::NotFound),
        }
    }
}

/// The list has the operations by tag.
fn index(document: &Written) -> String {
    let document: Value = serde_json::from_slice(document.get().json()).expect("the document is JSON");
    let html = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let text = |value: &Value| html(value.as_str().unwrap_or_default());
    let mut list = String::new();
    for tag in document["tags"].as_array().into_iter().flatten() {
        let (name, description) = (text(&tag["name"]), text(&tag["description"]));
        let _ = writeln!(list, "<h2>{name}</h2>\n<p>{description}</p>\n<ul>");
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            let operations = item.as_object().into_iter().flatten();
            for (method, operation) in operations.filter(|(_, one)| one["tags"][0] == tag["name"]) {
                let (method, summary) = (method.to_uppercase(), text(&operation["summary"]));
                let _ = writeln!(list, "<li><code>{method} {}</code> {summary}</li>", html(path));
            }
        }
        list.push_str("</ul>\n");
    }
    include_str!("page/index.html").replace("<!-- operations -->", &list)
}
