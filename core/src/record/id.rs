//! The identifiers of rows. An *id* is public: an [`ObjectId`] has 24 lower-case hex digits. A *key* is internal: the
//! number of a row, which the interface never shows.

use std::fmt::{self, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::base::clock::{Clock, Timestamp};
use crate::base::random::random;
use crate::store::{Arg, FromValue, Value};

/// The `_id` of a post, a notice or a feedback.
///
/// Four bytes of seconds since 1970, five random bytes of the process, and three of a counter: ids sort by the second
/// of their creation, and no two processes create the same id.
///
/// Source of the layout: the BSON specification, `ObjectId`.
///
/// ```
/// use tidings_core::id::ObjectId;
///
/// let id = ObjectId::parse("6560c1a2ffeeddccbbaa0001").unwrap();
/// assert_eq!(id.to_string(), "6560c1a2ffeeddccbbaa0001");
/// assert!(ObjectId::parse("../etc/passwd").is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId([u8; 12]);

impl ObjectId {
    /// Returns a new id with the current second of the clock.
    pub fn new(clock: &Clock) -> Self {
        Self::at(clock.now())
    }

    pub(crate) fn at(now: Timestamp) -> Self {
        static PROCESS: OnceLock<[u8; 5]> = OnceLock::new();
        static COUNTER: OnceLock<AtomicU32> = OnceLock::new();
        let process = PROCESS.get_or_init(random);
        let counter = COUNTER.get_or_init(|| AtomicU32::new(u32::from_be_bytes(random()) >> 8));
        let count = counter.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let seconds = u32::try_from(now.as_millis().div_euclid(1_000)).unwrap_or_default().to_be_bytes();
        let mut id = [0; 12];
        id[..4].copy_from_slice(&seconds);
        id[4..9].copy_from_slice(process);
        id[9..].copy_from_slice(&count[1..]);
        Self(id)
    }

    /// Parses an id of 24 hex digits in lower or upper case. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        if text.len() != 24 {
            return None;
        }
        let mut id = [0; 12];
        for (byte, pair) in id.iter_mut().zip(text.chunks_exact(2)) {
            let digit = |d: u8| char::from(d).to_digit(16).and_then(|d| u8::try_from(d).ok());
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(id))
    }
}

/// Only the store creates keys: they are read from a row and passed to a statement.
macro_rules! key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(i64);

        impl $name {
            /// For a column that also contains other numbers.
            pub(crate) const fn as_i64(self) -> i64 {
                self.0
            }
        }

        impl From<$name> for Arg<'_> {
            fn from(key: $name) -> Self {
                Self::Integer(key.0)
            }
        }

        impl FromValue for $name {
            fn from_value(value: &mut Value) -> Option<Self> {
                i64::from_value(value).map(Self)
            }
        }
    };
}

key! {
    /// Never reused: log lines and visits keep the key of a removed member.
    MemberKey
}

key! {
    /// Never reused: a cache may still hold a removed post.
    PostKey
}

key! {
    SourceKey
}

#[cfg(test)]
impl MemberKey {
    pub(crate) const fn new(key: i64) -> Self {
        Self(key)
    }
}

#[cfg(test)]
impl PostKey {
    pub(crate) const fn new(key: i64) -> Self {
        Self(key)
    }
}

impl PostKey {
    /// For keys that are stored as a list in one text.
    pub(crate) const fn from_stored(key: i64) -> Self {
        Self(key)
    }

    pub(crate) const MIN: Self = Self(i64::MIN);
    pub(crate) const MAX: Self = Self(i64::MAX);
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |digit: u8| char::from(b"0123456789abcdef"[usize::from(digit)]);
        self.0.iter().try_for_each(|byte| {
            f.write_char(digit(byte >> 4))?;
            f.write_char(digit(byte & 15))
        })
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for ObjectId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for ObjectId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("an id is 24 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::base::clock::Timestamp;

    #[test]
    fn ids_of_one_second_differ_and_begin_with_it() {
        let clock = Clock::fixed(Timestamp::from_millis(0x6560_c1a2 * 1_000 + 999));
        let ids: HashSet<String> = (0..10_000).map(|_| ObjectId::new(&clock).to_string()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.starts_with("6560c1a2")));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(bytes: [u8; 12]) {
            let id = ObjectId(bytes);
            prop_assert_eq!(ObjectId::parse(&id.to_string()), Some(id));
        }

        #[test]
        fn only_24_hex_digits_are_an_id(text: String) {
            let hex = text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit());
            prop_assert_eq!(ObjectId::parse(&text).is_some(), hex);
        }
    }
}
