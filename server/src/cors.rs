//! Cross-origin resource sharing: web pages of other origins may call the service and read its responses, errors
//! included.

use std::convert::Infallible;
use std::future::ready;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ALLOW, ETAG,
    HeaderName, LINK, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body_util::{Either, Full};
use tower::{Layer as _, ServiceExt as _};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, Vary};

use crate::config::Origin;
use crate::limit::{RATE_LIMIT, RATE_LIMIT_POLICY};
use crate::reply::{self, ORIGIN_ONLY, Response};
use crate::security;

/// The time for which a browser may cache the response to a preflight: one day, longer than any browser does.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The headers of responses that scripts may read besides those that they may always read.
const EXPOSED: [HeaderName; 9] = [
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

/// The rules for pages of other origins.
pub(crate) struct Cors {
    /// The origins that may read responses; all if it is empty.
    origins: Vec<HeaderValue>,
    /// The value of `Access-Control-Expose-Headers`.
    exposed: HeaderValue,
    preflights: CorsLayer,
}

impl Cors {
    /// Returns the rules for the allowed origins; an empty list allows all.
    pub(crate) fn new(origins: &[Origin]) -> Self {
        let origins: Vec<_> = origins.iter().map(Origin::header).collect();
        let preflights = CorsLayer::new()
            // The request's headers are mirrored, because `*` does not cover `Authorization`.
            .allow_headers(AllowHeaders::mirror_request())
            .allow_methods([Method::GET, Method::HEAD, Method::POST])
            .max_age(MAX_AGE)
            .vary(Vary::list([]))
            .allow_origin(if origins.is_empty() {
                AllowOrigin::any()
            } else {
                AllowOrigin::list(origins.iter().cloned())
            });
        let exposed = EXPOSED.map(|name| name.as_str().to_owned()).join(",");
        let exposed = HeaderValue::try_from(exposed).expect("names of headers are ASCII");
        Self { origins, exposed, preflights }
    }

    /// Returns whether responses repeat the origin of their request, because only certain origins may read them.
    pub(crate) fn names_origin(&self) -> bool {
        !self.origins.is_empty()
    }

    /// Adds the headers that permit pages of this origin to read a response. Every response has them, also if the request
    /// names no origin: shared caches give it to other clients.
    pub(crate) fn permit(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, self.exposed.clone());
        if !self.names_origin() {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        } else if let Some(origin) = origin.filter(|origin| self.origins.contains(origin)) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        }
    }

    /// Returns the response to a preflight. Shared caches do not store it, so it varies by the origin only.
    pub(crate) async fn preflight(&self, head: Parts) -> Response {
        let answer = self.preflights.layer(tower::service_fn(|_: Request<()>| {
            ready(Ok::<_, Infallible>(http::Response::new(Full::<Bytes>::default())))
        }));
        let Ok(answered) = answer.oneshot(Request::from_parts(head, ())).await;
        let mut response = answered.map(Either::Left);
        let headers = response.headers_mut();
        if self.names_origin() {
            headers.insert(VARY, ORIGIN_ONLY);
        }
        security::secure(headers);
        response
    }
}

/// Returns whether an `OPTIONS` request is a preflight.
pub(crate) fn is_preflight(head: &Parts) -> bool {
    head.method == Method::OPTIONS && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}
