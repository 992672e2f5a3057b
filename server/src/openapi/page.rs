//! A page for reading the OpenAPI document and trying the operations. It is part of the binary and loads nothing from other
//! hosts.

use std::sync::{Arc, OnceLock};

use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderValue, Method};
use tidings_core::answer::Encoded;
use tidings_core::api::GetPage;
use tidings_core::{Error, Result};

use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::filter::security::{PAGE_ISOLATION, PAGE_POLICY};
use crate::route::Route;

/// The paths of the page and of its files.
pub(super) const PAGE: &str = "/docs/";
pub(super) const PAGE_FILES: &str = "/docs/{file}";

/// The component that shows the document.
const COMPONENT: &str = "scalar.js";
const INDEX: &str = "index.html";
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const SCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");

/// Returns the routes of the page.
pub(super) fn routes() -> [Route; 3] {
    let files = Arc::new(Files::default());
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

/// The files of the page, each of which is prepared when it is first asked for.
#[derive(Default)]
struct Files {
    index: OnceLock<Arc<Encoded>>,
    start: OnceLock<Arc<Encoded>>,
    component: OnceLock<Arc<Encoded>>,
}

impl Files {
    /// Returns a file and its media type.
    ///
    /// # Errors
    /// `Not found`.
    fn get(&self, name: &str) -> Result<(&Arc<Encoded>, HeaderValue)> {
        let text = |text: &'static str| Arc::new(Encoded::new(text));
        match name {
            INDEX => Ok((self.index.get_or_init(|| text(include_str!("page/index.html"))), HTML)),
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
