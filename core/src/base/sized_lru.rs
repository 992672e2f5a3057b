//! A cache of the values that were used last, up to a total size.

use std::hash::Hash;
use std::num::NonZeroUsize;

use lru::LruCache;

pub(crate) struct SizedLru<K, V> {
    /// Each with its size in bytes.
    values: LruCache<K, (V, usize)>,
    bytes: usize,
    bytes_max: usize,
}

impl<K: Hash + Eq, V> SizedLru<K, V> {
    /// At most `count` values, which have at most `bytes` together.
    pub(crate) fn new(count: NonZeroUsize, bytes: usize) -> Self {
        Self { values: LruCache::new(count), bytes: 0, bytes_max: bytes }
    }

    pub(crate) fn get(&mut self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(value, _)| value)
    }

    /// `bytes` is approximate. The values that were not used for longest make room; a value that would remove most of the others
    /// stays out.
    pub(crate) fn put(&mut self, key: K, value: V, bytes: usize) {
        if bytes > self.bytes_max / 4 {
            self.bytes -= self.values.pop(&key).map_or(0, |(_, size)| size);
            return;
        }
        self.bytes += bytes;
        // Either an earlier value of the key, or the oldest one, because there are too many.
        if let Some((_, (_, size))) = self.values.push(key, (value, bytes)) {
            self.bytes -= size;
        }
        while self.bytes > self.bytes_max
            && let Some((_, (_, size))) = self.values.pop_lru()
        {
            self.bytes -= size;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_values_that_were_used_last_stay() {
        let mut cache = SizedLru::new(NonZeroUsize::new(100).unwrap(), 1_000);
        for number in 0..20 {
            cache.put(number, number, 100);
            assert!(cache.get(&0).is_some(), "{number}");
        }
        let kept: Vec<i32> = (0..20).filter(|number| cache.get(number).is_some()).collect();
        assert_eq!(kept, [0, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
        cache.put(0, 7, 251);
        assert!(cache.get(&0).is_none() && cache.get(&11).is_some(), "a large value removes only its own");
    }

    proptest! {
        #[test]
        fn the_size_is_that_of_the_values(puts in prop::collection::vec((0_u8..20, 0_usize..200), 0..100)) {
            let mut cache = SizedLru::new(NonZeroUsize::new(8).unwrap(), 500);
            for (key, bytes) in puts {
                cache.put(key, (), bytes);
                let sum: usize = cache.values.iter().map(|(_, ((), size))| size).sum();
                prop_assert_eq!(cache.bytes, sum);
                prop_assert!(sum <= 500 && cache.values.len() <= 8);
            }
        }
    }
}
