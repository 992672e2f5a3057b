//! Keyed hashes, and the maps that may use an unkeyed one.
//!
//! A client that knows how a map hashes can choose keys that collide, and each look-up then compares all of them. So a
//! map whose keys a client chooses is a [`std`] map, which hashes with `SipHash` under a random key. The two
//! exceptions have a type alias here that gives the reason; `clippy.toml` refuses unkeyed hashing elsewhere.

#![expect(clippy::disallowed_types, reason = "this is where the unkeyed types get their names")]

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::LazyLock;

use crate::id::random;

/// A map whose keys this program gives, such as keys of rows, positions, days and templates, or keys that are set
/// once by the operator or in the source: its hash is quick and has no key, as no stranger has a say in what collides.
///
/// Strangers may well *look* for keys that they make up: each look goes through the keys of one place only, and these
/// are spread as they happen to be.
pub(crate) type OwnMap<K, V> = rustc_hash::FxHashMap<K, V>;

/// As [`OwnMap`], a set.
pub(crate) type OwnSet<K> = rustc_hash::FxHashSet<K>;

/// A hasher without a key, for numbers that are to be the same in every process and are no place of a map. Each use says
/// what collisions cost.
pub(crate) type Unkeyed = rustc_hash::FxHasher;

/// A map over numbers that follow from what strangers write, such as the hash of a word, where `SipHash` would be most
/// of the work: feeds add up and look up millions of them. One multiplication, under a random key.
///
/// An attacker who measures single look-ups to the nanosecond might learn the key; over a network that is not possible.
pub(crate) type NumberMap<K, V> = HashMap<K, V, Keyed>;

/// A hash under the random key of this process: it means nothing elsewhere and is not to be stored.
pub(crate) fn hash(value: impl Hash) -> u64 {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    STATE.hash_one(value)
}

/// Makes the hashers of a [`NumberMap`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    start: u64,
    /// Odd, so that no bit is multiplied away.
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

/// Hashes numbers by the two halves of a product, as wyhash does.
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

    /// Of the places of a map with 2^16 of them, how many these hashes go to.
    fn places(hashes: impl Iterator<Item = u64>) -> usize {
        hashes.map(|hash| hash & 0xffff).collect::<HashSet<_>>().len()
    }

    /// Numbers that are made to stand in one place of a map which hashes without a key: those that it hashes to a
    /// multiple of 2^16.
    fn crafted() -> Vec<u64> {
        let numbers: Vec<u64> =
            (0..1 << 24).filter(|n| FxBuildHasher.hash_one(n).trailing_zeros() >= 16).take(200).collect();
        assert!(numbers.len() > 100, "{}", numbers.len());
        numbers
    }

    #[test]
    fn numbers_that_are_made_to_collide_without_a_key_do_not_with_one() {
        let crafted = crafted();
        assert_eq!(places(crafted.iter().map(|n| FxBuildHasher.hash_one(n))), 1);
        // Of 200 in 65,536 places, three tenths of a pair collide by chance.
        let spread = crafted.len() * 9 / 10;
        assert!(places(crafted.iter().map(|n| Keyed::default().hash_one(n))) > spread);
        assert!(places(crafted.iter().map(hash)) > spread);
    }

    #[test]
    fn another_key_is_another_hash() {
        let other = Keyed { start: Keyed::default().start ^ 1 << 40, ..Keyed::default() };
        assert_ne!(other.hash_one(7_u32), Keyed::default().hash_one(7_u32));
        assert_eq!(hash("a"), hash("a"));
        assert_ne!(RandomState::new().hash_one("a"), hash("a"));
    }
}
