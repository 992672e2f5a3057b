//! The request that a handler receives.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tidings_core::account::{Caller, Client};
use tidings_core::analysis::Guest;
use tidings_core::answer::{self, Encoded};
use tidings_core::error::{Code, Problem};
use tidings_core::{Error, Outcome, Pending, Result, Tidings};

use crate::app::App;
use crate::caching::{Checked, Condition};
use crate::client;
use crate::coding::{Accepted, Level};
use crate::fields;
use crate::lane::{Lane, Lanes};
use crate::reply::{Answer, JSON, Refusal, Reply};
use crate::request_record::user_agent;
use crate::upload::{Upload, UploadReader};

/// The largest body, in bytes, that is parsed on an async thread: moving it to another thread would take longer than
/// parsing it. Larger bodies are parsed in a lane.
const READ_AT_ONCE: usize = 16 * 1024;

/// The largest response, in bytes, that is compressed on an async thread.
const COMPRESSED_AT_ONCE: usize = 8 * 1024;

/// A request to an operation, with the methods that its handler uses.
pub(crate) struct Call {
    app: Arc<App>,
    caller: Caller,
    /// The parameters of the path in order, percent-decoded.
    segments: Vec<Vec<u8>>,
    head: Parts,
    peer: Option<IpAddr>,
    upload: Upload,
    condition: Condition,
}

impl Call {
    pub(crate) fn new(
        app: Arc<App>,
        segments: Vec<Vec<u8>>,
        head: Parts,
        peer: Option<IpAddr>,
        upload: Upload,
    ) -> Self {
        let caller = caller(&head.headers);
        Self { app, caller, segments, head, peer, upload, condition: Condition::default() }
    }

    /// Gives the response a tag, because caches may store it, and reads which tags the client has.
    pub(crate) fn tag_response(&mut self) {
        self.condition = Condition::of(&self.head.headers);
    }

    /// Returns the state that all requests share.
    pub(crate) fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Returns the handle on the database.
    pub(crate) fn tidings(&self) -> &Tidings {
        &self.app.tidings
    }

    /// Returns the same request by a guest.
    pub(crate) fn by_guest(self) -> Self {
        Self { caller: Caller::Guest, ..self }
    }

    /// Returns the caller.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns whether the request has no token.
    pub(crate) fn is_guest(&self) -> bool {
        matches!(self.caller, Caller::Guest)
    }

    /// Returns whether the method is `HEAD`.
    pub(crate) fn is_head(&self) -> bool {
        self.head.method == Method::HEAD
    }

    /// Returns the parameters of the path, as many as its template has.
    ///
    /// # Errors
    /// `bad request` when one of them is not UTF-8.
    pub(crate) fn segments<const N: usize>(&mut self) -> Result<[String; N]> {
        if self.segments.iter().any(|segment| str::from_utf8(segment).is_err()) {
            return Err(Error::BadRequest(Problem::new(Code::MalformedRequest, "the path is not UTF-8")));
        }
        Ok(self.ids())
    }

    /// Returns the parameters of the path as [`Call::segments`] does, for parameters that are ids.
    ///
    /// In a parameter that is not UTF-8, U+FFFD replaces the invalid bytes. No id contains this character, so each
    /// operation treats the parameter as an unknown id.
    pub(crate) fn ids<const N: usize>(&mut self) -> [String; N] {
        let text = |segment: Vec<u8>| String::from_utf8_lossy(&segment).into_owned();
        let texts: Vec<String> = std::mem::take(&mut self.segments).into_iter().map(text).collect();
        texts.try_into().expect("a handler takes the parameters that its template has")
    }

    /// Returns the only parameter of the path, which is called `name`, as a whole number.
    ///
    /// # Errors
    /// `bad request` when it is not a whole number.
    pub(crate) fn number(&mut self, name: &'static str) -> Result<i64> {
        let [text] = self.segments()?;
        number(name, &text)
    }

    /// Returns the parameters of the query string.
    ///
    /// # Errors
    /// `bad request` when one of them has the wrong type.
    pub(crate) fn parameters<T: DeserializeOwned>(&self) -> Result<T> {
        fields::query(self.head.uri.query().unwrap_or_default())
    }

    /// Returns the fields of the body.
    ///
    /// # Errors
    /// `payload too large`, `unsupported media type`, `overloaded`; `bad request` when a field is missing or has the
    /// wrong type.
    pub(crate) async fn fields<T: DeserializeOwned + Send + 'static>(&mut self) -> Result<T, Refusal> {
        let client = self.address().into();
        let App { config, bodies, lanes, .. } = &*self.app;
        let (body, _held) = self.upload.whole(config.body_limit, config.body_timeout, bodies).await?;
        if self.head.headers.contains_key(CONTENT_ENCODING) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let content_type = self.head.headers.get(CONTENT_TYPE);
        if body.len() <= READ_AT_ONCE {
            return fields::read(content_type, &body);
        }
        let content_type = content_type.cloned();
        lanes.codec.run_for(client, move || Ok(fields::read(content_type.as_ref(), &body))).await?
    }

    /// Returns the body as a stream of one of these media types: a reader for an operation, and the future that feeds
    /// it.
    ///
    /// # Errors
    /// `unsupported media type`.
    pub(crate) fn reader(
        &mut self,
        media_types: &[&str],
    ) -> Result<(UploadReader, impl Future<Output = Result<usize, Refusal>> + use<>), Refusal> {
        let is_one = |given: &[u8]| media_types.iter().any(|one| given.eq_ignore_ascii_case(one.as_bytes()));
        let given = self.head.headers.get(CONTENT_TYPE).map(fields::media_type);
        if self.head.headers.contains_key(CONTENT_ENCODING) || !given.is_none_or(is_one) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let config = &self.app.config;
        Ok(std::mem::take(&mut self.upload).reader(config.import_limit, config.body_timeout))
    }

    /// Returns the address of the client.
    pub(crate) fn address(&self) -> IpAddr {
        client::of(self.peer, &self.head.headers, &self.app.config.trust_proxy)
    }

    /// Returns the scheme and the host of the address that the client used, such as `https://campus.example`.
    pub(crate) fn site(&self) -> String {
        client::site(self.peer, &self.head.headers, &self.app.config.trust_proxy)
    }

    /// Returns the headers of the request.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Returns the identity of the client as a guest, for counting visitors.
    pub(crate) fn guest(&self) -> Guest {
        Guest::new(self.tidings(), self.address(), user_agent(&self.head.headers))
    }

    /// Returns the content codings that the client accepts.
    fn accepted(&self) -> Accepted {
        Accepted::of(&self.head.headers)
    }

    /// Returns a response that the core has in memory, and that several callers share.
    pub(crate) async fn encoded(&self, cached: Arc<Encoded>) -> Answer {
        self.shared(cached, JSON, Level::Answer).await
    }

    /// Returns a file, which never changes.
    pub(crate) async fn file(&self, cached: Arc<Encoded>, media_type: HeaderValue) -> Answer {
        self.shared(cached, media_type, Level::File).await
    }

    /// Returns a shared response. A large response without a cached compressed form is compressed in a lane; if that
    /// lane is full, the response is sent uncompressed.
    async fn shared(&self, cached: Arc<Encoded>, media_type: HeaderValue, level: Level) -> Answer {
        match self.condition.check(|| cached.tag().clone()) {
            Checked::Unchanged(reply) => Ok(reply),
            Checked::Changed(tag) => Ok(self.coded(cached, media_type, level).await?.tagged(tag)),
        }
    }

    async fn coded(&self, cached: Arc<Encoded>, media_type: HeaderValue, level: Level) -> Answer {
        let accepted = self.accepted();
        self.app.compressor.offer(&cached, accepted, level);
        let is_ready = cached.compressed().is_some() || (accepted.brotli && cached.dense().is_some());
        if !accepted.gzip || is_ready || cached.json().len() <= COMPRESSED_AT_ONCE {
            return Ok(Reply::encoded(&cached, media_type, accepted));
        }
        let (client, plain, type_of_plain) = (self.address().into(), Arc::clone(&cached), media_type.clone());
        let compress = move || Ok(Reply::encoded(&cached, media_type, accepted));
        match self.app.lanes.codec.run_for(client, compress).await {
            Err(Error::Overloaded) => Ok(Reply::encoded(&plain, type_of_plain, Accepted::default())),
            compressed => Ok(compressed?),
        }
    }

    /// Returns a document of another type than JSON, which several callers share.
    pub(crate) async fn document(&self, cached: Arc<Encoded>, media_type: HeaderValue) -> Answer {
        self.shared(cached, media_type, Level::Answer).await
    }

    /// Runs an operation in a lane whose answer several callers share.
    pub(crate) async fn shared_in(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane,
        work: impl FnOnce(&Tidings, &Caller) -> Result<Arc<Encoded>> + Send + 'static,
    ) -> Answer {
        self.document_in(lane, JSON, work).await
    }

    /// Does the same as [`Call::shared_in`] for a document of this type.
    pub(crate) async fn document_in(
        mut self,
        lane: impl FnOnce(&Lanes) -> &Lane,
        media_type: HeaderValue,
        work: impl FnOnce(&Tidings, &Caller) -> Result<Arc<Encoded>> + Send + 'static,
    ) -> Answer {
        let (app, condition) = (Arc::clone(&self.app), std::mem::take(&mut self.condition));
        let answer = move |tidings: &_, caller: &_, accepted| {
            let cached = work(tidings, caller)?;
            Ok(match condition.check(|| cached.tag().clone()) {
                Checked::Unchanged(reply) => reply,
                Checked::Changed(tag) => {
                    app.compressor.offer(&cached, accepted, Level::Answer);
                    Reply::encoded(&cached, media_type, accepted).tagged(tag)
                }
            })
        };
        self.run_in(lane, answer).await
    }

    /// Runs an operation on the database and returns its result.
    pub(crate) async fn answer<T: Serialize>(
        self,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        self.answer_in(|lanes| &lanes.store, work).await
    }

    /// Runs an operation that only reads a little, and returns its result.
    pub(crate) async fn read<T: Serialize>(
        self,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        self.answer_in(|lanes| &lanes.read, work).await
    }

    /// Runs an operation that reads a few rows, and returns its result.
    ///
    /// While such reads are quick, it runs on the async thread, because moving it to another thread and back costs more
    /// than the read. It runs in the lane of short reads while all connections are in use, and while the average read is
    /// slow, as when the database is not in the system's memory.
    pub(crate) async fn read_few<T: Serialize>(
        self,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        let app = Arc::clone(&self.app);
        let read = move |tidings: &Tidings, caller: &Caller| app.lanes.pace.measure(|| work(tidings, caller));
        if !self.app.lanes.pace.is_quick() || !self.tidings().can_read_now() {
            return self.answer_in(|lanes| &lanes.read, read).await;
        }
        let read = read(self.tidings(), &self.caller)?;
        self.compressed(&read).await
    }

    /// Returns the result of a read that runs together with others.
    pub(crate) async fn read_together<T: Serialize>(self, read: Pending<T>) -> Answer {
        let read = read.await?;
        self.compressed(&read).await
    }

    /// Answers with a result, which is compressed on another thread if it is large.
    async fn compressed<T: Serialize>(&self, result: &T) -> Answer {
        let json = Bytes::from(answer::success(result));
        let tag = match self.condition.check(|| answer::tag(&json)) {
            Checked::Unchanged(reply) => return Ok(reply),
            Checked::Changed(tag) => tag,
        };
        let accepted = self.accepted();
        if !accepted.gzip || json.len() <= COMPRESSED_AT_ONCE {
            return Ok(Reply::json(json, accepted).tagged(tag));
        }
        let plain = json.clone();
        match self
            .app
            .lanes
            .codec
            .run_for(self.address().into(), move || Ok(Reply::json(json, accepted)))
            .await
        {
            Err(Error::Overloaded) => Ok(Reply::json(plain, Accepted::default()).tagged(tag)),
            compressed => Ok(compressed?.tagged(tag)),
        }
    }

    /// Runs a search, or another operation that may read for a long time, and returns its result.
    pub(crate) async fn query<T: Serialize>(
        self,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        self.answer_in(|lanes| &lanes.query, work).await
    }

    /// Runs an operation in a lane, and returns its result.
    pub(crate) async fn answer_in<T: Serialize>(
        mut self,
        lane: impl FnOnce(&Lanes) -> &Lane,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        let condition = std::mem::take(&mut self.condition);
        let answer = move |tidings: &_, caller: &_, accepted| {
            let json = Bytes::from(answer::success(&work(tidings, caller)?));
            Ok(match condition.check(|| answer::tag(&json)) {
                Checked::Unchanged(reply) => reply,
                Checked::Changed(tag) => Reply::json(json, accepted).tagged(tag),
            })
        };
        self.run_in(lane, answer).await
    }

    /// Runs an operation in a lane, and returns its result unchanged.
    pub(crate) async fn run_in<T: Send + 'static>(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane,
        work: impl FnOnce(&Tidings, &Caller, Accepted) -> Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (accepted, client) = (self.accepted(), self.address().into());
        let Self { app, caller, .. } = self;
        let tidings = app.tidings.clone();
        Ok(lane(&app.lanes).run_for(client, move || work(&tidings, &caller, accepted)).await?)
    }

    /// Runs a sign-in with the address of the client, and logs a failure if the settings ask for it.
    pub(crate) async fn sign_in<T: Serialize>(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane,
        work: impl FnOnce(&Tidings, &Caller, Client) -> Result<T> + Send + 'static,
    ) -> Answer {
        let (address, logs) = (self.address(), self.app.config.log_auth_failures);
        let answer = self.answer_in(lane, move |tidings, caller| work(tidings, caller, address.into())).await;
        if logs
            && let Err(Refusal::Operation(error)) = &answer
            && is_auth_failure(error)
        {
            // Tools that block addresses parse this line, so its text must not change.
            tracing::warn!(client = %address, reason = %error, "sign-in failed");
        }
        answer
    }
}

/// Returns the path parameter `name` as a whole number.
///
/// # Errors
/// `bad request` when it is not a whole number.
pub(crate) fn number(name: &'static str, text: &str) -> Result<i64> {
    text.parse().map_err(|_| Error::BadRequest(Problem::invalid(name, "this is not a whole number")))
}

/// Returns whether an error means that the caller failed to authenticate.
fn is_auth_failure(error: &Error) -> bool {
    use Outcome::{IncorrectPw, NoMember, NotSchool, PwIncorrect};
    let wrong = [NoMember, IncorrectPw, NotSchool, PwIncorrect];
    match error {
        Error::Documented(outcome, _) => wrong.contains(outcome),
        Error::TooManyRequests { .. } => true,
        _ => false,
    }
}

/// Returns the caller: a guest if there is no `Authorization` header; the bearer of an invalid token if the header does
/// not contain a bearer token.
pub(crate) fn caller(headers: &HeaderMap) -> Caller {
    token(headers).map_or(Caller::Guest, Caller::token)
}

/// Returns the bearer token; empty if the header does not contain one.
pub(crate) fn token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (None, _) => None,
        (Some(value), None) => Some(bearer(value.as_bytes()).unwrap_or_default()),
        (Some(_), Some(_)) => Some(""),
    }
}

fn bearer(value: &[u8]) -> Option<&str> {
    let (scheme, token) = str::from_utf8(value).ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &http::HeaderName, values: &[&[u8]]) -> HeaderMap {
        let values = values.iter().map(|value| (name.clone(), http::HeaderValue::from_bytes(value).unwrap()));
        values.collect()
    }

    #[test]
    fn a_header_without_a_bearer_token_is_an_invalid_token() {
        let token = |values: &[&[u8]]| token(&headers(&AUTHORIZATION, values)).map(str::to_owned);
        assert_eq!(token(&[]), None);
        for header in [b"Bearer a.b.c".as_slice(), b"bearer a.b.c", b"BEARER  a.b.c"] {
            assert_eq!(token(&[header]).as_deref(), Some("a.b.c"));
        }
        for header in [b"".as_slice(), b"Bearer", b"Basic YTpi", b"a.b.c", b"Bearer \xff\xfe", b"Bearer\ta"] {
            assert_eq!(token(&[header]).as_deref(), Some(""), "{header:?}");
        }
        assert_eq!(token(&[b"Bearer a.b.c", b"Bearer a.b.c"]).as_deref(), Some(""));
    }
}
