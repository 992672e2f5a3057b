//! The request that a handler receives.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts as Head;
use http::{HeaderMap, Method};
use tidings_core::account::{Caller, Client, ClientInfo};
use tidings_core::analysis::Guest;
use tidings_core::error::{Code, Problem};
use tidings_core::operation::{Media, Spec};
use tidings_core::{Error, Result, Tidings};

use crate::filter::client;
use crate::filter::fields::{self, Format, Given};
use crate::filter::reply::Refusal;
use crate::filter::shares::Share;
use crate::filter::upload::{Upload, UploadReader};
use crate::state::{App, AppRef};

mod answer;

pub(crate) use answer::{Begun, Made, Work};

/// The largest body, in bytes, that is parsed on an async thread: moving it to another thread would take longer than parsing it.
/// Larger bodies are parsed in a lane.
const READ_AT_ONCE: usize = 16 * 1024;

/// The request without its body.
pub(crate) struct Context {
    pub(crate) app: AppRef,
    caller: Caller,
    pub(crate) head: Head,
    peer: Option<IpAddr>,
    /// Caches may store the response, or the operation declares a tag.
    pub(crate) is_tagged: bool,
    /// The response is for a single member, which is not worth a dense coding.
    pub(crate) is_personal: bool,
    pub(crate) has_body: bool,
}

impl Context {
    /// `peer` is the other end of the connection, if it is known.
    pub(crate) fn new(app: AppRef, head: Head, peer: Option<IpAddr>) -> Self {
        let caller = caller(&head.headers);
        Self { caller, app, head, peer, is_tagged: false, is_personal: false, has_body: false }
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn address(&self) -> IpAddr {
        client::of(self.peer, &self.head.headers, &self.app.config.trust_proxy)
    }
}

/// It is a pointer, because it is moved through the futures of several functions, each of which would have room for it.
pub(crate) struct Call(Box<Parts>);

struct Parts {
    context: Arc<Context>,
    caller: Caller,
    /// In order, percent-decoded.
    segments: Vec<Vec<u8>>,
    upload: Upload,
}

impl Call {
    pub(crate) fn new(context: Arc<Context>, segments: Vec<Vec<u8>>, upload: Upload) -> Self {
        Self(Box::new(Parts { caller: context.caller.clone(), context, segments, upload }))
    }

    fn head(&self) -> &Head {
        &self.0.context.head
    }

    pub(crate) fn app(&self) -> &AppRef {
        &self.0.context.app
    }

    pub(crate) fn tidings(&self) -> &Tidings {
        &self.0.context.app.tidings
    }

    pub(crate) fn by_guest(mut self) -> Self {
        self.0.caller = Caller::Guest;
        self
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.0.caller
    }

    pub(crate) fn is_guest(&self) -> bool {
        matches!(self.0.caller, Caller::Guest)
    }

    pub(crate) fn is_head(&self) -> bool {
        self.head().method == Method::HEAD
    }

    /// Returns as many parameters of the path as its template has. Fails when one is not UTF-8.
    pub(crate) fn segments<const N: usize>(&mut self) -> Result<[String; N]> {
        if self.0.segments.iter().any(|segment| str::from_utf8(segment).is_err()) {
            return Err(Error::BadRequest(Problem::new(Code::MalformedRequest, "the path is not UTF-8")));
        }
        Ok(self.ids())
    }

    /// In a parameter that is not UTF-8, U+FFFD replaces the invalid bytes. No id contains this character, so each operation
    /// treats the parameter as an unknown id.
    pub(crate) fn ids<const N: usize>(&mut self) -> [String; N] {
        let text = |segment: Vec<u8>| String::from_utf8_lossy(&segment).into_owned();
        let texts: Vec<String> = std::mem::take(&mut self.0.segments).into_iter().map(text).collect();
        texts.try_into().expect("a handler takes the parameters that its template has")
    }

    pub(crate) async fn given<T: Send + 'static>(
        &mut self,
        spec: Spec,
        has_body: bool,
        read: fn(&Given) -> Result<T>,
    ) -> Result<T, Refusal> {
        let segments = std::mem::take(&mut self.0.segments);
        let query = self.query().to_owned();
        let given = Given { spec, segments, query, body: None };
        if !has_body {
            return Ok(read(&given)?);
        }
        let (format, body, _held) = self.body().await?;
        let length = body.len();
        let given = Given { body: Some((format, body)), ..given };
        self.parse(length, move || read(&given)).await
    }

    async fn body(&mut self) -> Result<(Format, Bytes, Option<Share<Client>>), Refusal> {
        let (body, held) = self.bytes(self.app().config.body_limit).await?;
        Ok((Format::of(self.headers().get(CONTENT_TYPE), &body)?, body, held))
    }

    /// Reads at most `limit` bytes. Fails for a compressed body.
    pub(crate) async fn bytes(&mut self, limit: usize) -> Result<(Bytes, Option<Share<Client>>), Refusal> {
        let Parts { context, upload, .. } = &mut *self.0;
        let (App { config, bodies, .. }, client) = (&*context.app, context.address().into());
        let whole = upload.whole(limit, config.body_timeout, client, bodies).await?;
        if context.head.headers.contains_key(CONTENT_ENCODING) {
            return Err(Refusal::UnsupportedMediaType);
        }
        Ok(whole)
    }

    /// Parses a large body in a lane.
    async fn parse<T: Send + 'static>(
        &self,
        length: usize,
        read: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        if length <= READ_AT_ONCE {
            return Ok(read()?);
        }
        Ok(self.app().lanes.codec.run_for(self.address().into(), read).await?)
    }

    /// Returns a reader for an operation, and the future that feeds it.
    pub(crate) fn reader(
        &mut self,
        media_types: &[Media],
    ) -> Result<(UploadReader, impl Future<Output = Result<usize, Refusal>> + use<>), Refusal> {
        let is_one =
            |given: &[u8]| media_types.iter().any(|one| given.eq_ignore_ascii_case(one.name.as_bytes()));
        let given = self.0.context.head.headers.get(CONTENT_TYPE).map(fields::media_type);
        if self.0.context.head.headers.contains_key(CONTENT_ENCODING) || !given.is_none_or(is_one) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let config = &self.0.context.app.config;
        Ok(std::mem::take(&mut self.0.upload).reader(config.import_limit, config.body_timeout))
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.0.context.address()
    }

    fn client_info(&self) -> ClientInfo {
        let headers = self.headers();
        ClientInfo {
            address: Some(self.address()),
            user_agent: client::user_agent(headers).into(),
            is_prefetch: client::is_prefetch(headers),
        }
    }

    /// The scheme and the host that the client used, such as `https://campus.example`.
    pub(crate) fn site(&self) -> String {
        let own = if self.0.context.app.tls.get().is_some() { "https" } else { "http" };
        client::site(
            self.0.context.peer,
            &self.0.context.head.headers,
            &self.0.context.app.config.trust_proxy,
            own,
        )
    }

    pub(crate) fn query(&self) -> &str {
        self.head().uri.query().unwrap_or_default()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.0.context.head.headers
    }
}

/// A guest if there is no `Authorization` header; the bearer of an invalid token if the header does not contain a bearer token.
pub(crate) fn caller(headers: &HeaderMap) -> Caller {
    token(headers).map_or(Caller::Guest, Caller::token)
}

/// Empty if the header does not contain a bearer token.
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
