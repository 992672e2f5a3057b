//! A cache of posting lists in the memory of a server.
//!
//! Reading the lists of a common word takes most of the time of a search, and many searches have one. A segment never changes,
//! and no other one ever has its number, so what the cache has stays right.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use super::list::List;

/// The maximum size of the cache in bytes.
const BYTES_MAX: usize = 128 << 20;
/// The maximum number of lists, most of which are short or empty.
const LISTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).expect("it is not 0");
/// The size of an entry in memory without its postings, approximately.
const ENTRY_BYTES: usize = 160;

/// The number of a segment and a word.
pub(super) type Key = (i64, Box<str>);

/// The lists that searches have read last.
pub(in crate::post::index) struct PostingCache(Mutex<Cached>);

struct Cached {
    lists: LruCache<Key, Arc<List>>,
    bytes: usize,
}

impl Default for PostingCache {
    fn default() -> Self {
        Self(Mutex::new(Cached { lists: LruCache::new(LISTS_MAX), bytes: 0 }))
    }
}

impl PostingCache {
    /// Returns the lists that the cache has.
    pub(super) fn get(&self, keys: &[Key]) -> Vec<Option<Arc<List>>> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.iter().map(|key| cached.lists.get(key).cloned()).collect()
    }

    /// Inserts lists, and removes those that were not used for longest if there are too many.
    pub(super) fn insert(&self, lists: impl IntoIterator<Item = (Key, Arc<List>)>) {
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

fn size(list: &List) -> usize {
    ENTRY_BYTES + list.size()
}

#[cfg(test)]
mod tests {
    use super::super::codec::Posting;
    use super::super::list::ListWriter;
    use super::*;

    /// Returns a list of so many postings, which takes at least two bytes for each.
    fn lists(postings: u64) -> Arc<List> {
        let mut writer = ListWriter::default();
        for entry in 0..postings {
            writer.push(Posting { entry, occurrences: 1, length: 84 }).unwrap();
        }
        Arc::new(writer.finish().unwrap())
    }

    #[test]
    fn the_cache_has_the_lists_that_were_used_last_up_to_its_size() {
        /// More lists than the cache has room for.
        const COUNT: i64 = 200;
        let (cache, key) = (PostingCache::default(), |number: i64| (number, "sea".into()));
        let megabyte = lists(400_000);
        let size = size(&megabyte);
        for number in 0..COUNT {
            cache.insert([(key(number), Arc::clone(&megabyte))]);
            assert!(cache.get(&[key(0)])[0].is_some(), "{number}");
        }
        let cached = (0..COUNT).filter(|number| cache.get(&[key(*number)])[0].is_some()).count();
        assert_eq!(cached, BYTES_MAX / size);
        cache.insert([(key(0), lists(1)), (key(COUNT), lists(BYTES_MAX as u64 / 4))]);
        assert!(cache.get(&[key(COUNT)])[0].is_none() && cache.get(&[key(COUNT - 1)])[0].is_some());
        let bytes = cache.0.lock().unwrap().lists.iter().map(|(_, lists)| self::size(lists)).sum::<usize>();
        assert_eq!(cache.0.lock().unwrap().bytes, bytes);
    }
}
