//! Who a request comes from, as far as its connection and the proxies before us tell.

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of the client of a request; without a connection, somebody calls the service in this very process.
pub(crate) fn of(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    address(peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), headers, trusted)
}

/// The address of the client: the peer's, or where proxies that we trust stand between, what they say.
///
/// Each proxy adds the address it was reached from at the right of `X-Forwarded-For`, so only what trusted ones
/// wrote can be believed: from the right, past the addresses of trusted proxies, to the first other one.
pub(crate) fn address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    let mut client = peer.to_canonical();
    if trusted.is_empty() || !is_trusted(&client) {
        return client;
    }
    let lines = headers.get_all(FORWARDED_FOR).iter().rev();
    let hops = lines.flat_map(|line| line.as_bytes().rsplit(|b| *b == b','));
    for hop in hops {
        // What cannot be read was not written by the proxy before it: that proxy is the client.
        let Some(address) = read_address(hop) else { break };
        client = address;
        if !is_trusted(&client) {
            break;
        }
    }
    client
}

/// An address as proxies write it: bare, in brackets, or with a port.
fn read_address(hop: &[u8]) -> Option<IpAddr> {
    let hop = str::from_utf8(hop).ok()?.trim();
    let address = match (hop.strip_prefix('['), hop.split_once(':')) {
        (Some(bracketed), _) => bracketed.split_once(']')?.0,
        (None, Some((v4, port))) if !port.contains(':') => v4,
        _ => hop,
    };
    address.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&str]) -> String {
        let trusted: Vec<IpNet> = ["10.0.0.0/8", "fd00::/8"].iter().map(|net| net.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        address(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(client("203.0.113.7", &["198.51.100.1"]), "203.0.113.7");
        assert_eq!(client("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("::ffff:10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("fd00::1", &["2001:db8::5"]), "2001:db8::5");
        let nobody = address("10.0.0.1".parse().unwrap(), &HeaderMap::new(), &[]);
        assert_eq!(nobody.to_string(), "10.0.0.1");
    }

    #[test]
    fn the_address_is_read_from_the_right_past_trusted_proxies() {
        assert_eq!(client("10.0.0.1", &["1.2.3.4, 198.51.100.1, 10.1.1.1"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["1.2.3.4", "198.51.100.1", "10.1.1.1"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["10.2.2.2, 10.1.1.1"]), "10.2.2.2", "a client inside");
    }

    #[test]
    fn what_cannot_be_read_ends_the_way() {
        assert_eq!(client("10.0.0.1", &["198.51.100.1, unknown"]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &["unknown, 10.1.1.1"]), "10.1.1.1");
        assert_eq!(client("10.0.0.1", &[""]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &["198.51.100.1:4711"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["[2001:db8::5]:4711"]), "2001:db8::5");
        assert_eq!(client("10.0.0.1", &["[2001:db8::5"]), "10.0.0.1");
    }
}
