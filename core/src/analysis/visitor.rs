//! Visitors: the members and guests of a day, the hours of their requests, and the number of their visits. A guest is a client
//! that is not signed in, identified for one day by a keyed hash of address and user agent; of an IPv6 address, the first 64 bits
//! count, because devices change the others. The database stores the random key of a day, so that the hash stays the same after a
//! restart and in other processes; when the day is over, the key of a later day replaces it. No address is ever stored. A visit is
//! a series of requests of one visitor with gaps under half an hour, within one day: a request after midnight starts a new visit.
//! Source of the hash: Aumasson and Bernstein, *`SipHash`: a fast short-input PRF*, INDOCRYPT 2012.

use crate::record::id::MemberKey;
use crate::store::{Arg, FromValue, Value};

pub(crate) mod day_keys;
mod guest;
mod visits;

pub(crate) use day_keys::DayKeys;
pub use guest::Guest;
pub(super) use guest::Network;
pub(super) use visits::member_visits;
pub(crate) use visits::{Visits, add_past, days_with_guests, delete_guests};

/// In the tables of visitors and of search terms: the key of a member, a number below 0 for a guest, or 0 for an unknown visitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct VisitorNumber(i64);

impl VisitorNumber {
    /// The number of callers that are not counted as visitors, such as the operator or a declared crawler.
    pub(crate) const NOBODY: Self = Self(0);

    pub(super) const fn guest(bits: i64) -> Self {
        Self(bits | i64::MIN)
    }

    pub(super) const fn is_member(self) -> bool {
        self.0 > 0
    }

    pub(super) const fn is_guest(self) -> bool {
        self.0 < 0
    }
}

impl From<MemberKey> for VisitorNumber {
    fn from(key: MemberKey) -> Self {
        Self(key.as_i64())
    }
}

impl From<VisitorNumber> for Arg<'_> {
    fn from(visitor: VisitorNumber) -> Self {
        visitor.0.into()
    }
}

impl FromValue for VisitorNumber {
    fn from_value(value: &mut Value) -> Option<Self> {
        i64::from_value(value).map(Self)
    }
}
