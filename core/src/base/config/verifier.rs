//! The settings of the university verification.

use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ureq::http::Uri;

use super::value::{Invalid, seconds, within};
use crate::base::host;

/// The source that decides which ids belong to university members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Verifier {
    /// No source: `sign_in_up` always answers `api error`.
    None,
    /// The roster in the database. `sign_up` refuses its ids.
    Roster,
    /// The address in [`HttpVerifier`].
    Http,
}

/// A university's HTTP interface that verifies members. The service sends it `POST {id, pw}`.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub struct HttpVerifier {
    /// The address that the http verifier asks.
    #[arg(long = "verifier-url", value_name = "URL", default_value = "", hide_default_value = true)]
    pub url: String,
    /// Send passwords to the http verifier unencrypted, where its address begins with `http://` and is not of this machine.
    #[arg(long = "verifier-allow-plain-http")]
    pub allow_plain_http: bool,
    /// Seconds that the http verifier may take.
    #[arg(long = "verifier-timeout", value_name = "N", value_parser = seconds, default_value = "5")]
    pub timeout: Duration,
    /// The ids that belong to members of the http verifier: sign-ups and single sign-on cannot take them.
    #[arg(long, value_name = "REGEX")]
    pub school_ids: Option<IdPattern>,
}

impl HttpVerifier {
    /// Passwords must be sent encrypted unless plain HTTP is allowed.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        within("verifier-timeout", self.timeout.as_secs_f64(), 0.001..=3_600.0)?;
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

fn is_plain_http(url: &Uri) -> bool {
    url.scheme_str() == Some("http")
}

/// Whether requests may go through the proxy that the environment names. A request to this machine would reach the machine of the
/// proxy, which could also read a request over plain HTTP.
pub(crate) fn allows_proxy(url: &Uri) -> bool {
    !is_plain_http(url) && !is_of_this_machine(url)
}

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
pub struct IdPattern(regex::Regex);

impl IdPattern {
    /// Returns whether the pattern matches the whole of `id`.
    pub fn matches(&self, id: &str) -> bool {
        self.0.is_match(id)
    }
}

impl FromStr for IdPattern {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Self, regex::Error> {
        regex::RegexBuilder::new(&format!("^(?:{text})$")).case_insensitive(true).build().map(Self)
    }
}
