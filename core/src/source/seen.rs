//! The entries of the last content of a source, so that only new and changed entries are written, and a post that an
//! administrator has removed does not come back.

use std::collections::HashMap;

use data_encoding::BASE64;
use sha2::{Digest as _, Sha256};

/// For each entry, a hash of its address and one of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen(HashMap<u64, u64>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    New,
    Changed,
    Same,
}

impl Seen {
    pub(super) fn of(&self, address: u64, content: u64) -> Known {
        match self.0.get(&address) {
            None => Known::New,
            Some(known) if *known == content => Known::Same,
            Some(_) => Known::Changed,
        }
    }

    /// Returns false if there is an entry with this address.
    pub(super) fn add(&mut self, address: u64, content: u64) -> bool {
        let is_new = !self.0.contains_key(&address);
        if is_new {
            self.0.insert(address, content);
        }
        is_new
    }

    /// The entry counts as new again.
    pub(super) fn forget(&mut self, address: u64) {
        self.0.remove(&address);
    }

    /// All entries count as changed.
    pub(super) fn outdated(self) -> Self {
        Self(self.0.into_keys().map(|address| (address, 0)).collect())
    }

    /// The contents of `other` are newer.
    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// 16 bytes for each entry, in Base64.
    pub(super) fn pack(&self) -> String {
        let mut pairs: Vec<(u64, u64)> =
            self.0.iter().map(|(address, content)| (*address, *content)).collect();
        pairs.sort_unstable();
        let numbers = pairs.into_iter().flat_map(|(address, content)| [address, content]);
        BASE64.encode(&numbers.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
    }

    pub(super) fn unpack(text: &str) -> Self {
        // Entries that cannot be read are forgotten: their posts are found by their addresses.
        let bytes = BASE64.decode(text.as_bytes()).unwrap_or_default();
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
        Self(bytes.chunks_exact(16).map(|pair| (number(&pair[..8]), number(&pair[8..]))).collect())
    }
}

/// The hash is the same on every machine and in every version.
pub(super) fn hash(texts: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_known_after_they_were_stored() {
        let mut seen = Seen::default();
        assert!(seen.add(1, 10) && seen.add(2, 20) && !seen.add(1, 11));
        let read = Seen::unpack(&seen.pack());
        assert_eq!(read, seen);
        let known = [(1, 10), (1, 11), (3, 1)].map(|(key, hash)| read.of(key, hash));
        assert_eq!(known, [Known::Same, Known::Changed, Known::New]);
        assert_eq!(Seen::unpack("no Base64"), Seen::default());
    }

    #[test]
    fn the_hash_is_stable_and_tells_texts_apart() {
        assert_eq!(hash(&["a", "b"]), hash(&["a", "b"]));
        assert_ne!(hash(&["a", "b"]), hash(&["ab", ""]));
        assert_eq!(hash(&["Tidings"]), 943_428_056_239_054_778);
    }
}
