//! Requests to other systems: which addresses they may go to, and why they fail.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::Path;

use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use url::{Host, Url};

use crate::base::config::Invalid;
use crate::base::tls::{self, Authorities};
use crate::record::error::Result;

pub(crate) const URL_MAX: usize = 1_000;
pub(crate) const USER_AGENT: &str = concat!("tidings/", env!("CARGO_PKG_VERSION"));

pub(crate) fn parse(text: &str) -> Option<Url> {
    let text = text.trim();
    // Otherwise `Url::parse` would drop line breaks.
    let is_visible = !text.contains(|c: char| c.is_control() || c.is_whitespace());
    Url::parse(text).ok().filter(|url| {
        let has_user = !url.username().is_empty() || url.password().is_some();
        matches!(url.scheme(), "https" | "http")
            && is_visible
            && url.has_host()
            && !has_user
            && url.as_str().len() <= URL_MAX
    })
}

/// A name is checked when it is used, because its addresses may change.
pub(crate) fn has_public_host(url: &Url) -> bool {
    match ip(url) {
        Some(ip) => is_public(ip),
        None => url.domain().is_some_and(|name| name != "localhost" && !name.ends_with(".localhost")),
    }
}

pub(crate) fn has_own_host(url: &Url) -> bool {
    ip(url).is_some_and(is_own)
}

fn ip(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(ip) => Some(ip.into()),
        Host::Ipv6(ip) => Some(ip.into()),
        Host::Domain(_) => None,
    }
}

/// Without the path, which may contain a secret.
pub(crate) fn origin(url: &str) -> String {
    Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

pub(crate) fn check(ip: IpAddr) -> Result<(), Refused> {
    if !is_public(ip) {
        Err(Refused("the host has a private address"))
    } else if is_own(ip.to_canonical()) {
        Err(Refused("the host has an address of this server"))
    } else {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) &'static str);

/// Connects a UDP socket, which sends nothing: for an address of this machine, the system chooses the same address as the source.
fn is_own(ip: IpAddr) -> bool {
    let any: IpAddr = if ip.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let sender = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((ip, 9))?;
        socket.local_addr()
    });
    sender.is_ok_and(|sender| sender.ip() == ip)
}

/// Source: the IANA registries of special-purpose addresses of IPv4 and IPv6.
pub(crate) fn is_public(ip: IpAddr) -> bool {
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

/// Returns what sends requests, only to public addresses unless `allows_private`. `ca` is a file with further certificates that
/// are trusted. No proxy is used, because it could connect to any address.
pub(crate) fn agent(
    config: ureq::config::ConfigBuilder<ureq::typestate::AgentScope>,
    allows_private: bool,
    ca: Option<&Path>,
) -> Result<ureq::Agent> {
    let mut config = config;
    if let Some(file) = ca {
        let authorities =
            Authorities::in_file(file).map_err(|error| Invalid::new(&["extra-ca"], error.to_string()))?;
        config = config.tls_config(authorities.and_public().for_http());
    }
    let config = config
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .max_idle_connections(0)
        .build();
    Ok(agent_to(config, if allows_private { |_| Ok(()) } else { check }))
}

fn agent_to(config: ureq::config::Config, check: Check) -> ureq::Agent {
    let resolver = CheckedResolver { check, resolver: DefaultResolver::default() };
    ureq::Agent::with_parts(config, DefaultConnector::default(), resolver)
}

/// Leaves out the URL, which may contain a secret.
pub(crate) fn reason(error: &ureq::Error) -> String {
    if let Some(advice) = tls::cause(error).and_then(tls::advice) {
        return format!("TLS failed: {advice}");
    }
    match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::HostNotFound => "the host was not found".to_owned(),
        ureq::Error::RequireHttpsOnly(_) => "http:// is not allowed".to_owned(),
        ureq::Error::ConnectionFailed => "the connection failed".to_owned(),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => format!("TLS failed: {error}"),
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Other(error) if error.is::<Refused>() => error.to_string(),
        _ => "the request failed".to_owned(),
    }
}

type Check = fn(IpAddr) -> std::result::Result<(), Refused>;

/// The connection goes to one of the checked addresses: the host is not resolved again, so that a name server cannot answer the
/// second time with a different address.
#[derive(Debug)]
struct CheckedResolver {
    check: Check,
    resolver: DefaultResolver,
}

impl Resolver for CheckedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> std::result::Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.resolver.resolve(uri, config, timeout)?;
        let refused = found.iter().find_map(|found| (self.check)(found.ip()).err());
        refused.map_or(Ok(found), |refused| Err(ureq::Error::Other(refused.into())))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        let texts = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 \
            172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 \
            203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 \
            ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:2::1 2001:10::1 \
            2001:20::1 2001:db8::1 2002:7f00:1:: 3fff::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fec0::1 ff02::1";
        for private in texts.split(' ') {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        let texts = "1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.0 172.15.0.1 172.32.0.1 192.0.1.1 198.17.0.1 198.20.0.1 \
            223.255.255.255 ::ffff:8.8.8.8 2001:200::1 2001:4860:4860::8888 2606:4700::1111 2a00:1450::1 \
            3fff:1000::1";
        for public in texts.split(' ') {
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
    fn an_own_address_is_refused_without_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        // A public address may be one of this machine.
        let config = ureq::Agent::config_builder().proxy(None).build();
        let own = agent_to(config, |_| Err(Refused("the host has an address of this server")));
        let refused = own.get(&url).call().unwrap_err();
        assert_eq!(reason(&refused), "the host has an address of this server");
        assert!(listener.accept().is_err(), "nothing has connected");
    }
}
