//! The addresses of receivers.

use crate::record::error::Problem;
use crate::record::outgoing;

/// The problem of a URL that breaks its rule.
pub const URL_RULE: Problem = Problem::invalid(
    "url",
    "url is an address that begins with https://, of at most 1,000 characters, without a user and a fragment",
);
const PRIVATE: Problem = Problem::invalid(
    "url",
    "url is a private address, or begins with http://: only the setting private-addresses allows that",
);
const OWN: Problem = Problem::invalid(
    "url",
    "url is an address of this server, but a webhook tells other systems: only the setting private-addresses allows that",
);

/// Normalises the URL, or returns the rule that it breaks.
pub(super) fn parse(text: &str, allows_private: bool) -> Result<String, Problem> {
    let url = outgoing::parse(text).filter(|url| url.fragment().is_none()).ok_or(URL_RULE)?;
    if allows_private {
        Ok(url.into())
    } else if url.scheme() != "https" || !outgoing::has_public_host(&url) {
        Err(PRIVATE)
    } else if outgoing::has_own_host(&url) {
        Err(OWN)
    } else {
        Ok(url.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::outgoing::origin;

    #[test]
    fn a_private_url_needs_the_setting_in_any_spelling() {
        for private in [
            "http://example.org/hook",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:7f00:1]/",
            "https://localhost:8443/",
            "https://LOCALHOST/",
            "https://a.localhost/",
        ] {
            assert_eq!(parse(private, false), Err(PRIVATE), "{private}");
            assert!(parse(private, true).is_ok(), "{private}");
        }
        for wrong in [
            "",
            "example.org",
            "ftp://example.org/",
            "https://example.org/a\nb",
            "https://example.org/a b",
            "file:///etc/passwd",
            "https://",
            "https://ann:pw@example.org/",
            "https://ann@example.org/",
            "https://example.org/#part",
            &format!("https://example.org/{}", "a".repeat(1_000)),
        ] {
            assert_eq!(parse(wrong, true), Err(URL_RULE), "{wrong}");
        }
        assert_eq!(parse(" https://Example.org ", false).as_deref(), Ok("https://example.org/"));
        assert_eq!(origin("https://example.org/hooks/T0/secret?key=1"), "https://example.org");
    }
}
