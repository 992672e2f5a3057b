//! Responses: the JSON object, its status and its headers.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderName, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::{Body as _, Frame};
use http_body_util::{Either, Full, StreamBody};
use serde::Serialize;
use tidings_core::answer::{self, Encoded, SUCCESS};
use tidings_core::{Error, Pending};

use crate::caching::Content;
use crate::coding::{self, Accepted, WORTH_COMPRESSING};
use crate::security;

mod refusal;

pub(crate) use refusal::Refusal;

/// The number of headers of a `304` without a rate limit.
const HEADERS_UNCHANGED: usize = 6;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// The body of a response: in memory, or sent as it comes.
pub(crate) type Body = Either<Full<Bytes>, StreamBody<Frames>>;
type Frames = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Error>> + Send + Sync>>;

pub(crate) type Response = http::Response<Body>;

/// The result of a handler.
pub(crate) type Answer = Result<Reply, Refusal>;

/// The response of a successful operation.
pub(crate) struct Reply(Response);

impl Reply {
    /// Returns `{"result": "success"}` with the fields of `body`, compressed if it is large and the client accepts gzip.
    pub(crate) fn success<T: Serialize>(body: &T, accepted: Accepted) -> Self {
        Self::json(answer::success(body).into(), accepted)
    }

    /// Returns an encoded answer, compressed if it is large and the client accepts gzip.
    pub(crate) fn json(json: Bytes, accepted: Accepted) -> Self {
        if json.len() < WORTH_COMPRESSING {
            Self::plain(json, JSON)
        } else if accepted.gzip {
            Self::compressed(coding::gzip(&json), GZIP, JSON)
        } else {
            Self::plain(json, JSON).with(VARY, ACCEPT_ENCODING)
        }
    }

    /// Returns `{"result": "success"}` once a write is on disk. No thread blocks while it waits.
    ///
    /// # Errors
    /// The operation's errors.
    pub(crate) async fn written(write: Pending<()>) -> Answer {
        write.await?;
        Ok(Self::success(&(), Accepted::default()))
    }

    /// Returns a cached response in the smallest form that the client accepts: dense if it exists, otherwise gzip, which
    /// is computed now unless it exists.
    pub(crate) fn encoded(cached: &Encoded, media_type: HeaderValue, accepted: Accepted) -> Self {
        let body = cached.json();
        if body.len() < WORTH_COMPRESSING {
            return Self::plain(body.clone(), media_type);
        }
        match cached.dense().filter(|_| accepted.brotli) {
            Some(dense) => Self::compressed(dense.clone(), BROTLI, media_type),
            None if accepted.gzip => {
                Self::compressed(cached.compress(coding::gzip).clone(), GZIP, media_type)
            }
            None => Self::plain(body.clone(), media_type).with(VARY, ACCEPT_ENCODING),
        }
    }

    /// Returns a body that is sent as it comes, and never compressed.
    pub(crate) fn stream(
        body: impl Stream<Item = Bytes> + Send + Sync + 'static,
        content_type: HeaderValue,
    ) -> Self {
        Self::download(body.map(Ok), content_type)
    }

    /// Returns a body as [`Reply::stream`] does. An error breaks the response off.
    pub(crate) fn download(
        body: impl Stream<Item = Result<Bytes, Error>> + Send + Sync + 'static,
        content_type: HeaderValue,
    ) -> Self {
        let frames: Frames = Box::pin(body.map(|piece| piece.map(Frame::data)));
        let mut response = Response::new(Either::Right(StreamBody::new(frames)));
        *response.headers_mut() = security::headers();
        Self(response).with(CONTENT_TYPE, content_type)
    }

    /// Returns a permanent redirect.
    pub(crate) fn moved(location: HeaderValue) -> Self {
        let mut moved = Self::empty(Bytes::new());
        *moved.0.status_mut() = StatusCode::PERMANENT_REDIRECT;
        moved.with(http::header::LOCATION, location)
    }

    /// Returns the response to a client that has the content with this tag.
    pub(crate) fn not_modified(tag: HeaderValue) -> Self {
        let mut unchanged = Response::new(whole(Bytes::new()));
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        *unchanged.headers_mut() = HeaderMap::with_capacity(HEADERS_UNCHANGED);
        Self(unchanged).with(ETAG, tag)
    }

    /// Adds the tag of the content, if it has one.
    pub(crate) fn tagged(self, tag: Option<HeaderValue>) -> Self {
        match tag {
            Some(tag) => self.with(ETAG, tag),
            None => self,
        }
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers_mut().insert(name, value);
        self
    }

    /// Adds a header about the content, which a `304` does not have: the client keeps that of the stored response.
    ///
    /// Source: RFC 9110 section 15.4.5.
    pub(crate) fn described(self, name: HeaderName, value: HeaderValue) -> Self {
        if has_content(&self.0) { self.with(name, value) } else { self }
    }

    fn compressed(body: Bytes, coding: HeaderValue, content_type: HeaderValue) -> Self {
        Self::plain(body, content_type).with(CONTENT_ENCODING, coding).with(VARY, ACCEPT_ENCODING)
    }

    fn plain(body: Bytes, content_type: HeaderValue) -> Self {
        Self::empty(body).with(CONTENT_TYPE, content_type)
    }

    /// Returns a response without headers, with capacity for the headers that are added later.
    fn empty(body: Bytes) -> Self {
        let mut response = Response::new(whole(body));
        *response.headers_mut() = security::headers();
        Self(response)
    }
}

const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const BROTLI: HeaderValue = HeaderValue::from_static("br");
const ACCEPT_ENCODING: HeaderValue = HeaderValue::from_static("accept-encoding");

/// The properties of a request that its response depends on besides the path, for caches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scope {
    /// The operation answers all guests alike and changes nothing.
    pub(crate) public: Option<Content>,
    /// The request has no token.
    pub(crate) is_guest: bool,
    /// The media type of the response of a public operation depends on `Accept`.
    pub(crate) has_formats: bool,
    /// Only certain origins may read responses, and each response repeats the origin of its request.
    pub(crate) names_origin: bool,
}

impl Scope {
    /// Returns the content of a response that caches may store, unless it is a refusal; `None` if they may not.
    pub(crate) fn kept(self) -> Option<Content> {
        self.public.filter(|_| self.is_guest)
    }

    /// Returns `Vary`: the request headers that the response depends on. All responses of a public operation have the
    /// same `Vary`, regardless of their length: a cache must not give a guest's response to a member.
    const fn vary(self, is_negotiated: bool) -> Option<HeaderValue> {
        let vary = match (self.public.is_some(), is_negotiated, self.names_origin) {
            (true, _, false) if self.has_formats => "accept, accept-encoding, authorization",
            (true, _, true) if self.has_formats => "accept, accept-encoding, authorization, origin",
            (true, _, false) => "accept-encoding, authorization",
            (true, _, true) => "accept-encoding, authorization, origin",
            (false, true, true) => "accept-encoding, origin",
            (false, true, false) => return Some(ACCEPT_ENCODING),
            (false, false, true) => return Some(ORIGIN_ONLY),
            (false, false, false) => return None,
        };
        Some(HeaderValue::from_static(vary))
    }
}

/// The header that repeats the `result` of the body: a proxy, a log or a client that only asks with `HEAD` need not read it.
pub(crate) const RESULT: HeaderName = HeaderName::from_static("tidings-result");

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The `Vary` of a response that depends on the origin only, such as that to a preflight.
pub(crate) const ORIGIN_ONLY: HeaderValue = HeaderValue::from_static("origin");

/// Returns the response to a handler's result. `path` is the operation's path, for the log; `scope` tells what the
/// response depends on.
pub(crate) fn respond(answer: Answer, path: &str, scope: Scope) -> Response {
    let result = result(&answer);
    let (mut response, is_refused) = match answer {
        Ok(Reply(response)) => (response, false),
        Err(refusal) => (refusal::refuse(&refusal, path), true),
    };
    let headers = response.headers_mut();
    headers.insert(RESULT, HeaderValue::from_static(result));
    let kept = scope.kept().filter(|_| !is_refused);
    headers.insert(CACHE_CONTROL, kept.map_or(NO_STORE, Content::cache_control));
    if let Some(vary) = scope.vary(headers.contains_key(VARY)) {
        headers.insert(VARY, vary);
    }
    if has_content(&response) {
        security::secure(response.headers_mut());
    }
    response
}

/// Returns whether a response is not `304`, the content of which the client has in store.
fn has_content(response: &Response) -> bool {
    response.status() != StatusCode::NOT_MODIFIED
}

/// Returns the `result` text of a handler's result.
pub(crate) fn result(answer: &Answer) -> &'static str {
    answer.as_ref().map_or_else(Refusal::result, |_| SUCCESS)
}

/// Removes the body of a response to `HEAD`, and adds the length that the response to `GET` has.
pub(crate) fn remove_body(response: &mut Response) {
    let body = std::mem::replace(response.body_mut(), whole(Bytes::new()));
    // 304 has no body in either response.
    if has_content(response)
        && let Some(length) = body.size_hint().exact()
    {
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
}

fn whole(body: Bytes) -> Body {
    Either::Left(Full::new(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vary_is_one_line_with_everything_that_a_response_depends_on() {
        let vary = |is_public: bool, is_negotiated, names_origin| {
            let public = is_public.then_some(Content::Data);
            let scope = Scope { public, is_guest: true, names_origin, ..Scope::default() };
            let mut reply = Reply::success(&(), Accepted::default());
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
