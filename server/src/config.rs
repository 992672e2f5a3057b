//! The settings that only the server needs, each with its default. The module `table` has the name, the help and the
//! bounds of each.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use http::HeaderValue;
pub use ipnet::IpNet;
use tidings_core::config::{Invalid, setting};

mod table;

pub use table::SETTINGS;

/// Enough for a campus behind one address: 500 sign-ups in the first minute of a course, and 3,600 per hour after that.
const SIGN_UPS: NonZeroU32 = NonZeroU32::new(60).expect("not zero");
const SIGN_UP_BURST: NonZeroU32 = NonZeroU32::new(500).expect("not zero");
/// Enough for 20,000 people behind one address who each send 36 such requests in the busiest hour: nine searches with
/// their similar words, sites and search records, or a device and 35 views of posts.
const SEARCHES: NonZeroU32 = NonZeroU32::new(12_000).expect("not zero");
const GUEST_WRITES: NonZeroU32 = NonZeroU32::new(12_000).expect("not zero");
/// Feedback of a full lecture hall behind one address.
const FEEDBACK: NonZeroU32 = NonZeroU32::new(600).expect("not zero");
/// Requests per second with one API key by default: enough for a script that sends one after another.
const KEY_REQUESTS: NonZeroU32 = NonZeroU32::new(200).expect("not zero");
/// Half of the connections. The other half is for requests.
const EVENT_CONNECTIONS: NonZeroU32 = NonZeroU32::new(5_000).expect("not zero");

/// The settings of the server. Those of the service itself are in [`tidings_core::config`].
#[derive(Clone, Debug)]
pub struct Config {
    /// The path prefix of all routes.
    pub base_path: BasePath,
    /// The origins whose pages may read answers; empty means all origins.
    pub cors_origins: Vec<Origin>,
    /// The proxies whose `X-Forwarded-For` header the server trusts.
    pub trust_proxy: Vec<IpNet>,
    /// The file with the certificate of the server and the chain to its authority, in PEM form. With it, the server speaks
    /// TLS and nothing else.
    pub tls_cert: Option<PathBuf>,
    /// The file with the private key of the certificate, in PEM form.
    pub tls_key: Option<PathBuf>,
    /// Maximum number of requests per second and client; `None` means any number.
    pub rate_limit: Option<NonZeroU32>,
    /// Maximum number of sign-ups per minute and client after a burst of `sign_up_burst`; `None` means any number. A client
    /// is an IPv4 address or the first 64 bits of an IPv6 address.
    pub sign_up_limit: Option<NonZeroU32>,
    /// Sign-ups that a client may send at once.
    pub sign_up_burst: NonZeroU32,
    /// Maximum number of searches per minute and client, which is also the burst; `None` means any number. A request for
    /// similar words counts as a search.
    pub search_limit: Option<NonZeroU32>,
    /// Maximum number of writes per minute and client without a member's token, which is also the burst; `None` means any
    /// number.
    pub guest_write_limit: Option<NonZeroU32>,
    /// Maximum number of feedback per minute and client; `None` means any number. A client is an IPv4 address or the first
    /// 64 bits of an IPv6 address.
    pub feedback_limit: Option<NonZeroU32>,
    /// Requests per second with one API key; `None` means any number.
    pub key_limit: Option<NonZeroU32>,
    /// Whether the server logs each failed sign-in with the client's address.
    pub log_auth_failures: bool,
    /// Whether the server writes answered requests to the access log and counts their visitors. Views, likes, searches and
    /// devices are always counted.
    pub analytics: bool,
    /// The address on which the server serves metrics for monitoring; `None` means that it serves none.
    pub metrics_listen: Option<SocketAddr>,
    /// Whether `/openapi.json` and `/docs` are served.
    pub docs: bool,
    /// Maximum size of a body in bytes.
    pub body_limit: usize,
    /// Maximum total size in bytes of all bodies in memory; the server refuses more with `overloaded`.
    pub bodies_limit: usize,
    /// Maximum size of an import in bytes. Imports are read as streams.
    pub import_limit: usize,
    /// Time limit for the head of a request, from its first byte; for the first request, from the start of the connection.
    pub header_timeout: Duration,
    /// Time limit for a body; in an import, for each piece of it.
    pub body_timeout: Duration,
    /// Maximum time that a connection waits for its next request, or for its client to read more of a response.
    pub idle_timeout: Duration,
    /// The time before a shutdown in which the server still answers, but is not ready and closes connections after their
    /// responses, so that load balancers send their requests elsewhere.
    pub stop_delay: Duration,
    /// Maximum time that a shutdown waits for running requests.
    pub shutdown_timeout: Duration,
    /// Maximum number of open connections, lower if the limit of open files requires it. Beyond it, the server closes the
    /// connections that have been idle longest.
    pub max_connections: usize,
    /// Maximum number of open connections of one IPv4 address or IPv6 /64, at most nine tenths of all; `None` means three
    /// quarters of all. Trusted proxies have no such limit.
    pub max_connections_per_address: Option<usize>,
    /// Maximum number of streams of live events, at most half of `max_connections`; a client has at most three times
    /// what is free. `None` means that `/events` does not exist.
    pub event_connections: Option<NonZeroU32>,
    /// Maximum total size in bytes of responses that clients have not read yet. Beyond it, the server closes the connections
    /// with the most unread bytes.
    pub responses_limit: usize,
    /// Maximum number of operations that use the database at once.
    pub operations: usize,
    /// Maximum number of operations that wait to use the database. The server refuses more with `overloaded`.
    pub operation_queue: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_path: BasePath::default(),
            cors_origins: Vec::new(),
            trust_proxy: Vec::new(),
            tls_cert: None,
            tls_key: None,
            rate_limit: None,
            sign_up_limit: Some(SIGN_UPS),
            sign_up_burst: SIGN_UP_BURST,
            search_limit: Some(SEARCHES),
            guest_write_limit: Some(GUEST_WRITES),
            feedback_limit: Some(FEEDBACK),
            key_limit: Some(KEY_REQUESTS),
            log_auth_failures: false,
            analytics: true,
            metrics_listen: None,
            docs: true,
            body_limit: 1024 * 1024,
            bodies_limit: 128 * 1024 * 1024,
            import_limit: 64 * 1024 * 1024,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            stop_delay: Duration::ZERO,
            shutdown_timeout: Duration::from_secs(10),
            max_connections: 10_000,
            max_connections_per_address: None,
            event_connections: Some(EVENT_CONNECTIONS),
            responses_limit: 128 * 1024 * 1024,
            operations: 32,
            operation_queue: 1_024,
        }
    }
}

impl Config {
    /// Checks that every setting is within its bounds. Reads no files.
    ///
    /// # Errors
    /// The first setting that is not.
    pub fn check(&self) -> Result<(), Invalid> {
        setting::check(SETTINGS, self)?;
        let alone = match (&self.tls_cert, &self.tls_key) {
            (Some(_), None) => Some(("tls-cert", "needs tls-key too")),
            (None, Some(_)) => Some(("tls-key", "needs tls-cert too")),
            _ => None,
        };
        alone.map_or(Ok(()), |(name, rule)| Err(Invalid { settings: vec![name], rule: rule.to_owned() }))
    }

    /// Returns the files of the certificate, if the server speaks TLS.
    pub(crate) fn tls_files(&self) -> Option<TlsFiles> {
        Some(TlsFiles { cert: self.tls_cert.clone()?, key: self.tls_key.clone()? })
    }

    /// Returns the maximum number of streams of live events.
    pub(crate) fn event_streams(&self) -> usize {
        let streams = self.event_connections.map_or(0, NonZeroU32::get);
        usize::try_from(streams).unwrap_or(usize::MAX).min(self.max_connections.div_ceil(2))
    }
}

/// The files of a certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

/// The path prefix of all routes: empty, or `/` and names separated by slashes.
///
/// ```
/// use tidings_server::BasePath;
///
/// assert_eq!("/api/v1/".parse::<BasePath>().unwrap().as_str(), "/api/v1");
/// assert_eq!("/".parse::<BasePath>().unwrap(), BasePath::default());
/// assert!("/a b".parse::<BasePath>().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    /// Returns the prefix without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BasePath {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let names = text.trim_matches('/');
        if names.is_empty() {
            return Ok(Self::default());
        }
        let plain = |name: &str| {
            !matches!(name, "" | "." | "..")
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
        };
        if names.split('/').all(plain) {
            Ok(Self(format!("/{names}")))
        } else {
            Err(InvalidText("a base path is names of letters, digits and - . _ ~, separated by slashes"))
        }
    }
}

/// The origin of a page, as browsers send it: scheme, host and, unless it is the default, port.
///
/// ```
/// use tidings_server::Origin;
///
/// assert!("https://app.example.org".parse::<Origin>().is_ok());
/// assert!("http://localhost:8080/".parse::<Origin>().is_ok());
/// assert_eq!("https://App.example:443".parse::<Origin>(), "https://app.example".parse());
/// assert!("example.org".parse::<Origin>().is_err());
/// assert!("https://example.org/page".parse::<Origin>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl Origin {
    /// Returns the value of the `Origin` header.
    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_str().expect("an origin has only ASCII letters, digits and punctuation"))
    }
}

impl FromStr for Origin {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, InvalidText> {
        const WRONG: InvalidText = InvalidText("an origin is a scheme and a host: https://app.example.org");
        let text = text.strip_suffix('/').unwrap_or(text).to_ascii_lowercase();
        let (scheme, host) = text.split_once("://").ok_or(WRONG)?;
        let plain = |text: &str, more: &[u8]| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
        };
        if !plain(scheme, b"+-.") {
            return Err(WRONG);
        }
        // An IPv6 address has colons, too, and is in brackets. Browsers write it in its shortest form.
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (host, ""),
        };
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) => {
                let address = address.parse::<Ipv6Addr>().map_err(|_| WRONG)?;
                match address.segments() {
                    // They write no part of it as an IPv4 address.
                    [0, 0, 0, 0, 0, 0xffff, a, b] => format!("[::ffff:{a:x}:{b:x}]"),
                    _ => format!("[{address}]"),
                }
            }
            None if plain(host, b"-._") => host.to_owned(),
            None => return Err(WRONG),
        };
        let is_port = port.is_empty() || (port.parse::<u16>().is_ok() && plain(port, b""));
        if !is_port {
            return Err(WRONG);
        }
        // Browsers leave out the default port, and write no leading zeros.
        let origin = match (scheme, port.trim_start_matches('0')) {
            ("https", "443") | ("http", "80") | (_, "") => format!("{scheme}://{host}"),
            (_, port) => format!("{scheme}://{host}:{port}"),
        };
        HeaderValue::from_str(&origin).map(Self).map_err(|_| WRONG)
    }
}

/// The error for a text that is not a base path or an origin. It contains the rule that the text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidText(&'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_as_browsers_send_it() {
        for (text, origin) in [
            ("https://app.example:443", "https://app.example"),
            ("http://app.example:80/", "http://app.example"),
            ("HTTPS://App.Example:0443", "https://app.example"),
            ("https://[2001:db8::1]:443", "https://[2001:db8::1]"),
            ("https://[2001:DB8:0::1]", "https://[2001:db8::1]"),
            ("http://[::ffff:1.2.3.4]:8080", "http://[::ffff:102:304]:8080"),
            ("http://app.example:443", "http://app.example:443"),
            ("https://app.example:08443", "https://app.example:8443"),
            ("capacitor://localhost", "capacitor://localhost"),
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().to_string(), origin, "{text}");
        }
        for text in [
            "https://app.example:65536",
            "https://app.example:x",
            "https://:443",
            "app.example:443",
            "http://[::",
            "http://[::1",
            "http://::1]",
            "http://[app]",
            "http://a:b:c",
        ] {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
    }
}
