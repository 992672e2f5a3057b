//! The settings that only the server needs, each with its default. `table` has the name, the help and the bounds of each.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use http::HeaderValue;
pub use ipnet::IpNet;
use tidings_core::config::{Invalid, setting};

mod table;

pub use table::SETTINGS;

/// A campus behind one address: 500 sign up in the first minute of a course, and 3,600 more in each hour.
const SIGN_UPS: NonZeroU32 = NonZeroU32::new(60).expect("not zero");
const SIGN_UP_BURST: NonZeroU32 = NonZeroU32::new(500).expect("not zero");
/// 20,000 people behind one address who make 36 requests of the kind in the busiest hour each: nine searches with their
/// similar words, their sites and their log entry, or a device and 35 views of posts.
const SEARCHES: NonZeroU32 = NonZeroU32::new(12_000).expect("not zero");
const GUEST_WRITES: NonZeroU32 = NonZeroU32::new(12_000).expect("not zero");

/// The settings of the server. Those of the service itself are in [`tidings_core::config`].
#[derive(Clone, Debug)]
pub struct Config {
    /// The prefix that everything is served under.
    pub base_path: BasePath,
    /// The origins whose pages may read answers; none means any.
    pub cors_origins: Vec<Origin>,
    /// The proxies whose `X-Forwarded-For` is believed.
    pub trust_proxy: Vec<IpNet>,
    /// Requests that a client may make in a second; `None` means as many as it likes.
    pub rate_limit: Option<NonZeroU32>,
    /// Sign-ups that a client may make in a minute, after `sign_up_burst` that are free; `None` means as many as it
    /// likes. A client is an address, of IPv6 its first 64 bits.
    pub sign_up_limit: Option<NonZeroU32>,
    /// Sign-ups that a client may make at once.
    pub sign_up_burst: NonZeroU32,
    /// Searches that a client may make in a minute, and as many at once; `None` means as many as it likes. Asking for
    /// similar words counts as a search.
    pub search_limit: Option<NonZeroU32>,
    /// What a client may write in a minute without being signed in, and as much at once; `None` means as much as it
    /// likes.
    pub guest_write_limit: Option<NonZeroU32>,
    /// Whether each failed sign-in writes a line with the client's address to the log.
    pub log_auth_failures: bool,
    /// Whether what is answered is written to the access log, and its visitors are counted. Views, likes,
    /// searches and devices always are.
    pub analytics: bool,
    /// Where metrics are served for whoever watches over the server; `None`: nowhere.
    pub metrics_listen: Option<SocketAddr>,
    /// Whether `/openapi.json` and `/docs` are served.
    pub docs: bool,
    /// The most bytes of a body.
    pub body_limit: usize,
    /// The most bytes of all bodies that are held at once; more are refused with `overloaded`.
    pub bodies_limit: usize,
    /// The most bytes of an import, which is read as a stream.
    pub import_limit: usize,
    /// How long the head of a request may take to arrive, from its first byte; of a connection's first
    /// request, from the connection.
    pub header_timeout: Duration,
    /// How long a body may take to arrive; of an import, each next piece of it.
    pub body_timeout: Duration,
    /// How long a connection may wait for its next request, or for its client to take something of a response.
    pub idle_timeout: Duration,
    /// How long a shutdown waits for what is running.
    pub shutdown_timeout: Duration,
    /// Connections that are open at once, fewer where the limit of open files asks for it. When they are used up, the
    /// longest idle ones are closed for the next ones.
    pub max_connections: usize,
    /// Connections of one IPv4 address or IPv6 /64 that are open at once, nine tenths of all at most; `None`: three
    /// quarters of all. Trusted proxies have no such bound.
    pub max_connections_per_address: Option<usize>,
    /// The most bytes of all responses that clients have not taken yet. Beyond it, the connections are closed that
    /// hold most of them.
    pub responses_limit: usize,
    /// Operations that work on the database at once …
    pub operations: usize,
    /// … and those that may wait for one of these to end. More are refused with `overloaded`.
    pub operation_queue: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_path: BasePath::default(),
            cors_origins: Vec::new(),
            trust_proxy: Vec::new(),
            rate_limit: None,
            sign_up_limit: Some(SIGN_UPS),
            sign_up_burst: SIGN_UP_BURST,
            search_limit: Some(SEARCHES),
            guest_write_limit: Some(GUEST_WRITES),
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
            shutdown_timeout: Duration::from_secs(10),
            max_connections: 10_000,
            max_connections_per_address: None,
            responses_limit: 128 * 1024 * 1024,
            operations: 32,
            operation_queue: 1_024,
        }
    }
}

impl Config {
    /// Checks that every setting is within its bounds.
    ///
    /// # Errors
    /// The first setting that is not.
    pub fn check(&self) -> Result<(), Invalid> {
        setting::check(SETTINGS, self)
    }
}

/// The prefix that everything is served under: empty, or `/` and names between slashes.
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
    /// The prefix, without a slash at its end.
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
            Err(InvalidText("a base path is names of letters, digits and - . _ ~ between slashes"))
        }
    }
}

/// Where a page comes from, as browsers send it: scheme, host and, where it is not the usual one, port.
///
/// ```
/// use tidings_server::Origin;
///
/// assert!("https://app.example.org".parse::<Origin>().is_ok());
/// assert!("http://localhost:8080/".parse::<Origin>().is_ok());
/// assert!("example.org".parse::<Origin>().is_err());
/// assert!("https://example.org/page".parse::<Origin>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl Origin {
    /// As it stands in the header of a request.
    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_str().expect("made of ASCII letters, digits and punctuation"))
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
        if plain(scheme, b"+-.") && plain(host, b"-._:[]") {
            HeaderValue::from_str(&text).map(Self).map_err(|_| WRONG)
        } else {
            Err(WRONG)
        }
    }
}

/// The text is not a base path or an origin. Holds the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidText(&'static str);
