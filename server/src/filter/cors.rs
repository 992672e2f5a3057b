//! Cross-origin resource sharing: web pages of other origins may call the service and read its responses, errors included.

use std::convert::Infallible;
use std::future::ready;
use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request};
use tower::{Layer as _, ServiceExt as _};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, Vary};
use warp::reply::Response;

use crate::config::Origin;
use crate::filter::security;

/// One day is longer than any browser caches the response to a preflight.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The headers of responses that scripts may read besides those that they may always read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "allow,etag,link,retry-after,www-authenticate,deprecation,tidings-result,ratelimit,ratelimit-policy",
);

const EVERY_ORIGIN: HeaderValue = HeaderValue::from_static("*");

pub(crate) const ORIGIN_ONLY: HeaderValue = HeaderValue::from_static("origin");

pub(crate) struct Cors {
    origins: Vec<HeaderValue>,
    preflights: CorsLayer,
}

impl Cors {
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
        Self { origins, preflights }
    }

    pub(crate) fn names_origin(&self) -> bool {
        !self.origins.is_empty()
    }

    pub(crate) fn readers<'o>(&self, origin: Option<&'o HeaderValue>) -> Readers<'o> {
        if self.names_origin() {
            Readers::OfOrigin(origin.filter(|origin| self.origins.contains(origin)))
        } else {
            Readers::All
        }
    }

    /// Shared caches do not store the response, so it varies by the origin only.
    pub(crate) async fn preflight(&self, head: Parts) -> Response {
        let answer = self
            .preflights
            .layer(tower::service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::default()))));
        let Ok(mut response) = answer.oneshot(Request::from_parts(head, ())).await;
        let headers = response.headers_mut();
        if self.names_origin() {
            headers.insert(VARY, ORIGIN_ONLY);
        }
        security::secure(headers);
        response
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Readers<'o> {
    #[default]
    Unnamed,
    All,
    OfOrigin(Option<&'o HeaderValue>),
}

impl Readers<'_> {
    /// Every response has these headers, also if the request names no origin: shared caches give it to other clients.
    pub(crate) fn permit(self, headers: &mut HeaderMap) {
        let origin = match self {
            Self::Unnamed => return,
            Self::All => Some(EVERY_ORIGIN),
            Self::OfOrigin(origin) => origin.cloned(),
        };
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
    }
}

pub(crate) fn is_preflight(head: &Parts) -> bool {
    head.method == Method::OPTIONS && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

#[cfg(test)]
mod tests {
    use http::header::{ALLOW, ETAG, LINK, RETRY_AFTER, WWW_AUTHENTICATE};

    use super::*;
    use crate::filter::limit::{RATE_LIMIT, RATE_LIMIT_POLICY};
    use crate::filter::reply::RESULT;

    #[test]
    fn scripts_may_read_the_headers_that_answers_explain_themselves_with() {
        let exposed = EXPOSED;
        let exposed: Vec<_> = exposed.to_str().unwrap().split(',').collect();
        for name in [ALLOW, ETAG, LINK, RETRY_AFTER, WWW_AUTHENTICATE, RESULT, RATE_LIMIT, RATE_LIMIT_POLICY]
        {
            assert!(exposed.contains(&name.as_str()), "{name}");
        }
    }
}
