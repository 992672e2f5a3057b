//! A request on its way through a handler.

use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tidings_core::account::{Caller, Client};
use tidings_core::analysis::Guest;
use tidings_core::answer::Encoded;
use tidings_core::{Error, Outcome, Result, Tidings};

use crate::app::App;
use crate::client;
use crate::fields;
use crate::lane::{Lane, Lanes};
use crate::reply::{Answer, Refusal, Reply};
use crate::request_record::user_agent;
use crate::upload::{Upload, UploadReader};

/// Bytes of a body that are read on an async thread: that takes less time than handing them to another thread and
/// back would delay others. Larger bodies are read elsewhere.
const READ_AT_ONCE: usize = 16 * 1024;

/// Bytes of an answer that are compressed on an async thread.
const COMPRESSED_AT_ONCE: usize = 8 * 1024;

/// A request whose path and method have an operation, with what its handler may ask of it.
pub(crate) struct Call {
    app: Arc<App>,
    caller: Caller,
    /// The parameters of the path in their order, percent-decoded.
    segments: Vec<Vec<u8>>,
    query: String,
    headers: HeaderMap,
    peer: Option<IpAddr>,
    upload: Upload,
}

impl Call {
    pub(crate) fn new(
        app: Arc<App>,
        segments: Vec<Vec<u8>>,
        query: String,
        headers: HeaderMap,
        peer: Option<IpAddr>,
        upload: Upload,
    ) -> Self {
        Self { caller: caller(&headers), app, segments, query, headers, peer, upload }
    }

    /// The server that was called.
    pub(crate) fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// The service.
    pub(crate) fn tidings(&self) -> &Tidings {
        &self.app.tidings
    }

    /// Who is calling.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Whether somebody is calling who brought no token.
    pub(crate) fn is_guest(&self) -> bool {
        matches!(self.caller, Caller::Nobody)
    }

    /// The parameters of the path, as many as its template has.
    ///
    /// # Errors
    /// `bad request` when one is no UTF-8.
    pub(crate) fn segments<const N: usize>(&mut self) -> Result<[String; N]> {
        if self.segments.iter().any(|segment| str::from_utf8(segment).is_err()) {
            return Err(Error::BadRequest("a path is UTF-8"));
        }
        Ok(self.ids())
    }

    /// As [`Call::segments`], for parameters that name something by its id.
    ///
    /// What is no UTF-8 becomes U+FFFD, which stands in no id, so that each operation answers it as it answers
    /// any other id of nothing.
    pub(crate) fn ids<const N: usize>(&mut self) -> [String; N] {
        let text = |segment: Vec<u8>| String::from_utf8_lossy(&segment).into_owned();
        let texts: Vec<String> = std::mem::take(&mut self.segments).into_iter().map(text).collect();
        texts.try_into().expect("a handler takes the parameters that its template has")
    }

    /// The one parameter of the path, which is a whole number.
    ///
    /// # Errors
    /// `bad request` when it is none.
    pub(crate) fn number(&mut self) -> Result<i64> {
        let [text] = self.segments()?;
        number(&text)
    }

    /// The parameters behind the `?`.
    ///
    /// # Errors
    /// `bad request` when one is of another type.
    pub(crate) fn parameters<T: DeserializeOwned>(&self) -> Result<T> {
        fields::query(&self.query)
    }

    /// The fields of the body.
    ///
    /// # Errors
    /// `payload too large`, `unsupported media type`, `overloaded`; `bad request` when a field is missing or of another type.
    pub(crate) async fn fields<T: DeserializeOwned + Send + 'static>(&mut self) -> Result<T, Refusal> {
        let client = self.address().into();
        let App { config, bodies, lanes, .. } = &*self.app;
        let (body, _held) = self.upload.whole(config.body_limit, config.body_timeout, bodies).await?;
        if self.headers.contains_key(CONTENT_ENCODING) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let content_type = self.headers.get(CONTENT_TYPE);
        if body.len() <= READ_AT_ONCE {
            return fields::read(content_type, &body);
        }
        let content_type = content_type.cloned();
        lanes.codec.run_for(client, move || Ok(fields::read(content_type.as_ref(), &body))).await?
    }

    /// The body as a stream of one of these types: a reader for an operation, and what feeds it.
    ///
    /// # Errors
    /// `unsupported media type`.
    pub(crate) fn reader(
        &mut self,
        media_types: &[&str],
    ) -> Result<(UploadReader, impl Future<Output = Result<(), Refusal>> + use<>), Refusal> {
        let is_one = |given: &[u8]| media_types.iter().any(|one| given.eq_ignore_ascii_case(one.as_bytes()));
        let given = self.headers.get(CONTENT_TYPE).map(fields::media_type);
        if self.headers.contains_key(CONTENT_ENCODING) || !given.is_none_or(is_one) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let config = &self.app.config;
        Ok(std::mem::take(&mut self.upload).reader(config.import_limit, config.body_timeout))
    }

    /// The address of the client.
    pub(crate) fn address(&self) -> IpAddr {
        client::of(self.peer, &self.headers, &self.app.config.trust_proxy)
    }

    /// The headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The client, as it is told apart from others while it is not signed in.
    pub(crate) fn guest(&self) -> Guest {
        Guest::new(self.tidings(), self.address(), user_agent(&self.headers))
    }

    /// Whether the client takes answers compressed with gzip.
    pub(crate) fn accepts_gzip(&self) -> bool {
        accepts_gzip(&self.headers)
    }

    /// Answers what was found in memory. A large answer that is not compressed yet is compressed off the async threads;
    /// where too many wait for that it is sent as it is.
    pub(crate) async fn encoded(&self, kept: Arc<Encoded>) -> Answer {
        let gzip = self.accepts_gzip();
        if !gzip || kept.is_compressed() || kept.json().len() <= COMPRESSED_AT_ONCE {
            return Ok(Reply::encoded(&kept, gzip));
        }
        let (client, plain) = (self.address().into(), Arc::clone(&kept));
        let compressed = self.app.lanes.codec.run_for(client, move || Ok(Reply::encoded(&kept, true))).await;
        match compressed {
            Err(Error::Overloaded) => Ok(Reply::encoded(&plain, false)),
            compressed => Ok(compressed?),
        }
    }

    /// Runs an operation on the database and answers what it gives.
    pub(crate) async fn answer<T: Serialize>(
        self,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        self.answer_in(|lanes| &lanes.store, work).await
    }

    /// As [`Call::answer`], for an operation that only reads, and little.
    pub(crate) async fn read<T: Serialize>(
        self,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        self.answer_in(|lanes| &lanes.read, work).await
    }

    /// Runs a search, or another operation that may read for long, and answers what it gives.
    pub(crate) async fn query<T: Serialize>(
        self,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        self.answer_in(|lanes| &lanes.query, work).await
    }

    /// As [`Call::answer`], in another lane.
    pub(crate) async fn answer_in<T: Serialize>(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        self.run_in(lane, |tidings, caller, gzip| Ok(Reply::success(&work(tidings, caller)?, gzip))).await
    }

    /// Runs an operation whose answer is encoded already, or is no answer yet.
    pub(crate) async fn run_in<T: Send + 'static>(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane,
        work: impl FnOnce(&Tidings, &Caller, bool) -> Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (gzip, client) = (self.accepts_gzip(), self.address().into());
        let Self { app, caller, .. } = self;
        let tidings = app.tidings.clone();
        Ok(lane(&app.lanes).run_for(client, move || work(&tidings, &caller, gzip)).await?)
    }

    /// Runs an attempt to sign in, telling it where it comes from, and writes its failure to the log where
    /// that is wanted.
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
            // One line, in words that do not change: tools that close doors read it.
            tracing::warn!(client = %address, reason = %error, "sign-in failed");
        }
        answer
    }
}

/// A parameter of a path that is a whole number.
///
/// # Errors
/// `bad request` when it is none.
pub(crate) fn number(text: &str) -> Result<i64> {
    text.parse().map_err(|_| Error::BadRequest("a number in a path is a whole one"))
}

/// Whether somebody could not say who they are.
fn is_auth_failure(error: &Error) -> bool {
    use Outcome::{IncorrectPw, NoMember, NotSchool, PwIncorrect};
    let wrong = [NoMember, IncorrectPw, NotSchool, PwIncorrect];
    match error {
        Error::Documented(outcome) => wrong.contains(outcome),
        Error::TooManyRequests { .. } => true,
        _ => false,
    }
}

/// Who is calling: nobody without the header; with one that is no bearer token, a token that fails.
pub(crate) fn caller(headers: &HeaderMap) -> Caller {
    token(headers).map_or(Caller::Nobody, Caller::token)
}

/// The bearer token; empty when the header is there and has none.
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

/// Whether gzip is named, or everything is, and not with a weight of nothing.
///
/// Source: RFC 9110 section 12.5.3.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut all = None;
    for coding in lines.flat_map(|line| line.split(',')) {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = parameters.trim().strip_prefix(['q', 'Q']).and_then(|weight| weight.strip_prefix('='));
        let accepted = weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0));
        match name.trim() {
            name if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => {
                return accepted;
            }
            "*" => all = Some(accepted),
            _ => {}
        }
    }
    all.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &http::HeaderName, values: &[&[u8]]) -> HeaderMap {
        let values = values.iter().map(|value| (name.clone(), http::HeaderValue::from_bytes(value).unwrap()));
        values.collect()
    }

    #[test]
    fn a_caller_is_who_the_bearer_token_says_and_anything_else_is_a_token_that_fails() {
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

    #[test]
    fn gzip_is_taken_where_it_is_named_or_everything_is() {
        let accepts = |values: &[&[u8]]| accepts_gzip(&headers(&ACCEPT_ENCODING, values));
        for value in ["gzip", "br, GZIP;q=0.5", "deflate, x-gzip", "*", "identity;q=0, *;q=0.1", "gzip ; q=1"]
        {
            assert!(accepts(&[value.as_bytes()]), "{value}");
        }
        for value in ["", "br", "gzip;q=0", "gzip;q=0.000, *", "*;q=0", "identity"] {
            assert!(!accepts(&[value.as_bytes()]), "{value}");
        }
        assert!(accepts(&[b"br", b"gzip"]) && !accepts(&[]));
    }
}
