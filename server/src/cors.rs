//! Cross-origin resource sharing: web pages of other origins may call the service and read its responses, errors
//! included.

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, ETAG, HeaderName, LINK, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::{HeaderMap, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, Vary};

use crate::config::Origin;
use crate::limit::{RATE_LIMIT, RATE_LIMIT_POLICY};
use crate::reply::{self, ORIGIN_ONLY};
use crate::security;

/// The time for which a browser may cache the response to a preflight: one day, longer than any browser does.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the CORS layer for the allowed origins; an empty list allows all.
pub(crate) fn layer(origins: &[Origin]) -> CorsLayer {
    let exposed = [
        ALLOW,
        ETAG,
        LINK,
        RETRY_AFTER,
        WWW_AUTHENTICATE,
        HeaderName::from_static("deprecation"),
        reply::RESULT,
        RATE_LIMIT,
        RATE_LIMIT_POLICY,
    ];
    let layer = CorsLayer::new()
        // The request's headers are mirrored, because `*` does not cover `Authorization`.
        .allow_headers(AllowHeaders::mirror_request())
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .expose_headers(exposed)
        .max_age(MAX_AGE);
    // `reply` writes `Vary` as one line with everything that a response depends on.
    let layer = layer.vary(Vary::list([]));
    if origins.is_empty() {
        layer.allow_origin(AllowOrigin::any())
    } else {
        layer.allow_origin(AllowOrigin::list(origins.iter().map(Origin::header)))
    }
}

/// Completes the response to a preflight with the headers that the layer does not set. Shared caches do not store
/// this response, so it varies by the origin only.
pub(crate) fn complete_preflight(headers: &mut HeaderMap, names_origin: bool) {
    if names_origin {
        headers.insert(VARY, ORIGIN_ONLY);
    }
    security::secure(headers);
}

/// Returns whether an `OPTIONS` request is a preflight. The layer itself would treat every `OPTIONS` request as a
/// preflight.
pub(crate) fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}
