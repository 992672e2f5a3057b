//! A cache of posting lists in the memory of a server.
//!
//! Reading the lists of a common word takes most of the time of a search, and many searches have one. A segment never changes,
//! and no other one ever has its number, so what the cache has stays right.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use super::list::List;
use crate::base::sized_lru::SizedLru;

/// The maximum size of the cache in bytes.
const BYTES_MAX: usize = 128 << 20;
/// The maximum number of lists, most of which are short or empty.
const LISTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).expect("it is not 0");
/// The size of an entry in memory without its postings, approximately.
const ENTRY_BYTES: usize = 160;

/// The number of a segment and a word.
pub(super) type Key = (i64, Box<str>);

/// The lists that searches have read last.
pub(in crate::post::index) struct PostingCache(Mutex<SizedLru<Key, Arc<List>>>);

impl Default for PostingCache {
    fn default() -> Self {
        Self(Mutex::new(SizedLru::new(LISTS_MAX, BYTES_MAX)))
    }
}

impl PostingCache {
    /// Returns the lists that the cache has.
    pub(super) fn get(&self, keys: &[Key]) -> Vec<Option<Arc<List>>> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.iter().map(|key| cached.get(key).cloned()).collect()
    }

    /// Inserts lists.
    pub(super) fn insert(&self, lists: impl IntoIterator<Item = (Key, Arc<List>)>) {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, list) in lists {
            let size = size(&list);
            cached.put(key, list, size);
        }
    }
}

fn size(list: &List) -> usize {
    ENTRY_BYTES + list.size()
}
