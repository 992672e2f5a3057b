//! The failures of one process, in memory.

use super::{Failures, Key, Millis, Table};
use crate::base::keyed::OwnMap;
use crate::store::StoreError;

/// The maximum number of keys of each kind, which take 20 MB with the times of all clients' failures. A map that is less than
/// half full does not grow, however many keys come and go.
const MAX: [usize; 3] = [12_000, 57_000, 7_000];

#[derive(Default)]
pub(super) struct Memory {
    /// By kind. The keys are keyed hashes, so nobody can choose some that collide.
    pub(super) failures: [OwnMap<u64, Failures>; 3],
}

impl Table for Memory {
    fn get(&mut self, Key { kind, hash }: Key, now: Millis) -> Result<Failures, StoreError> {
        let known = self.failures[kind as usize].get(&hash).cloned();
        let mut failures = known.unwrap_or(Failures::new(kind));
        failures.refresh(now);
        Ok(failures)
    }

    fn put(&mut self, Key { kind, hash }: Key, failures: Failures) -> Result<(), StoreError> {
        let map = &mut self.failures[kind as usize];
        if failures.is_empty() {
            map.remove(&hash);
            return Ok(());
        }
        map.insert(hash, failures);
        if map.len() > MAX[kind as usize] {
            shed(map);
        }
        Ok(())
    }
}

/// Removes the eighth of the keys with the lowest priority: a flood of new keys replaces other small ones, and frees no client
/// that has to wait.
fn shed(map: &mut OwnMap<u64, Failures>) {
    let mut keys: Vec<_> = map.iter().map(|(hash, failures)| (failures.priority(), *hash)).collect();
    let removed = keys.len() / 8;
    keys.select_nth_unstable(removed);
    for (_, hash) in &keys[..removed] {
        map.remove(hash);
    }
}
