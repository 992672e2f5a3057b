//! The values of settings: their defaults, their bounds, and parsers of texts.

use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::ParseIntError;
use std::ops::RangeInclusive;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command};
use url::Url;

/// A setting whose value breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {rule}", settings[0])]
pub struct Invalid {
    /// The names of the setting and of the settings that the rule relates it to.
    pub settings: Vec<&'static str>,
    /// The rule.
    pub rule: String,
}

impl Invalid {
    pub(crate) fn new(settings: &[&'static str], rule: impl Into<String>) -> Self {
        Self { settings: settings.to_vec(), rule: rule.into() }
    }
}

/// Returns settings that all have the defaults that their declarations name.
pub fn defaults<C: Args>() -> C {
    let matches = C::augment_args(Command::new("settings")).get_matches_from(["settings"]);
    C::from_arg_matches(&matches).expect("every setting has a default or is optional")
}

/// Checks that the value of a setting is within its bounds.
///
/// # Errors
/// When it is not.
pub fn within<T: Copy + PartialOrd + Display>(
    setting: &'static str,
    value: T,
    bounds: RangeInclusive<T>,
) -> Result<(), Invalid> {
    let rule = || format!("must be from {} to {}", bounds.start(), bounds.end());
    if bounds.contains(&value) { Ok(()) } else { Err(Invalid::new(&[setting], rule())) }
}

/// Returns a parser of `on` and `off`.
pub fn switch() -> impl TypedValueParser<Value = bool> {
    PossibleValuesParser::new(["on", "off"]).map(|text| text == "on")
}

/// Parses a number of seconds.
///
/// # Errors
/// When the text is not a whole number.
pub fn seconds(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_secs)
}

/// Parses an element of a list.
///
/// # Errors
/// When the text is blank.
pub fn element(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    if text.is_empty() { Err("must not be empty") } else { Ok(text.to_owned()) }
}

/// The address has no user, query or fragment.
pub(super) fn web_address(text: &str) -> Result<Url, &'static str> {
    let is_plain = |url: &Url| {
        let has_more = url.query().is_some() || url.fragment().is_some();
        let has_user = !url.username().is_empty() || url.password().is_some();
        matches!(url.scheme(), "https" | "http") && !has_more && !has_user
    };
    let rule = "must be an address that begins with https:// or http://, without a user and a query";
    Url::parse(text).ok().filter(is_plain).ok_or(rule)
}

/// Parses an address to listen on. A port without an address is one of this machine's loopback address.
///
/// # Errors
/// The rule that the text breaks.
pub fn socket_address(text: &str) -> Result<SocketAddr, &'static str> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let is_loopback = is_number && (host.is_empty() || host.eq_ignore_ascii_case("localhost"));
    let of_loopback = || Some((Ipv4Addr::LOCALHOST, port.parse().ok().filter(|_| is_loopback)?).into());
    text.parse()
        .ok()
        .or_else(of_loopback)
        .ok_or("must be an IP address and a port, such as 127.0.0.1:8080, or a port of this machine alone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_of_this_machine() {
        let address = |text: &str| socket_address(text).map(|address| address.to_string());
        for text in ["8080", ":8080", "localhost:8080", "LocalHost:8080", "127.0.0.1:8080"] {
            assert_eq!(address(text).unwrap(), "127.0.0.1:8080", "{text}");
        }
        assert_eq!(address("0").unwrap(), "127.0.0.1:0");
        assert_eq!(address("[::]:80").unwrap(), "[::]:80");
        for text in ["", ":", "localhost", "+80", ":+80", "65536", "a.example:80", "127.0.0.1", "::80", "-1"]
        {
            assert!(address(text).unwrap_err().contains("must be an IP address and a port"), "{text}");
        }
    }
}
