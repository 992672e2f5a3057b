//! Security headers: browsers neither guess a response's type nor run or frame it. Every response has them, regardless of its
//! path, status and method, except `304`, which has no content. `Strict-Transport-Security` is left to the proxy that terminates
//! TLS. The responses of operations have no `Cross-Origin-Resource-Policy`, because pages of any origin may read them.

use http::header::{CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
/// A browser that shows a response with data loads and runs nothing.
const DATA_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// Scripts and requests of the API page come from the server itself. Scalar, the component of the page, writes styles into the
/// document, which can load nothing: images are `data:` URLs only. After an update of Scalar, open the page in a browser: its
/// console names what the policy blocks.
pub(crate) const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; \
     style-src 'unsafe-inline'; img-src data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
/// Isolates the API page from pages of other origins that open it or load its files.
pub(crate) const PAGE_ISOLATION: [(HeaderName, HeaderValue); 2] = [
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// An existing content security policy is not replaced.
pub(crate) fn secure(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    headers.insert(REFERRER_POLICY, NO_REFERRER);
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(DATA_POLICY);
}
