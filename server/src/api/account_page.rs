//! The pages to which mail links unless an app has pages of its own: for a new password, and to confirm an address.

use std::sync::Arc;

use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderValue, Method};
use tidings_core::Error;
use tidings_core::answer::Encoded;

use crate::filter::reply::{Answer, HTML};
use crate::filter::request::Call;
use crate::filter::security::PAGE_ISOLATION;
use crate::route::Route;

/// The path of the pages and of their files.
pub(crate) const FILES: &str = "/account/{file}";
/// Nothing comes from other hosts, and nothing is sent to them. Browsers read the texts of a page, which are data, as no script.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'",
);
const SCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");
const STYLE: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");

/// Returns the route of the pages.
pub(crate) fn handlers() -> Vec<Route> {
    let file = |name, text: &'static str, media_type| (name, Arc::new(Encoded::new(text)), media_type);
    let files = Arc::new([
        file("password", include_str!("account_page/password.html"), HTML),
        file("email", include_str!("account_page/email.html"), HTML),
        file("page.js", include_str!("account_page/page.js"), SCRIPT),
        file("page.css", include_str!("account_page/page.css"), STYLE),
    ]);
    let answer = move |mut call: Call| {
        let name = call.segments().map(|[name]: [String; 1]| name);
        let files = Arc::clone(&files);
        async move {
            let name = name?;
            let found = files.iter().find(|(file, ..)| *file == name).ok_or(Error::NotFound)?;
            page(call, &found.1, found.2.clone()).await
        }
    };
    vec![Route::raw(Method::GET, FILES, answer).document().unrecorded()]
}

async fn page(call: Call, file: &Arc<Encoded>, media_type: HeaderValue) -> Answer {
    let mut reply = call.file(file, media_type).await?;
    for (header, value) in [(CONTENT_SECURITY_POLICY, POLICY)].into_iter().chain(PAGE_ISOLATION) {
        reply = reply.described(header, value);
    }
    Ok(reply)
}
