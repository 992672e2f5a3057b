//! The transactions of this process that read, for the thread that makes the write-ahead log begin again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// In the order in which they began.
#[derive(Default)]
pub(super) struct Reads(Mutex<Begun>);

#[derive(Default)]
struct Begun {
    number: u64,
    /// When each running read began, by its number.
    running: BTreeMap<u64, Instant>,
}

impl Reads {
    /// The read ends when the returned value is dropped.
    pub(super) fn begin(&self) -> Running<'_> {
        let mut begun = self.lock();
        begun.number += 1;
        let number = begun.number;
        begun.running.insert(number, Instant::now());
        Running { reads: self, number }
    }

    pub(super) fn any_before(&self, time: Instant) -> bool {
        self.lock().running.first_key_value().is_some_and(|(_, begun)| *begun < time)
    }

    fn lock(&self) -> MutexGuard<'_, Begun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Running<'r> {
    reads: &'r Reads,
    number: u64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.reads.lock().running.remove(&self.number);
    }
}
