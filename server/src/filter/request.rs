use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts as Head;
use http::{HeaderMap, Method};
use tidings_core::account::{Caller, Client, ClientInfo};
use tidings_core::operation::Media;
use tidings_core::{Result, Tidings};

use crate::filter::client;
use crate::filter::fields::{self, Format, Given};
use crate::filter::reply::Refusal;
use crate::filter::shares::Share;
use crate::filter::upload::{Upload, UploadReader};
use crate::state::{App, AppRef};

mod answer;

pub(crate) use answer::{Made, Work, boxed};

/// The largest body, in bytes, that is parsed on an async thread: moving it to another thread would take longer than parsing it.
/// Larger bodies are parsed in a lane.
const READ_AT_ONCE: usize = 16 * 1024;

pub(crate) struct Context {
    pub(crate) app: AppRef,
    pub(crate) caller: Caller,
    pub(crate) head: Head,
    peer: IpAddr,
    /// Caches may store the response, or the operation declares a tag.
    pub(crate) is_tagged: bool,
    /// The response is for a single member, which is not worth a dense coding.
    pub(crate) is_personal: bool,
    /// Until the handler takes it. What nobody reads is discarded when the request ends.
    body: Mutex<Upload>,
}

impl Context {
    /// Without a peer address, from a program that mounts the service and provides none, the client is the local host.
    pub(crate) fn new(app: AppRef, head: Head, body: Upload, peer: Option<IpAddr>) -> Self {
        let (caller, body) = (caller(&head.headers), Mutex::new(body));
        let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        Self { caller, app, head, peer, is_tagged: false, is_personal: false, body }
    }

    pub(crate) fn address(&self) -> IpAddr {
        client::address(self.peer, &self.head.headers, &self.app.config.trust_proxy)
    }
}

pub(crate) struct Call {
    context: Arc<Context>,
    caller: Caller,
    upload: Upload,
}

impl Call {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        let upload = std::mem::take(&mut *context.body.lock().unwrap_or_else(PoisonError::into_inner));
        Self { caller: context.caller.clone(), context, upload }
    }

    pub(crate) fn app(&self) -> &AppRef {
        &self.context.app
    }

    pub(crate) fn tidings(&self) -> &Tidings {
        &self.context.app.tidings
    }

    pub(crate) fn by_guest(self) -> Self {
        Self { caller: Caller::Guest, ..self }
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn is_guest(&self) -> bool {
        matches!(self.caller, Caller::Guest)
    }

    pub(crate) fn is_head(&self) -> bool {
        self.context.head.method == Method::HEAD
    }

    pub(crate) async fn fields<T: Send + 'static>(
        &mut self,
        given: Given,
        has_body: bool,
        read: fn(&Given) -> Result<T>,
    ) -> Result<T, Refusal> {
        if !has_body {
            return Ok(read(&given)?);
        }
        let (body, _held) = self.bytes(self.app().config.body_limit).await?;
        let format = Format::of(self.headers().get(CONTENT_TYPE), &body)?;
        let is_large = body.len() > READ_AT_ONCE;
        let given = Given { body: Some((format, body)), ..given };
        if !is_large {
            return Ok(read(&given)?);
        }
        Ok(self.app().lanes.codec.run_for(self.address().into(), move || read(&given)).await?)
    }

    /// Reads at most `limit` bytes. Fails for a compressed body.
    pub(crate) async fn bytes(&mut self, limit: usize) -> Result<(Bytes, Option<Share<Client>>), Refusal> {
        let (App { config, bodies, .. }, client) = (&*self.context.app, self.address().into());
        let whole = self.upload.whole(limit, config.body_timeout, client, bodies).await?;
        self.refuse_compressed()?;
        Ok(whole)
    }

    fn refuse_compressed(&self) -> Result<(), Refusal> {
        let is_compressed = self.headers().contains_key(CONTENT_ENCODING);
        if is_compressed { Err(Refusal::UnsupportedMediaType) } else { Ok(()) }
    }

    pub(crate) fn reader(
        &mut self,
        media_types: &[Media],
    ) -> Result<(UploadReader, impl Future<Output = Result<usize, Refusal>> + use<>), Refusal> {
        self.refuse_compressed()?;
        let is_one =
            |given: &[u8]| media_types.iter().any(|one| given.eq_ignore_ascii_case(one.name.as_bytes()));
        if !self.headers().get(CONTENT_TYPE).map(fields::media_type).is_none_or(is_one) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let config = &self.context.app.config;
        Ok(std::mem::take(&mut self.upload).reader(config.import_limit, config.body_timeout))
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.context.address()
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
        let app = self.app();
        let own = if app.tls.get().is_some() { "https" } else { "http" };
        client::site(self.context.peer, self.headers(), &app.config.trust_proxy, own)
    }

    pub(crate) fn query(&self) -> &str {
        self.context.head.uri.query().unwrap_or_default()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.context.head.headers
    }
}

/// A guest if there is no `Authorization` header; the bearer of an invalid token if the header does not contain a bearer token.
pub(crate) fn caller(headers: &HeaderMap) -> Caller {
    token(headers).map_or(Caller::Guest, Caller::token)
}

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
