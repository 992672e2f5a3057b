//! The recent duration of short reads, which decides where the next one runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Reads are quick up to this average duration.
const QUICK: Duration = Duration::from_micros(200);
/// A read has this share of the average, and older ones less: it covers approximately this number of reads.
const READS: u64 = 64;

/// The average duration of the latest reads, as an exponential moving average in nanoseconds.
///
/// A read from memory takes some microseconds, and one that waits for the disk takes much longer. Several of the latter in
/// succession, or one very long one, make the average exceed [`QUICK`] until enough quick reads have followed.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU64);

impl Pace {
    pub(crate) fn is_quick(&self) -> bool {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)) <= QUICK
    }

    pub(crate) fn measure<T>(&self, read: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = read();
        self.add(began.elapsed());
        result
    }

    fn add(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let average = self.0.load(Ordering::Relaxed);
        // Of two reads that end at the same time only one may count, which is harmless.
        self.0.store(average - average / READS + took / READS, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_quick_again_after_enough_quick_reads() {
        let pace = Pace::default();
        let quick = || {
            (1..1_000).find(|_| {
                pace.add(Duration::from_micros(10));
                pace.is_quick()
            })
        };
        assert!(pace.is_quick());
        pace.add(Duration::from_millis(10));
        assert!(pace.is_quick(), "one read that the system interrupted");
        pace.add(Duration::from_millis(10));
        assert!(!pace.is_quick());
        assert!(quick().is_some_and(|reads| (10..100).contains(&reads)));
        pace.add(Duration::from_secs(1));
        assert!(quick().is_some_and(|reads| (100..500).contains(&reads)));
        for _ in 0..300 {
            pace.add(Duration::from_micros(250));
        }
        assert!(!pace.is_quick());
        pace.add(Duration::MAX);
        assert!(!pace.is_quick());
    }

    #[test]
    fn measuring_returns_the_result() {
        let pace = Pace::default();
        assert_eq!(pace.measure(|| 7), 7);
        assert!(pace.0.load(Ordering::Relaxed) < u64::MAX / READS);
    }
}
