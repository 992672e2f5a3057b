//! The headers that tell browsers what an answer may not become: a page, a script, a frame.
//!
//! They are the same on every answer, so that no path, status or method escapes them, and their values are static:
//! they cost one slot each of a map that is allocated once. `Strict-Transport-Security` is left to the proxy that
//! ends TLS. `Cross-Origin-Resource-Policy` is not on the answers of operations, which pages of any origin may read.

use http::header::{CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
/// The policy of answers that are data: where a browser shows one, it loads and runs nothing.
const DATA_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// The policy of the API page. Scripts, styles and requests are the server's own; the style sheet of Swagger UI has
/// images as `data:` URLs. The hash is that of the `<style>` in its logo, and nothing else needs one; a new version of
/// Swagger UI has to be looked at in a browser, whose console names what the policy blocks.
pub(crate) const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; \
     style-src 'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
/// Keeps the API page apart from pages of other origins that open it or load its files.
pub(crate) const PAGE_ISOLATION: [(HeaderName, HeaderValue); 2] = [
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// As many headers as an answer has, those of CORS included, so that the map grows only once.
const HEADERS: usize = 12;

/// An empty map with room for the headers of an answer.
pub(crate) fn headers() -> HeaderMap {
    HeaderMap::with_capacity(HEADERS)
}

/// Adds the headers that every answer has. A content security policy that is already there stays.
pub(crate) fn secure(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    headers.insert(REFERRER_POLICY, NO_REFERRER);
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(DATA_POLICY);
}
