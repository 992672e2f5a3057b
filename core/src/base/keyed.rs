//! Keyed hashes, and the maps that may use an unkeyed one.
//!
//! A client that knows the hash function of a map can choose keys that collide, and each look-up then compares all of
//! them. So a map with keys from clients is a [`std`] map, which uses `SipHash` with a random key. The exceptions have
//! type aliases here with their reasons; `clippy.toml` forbids unkeyed hashing elsewhere.

#![expect(clippy::disallowed_types, reason = "the aliases of the unkeyed types are defined here")]

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::LazyLock;

use crate::base::random::random;

/// A map whose keys are assigned by this program, such as row keys, positions, days and templates, or are set once by the
/// operator or the source code. Its fast hash has no key, because clients cannot choose colliding keys.
///
/// Clients may *look up* keys of their choice: that compares only the keys of one bucket, which they cannot fill.
pub(crate) type OwnMap<K, V> = rustc_hash::FxHashMap<K, V>;

/// A set with the properties of [`OwnMap`].
pub(crate) type OwnSet<K> = rustc_hash::FxHashSet<K>;

/// For numbers that must be the same in every process and are not used in maps. Each use documents the effect of collisions.
pub(crate) type Unkeyed = rustc_hash::FxHasher;

/// A map over numbers that depend on texts of clients, such as hashes of words. Feeds look up millions of them, and `SipHash`
/// would dominate the time, so the hash is one multiplication with a random key.
///
/// An attacker could learn the key only by measuring single look-ups to the nanosecond, which is impossible over a network.
pub(crate) type NumberMap<K, V> = HashMap<K, V, Keyed>;

/// The key is that of this process, so the hash must not be stored.
pub(crate) fn hash(value: impl Hash) -> u64 {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    STATE.hash_one(value)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    start: u64,
    /// Odd, so that the multiplication loses no bits.
    factor: u64,
}

impl Default for Keyed {
    fn default() -> Self {
        static KEY: LazyLock<Keyed> = LazyLock::new(|| Keyed {
            start: u64::from_ne_bytes(random()),
            factor: u64::from_ne_bytes(random()) | 1,
        });
        *KEY
    }
}

impl BuildHasher for Keyed {
    type Hasher = NumberHasher;

    fn build_hasher(&self) -> NumberHasher {
        NumberHasher { state: self.start, factor: self.factor }
    }
}

/// Combines the halves of a product, like wyhash.
#[derive(Debug)]
pub(crate) struct NumberHasher {
    state: u64,
    factor: u64,
}

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.state ^ number) * u128::from(self.factor);
        self.state = product as u64 ^ (product >> 64) as u64;
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rustc_hash::FxBuildHasher;

    use super::*;

    fn buckets(hashes: impl Iterator<Item = u64>) -> usize {
        hashes.map(|hash| hash & 0xffff).collect::<HashSet<_>>().len()
    }

    /// Returns numbers that share one bucket of a map without a key: their hashes are multiples of 2^16.
    fn crafted() -> Vec<u64> {
        let numbers: Vec<u64> =
            (0..1 << 24).filter(|n| FxBuildHasher.hash_one(n).trailing_zeros() >= 16).take(200).collect();
        assert!(numbers.len() > 100, "{}", numbers.len());
        numbers
    }

    #[test]
    fn numbers_that_collide_without_a_key_do_not_collide_with_one() {
        let crafted = crafted();
        assert_eq!(buckets(crafted.iter().map(|n| FxBuildHasher.hash_one(n))), 1);
        // Of 200 numbers in 65,536 buckets, 0.3 pairs collide by chance.
        let spread = crafted.len() * 9 / 10;
        assert!(buckets(crafted.iter().map(|n| Keyed::default().hash_one(n))) > spread);
        assert!(buckets(crafted.iter().map(hash)) > spread);
    }

    #[test]
    fn a_different_key_gives_a_different_hash() {
        let other = Keyed { start: Keyed::default().start ^ 1 << 40, ..Keyed::default() };
        assert_ne!(other.hash_one(7_u32), Keyed::default().hash_one(7_u32));
        assert_eq!(hash("a"), hash("a"));
        assert_ne!(RandomState::new().hash_one("a"), hash("a"));
    }
}
