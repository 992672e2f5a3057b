//! A page that lists the operations, and on request loads an explorer for reading the OpenAPI document and trying them. It is
//! part of the binary and loads nothing from other hosts.

use std::fmt::Write as _;
use std::sync::Arc;

use http::{HeaderValue, StatusCode};
use serde_json::Value;
use tidings_core::Error;
use tidings_core::answer::Encoded;
use tidings_core::api::GetPage;
use tidings_core::operation::{Access, Spec};

use super::{Prepared, prepared};
use crate::filter::reply::{Answer, HTML, Reply};
use crate::filter::request::Call;
use crate::filter::security::PAGE_POLICY;
use crate::route::{NoFields, PageFile, Route};

pub(super) const PAGE: &str = "/docs/";
pub(super) const PAGE_FILES: &str = "/docs/{file}";

const COMPONENT: &str = "scalar.js";
const INDEX: &str = "index.html";
const SCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");

pub(super) fn routes(document: Arc<Prepared>) -> [Route; 3] {
    let component = || scalar_api_reference::get_asset(COMPONENT).expect("the crate has this file");
    let files = Arc::new([
        (INDEX, HTML, prepared(move || index(&document))),
        ("start.js", SCRIPT, prepared(|| include_str!("page/start.js"))),
        (COMPONENT, SCRIPT, prepared(component)),
    ]);
    let page = Arc::clone(&files);
    let spec = |path| Spec::get("", path, Access::Open).document().unrecorded();
    let to_page = || Reply::redirect(StatusCode::PERMANENT_REDIRECT, HeaderValue::from_static("docs/"));
    [
        Route::stream::<GetPage, _>(move |_, _| async move { Ok(to_page()) }),
        Route::raw(spec(PAGE), move |call, _: NoFields| send(call, INDEX.into(), Arc::clone(&page))),
        Route::raw(spec(PAGE_FILES), move |call, PageFile { file }| send(call, file, Arc::clone(&files))),
    ]
}

type File = (&'static str, HeaderValue, Prepared);

async fn send(call: Call, name: String, files: Arc<[File; 3]>) -> Answer {
    let file = files.iter().find(|(file, ..)| *file == name);
    let (_, media_type, content) = file.ok_or(Error::NotFound)?;
    Ok(call.file(content, media_type.clone()).await?.isolated(PAGE_POLICY))
}

fn index(document: &Encoded) -> String {
    let document: Value = serde_json::from_slice(document.json()).expect("the document is JSON");
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
