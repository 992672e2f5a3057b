//! Responses: the JSON object, its status and its headers.

use std::sync::OnceLock;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderName, LOCATION, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::Body as _;
use serde::Serialize;
use tidings_core::answer::{self, Encoded, SUCCESS};
use tidings_core::{Error, Pending};
use warp::Reply as _;

use crate::filter::caching::Content;
use crate::filter::coding::{self, Accepted, WORTH_COMPRESSING};
use crate::filter::cors::{ORIGIN_ONLY, Readers};
use crate::filter::forms::Forms as _;
use crate::filter::security;

mod refusal;

pub(crate) use refusal::Refusal;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
pub(crate) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// The body is in memory or sent as it comes.
pub(crate) type Response = warp::reply::Response;
/// The type has no name of its own.
pub(crate) type Body = <Response as HasBody>::Body;

pub(crate) trait HasBody {
    type Body;
}

impl<B> HasBody for http::Response<B> {
    type Body = B;
}

/// The `result` of a response, for the access log.
#[derive(Clone, Copy)]
pub(crate) struct ResultText(pub(crate) &'static str);

pub(crate) type Answer = Result<Reply, Refusal>;

pub(crate) enum Reply {
    Content(Response),
    /// `304 Not Modified`: the client has the content with this tag. The other headers are those of the operation alone.
    Unchanged(HeaderValue, Vec<(HeaderName, HeaderValue)>),
}

impl Reply {
    /// Compressed if it is large and the client accepts gzip.
    pub(crate) fn success<T: Serialize>(body: &T, accepted: Accepted) -> Self {
        Self::json(answer::success(body).into(), accepted)
    }

    /// Compressed if it is large and the client accepts gzip.
    pub(crate) fn json(json: Bytes, accepted: Accepted) -> Self {
        if json.len() < WORTH_COMPRESSING {
            Self::plain(json, JSON)
        } else if accepted.gzip {
            Self::compressed(coding::gzip(&json), GZIP, JSON)
        } else {
            Self::plain(json, JSON).with(VARY, ACCEPT_ENCODING)
        }
    }

    /// Responds once the write is on disk. No thread blocks while it waits.
    pub(crate) async fn written(write: Pending<()>) -> Answer {
        write.await?;
        Ok(Self::success(&(), Accepted::default()))
    }

    /// Sends the smallest form that the client accepts: brotli if it exists, otherwise gzip, which is computed now unless it
    /// exists.
    pub(crate) fn encoded(cached: &Encoded, media_type: HeaderValue, accepted: Accepted) -> Self {
        let body = cached.json();
        if body.len() < WORTH_COMPRESSING {
            return Self::plain(body.clone(), media_type);
        }
        match cached.brotli().filter(|_| accepted.brotli) {
            Some(brotli) => Self::compressed(brotli.clone(), BROTLI, media_type),
            None if accepted.gzip => {
                Self::compressed(cached.compress(coding::gzip).clone(), GZIP, media_type)
            }
            None => Self::plain(body.clone(), media_type).with(VARY, ACCEPT_ENCODING),
        }
    }

    /// Never compressed.
    pub(crate) fn stream(
        body: impl Stream<Item = Bytes> + Send + Sync + 'static,
        content_type: HeaderValue,
    ) -> Self {
        Self::download(body.map(Ok), content_type)
    }

    /// Like [`Reply::stream`]. An error breaks the response off.
    pub(crate) fn download(
        body: impl Stream<Item = Result<Bytes, Error>> + Send + Sync + 'static,
        content_type: HeaderValue,
    ) -> Self {
        let body = warp::reply::stream(body).into_response().into_body();
        Self::Content(response(StatusCode::OK, security::headers(), body)).with(CONTENT_TYPE, content_type)
    }

    pub(crate) fn moved(location: HeaderValue) -> Self {
        Self::Content(response(StatusCode::PERMANENT_REDIRECT, security::headers(), Body::default()))
            .with(LOCATION, location)
    }

    pub(crate) fn see_other(location: HeaderValue) -> Self {
        Self::Content(response(StatusCode::SEE_OTHER, security::headers(), Body::default()))
            .with(LOCATION, location)
    }

    pub(crate) fn page_of(refusal: &Refusal, path: &str, page: String) -> Self {
        let mut response = refused(refusal, path);
        *response.body_mut() = page.into();
        Self::Content(response).with(CONTENT_TYPE, HTML)
    }

    pub(crate) fn tagged(self, tag: Option<HeaderValue>) -> Self {
        match tag {
            Some(tag) => self.with(ETAG, tag),
            None => self,
        }
    }

    pub(crate) fn not_modified(tag: HeaderValue) -> Self {
        Self::Unchanged(tag, Vec::new())
    }

    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        match &mut self {
            Self::Content(response) => {
                response.headers_mut().insert(name, value);
            }
            Self::Unchanged(_, headers) => headers.push((name, value)),
        }
        self
    }

    /// Adds a header about the content, which a `304` does not have: the client keeps that of the stored response.
    ///
    /// Source: RFC 9110 section 15.4.5.
    pub(crate) fn described(self, name: HeaderName, value: HeaderValue) -> Self {
        if matches!(self, Self::Content(_)) { self.with(name, value) } else { self }
    }

    fn compressed(body: Bytes, coding: HeaderValue, content_type: HeaderValue) -> Self {
        Self::plain(body, content_type).with(CONTENT_ENCODING, coding).with(VARY, ACCEPT_ENCODING)
    }

    pub(crate) fn plain(body: Bytes, content_type: HeaderValue) -> Self {
        Self::Content(response(StatusCode::OK, security::headers(), body.into()))
            .with(CONTENT_TYPE, content_type)
    }
}

const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const BROTLI: HeaderValue = HeaderValue::from_static("br");
const ACCEPT_ENCODING: HeaderValue = HeaderValue::from_static("accept-encoding");

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
        self.add_headers(headers, result, kept);
        if has_content {
            security::secure(headers);
        }
        response
    }

    /// `kept` is the content that caches may store.
    fn add_headers(self, headers: &mut HeaderMap, result: &'static str, kept: Option<Content>) {
        headers.insert(RESULT, HeaderValue::from_static(result));
        headers.insert(CACHE_CONTROL, kept.map_or(NO_STORE, Content::cache_control));
        if let Some(vary) = self.vary(|| headers.contains_key(VARY)) {
            headers.insert(VARY, vary);
        }
        self.readers.permit(headers);
    }

    /// All responses of a public operation have the same `Vary`, regardless of their length: a cache must not give a guest's
    /// response to a member.
    fn vary(self, is_negotiated: impl Fn() -> bool) -> Option<HeaderValue> {
        // Constants are checked when the program is built, and not for each response.
        Some(match (self.public.is_some(), self.has_formats, self.names_origin) {
            (true, true, false) => {
                const { HeaderValue::from_static("accept, accept-encoding, authorization") }
            }
            (true, true, true) => {
                const { HeaderValue::from_static("accept, accept-encoding, authorization, origin") }
            }
            (true, false, false) => const { HeaderValue::from_static("accept-encoding, authorization") },
            (true, false, true) => {
                const { HeaderValue::from_static("accept-encoding, authorization, origin") }
            }
            (false, _, true) if is_negotiated() => {
                const { HeaderValue::from_static("accept-encoding, origin") }
            }
            (false, _, true) => ORIGIN_ONLY,
            (false, _, false) => return is_negotiated().then_some(ACCEPT_ENCODING),
        })
    }
}

/// Repeats the `result` of the body: a proxy, a log or a client that sends `HEAD` need not read the body.
pub(crate) const RESULT: HeaderName = HeaderName::from_static("tidings-result");

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// `path` is the operation's path, for the log.
pub(crate) fn respond(answer: Answer, path: &str, scope: Scope<'_>) -> Response {
    match answer {
        Ok(Reply::Unchanged(tag, headers)) => unchanged(tag, headers, scope),
        answer => scope.complete(incomplete(answer, path)),
    }
}

/// Without the headers of [`Scope::complete`].
pub(crate) fn incomplete(answer: Answer, path: &str) -> Response {
    let result = result(&answer);
    let mut response = match answer {
        Ok(Reply::Content(response)) => response,
        Ok(Reply::Unchanged(tag, headers)) => {
            let mut response = response(StatusCode::NOT_MODIFIED, HeaderMap::new(), Body::default());
            response.headers_mut().insert(ETAG, tag);
            response.headers_mut().extend(headers);
            response
        }
        Err(refusal) => return refused(&refusal, path),
    };
    response.extensions_mut().get_or_insert(ResultText(result));
    response
}

/// Without the headers of [`Scope::complete`].
pub(crate) fn refused(refusal: &Refusal, path: &str) -> Response {
    let mut response = refusal::refuse(refusal, path);
    response.extensions_mut().insert(ResultText(refusal.result()));
    response
}

/// `more` are headers of the operation.
fn unchanged(tag: HeaderValue, more: Vec<(HeaderName, HeaderValue)>, scope: Scope<'_>) -> Response {
    /// The headers of the responses to requests that differ in their kind of content and in having formats.
    static ALIKE: [[OnceLock<HeaderMap>; 2]; 2] = [const { [const { OnceLock::new() }; 2] }; 2];
    let kept = scope.kept();
    let new = || {
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, const { HeaderValue::from_static("") });
        scope.add_headers(&mut headers, SUCCESS, kept);
        headers
    };
    // Copying the headers costs less than half of creating them.
    let alike = kept
        .filter(|_| scope.readers == Readers::All)
        .map(|content| &ALIKE[usize::from(content == Content::Data)][usize::from(scope.has_formats)]);
    let mut headers = alike.map_or_else(new, |alike| alike.get_or_init(new).clone());
    // `insert` would make room for another header first.
    *headers.get_mut(ETAG).expect("all of these headers have a tag") = tag;
    if !more.is_empty() {
        headers.extend(more);
    }
    let mut response = response(StatusCode::NOT_MODIFIED, headers, Body::default());
    response.extensions_mut().insert(ResultText(SUCCESS));
    response
}

/// A `304` has no content: the client has stored it.
fn has_content(response: &Response) -> bool {
    response.status() != StatusCode::NOT_MODIFIED
}

pub(crate) fn result(answer: &Answer) -> &'static str {
    answer.as_ref().map_or_else(Refusal::result, |_| SUCCESS)
}

pub(crate) fn result_of(response: &Response) -> &'static str {
    response.extensions().get().map_or(SUCCESS, |ResultText(result)| *result)
}

/// The length is that of the response to `GET`.
pub(crate) fn remove_body(response: &mut Response) {
    let body = std::mem::take(response.body_mut());
    // 304 has no body in either response.
    if has_content(response)
        && let Some(length) = body.size_hint().exact()
    {
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
}

/// `headers` have capacity for those that are added later.
fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
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
