//! Latencies in buckets, as fine as they are worth: cheap to record, within 1.6 % when read.

use std::time::Duration;

const STEPS_LOG2: u32 = 6;
/// Buckets to each doubling; one bucket is the greatest error of a reading.
const STEPS: u64 = 1 << STEPS_LOG2;
/// Buckets up to 2^63 nanoseconds.
const BUCKETS: usize = (64 - 6) << STEPS_LOG2;

/// How many answers took how long.
pub(crate) struct Histogram {
    counts: Vec<u32>,
    total: u64,
    longest: Duration,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, longest: Duration::ZERO }
    }

    pub(crate) fn record(&mut self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX >> 1);
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.longest = self.longest.max(took);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    pub(crate) fn count(&self) -> u64 {
        self.total
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// The time that `percent` of the answers did not exceed; zero when there are none.
    pub(crate) fn percentile(&self, percent: u64) -> Duration {
        let wanted = (self.total * percent).div_ceil(100);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted && seen > 0 {
                return Duration::from_nanos(lower_bound(index + 1)).min(self.longest);
            }
        }
        self.longest
    }
}

/// The bucket of a time: one per nanosecond at first, then [`STEPS`] to each doubling.
fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(STEPS_LOG2 + 1);
    let index = u64::from(shift) * STEPS + (ns >> shift);
    usize::try_from(index).map_or(BUCKETS - 1, |index| index.min(BUCKETS - 1))
}

/// The least time of a bucket: what [`bucket`] undone gives.
fn lower_bound(index: usize) -> u64 {
    let index = index as u64;
    let shift = (index / STEPS).saturating_sub(1);
    (index - shift * STEPS) << shift
}
