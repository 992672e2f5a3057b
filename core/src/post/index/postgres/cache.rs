//! A cache of posting lists in the memory of a server.
//!
//! Reading the lists of a common word takes most of the time of a search, and many searches have one. A segment never changes,
//! and no other one ever has its number, so what the cache has stays right.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use super::rank::List;

/// The maximum size of the cache in bytes.
const BYTES_MAX: usize = 32 << 20;
/// The maximum number of lists, most of which are short or empty.
const LISTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).expect("it is not 0");
/// The size of an entry in memory without its postings, approximately.
const ENTRY_BYTES: usize = 160;

/// The number of a segment and a word.
pub(super) type Key = (i64, Box<str>);
/// The postings of a word in a segment, in the order of their entries; none if no post of the segment has the word.
pub(super) type Lists = Arc<[Arc<List>]>;

/// The lists that searches have read last.
pub(in crate::post::index) struct PostingCache(Mutex<Cached>);

struct Cached {
    lists: LruCache<Key, Lists>,
    bytes: usize,
}

impl Default for PostingCache {
    fn default() -> Self {
        Self(Mutex::new(Cached { lists: LruCache::new(LISTS_MAX), bytes: 0 }))
    }
}

impl PostingCache {
    /// Returns the lists that the cache has.
    pub(super) fn get(&self, keys: &[Key]) -> Vec<Option<Lists>> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.iter().map(|key| cached.lists.get(key).cloned()).collect()
    }

    /// Inserts lists, and removes those that were not used for longest if there are too many.
    pub(super) fn insert(&self, lists: impl IntoIterator<Item = (Key, Lists)>) {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, lists) in lists {
            let size = size(&lists);
            // A list that would remove most of the others stays out.
            if size > BYTES_MAX / 4 {
                continue;
            }
            cached.bytes += size;
            // Either another search has inserted the same, or there are too many lists.
            if let Some((_, removed)) = cached.lists.push(key, lists) {
                cached.bytes -= self::size(&removed);
            }
            while cached.bytes > BYTES_MAX
                && let Some((_, removed)) = cached.lists.pop_lru()
            {
                cached.bytes -= self::size(&removed);
            }
        }
    }
}

fn size(lists: &Lists) -> usize {
    ENTRY_BYTES + lists.iter().map(|list| ENTRY_BYTES / 2 + list.bytes.len()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(bytes: usize) -> Lists {
        Arc::new([Arc::new(List { count: 1, bytes: vec![0; bytes] })])
    }

    #[test]
    fn the_cache_has_the_lists_that_were_used_last_up_to_its_size() {
        let (cache, key) = (PostingCache::default(), |number: i64| (number, "sea".into()));
        for number in 0..100 {
            cache.insert([(key(number), lists(1 << 20))]);
            assert!(cache.get(&[key(0)])[0].is_some(), "{number}");
        }
        let cached = (0..100).filter(|number| cache.get(&[key(*number)])[0].is_some()).count();
        assert_eq!(cached, 31);
        cache.insert([(key(0), lists(1)), (key(200), lists(BYTES_MAX))]);
        assert!(cache.get(&[key(200)])[0].is_none() && cache.get(&[key(99)])[0].is_some());
        let bytes = cache.0.lock().unwrap().lists.iter().map(|(_, lists)| size(lists)).sum::<usize>();
        assert_eq!(cache.0.lock().unwrap().bytes, bytes);
    }
}
