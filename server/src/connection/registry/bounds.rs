//! Limits of the number of connections, in total and for each client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) total: usize,
    /// The limit of one IPv4 address or IPv6 /64: three quarters of all.
    pub(super) address: usize,
    /// Per IPv4 /24 or IPv6 /48.
    pub(super) network: usize,
    /// From this number of connections of all clients on, each new connection closes idle ones.
    pub(super) relaxed: usize,
}

impl Bounds {
    pub(super) fn new(total: usize) -> Self {
        let reserved = if total < 8 { 0 } else { (total / 10).max(2) };
        let relaxed = total - reserved;
        let address = (total - total / 4).min(relaxed);
        Self { total, address, network: relaxed, relaxed }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) address: IpAddr,
    pub(super) network: IpAddr,
}

impl Groups {
    pub(super) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => {
                let network = Ipv4Addr::from_bits(v4.to_bits() & (!0 << 8));
                Self { address, network: network.into() }
            }
            IpAddr::V6(v6) => {
                let prefix = |length: u32| Ipv6Addr::from_bits(v6.to_bits() & (!0 << (128 - length))).into();
                Self { address: prefix(64), network: prefix(48) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_leave_room_for_others_and_small_totals_are_used_in_full() {
        let bounds = |total| {
            let Bounds { total, address, network, relaxed } = Bounds::new(total);
            (total, address, network, relaxed)
        };
        assert_eq!(bounds(10_000), (10_000, 7_500, 9_000, 9_000));
        assert_eq!(bounds(10), (10, 8, 8, 8));
        assert_eq!(bounds(2), (2, 2, 2, 2));
        assert_eq!(bounds(1), (1, 1, 1, 1));
    }

    #[test]
    fn connections_are_counted_by_address_and_network() {
        let groups = |text: &str| {
            let Groups { address: client, network } = Groups::of(text.parse().unwrap());
            format!("{client} {network}")
        };
        assert_eq!(groups("192.0.2.7"), "192.0.2.7 192.0.2.0");
        assert_eq!(groups("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2:: 2001:db8:1::");
    }
}
