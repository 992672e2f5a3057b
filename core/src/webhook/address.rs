//! The addresses of receivers: which URLs and which IP addresses are allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use url::{Host, Url};

use crate::record::error::Problem;

/// The maximum length of a URL in bytes.
const URL_MAX: usize = 1_000;

/// The problem of a URL that breaks its rule.
pub const URL_RULE: Problem = Problem::invalid(
    "url",
    "url is an address that begins with https://, of at most 1,000 characters, without a user and a fragment",
);
const PRIVATE: Problem = Problem::invalid(
    "url",
    "url is a private address, or begins with http://: only the setting webhook-private allows that",
);
const OWN: Problem = Problem::invalid(
    "url",
    "url is an address of this server, but a webhook tells other systems: only the setting webhook-private allows that",
);

/// Returns the normalised form of a URL.
///
/// A host name is checked when it is used, because its addresses may change.
///
/// # Errors
/// The rule that the URL breaks.
pub(super) fn parse(text: &str, allows_private: bool) -> Result<String, Problem> {
    let text = text.trim();
    // Otherwise line breaks would be left out.
    let is_visible = !text.contains(|c: char| c.is_control() || c.is_whitespace());
    let url = Url::parse(text).ok().filter(|url| {
        let has_user = !url.username().is_empty() || url.password().is_some();
        matches!(url.scheme(), "https" | "http")
            && is_visible
            && url.has_host()
            && !has_user
            && url.fragment().is_none()
            && url.as_str().len() <= URL_MAX
    });
    let url = url.ok_or(URL_RULE)?;
    let is_public_host = match url.host() {
        Some(Host::Ipv4(ip)) => is_public(ip.into()),
        Some(Host::Ipv6(ip)) => is_public(ip.into()),
        Some(Host::Domain(name)) => name != "localhost" && !name.ends_with(".localhost"),
        None => false,
    };
    if allows_private {
        return Ok(url.into());
    }
    if url.scheme() != "https" || !is_public_host {
        return Err(PRIVATE);
    }
    let is_own = match url.host() {
        Some(Host::Ipv4(ip)) => is_own(ip.into()),
        Some(Host::Ipv6(ip)) => is_own(ip.into()),
        _ => false,
    };
    if is_own { Err(OWN) } else { Ok(url.into()) }
}

/// Returns the scheme, the host and the port of a URL. Its path may contain a secret.
pub(super) fn origin(url: &str) -> String {
    Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// Checks that a webhook may be at an address: a public one of another machine.
pub(super) fn check(ip: IpAddr) -> Result<(), Refused> {
    if !is_public(ip) {
        Err(Refused("the host has a private address"))
    } else if is_own(ip.to_canonical()) {
        Err(Refused("the host has an address of this server"))
    } else {
        Ok(())
    }
}

/// Why a webhook may not be at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refused(pub(super) &'static str);

/// Returns whether an address is one of this machine: the system sends from it what is sent to it. Nothing is sent.
fn is_own(ip: IpAddr) -> bool {
    let any: IpAddr = if ip.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let sender = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((ip, 9))?;
        socket.local_addr()
    });
    sender.is_ok_and(|sender| sender.ip() == ip)
}

/// Returns whether an address is one of the public Internet: global unicast, and not of a range with another purpose.
///
/// Source: the IANA registries of special-purpose addresses of IPv4 and IPv6.
pub(super) fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => is_public_v4(ip),
            None => is_public_v6(ip),
        },
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    // This network, loopback, multicast, reserved, and broadcast.
    let is_special = matches!(a, 0 | 127 | 224..)
        // Shared between customers of a provider, protocol assignments, relays of 6to4, and benchmarks.
        || matches!((a, b, c), (100, 64..=127, _) | (192, 0, 0) | (192, 88, 99) | (198, 18 | 19, _))
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_documentation();
    !is_special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [a, b, ..] = ip.segments();
    // All global unicast addresses are in 2000::/3. Outside are loopback, unique-local, link-local, multicast and NAT64.
    let is_global_unicast = a & 0xe000 == 0x2000;
    // Protocol assignments with Teredo, documentation, and 6to4, which contain addresses of IPv4.
    let is_special = (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || a == 0x2002 || (a == 0x3fff && b < 0x1000);
    is_global_unicast && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        for private in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "2a00:1450::1",
            "3fff:1000::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn the_addresses_of_this_machine_are_its_own() {
        let own = |ip: &str| is_own(ip.parse().unwrap());
        assert!(own("127.0.0.1"));
        for other in ["192.0.2.1", "8.8.8.8", "2001:db8::1", "2606:4700::1111"] {
            assert!(!own(other), "{other}");
        }
        // The address from which this machine sends to others, if there is a network.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        if socket.connect("192.0.2.1:9").is_ok() {
            let address = socket.local_addr().unwrap().ip();
            assert!(is_own(address), "{address}");
        }
    }

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
