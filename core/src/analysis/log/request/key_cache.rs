//! A cache of the keys of requests.

use std::collections::HashMap;

use super::{LoggedAnswer, Operation, sql};
use crate::keyed::OwnMap;
use crate::store::{StoreError, Tx};

/// The maximum number of requests in a generation.
const GENERATION_MAX: usize = 16_384;

/// A row of the table of requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredRequest {
    pub(super) key: i64,
    /// The last day of use that the table holds.
    pub(super) used: i64,
}

/// The keys of recent requests.
///
/// There are two generations. When the young one is full, it becomes the old one, and the requests of the former old
/// one that were not used in the meantime are dropped. So a frequent request stays cached, however many other requests
/// follow.
#[derive(Clone, Default)]
pub(super) struct KeyCache {
    young: Generation,
    old: Generation,
    /// The requests whose rows the current transaction inserted or changed.
    changed: Vec<(Operation, LoggedAnswer, Box<str>)>,
}

/// The keys of the map are operations, which clients cannot invent.
#[derive(Clone, Default)]
struct Generation {
    keys: OwnMap<(Operation, LoggedAnswer), Paths>,
    count: usize,
}

/// The requests to an operation with one answer.
#[derive(Clone, Default)]
struct Paths {
    /// The request whose path is the template. To look it up takes no hash of the path.
    template: Option<StoredRequest>,
    /// The other requests by their paths, which clients can invent.
    others: HashMap<Box<str>, StoredRequest>,
}

impl KeyCache {
    /// Notes that a transaction begins, and that the one before was committed.
    pub(super) fn begin(&mut self) {
        self.changed.clear();
    }

    /// Drops the requests whose rows the transaction inserted or changed, because it was rolled back.
    pub(super) fn roll_back(&mut self) {
        for (operation, answer, path) in std::mem::take(&mut self.changed) {
            self.young.remove(operation, answer, &path);
            self.old.remove(operation, answer, &path);
        }
    }

    /// Returns whether a request is cached.
    pub(super) fn contains(&self, operation: Operation, answer: LoggedAnswer, path: &str) -> bool {
        [&self.young, &self.old].iter().any(|keys| keys.get(operation, answer, path).is_some())
    }

    /// Returns the key of a request if it is cached and its row still exists, and marks the row as used on this day.
    pub(super) fn key(
        &mut self,
        tx: &mut dyn Tx,
        operation: Operation,
        answer: LoggedAnswer,
        path: &str,
        today: i64,
    ) -> Result<Option<i64>, StoreError> {
        if let Some(stored) = self.young.get(operation, answer, path)
            && stored.used >= today
        {
            return Ok(Some(stored.key));
        }
        // The request moves to the young generation, unless its row no longer exists.
        let found = [&mut self.young, &mut self.old].map(|keys| keys.remove(operation, answer, path));
        let [young, old] = found;
        let Some(mut stored) = young.or(old) else { return Ok(None) };
        if stored.used < today && !sql::mark_used(tx, stored.key, today)? {
            return Ok(None);
        }
        if stored.used < today {
            stored.used = today;
            self.insert(operation, answer, path, stored);
        } else {
            self.add(operation, answer, path, stored);
        }
        Ok(Some(stored.key))
    }

    /// Adds a request whose row the transaction may have inserted or changed.
    pub(super) fn insert(
        &mut self,
        operation: Operation,
        answer: LoggedAnswer,
        path: &str,
        stored: StoredRequest,
    ) {
        self.changed.push((operation, answer, path.into()));
        self.add(operation, answer, path, stored);
    }

    fn add(&mut self, operation: Operation, answer: LoggedAnswer, path: &str, stored: StoredRequest) {
        if self.young.count >= GENERATION_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        let paths = self.young.keys.entry((operation, answer)).or_default();
        let replaced = if path == operation.template {
            paths.template.replace(stored)
        } else {
            paths.others.insert(path.into(), stored)
        };
        if replaced.is_none() {
            self.young.count += 1;
        }
    }
}

impl Generation {
    fn get(&self, operation: Operation, answer: LoggedAnswer, path: &str) -> Option<StoredRequest> {
        let paths = self.keys.get(&(operation, answer))?;
        if path == operation.template { paths.template } else { paths.others.get(path).copied() }
    }

    fn remove(&mut self, operation: Operation, answer: LoggedAnswer, path: &str) -> Option<StoredRequest> {
        let paths = self.keys.get_mut(&(operation, answer))?;
        let removed =
            if path == operation.template { paths.template.take() } else { paths.others.remove(path) }?;
        self.count -= 1;
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::service;

    #[test]
    fn a_frequent_request_stays_cached_among_many_others() {
        let service = service();
        let operation = Operation::new("GET", "/get_post/{post_obi}");
        let (stored, mut known) = (|key| StoredRequest { key, used: 1 }, KeyCache::default());
        let [found, missing] =
            [(200, "success"), (404, "Not found")].map(|(status, result)| LoggedAnswer { status, result });
        known.insert(operation, found, "/get_post/often", stored(-1));
        known.insert(operation, found, "/get_post/once", stored(-2));
        let mut most = 0;
        service
            .store()
            .read(|tx| {
                for n in 0..100_000 {
                    known.insert(operation, missing, &format!("/get_post/{n}"), stored(n));
                    if n % 1_000 == 0 {
                        assert_eq!(known.key(tx, operation, found, "/get_post/often", 1)?, Some(-1));
                    }
                    most = most.max(known.young.count + known.old.count);
                }
                assert_eq!(known.key(tx, operation, found, "/get_post/once", 1)?, None);
                assert_eq!(known.key(tx, operation, missing, "/get_post/99999", 1)?, Some(99_999));
                assert_eq!(known.key(tx, operation, missing, "/get_post/0", 1)?, None);
                Ok::<_, StoreError>(())
            })
            .unwrap();
        assert!(most <= 2 * GENERATION_MAX, "{most}");
    }
}
