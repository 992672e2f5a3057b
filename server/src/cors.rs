//! Lets pages of other origins call the service and read what it answers, errors too.

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HeaderName, LINK, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderMap, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, Vary};

use crate::config::Origin;

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
    // Preflights are not kept by shared caches, so only what the origin decides is said to vary.
    if origins.is_empty() {
        layer.allow_origin(AllowOrigin::any()).vary(Vary::list([]))
    } else {
        layer.allow_origin(AllowOrigin::list(origins.iter().map(Origin::header))).vary(Vary::list([ORIGIN]))
    }
}

/// Whether an `OPTIONS` request is a browser asking before it sends another. Any other one is a method like any
/// other, which the layer would answer as if it were one of these.
pub(crate) fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}
