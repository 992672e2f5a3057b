use bytes::Bytes;
use futures_util::Stream;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    LOCATION, VARY,
};
use http::{HeaderValue, StatusCode};
use http_body::Body as _;
use serde::Serialize;
use tidings_core::Error;
use tidings_core::answer::{self, Encoded, SUCCESS};
use warp::Reply as _;

use crate::filter::caching::Content;
use crate::filter::coding::{self, Accepted, WORTH_COMPRESSING};
use crate::filter::cors::{ORIGIN_ONLY, Readers};
use crate::filter::forms::Forms as _;
use crate::filter::security::{self, PAGE_ISOLATION};

mod refusal;

pub(crate) use refusal::{Refusal, refused};

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
pub(crate) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const ACCEPT_ENCODING: HeaderValue = HeaderValue::from_static("accept-encoding");

pub(crate) type Response = warp::reply::Response;
pub(crate) type Body = <Response as HasBody>::Body;

pub(crate) trait HasBody {
    type Body;
}

impl<B> HasBody for http::Response<B> {
    type Body = B;
}

/// The `result` of a refusal, for the access log.
#[derive(Clone, Copy)]
pub(crate) struct ResultText(&'static str);

pub(crate) type Answer = Result<Reply, Refusal>;

/// A response without the headers of [`Scope::complete`].
pub(crate) struct Reply(Response);

impl Reply {
    pub(crate) fn success<T: Serialize>(body: &T) -> Self {
        Self::json(answer::success(body).into(), Accepted::default())
    }

    /// Compressed if it is large and the client accepts gzip.
    pub(crate) fn json(json: Bytes, accepted: Accepted) -> Self {
        Self::coded(json, JSON, |json| accepted.gzip.then(|| (coding::gzip(json), "gzip")))
    }

    /// Sends the smallest form that the client accepts: brotli if it exists, otherwise gzip, which is computed now unless it
    /// exists.
    pub(crate) fn encoded(cached: &Encoded, media_type: HeaderValue, accepted: Accepted) -> Self {
        Self::coded(cached.json().clone(), media_type, |_| {
            match cached.brotli().filter(|_| accepted.brotli) {
                Some(brotli) => Some((brotli.clone(), "br")),
                None => accepted.gzip.then(|| (cached.compress(coding::gzip).clone(), "gzip")),
            }
        })
    }

    fn coded(
        body: Bytes,
        media_type: HeaderValue,
        compress: impl FnOnce(&[u8]) -> Option<(Bytes, &'static str)>,
    ) -> Self {
        if body.len() < WORTH_COMPRESSING {
            return Self::plain(body, media_type);
        }
        let reply = match compress(&body) {
            Some((compressed, coding)) => {
                Self::plain(compressed, media_type).with(CONTENT_ENCODING, HeaderValue::from_static(coding))
            }
            None => Self::plain(body, media_type),
        };
        reply.with(VARY, ACCEPT_ENCODING)
    }

    /// An error breaks the response off.
    pub(crate) fn stream(
        body: impl Stream<Item = Result<Bytes, Error>> + Send + Sync + 'static,
        content_type: HeaderValue,
    ) -> Self {
        let body = warp::reply::stream(body).into_response().into_body();
        Self(response(StatusCode::OK, body)).with(CONTENT_TYPE, content_type)
    }

    pub(crate) fn redirect(status: StatusCode, location: HeaderValue) -> Self {
        Self(response(status, Body::default())).with(LOCATION, location)
    }

    pub(crate) fn page_of(refusal: &Refusal, path: &str, page: String) -> Self {
        Self(refused(refusal, path).map(|_| page.into())).with(CONTENT_TYPE, HTML)
    }

    pub(crate) fn plain(body: Bytes, content_type: HeaderValue) -> Self {
        Self(response(StatusCode::OK, body.into())).with(CONTENT_TYPE, content_type)
    }

    pub(crate) fn not_modified(tag: HeaderValue) -> Self {
        Self(response(StatusCode::NOT_MODIFIED, Body::default())).with(ETAG, tag)
    }

    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers_mut().insert(name, value);
        self
    }

    /// Adds a header about the content, which a `304` does not have: the client keeps that of the stored response.
    /// Source: RFC 9110 section 15.4.5.
    pub(crate) fn described(self, name: HeaderName, value: HeaderValue) -> Self {
        if has_content(&self.0) { self.with(name, value) } else { self }
    }

    /// For a page with scripts, to which this content security policy applies.
    pub(crate) fn isolated(self, policy: HeaderValue) -> Self {
        let reply = self.described(CONTENT_SECURITY_POLICY, policy);
        PAGE_ISOLATION.into_iter().fold(reply, |reply, (name, value)| reply.described(name, value))
    }
}

/// The properties of a request that its response depends on besides the path, for caches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scope<'o> {
    /// The operation answers all guests alike and changes nothing.
    pub(crate) public: Option<Content>,
    pub(crate) is_guest: bool,
    /// The media type of the response of a public operation depends on `Accept`.
    pub(crate) has_formats: bool,
    /// Only certain origins may read responses, and each response repeats the origin of its request.
    pub(crate) names_origin: bool,
    pub(crate) readers: Readers<'o>,
}

impl Scope<'_> {
    /// `None` if caches may not store the response. A refusal is never stored.
    pub(crate) fn kept(self) -> Option<Content> {
        self.public.filter(|_| self.is_guest)
    }

    pub(crate) fn complete(self, mut response: Response) -> Response {
        let result = result_of(&response);
        let kept = self.kept().filter(|_| result == SUCCESS);
        let has_content = has_content(&response);
        let headers = response.headers_mut();
        headers.insert(RESULT, HeaderValue::from_static(result));
        headers.insert(CACHE_CONTROL, kept.map_or(NO_STORE, Content::cache_control));
        if let Some(vary) = self.vary(headers.contains_key(VARY)) {
            headers.insert(VARY, vary);
        }
        self.readers.permit(headers);
        if has_content {
            security::secure(headers);
        }
        response
    }

    /// All responses of a public operation have the same `Vary`, regardless of their length: a cache must not give a guest's
    /// response to a member.
    fn vary(self, is_negotiated: bool) -> Option<HeaderValue> {
        let vary = |names| Some(HeaderValue::from_static(names));
        match (self.public.is_some(), self.has_formats, self.names_origin) {
            (true, true, false) => vary("accept, accept-encoding, authorization"),
            (true, true, true) => vary("accept, accept-encoding, authorization, origin"),
            (true, false, false) => vary("accept-encoding, authorization"),
            (true, false, true) => vary("accept-encoding, authorization, origin"),
            (false, _, true) if is_negotiated => vary("accept-encoding, origin"),
            (false, _, true) => Some(ORIGIN_ONLY),
            (false, _, false) => is_negotiated.then_some(ACCEPT_ENCODING),
        }
    }
}

/// Repeats the `result` of the body: a proxy, a log or a client that sends `HEAD` need not read the body.
pub(crate) const RESULT: HeaderName = HeaderName::from_static("tidings-result");

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

pub(crate) fn respond(answer: Answer, path: &str, scope: Scope<'_>) -> Response {
    scope.complete(incomplete(answer, path))
}

/// Without the headers of [`Scope::complete`].
pub(crate) fn incomplete(answer: Answer, path: &str) -> Response {
    answer.map_or_else(|refusal| refused(&refusal, path), |Reply(response)| response)
}

/// A `304` has no content: the client has stored it.
fn has_content(response: &Response) -> bool {
    response.status() != StatusCode::NOT_MODIFIED
}

pub(crate) fn result_of(response: &Response) -> &'static str {
    response.extensions().get().map_or(SUCCESS, |ResultText(result)| *result)
}

/// The length is that of the response to `GET`.
pub(crate) fn remove_body(response: &mut Response) {
    let body = std::mem::take(response.body_mut());
    if has_content(response)
        && let Some(length) = body.size_hint().exact()
    {
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
}

fn response(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vary_is_one_line_with_everything_that_a_response_depends_on() {
        let vary = |is_public: bool, is_negotiated, names_origin| {
            let public = is_public.then_some(Content::Data);
            let scope = Scope { public, is_guest: true, names_origin, ..Scope::default() };
            let mut reply = Reply::success(&());
            if is_negotiated {
                reply = reply.with(VARY, ACCEPT_ENCODING);
            }
            let response = respond(Ok(reply), "", scope);
            let lines = response.headers().get_all(VARY).iter().map(|line| line.to_str().unwrap().to_owned());
            lines.collect::<Vec<_>>()
        };
        for is_negotiated in [false, true] {
            assert_eq!(vary(true, is_negotiated, false), ["accept-encoding, authorization"]);
            assert_eq!(vary(true, is_negotiated, true), ["accept-encoding, authorization, origin"]);
        }
        assert_eq!(vary(false, true, false), ["accept-encoding"]);
        assert_eq!(vary(false, true, true), ["accept-encoding, origin"]);
        assert_eq!(vary(false, false, true), ["origin"]);
        assert!(vary(false, false, false).is_empty());
    }
}
