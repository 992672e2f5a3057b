use std::fmt;
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::{CertificateError, Error as TlsError};
use serde::de::{DeserializeOwned, IgnoredAny};
use tidings_core::answer::SUCCESS;
use tidings_core::api::Readyz;
use tidings_core::tls::{self, Authorities, InvalidAuthorities};
use ureq::http::{self, Response, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, AsSendBody, Body, SendBody};
use zeroize::Zeroizing;

use crate::address::Address;
use crate::error::{Error, Refusal, Result};
use crate::request::{Request, Requests};

const CONNECT: Duration = Duration::from_secs(10);
/// Between two parts of a response. A server takes its time to learn weights or verify a trail.
pub(crate) const READ: Duration = Duration::from_secs(120);
/// A server answers at once whether it is ready, unless it hangs.
const READY: Duration = Duration::from_secs(10);
/// In bytes. Exports are streams without a limit.
const ANSWER_MAX: u64 = 256 << 20;

/// The characters of a segment of a path that are escaped.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A server, and who calls its operations. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    address: Address,
    agent: Agent,
    token: Option<Arc<Zeroizing<String>>>,
    /// The member of the token, if operations are called as a member and not as an administrator.
    member: Option<Arc<str>>,
    /// Set once the server has accepted the token.
    pub(crate) is_accepted: Arc<OnceLock<()>>,
    pub(crate) requests: Arc<Requests>,
}

impl Server {
    /// `token` is a member's or an API key; `member` is the member as whom operations are called.
    pub fn new(address: Address, token: Option<Zeroizing<String>>, member: Option<&str>) -> Self {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier);
        Self {
            agent: agent(tls.build(), address.allows_proxy()),
            address,
            token: token.map(Arc::new),
            member: member.map(Arc::from),
            is_accepted: Arc::default(),
            requests: Arc::default(),
        }
    }

    /// The only accepted certificates are those of the PEM file, such as a self-signed one, and those of authorities in it.
    pub fn trusting(self, file: &Path) -> Result<Self, InvalidAuthorities> {
        let agent = agent(Authorities::in_file(file)?.for_http(), self.address.allows_proxy());
        Ok(Self { agent, ..self })
    }

    /// `member` is the member as whom operations are called.
    #[must_use]
    pub fn signed_in(&self, token: Zeroizing<String>, member: Option<&str>) -> Self {
        let (token, member) = (Some(Arc::new(token)), member.map(Arc::from));
        Self { token, member, is_accepted: Arc::default(), ..self.clone() }
    }

    /// The server on this machine that listens at `address`, as a guest. Its certificate, which has the name for others, is not checked:
    /// nobody else can listen there.
    pub fn here(address: SocketAddr, encrypted: bool, base_path: &str) -> Self {
        let scheme = if encrypted { "https" } else { "http" };
        let tls = TlsConfig::builder().disable_verification(true);
        let address = Address(format!("{scheme}://{address}{base_path}"));
        Self { agent: agent(tls.build(), false), ..Self::new(address, None, None) }
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref().map(|token| token.as_str())
    }

    /// `None` if operations are called as who administers.
    pub fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    pub(crate) fn as_guest(&self) -> Self {
        Self { token: None, member: None, ..self.clone() }
    }

    /// The server reads its database and its last commit succeeded; fails also after 10 seconds of silence.
    pub fn ready(&self) -> Result<()> {
        let response = self.send(&self.request_of(&Readyz {})?, None, READY)?;
        self.decode::<IgnoredAny>(&self.read(response)?).map(|_| ())
    }

    pub(crate) fn stream(&self, request: &Request) -> Result<impl Read + use<>> {
        let response = self.send(request, None, READ)?;
        let is_stream = response.headers().get("tidings-result").is_some_and(|result| result == SUCCESS);
        Ok(self.streamed(response, is_stream, "another answer")?.into_body().into_reader())
    }

    pub(crate) fn streamed(
        &self,
        response: Response<Body>,
        is_stream: bool,
        other: &str,
    ) -> Result<Response<Body>> {
        if is_stream {
            Ok(response)
        } else {
            Err(self.read(response).map_or_else(|error| error, |_| self.unexpected(other)))
        }
    }

    /// A body has a media type, and is sent with `POST`. `read` is the time limit between two parts of the response.
    pub(crate) fn send(
        &self,
        request: &Request,
        body: Option<(&mut dyn Read, &str)>,
        read: Duration,
    ) -> Result<Response<Body>> {
        self.require_accepted(request)?;
        let _running = self.requests.begin();
        let escaped = |text| utf8_percent_encode(text, SEGMENT);
        let mut url = self.address.0.clone();
        url.extend(request.path.iter().map(|segment| format!("/{}", escaped(segment))));
        let separators = std::iter::once('?').chain(std::iter::repeat('&'));
        let fields = request.query.iter().zip(separators);
        url.extend(fields.map(|((name, value), separator)| format!("{separator}{name}={}", escaped(value))));
        let mut head = http::Request::builder().uri(url);
        if let Some(token) = &self.token {
            head = head.header(header::AUTHORIZATION, format!("Bearer {}", token.as_str()));
        }
        let response = match body {
            Some((body, media_type)) => {
                let head = head.method("POST").header(header::CONTENT_TYPE, media_type);
                head.body(SendBody::from_reader(body)).map(|request| self.run(request, read))
            }
            None => head.body(()).map(|request| self.run(request, read)),
        };
        let response = response.map_err(|_| self.unexpected("no valid request"))?;
        response.map_err(|error| self.unreachable(&self.cause(&error)))
    }

    fn run(
        &self,
        request: http::Request<impl AsSendBody>,
        read: Duration,
    ) -> Result<Response<Body>, ureq::Error> {
        self.agent.run(self.agent.configure_request(request).timeout_per_read(Some(read)).build())
    }

    pub(crate) fn read(&self, mut response: Response<Body>) -> Result<Vec<u8>> {
        let status = response.status();
        let number = |name| response.headers().get(name)?.to_str().ok()?.parse::<u64>().ok();
        let retry_after_s = number(header::RETRY_AFTER);
        if status.is_redirection() {
            let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            return Err(self.unexpected(format!("a redirection to {}", to.unwrap_or("nowhere"))));
        }
        let json = response.body_mut().with_config().limit(ANSWER_MAX).read_to_vec();
        let json = json.map_err(|error| self.unreachable(&error))?;
        match Refusal::read(&json, retry_after_s) {
            Some(answer) if answer.result == SUCCESS => Ok(json),
            Some(refusal) => Err(Error::Refused(Box::new(refusal))),
            None => {
                // Servers that expect TLS say so in plain HTTP.
                let hint = match status.as_u16() {
                    400 if self.address.0.starts_with("http:") => "; if it has TLS, write https://",
                    _ => "",
                };
                Err(self.unexpected(format!("with the status {status} and no answer of tidings{hint}")))
            }
        }
    }

    pub(crate) fn decode<T: DeserializeOwned>(&self, json: &[u8]) -> Result<T> {
        serde_json::from_slice(json).map_err(|error| self.unexpected(error))
    }

    /// Adds a remedy if the certificate of the server is the cause.
    fn cause(&self, error: &ureq::Error) -> String {
        let certificate = tls::cause(error);
        if let Some(advice) = certificate.and_then(tls::advice) {
            return advice.to_owned();
        }
        match certificate {
            // macOS and Windows tell only with `Other` that they do not know the authority.
            Some(TlsError::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::Other(_),
            )) => format!(
                "the certificate is not trusted ({error}): if it is self-signed or its authority is private, name the file of the \
                 certificate or of that of the authority with tidings login --tls-ca FILE (or add the authority to the system, or \
                 name it in SSL_CERT_FILE)"
            ),
            Some(TlsError::InvalidCertificate(_)) => format!("the certificate is not valid ({error})"),
            Some(TlsError::InvalidMessage(_)) => format!(
                "it does not speak TLS ({error}): write http:// if it is on this machine, and else another port"
            ),
            // A server that expects TLS answers with an alert of TLS, which is no HTTP, or ends the connection.
            None if self.address.0.starts_with("http:") => match error {
                ureq::Error::Protocol(_) => {
                    format!("it does not speak plain HTTP ({error}): write https:// if it has TLS")
                }
                ureq::Error::Io(io)
                    if matches!(io.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
                {
                    format!("it ended the connection ({error}): write https:// if it has TLS")
                }
                _ => error.to_string(),
            },
            _ => error.to_string(),
        }
    }

    pub(crate) fn unexpected(&self, what: impl fmt::Display) -> Error {
        Error::Unexpected { server: self.address.to_string(), what: what.to_string() }
    }

    pub(crate) fn unreachable(&self, error: &impl fmt::Display) -> Error {
        Error::Unreachable { server: self.address.to_string(), cause: error.to_string() }
    }
}

fn agent(tls: TlsConfig, allows_proxy: bool) -> Agent {
    let mut agent = Agent::config_builder()
        .http_status_as_error(false)
        // A redirect would send the token somewhere else.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .tls_config(tls)
        // Servers know this name, also those of earlier versions: administration is no visit.
        .user_agent(concat!("tidings-access/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_per_write(Some(READ));
    if !allows_proxy {
        agent = agent.proxy(None);
    }
    agent.build().into()
}

pub(crate) fn line_ends(bytes: &[u8]) -> u64 {
    bytes.split(|byte| *byte == b'\n').skip(1).count() as u64
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::Service;

    #[test]
    fn a_server_that_ends_the_connection_may_expect_tls() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: Address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        // The system resets a connection that is closed with bytes nobody has read.
        let closing = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0]).unwrap();
        });
        let error = Server::new(address, None, None).ready().unwrap_err().to_string();
        closing.join().unwrap();
        assert!(error.contains("write https://"), "{error}");
    }

    #[test]
    fn a_member_is_the_same_in_other_letters() {
        let address: Address = "http://localhost".parse().unwrap();
        let is_own = |member, id| Service::on_server(Server::new(address.clone(), None, member)).is_own(id);
        assert!(is_own(Some("ann"), "ANN"));
        assert!(!is_own(Some("ann"), "ben") && !is_own(None, "ann"));
    }
}
