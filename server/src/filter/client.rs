//! The client of a request: its address and the address that it used, from the connection and from trusted
//! proxies, and its program.

use std::net::IpAddr;

use http::header::{HOST, USER_AGENT};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address at the other end of the connection that a request arrived on: an extension of the request.
///
/// [`serve`](crate::serve) sets it. A program that mounts [`service`](crate::service()) inserts it into each request;
/// without it, all clients count as one client, on the local host, so that they share its limits and one visitor is
/// counted for each user agent. When the peer is one of [`Config::trust_proxy`](crate::Config::trust_proxy), the service
/// takes the client's address from `X-Forwarded-For`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

/// Each proxy appends the address of its own client to `X-Forwarded-For`, so only the entries of trusted proxies are reliable.
/// The search starts at the right, skips the addresses of trusted proxies, and returns the first other address.
pub(crate) fn address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    let mut client = peer.to_canonical();
    if trusted.is_empty() || !is_trusted(&client) {
        return client;
    }
    let lines = headers.get_all(FORWARDED_FOR).iter().rev();
    let hops = lines.flat_map(|line| line.as_bytes().rsplit(|b| *b == b','));
    for hop in hops {
        // An invalid entry ends the search, and the trusted proxy that sent it counts as the client.
        let Some(address) = read_address(hop) else { break };
        client = address;
        if !is_trusted(&client) {
            break;
        }
    }
    client
}

/// Trusted proxies name the scheme and the host in `X-Forwarded-Proto` and `X-Forwarded-Host`; of several names, the last is that
/// of the nearest proxy. Without a name, the scheme is `own`, that of the server.
pub(crate) fn site(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet], own: &str) -> String {
    let is_proxy = trusted.iter().any(|net| net.contains(&peer.to_canonical()));
    let named = |name: &HeaderName| {
        let line = headers.get_all(name).iter().next_back().filter(|_| is_proxy)?;
        line.to_str().ok()?.rsplit(',').next().map(str::trim)
    };
    let is_host = |host: &&str| host.parse::<Authority>().is_ok() && !host.contains('@');
    let given = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = named(&FORWARDED_HOST).filter(is_host).or(given.filter(is_host)).unwrap_or("localhost");
    let is_https = named(&FORWARDED_PROTO).unwrap_or(own).eq_ignore_ascii_case("https");
    format!("{}://{host}", if is_https { "https" } else { "http" })
}

pub(crate) fn user_agent(headers: &HeaderMap) -> &[u8] {
    headers.get(USER_AGENT).map_or(b"", HeaderValue::as_bytes)
}

/// A browser fetches the response before a person asks for it, as `Sec-Purpose: prefetch;prerender` says. Earlier browsers use
/// other names, and Safari says `preview`.
pub(crate) fn is_prefetch(headers: &HeaderMap) -> bool {
    let values =
        ["sec-purpose", "purpose", "x-purpose", "x-moz"].iter().flat_map(|name| headers.get_all(*name));
    let mut purposes = values.flat_map(|value| value.as_bytes().split(|byte| b",;".contains(byte)));
    purposes.any(|purpose| {
        let purpose = purpose.trim_ascii();
        [&b"prefetch"[..], b"prerender", b"preview"].iter().any(|one| purpose.eq_ignore_ascii_case(one))
    })
}

/// Proxies write an address bare, in brackets, or with a port.
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
    fn x_forwarded_for_counts_from_trusted_proxies_and_is_read_from_the_right() {
        for (peer, forwarded, expected) in [
            ("203.0.113.7", &["198.51.100.1"][..], "203.0.113.7"),
            ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("::ffff:10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("fd00::1", &["2001:db8::5"], "2001:db8::5"),
            ("10.0.0.1", &["1.2.3.4, 198.51.100.1, 10.1.1.1"], "198.51.100.1"),
            ("10.0.0.1", &["1.2.3.4", "198.51.100.1", "10.1.1.1"], "198.51.100.1"),
            // A client inside.
            ("10.0.0.1", &["10.2.2.2, 10.1.1.1"], "10.2.2.2"),
            // An unreadable entry ends the search.
            ("10.0.0.1", &["198.51.100.1, unknown"], "10.0.0.1"),
            ("10.0.0.1", &["unknown, 10.1.1.1"], "10.1.1.1"),
            ("10.0.0.1", &[""], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1:4711"], "198.51.100.1"),
            ("10.0.0.1", &["[2001:db8::5]:4711"], "2001:db8::5"),
            ("10.0.0.1", &["[2001:db8::5"], "10.0.0.1"),
        ] {
            assert_eq!(client(peer, forwarded), expected, "{forwarded:?}");
        }
        let unforwarded = address("10.0.0.1".parse().unwrap(), &HeaderMap::new(), &[]);
        assert_eq!(unforwarded.to_string(), "10.0.0.1");
    }

    #[test]
    fn the_site_is_the_host_of_the_request_or_what_a_trusted_proxy_names() {
        let site = |peer: &str, lines: &[(&'static str, &str)]| {
            let trusted = ["10.0.0.0/8".parse().unwrap()];
            let line = |(name, value): &(&'static str, &str)| {
                (HeaderName::from_static(name), value.parse().unwrap())
            };
            site(peer.parse().unwrap(), &lines.iter().map(line).collect(), &trusted, "http")
        };
        let (host, https) = (("host", "a.example:8080"), ("x-forwarded-proto", "https"));
        let forwarded = ("x-forwarded-host", "evil.example, campus.example");
        assert_eq!(site("203.0.113.7", &[host]), "http://a.example:8080");
        assert_eq!(site("203.0.113.7", &[host, https, forwarded]), "http://a.example:8080");
        assert_eq!(site("10.0.0.1", &[host, https, forwarded]), "https://campus.example");
        assert_eq!(site("::ffff:10.0.0.1", &[host, https]), "https://a.example:8080");
        assert_eq!(site("10.0.0.1", &[host, ("x-forwarded-host", "a b")]), "http://a.example:8080");
        assert_eq!(site("10.0.0.1", &[("host", "user@a.example")]), "http://localhost");
        assert_eq!(site("10.0.0.1", &[("host", "[2001:db8::5]:80")]), "http://[2001:db8::5]:80");
        assert_eq!(site("10.0.0.1", &[("host", "a.example/\"><b>")]), "http://localhost");
    }
}
