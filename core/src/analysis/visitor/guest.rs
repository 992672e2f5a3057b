//! Guests and the networks of their addresses, as keyed hashes of one day.

use std::hash::Hasher as _;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;

use super::VisitorNumber;
use super::day_keys::Secret;
use crate::Tidings;
use crate::account::Call;
use crate::analysis::{State, crawler};
use crate::base::client::Client;
use crate::base::clock::Timestamp;

/// The identity of a client that is not signed in: a number for the client and one for its network. Both are valid for
/// one day only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guest(pub(in crate::analysis) Option<VisitorNumber>, pub(in crate::analysis) Network);

impl Guest {
    /// Returns the guest with this address and user agent, or a declared crawler, which is not a visitor.
    pub fn new(tidings: &Tidings, address: IpAddr, user_agent: &[u8]) -> Self {
        Self::at(tidings.analysis(), tidings.now(), address, user_agent)
    }

    /// Returns `None` for a program on this machine, which cannot tell guests apart.
    pub(crate) fn of(call: &Call<'_>) -> Option<Self> {
        let client = call.client();
        client.address.map(|address| Self::new(call.tidings(), address, &client.user_agent))
    }

    pub(in crate::analysis) fn at(
        analysis: &State,
        at: Timestamp,
        address: IpAddr,
        user_agent: &[u8],
    ) -> Self {
        if crawler::is_declared(user_agent) {
            return Self::CRAWLER;
        }
        let day = analysis.calendar.local_hour(at).day;
        analysis.keys.hash(day, |secret| {
            Self(Some(number(secret, address, user_agent)), Network::new(secret, address))
        })
    }

    /// A client that is not counted as a guest: a declared crawler or a signed-in member.
    pub(in crate::analysis) const CRAWLER: Self = Self(None, Network(0));

    pub(crate) const fn is_crawler(self) -> bool {
        self.0.is_none()
    }

    /// [`VisitorNumber::NOBODY`] for a declared crawler.
    pub(crate) fn number(self) -> VisitorNumber {
        self.0.unwrap_or_default()
    }

    /// Valid for one day.
    pub(crate) fn network(self) -> i64 {
        i64::from(self.1.0)
    }

    /// The number under which the searches of the guest are stored. It contains the number of the network, so that the guests of
    /// one network can be counted together. For a declared crawler it is [`VisitorNumber::NOBODY`].
    pub(crate) fn searcher(self) -> VisitorNumber {
        let Some(VisitorNumber(number)) = self.0 else { return VisitorNumber::NOBODY };
        VisitorNumber::guest(self.network() << Network::SHIFT | number & ((1 << Network::SHIFT) - 1))
    }
}

/// The network of an address, as a keyed hash of one day: the first 24 bits of an IPv4 address, the first 48 of an IPv6 address. A
/// customer rarely has addresses in several networks, so a client can hardly leave its network by changing its address. The hash
/// has 24 bits. One in 16 million pairs of networks has the same number; their guests share their limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::analysis) struct Network(pub(in crate::analysis) u32);

impl Network {
    const BITS: u32 = 24;
    /// The position of the network's bits in [`Guest::searcher`]; the 39 bits below identify the guest.
    const SHIFT: u32 = 63 - Self::BITS;

    fn new(secret: &Secret, address: IpAddr) -> Self {
        let mut hasher = SipHasher24::new_with_key(secret);
        match address.to_canonical() {
            IpAddr::V4(v4) => hasher.write(&v4.octets()[..3]),
            IpAddr::V6(v6) => hasher.write(&v6.octets()[..6]),
        }
        Self(u32::try_from(hasher.finish() >> (64 - Self::BITS)).unwrap_or_default())
    }

    /// `visitor` is a number that [`Guest::searcher`] returned; `None` for other visitors.
    pub(in crate::analysis) fn of_searcher(visitor: VisitorNumber) -> Option<Self> {
        let network = || u32::try_from((visitor.0 & i64::MAX) >> Self::SHIFT).unwrap_or_default();
        visitor.is_guest().then(|| Self(network()))
    }
}

/// Only the part of the address that identifies a [`Client`] counts.
fn number(secret: &Secret, address: IpAddr, user_agent: &[u8]) -> VisitorNumber {
    let mut hasher = SipHasher24::new_with_key(secret);
    let address = match Client::from(address).address() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    hasher.write(&address.octets());
    hasher.write(user_agent);
    VisitorNumber::guest(hasher.finish().cast_signed())
}
