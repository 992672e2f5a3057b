//! Identifies the client of a request, for limits per client.

use std::net::{IpAddr, Ipv6Addr};

/// A client: an IPv4 address or the first 64 bits of an IPv6 address.
///
/// A provider usually gives one customer at least 64 bits of IPv6, so the rest of the address does not distinguish
/// customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client(IpAddr);

impl Client {
    #[cfg(test)]
    pub(crate) const fn v4(address: std::net::Ipv4Addr) -> Self {
        Self(IpAddr::V4(address))
    }

    /// The same client, whose failures are counted apart. No address becomes it.
    pub(crate) const fn apart(self) -> Self {
        Self(IpAddr::V6(match self.0 {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() | 1),
        }))
    }

    /// Returns the client's address; for IPv6, the first address of its /64.
    pub fn address(self) -> IpAddr {
        self.0
    }
}

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}
