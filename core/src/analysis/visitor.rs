//! The members and guests of a day. A guest is a keyed hash of address (of IPv6, the first 64 bits) and user agent; the key of a
//! day is in the database until that of a later day replaces it, and no address is. A visit has gaps under half an hour, within
//! one day. Source of the hash: Aumasson and Bernstein, *`SipHash`: a fast short-input PRF*, INDOCRYPT 2012.

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
