//! Hosts, in the one form in which they are compared.

use url::Host;

/// A name is in lower-case ASCII (Punycode) without a final dot; an IPv6 address is in brackets.
pub(crate) fn parse(text: &str) -> Option<Host> {
    // `Host` decodes percent signs, which are in no host.
    let host = Host::parse(text).ok().filter(|_| !text.contains('%'))?;
    let Host::Domain(name) = &host else { return Some(host) };
    Some(Host::Domain(name.strip_suffix('.').unwrap_or(name).to_owned()))
}

/// `None` for an IP address.
pub(crate) fn name(text: &str) -> Option<String> {
    if let Some(Host::Domain(name)) = parse(text) { Some(name) } else { None }
}

pub(crate) fn is_this_machine(text: &str) -> bool {
    match parse(text) {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_form() {
        // The last one is composed of single letters (NFD).
        let spellings = [
            "도서관.example",
            "도서관。Example.",
            "XN--ZB0B81K2QM.example",
            "\u{1103}\u{1169}\u{1109}\u{1165}\u{1100}\u{116a}\u{11ab}.example",
        ];
        for text in spellings {
            assert_eq!(name(text).as_deref(), Some("xn--zb0b81k2qm.example"), "{text}");
        }
        for text in ["", "a b", "ex%61mple.org", "127.0.0.1", "[::1]", "a/b", "a:1"] {
            assert_eq!(name(text), None, "{text}");
        }
    }

    #[test]
    fn this_machine_is_known_by_each_of_its_names() {
        for text in
            ["localhost", "LOCALHOST", "LocalHost.", "127.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]"]
        {
            assert!(is_this_machine(text), "{text}");
        }
        for text in ["localhost.example", "notlocalhost", "128.0.0.1", "[::2]", "", "%6cocalhost"] {
            assert!(!is_this_machine(text), "{text}");
        }
    }
}
