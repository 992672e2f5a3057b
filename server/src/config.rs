//! The settings that only the server needs: a field of [`Config`] declares the name, the help and the default of each.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgAction, Args};
use http::HeaderValue;
pub use ipnet::IpNet;
use tidings_core::config::Invalid;
use tidings_core::config::value::{defaults, seconds, socket_address, switch, within};
use url::Url;

/// The maximum number of streams of live events; the other connections are for requests.
const EVENT_STREAMS: usize = 5_000;

/// The settings of the server; those that are skipped are for programs that embed it. The settings of the service itself are
/// in [`tidings_core::config`].
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub struct Config {
    /// Serve everything under this prefix, such as /api.
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    pub base_path: BasePath,
    /// Allow browsers of this origin only, not of any; may be repeated.
    #[arg(long = "cors-origin", value_name = "ORIGIN", value_delimiter = ',')]
    pub cors_origins: Vec<Origin>,
    /// Believe the X-Forwarded-For of this proxy, an address or a network; may be repeated.
    #[arg(long, value_name = "NET", value_delimiter = ',', value_parser = network)]
    pub trust_proxy: Vec<IpNet>,
    /// Speak TLS with the certificate in this PEM file, which has the chain to its authority, and load it again when it changes.
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, a PEM file.
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Requests a second that one client may make; without it, any number.
    #[arg(long, value_name = "N")]
    pub rate_limit: Option<NonZeroU32>,
    /// Connections at a time, fewer if the limit of open files requires it; the longest idle one is closed for the next.
    #[arg(long, value_name = "N", default_value = "10000")]
    pub max_connections: usize,
    /// Serve metrics for Prometheus on this address, at /metrics.
    #[arg(long, value_name = "ADDR", value_parser = socket_address)]
    pub metrics_listen: Option<SocketAddr>,
    /// Seconds between SIGTERM and the stop in which the server answers but is not ready, for load balancers.
    #[arg(long, value_name = "N", value_parser = seconds, default_value = "0")]
    pub stop_delay: Duration,
    /// Close /docs and /openapi.json.
    #[arg(long)]
    pub no_docs: bool,
    /// Log failed sign-ins with the address they come from.
    #[arg(long)]
    pub log_auth_failures: bool,
    /// Write answered requests to the access log and count their visitors. Views, likes, searches and devices are always
    /// counted.
    #[arg(
        long, action = ArgAction::Set, value_parser = switch(), default_value = "on", help_heading = "Analytics"
    )]
    pub analytics: bool,
    /// Maximum size of a body in bytes.
    #[arg(skip = 1_048_576_usize)]
    pub body_limit: usize,
    /// Maximum total size in bytes of all bodies in memory; the server refuses more with `overloaded`.
    #[arg(skip = 134_217_728_usize)]
    pub bodies_limit: usize,
    /// Maximum size of an import in bytes. Imports are read as streams.
    #[arg(skip = 67_108_864_usize)]
    pub import_limit: usize,
    /// Time limit for the head of a request, from its first byte; for the first request, from the start of the connection.
    #[arg(skip = Duration::from_secs(10))]
    pub header_timeout: Duration,
    /// Time limit for a body; in an import, for each piece of it.
    #[arg(skip = Duration::from_secs(30))]
    pub body_timeout: Duration,
    /// Maximum time that a connection waits for its next request, or for its client to read more of a response.
    #[arg(skip = Duration::from_secs(75))]
    pub idle_timeout: Duration,
    /// Maximum time that a shutdown waits for running requests.
    #[arg(skip = Duration::from_secs(10))]
    pub shutdown_timeout: Duration,
    /// Maximum total size in bytes of responses that clients have not read yet. Beyond it, the server closes the connections
    /// with the most unread bytes.
    #[arg(skip = 134_217_728_usize)]
    pub responses_limit: usize,
    /// Maximum number of operations that use the database at once.
    #[arg(skip = 32_usize)]
    pub operations: usize,
    /// Maximum number of operations that wait to use the database. The server refuses more with `overloaded`.
    #[arg(skip = 1_024_usize)]
    pub operation_queue: usize,
}

impl Default for Config {
    fn default() -> Self {
        defaults()
    }
}

impl Config {
    /// Checks that every setting is within its bounds. Reads no files.
    ///
    /// # Errors
    /// The first setting that is not.
    pub fn check(&self) -> Result<(), Invalid> {
        within("max-connections", self.max_connections, 1..=usize::MAX)?;
        within("stop-delay", self.stop_delay.as_secs(), 0..=3_600)?;
        let alone = match (&self.tls_cert, &self.tls_key) {
            (Some(_), None) => Some(("tls-cert", "needs tls-key too")),
            (None, Some(_)) => Some(("tls-key", "needs tls-cert too")),
            _ => None,
        };
        alone.map_or(Ok(()), |(name, rule)| Err(Invalid { settings: vec![name], rule: rule.to_owned() }))
    }

    pub(crate) fn tls_files(&self) -> Option<TlsFiles> {
        Some(TlsFiles { cert: self.tls_cert.clone()?, key: self.tls_key.clone()? })
    }

    pub(crate) fn event_streams(&self) -> usize {
        EVENT_STREAMS.min(self.max_connections.div_ceil(2))
    }
}

/// An address is the network of that address alone.
fn network(text: &str) -> Result<IpNet, &'static str> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| "must be an address, or a network such as 10.0.0.0/8")
}

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
        let plain = |text: &str, more: &[u8]| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
        };
        let text = text.strip_suffix('/').unwrap_or(text).to_ascii_lowercase();
        let is_plain = text
            .split_once("://")
            .is_some_and(|(scheme, host)| plain(scheme, b"+-.") && plain(host, b"-._:[]"));
        // Browsers write a host in its shortest form, and leave out the default port.
        let url = Some(&text).filter(|_| is_plain).and_then(|text| text.parse::<Url>().ok()).ok_or(WRONG)?;
        let host = url.host_str().ok_or(WRONG)?;
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let origin = format!("{}://{host}{port}", url.scheme());
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
        let others = "https://app.example:65536 https://app.example:x https://:443 app.example:443 http://[:: http://[::1 \
                      http://::1] http://[app] http://a:b:c app.example.org https://app.example.org/page *";
        for text in others.split(' ').chain([""]) {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
    }
}
