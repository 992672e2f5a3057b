//! Lets pages of other origins call the service and read what it answers, errors too.

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HeaderName, LINK, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::{HeaderMap, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, Vary};

use crate::config::Origin;
use crate::reply::ORIGIN_ONLY;
use crate::security;

/// How long a browser may keep the answer to a preflight: a day, more than any browser does.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// What `--cors-origin` comes to: any origin when none is named, else those alone.
pub(crate) fn layer(origins: &[Origin]) -> CorsLayer {
    let exposed = [ALLOW, LINK, RETRY_AFTER, WWW_AUTHENTICATE, HeaderName::from_static("deprecation")];
    let layer = CorsLayer::new()
        // Mirrored, because `*` does not cover `Authorization`.
        .allow_headers(AllowHeaders::mirror_request())
        .allow_methods([Method::GET, Method::POST])
        .expose_headers(exposed)
        .max_age(MAX_AGE);
    // `Vary` is one line with all that an answer depends on, so it is not written here.
    let layer = layer.vary(Vary::list([]));
    if origins.is_empty() {
        layer.allow_origin(AllowOrigin::any())
    } else {
        layer.allow_origin(AllowOrigin::list(origins.iter().map(Origin::header)))
    }
}

/// Completes the answer to a preflight. Shared caches do not keep it, so it depends on no more than the origin.
pub(crate) fn complete_preflight(headers: &mut HeaderMap, names_origin: bool) {
    if names_origin {
        headers.insert(VARY, ORIGIN_ONLY);
    }
    security::secure(headers);
}

/// Whether an `OPTIONS` request is a browser asking before it sends another. Any other one is a method like any
/// other, which the layer would answer as if it were one of these.
pub(crate) fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}
