//! A histogram of latencies.

use std::time::Duration;

/// The longest latency that is recorded exactly, in nanoseconds: one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits of a recorded latency: a reported value is at most 0.1 % too long.
const DIGITS: u8 = 3;

pub(crate) struct Histogram(hdrhistogram::Histogram<u64>);

impl Histogram {
    pub(crate) fn new() -> Self {
        let counts = hdrhistogram::Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Self(counts.expect("the bounds are in order and the digits are below 6"))
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("all histograms have the same bounds");
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Returns the longest latency; zero if there are no responses.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }

    /// Returns the latency that `percent` of the responses did not exceed; zero if there are no responses.
    pub(crate) fn percentile(&self, percent: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_percentile(percent))
    }
}
