//! The settings of the university verification.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ureq::http::Uri;

use super::setting::{FieldType, Invalid, Value, parse};
use crate::base::host;

/// The source that decides which ids belong to university members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verifier {
    /// No source: `sign_in_up` always answers `api error`.
    None,
    /// The roster in the database. `sign_up` refuses its ids.
    Roster,
    /// The address in [`HttpVerifier`].
    Http,
}

impl Verifier {
    pub(super) const NAMES: &[&str] = &["none", "roster", "http"];
}

impl FieldType for Verifier {
    fn to_value(&self) -> Option<Value> {
        let [none, roster, http] = Self::NAMES else { return None };
        let name = match self {
            Self::None => none,
            Self::Roster => roster,
            Self::Http => http,
        };
        Some(Value::Text((*name).to_owned()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let all = [Self::None, Self::Roster, Self::Http];
        let found = all.into_iter().find(|verifier| verifier.to_value().as_ref() == Some(value));
        found.ok_or_else(|| "must be none, roster or http".to_owned())
    }
}

/// A university's HTTP interface that verifies members. The service sends it `POST {id, pw}`.
#[derive(Clone, Debug)]
pub struct HttpVerifier {
    /// The address, http or https; empty if it is not set.
    pub url: String,
    /// A PEM file with the certificates that are trusted instead of the public authorities.
    pub ca: Option<PathBuf>,
    /// Whether passwords may be sent unencrypted to another machine.
    pub allow_plain_http: bool,
    /// The timeout of an answer.
    pub timeout: Duration,
    /// The ids of university members, which `sign_up` refuses. `None` means no ids.
    pub school_ids: Option<IdPattern>,
}

impl Default for HttpVerifier {
    fn default() -> Self {
        Self {
            url: String::new(),
            ca: None,
            allow_plain_http: false,
            timeout: Duration::from_secs(5),
            school_ids: None,
        }
    }
}

impl HttpVerifier {
    /// Checks that the address is valid, and that the service sends passwords encrypted unless plain HTTP is allowed.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        if self.url.is_empty() {
            return Err(Invalid::new(
                &["verifier", "verifier-url"],
                "the http verifier needs a verifier-url",
            ));
        }
        // Parsed in the same way as by the HTTP client.
        let url = self.url.parse().ok().filter(|url: &Uri| {
            matches!(url.scheme_str(), Some("http" | "https"))
                && url.host().is_some_and(|host| !host.is_empty())
        });
        let Some(url) = url else {
            let rule = "must be an address that begins with http:// or https://";
            return Err(Invalid::new(&["verifier-url"], rule));
        };
        if is_plain_http(&url) && !is_of_this_machine(&url) && !self.allow_plain_http {
            let rule = "passwords would be sent unencrypted to another machine: name an https:// address, or set \
                        verifier-allow-plain-http";
            return Err(Invalid::new(&["verifier-url", "verifier-allow-plain-http"], rule));
        }
        Ok(())
    }
}

/// Returns whether requests to an address are unencrypted.
fn is_plain_http(url: &Uri) -> bool {
    url.scheme_str() == Some("http")
}

/// Returns whether requests to an address may go through the proxy that the environment names. One to this machine would end at
/// another one, and the proxy could read one over plain HTTP.
pub(crate) fn allows_proxy(url: &Uri) -> bool {
    !is_plain_http(url) && !is_of_this_machine(url)
}

/// Returns whether an address is on this machine.
fn is_of_this_machine(url: &Uri) -> bool {
    url.host().is_some_and(host::is_this_machine)
}

/// A regular expression that matches whole ids, in any case.
///
/// ```
/// use tidings_core::config::IdPattern;
///
/// let students: IdPattern = "s[0-9]+".parse().unwrap();
/// assert!(students.matches("S2026") && !students.matches("s2026x"));
/// assert!("(".parse::<IdPattern>().is_err());
/// ```
#[derive(Clone, Debug)]
pub struct IdPattern {
    text: String,
    regex: regex::Regex,
}

impl IdPattern {
    /// Returns whether the pattern matches the whole of `id`.
    pub fn matches(&self, id: &str) -> bool {
        self.regex.is_match(id)
    }
}

impl FromStr for IdPattern {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Self, regex::Error> {
        let regex = regex::RegexBuilder::new(&format!("^(?:{text})$")).case_insensitive(true).build()?;
        Ok(Self { text: text.to_owned(), regex })
    }
}

impl fmt::Display for IdPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FieldType for IdPattern {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        parse(value)
    }
}
