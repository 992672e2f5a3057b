//! E-mail addresses: which are accepted, and when two are the same.

use lettre::Address as Checked;

use crate::base::host;
use crate::record::error::Problem;

/// In bytes. Source: RFC 5321 section 4.5.3.1.3, without the angle brackets.
pub(crate) const ADDRESS_MAX: usize = 254;
pub(crate) const RULE: Problem = Problem::invalid("email", "email is an address such as ann@example.org");

/// As its owner writes it, with the domain in its one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address(String);

impl Address {
    /// The part before the `@` is of ASCII characters without quotes, as all mail servers take it, and the host is a name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (local, domain) = text.rsplit_once('@').filter(|_| text.len() <= ADDRESS_MAX)?;
        let is_plain = local.bytes().all(|b| b.is_ascii_graphic() && !br#""\,:;<>()[]@"#.contains(&b));
        let address = format!("{local}@{}", host::name(domain)?);
        (is_plain && address.len() <= ADDRESS_MAX && address.parse::<Checked>().is_ok())
            .then_some(Self(address))
    }

    /// International names of hosts are in ASCII (Punycode).
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in which addresses are compared. Servers may tell upper from lower case before the `@`, but none that people use
    /// does (RFC 5321 section 2.4).
    pub(crate) fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// The domain may begin with an `@`.
    pub(crate) fn is_of(&self, domain: &str) -> bool {
        let own = self.0.rsplit_once('@').map(|(_, own)| own);
        own == host::name(domain.trim().trim_start_matches('@')).as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_mail_servers_take() {
        for (text, stored) in [
            ("ann@example.org", "ann@example.org"),
            (" Ann.Lee+news@Example.ORG ", "Ann.Lee+news@example.org"),
            ("kim@한국.kr", "kim@xn--3e0b707e.kr"),
            ("kim@한국.KR.", "kim@xn--3e0b707e.kr"),
            ("ann@example.org.", "ann@example.org"),
            ("o'neil@mail.example.org", "o'neil@mail.example.org"),
        ] {
            assert_eq!(Address::parse(text).unwrap().as_str(), stored);
        }
        let long = format!("{}@example.org", "a".repeat(65));
        let texts = "|ann|@example.org|ann@|ann@@example.org|a b@example.org|ann@127.0.0.1|ann@[::1]|\"ann\"@example.org\
            |ann@example.org\r\nBcc: eve@example.org|ann@exa mple.org|ann@ex%61mple.org|ann@example..org\
            |ann@example.org..|안@example.org|ann@example.org, eve@example.org|<ann@example.org>";
        for text in texts.split('|').chain([long.as_str()]) {
            assert_eq!(Address::parse(text), None, "{text}");
        }
        let same = ["Ann@Example.org", "ann@example.ORG"].map(|text| Address::parse(text).unwrap().folded());
        assert_eq!(same[0], same[1]);
    }

    #[test]
    fn a_domain_is_the_same_in_every_spelling() {
        let kim = Address::parse("kim@도서관.example").unwrap();
        for domain in
            ["도서관.example", "@도서관.Example", " xn--zb0b81k2qm.example. ", "XN--ZB0B81K2QM.example"]
        {
            assert!(kim.is_of(domain), "{domain}");
        }
        for domain in ["", "@", "example", "책.도서관.example", "xn--zb0b81k2qm"] {
            assert!(!kim.is_of(domain), "{domain}");
        }
    }
}
