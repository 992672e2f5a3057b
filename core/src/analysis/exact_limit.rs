//! A limit on how often reports are exact, which costs more than being a little behind.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::base::clock::Monotonic;

/// The number of consecutive reports that are exact.
const BURST: i64 = 16;

/// The limit: a GCRA. Two concurrent reports may count as one, which is harmless.
pub(super) struct ExactLimit {
    /// The time after which one more report is exact.
    interval_ms: i64,
    /// The theoretical arrival time, in monotonic milliseconds.
    until: AtomicI64,
}

impl ExactLimit {
    /// Returns a limit of one exact report in each interval, apart from bursts.
    pub(super) fn new(interval_ms: i64) -> Self {
        Self { interval_ms, until: AtomicI64::new(0) }
    }

    /// Returns whether the next report is exact.
    pub(super) fn allows(&self, now: Monotonic) -> bool {
        self.debt(now) + self.interval_ms <= BURST * self.interval_ms
    }

    /// Counts an exact report.
    pub(super) fn count(&self, now: Monotonic) {
        let until = now.as_millis() + self.debt(now) + self.interval_ms;
        self.until.store(until, Ordering::Relaxed);
    }

    fn debt(&self, now: Monotonic) -> i64 {
        (self.until.load(Ordering::Relaxed) - now.as_millis()).clamp(0, BURST * self.interval_ms)
    }
}
