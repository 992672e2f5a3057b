//! The keys of requests that are remembered.

use std::collections::HashMap;

use super::{Operation, sql};
use crate::keyed::OwnMap;
use crate::store::{StoreError, Tx};

/// RequestKeys of a generation.
const GENERATION_MAX: usize = 16_384;

/// A request that is in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredRequest {
    pub(super) key: i64,
    /// The day on which the table says it was last used.
    pub(super) used: i64,
}

/// The keys of the requests that were asked for lately.
///
/// There are two generations. When the younger is full, it becomes the older, and what nobody has asked for since is
/// forgotten: so what is asked for often stays, however many others come and go.
#[derive(Default)]
pub(super) struct KeyCache {
    young: Generation,
    old: Generation,
}

/// Templates are ours, paths are anybody's.
#[derive(Default)]
struct Generation {
    keys: OwnMap<(Operation, u16), HashMap<Box<str>, StoredRequest>>,
    count: usize,
}

impl KeyCache {
    /// The key of a request, if it is remembered and still there; it was used on this day.
    pub(super) fn key(
        &mut self,
        tx: &mut dyn Tx,
        operation: Operation,
        status: u16,
        path: &str,
        today: i64,
    ) -> Result<Option<i64>, StoreError> {
        if let Some(stored) = self.young.get(operation, status, path)
            && stored.used >= today
        {
            return Ok(Some(stored.key));
        }
        // It is young again, unless it has gone from the table.
        let found = [&mut self.young, &mut self.old].map(|keys| keys.remove(operation, status, path));
        let [young, old] = found;
        let Some(mut stored) = young.or(old) else { return Ok(None) };
        if stored.used < today && !sql::mark_used(tx, stored.key, today)? {
            return Ok(None);
        }
        stored.used = stored.used.max(today);
        self.insert(operation, status, path, stored);
        Ok(Some(stored.key))
    }

    /// Remembers a request.
    pub(super) fn insert(&mut self, operation: Operation, status: u16, path: &str, stored: StoredRequest) {
        if self.young.count >= GENERATION_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        let paths = self.young.keys.entry((operation, status)).or_default();
        if paths.insert(path.into(), stored).is_none() {
            self.young.count += 1;
        }
    }
}

impl Generation {
    fn get(&self, operation: Operation, status: u16, path: &str) -> Option<StoredRequest> {
        self.keys.get(&(operation, status))?.get(path).copied()
    }

    fn remove(&mut self, operation: Operation, status: u16, path: &str) -> Option<StoredRequest> {
        let removed = self.keys.get_mut(&(operation, status))?.remove(path)?;
        self.count -= 1;
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::service;

    #[test]
    fn what_is_asked_for_often_is_remembered_however_many_others_come() {
        let service = service();
        let operation = Operation::new("GET", "/get_post/{post_obi}");
        let (stored, mut known) = (|key| StoredRequest { key, used: 1 }, KeyCache::default());
        known.insert(operation, 200, "/get_post/often", stored(-1));
        known.insert(operation, 200, "/get_post/once", stored(-2));
        let mut most = 0;
        service
            .store()
            .read(|tx| {
                for n in 0..100_000 {
                    known.insert(operation, 404, &format!("/get_post/{n}"), stored(n));
                    if n % 1_000 == 0 {
                        assert_eq!(known.key(tx, operation, 200, "/get_post/often", 1)?, Some(-1));
                    }
                    most = most.max(known.young.count + known.old.count);
                }
                assert_eq!(known.key(tx, operation, 200, "/get_post/once", 1)?, None);
                assert_eq!(known.key(tx, operation, 404, "/get_post/99999", 1)?, Some(99_999));
                assert_eq!(known.key(tx, operation, 404, "/get_post/0", 1)?, None);
                Ok::<_, StoreError>(())
            })
            .unwrap();
        assert!(most <= 2 * GENERATION_MAX, "{most}");
    }
}
