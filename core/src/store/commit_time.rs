//! Moments of this process, which order its commits and what a read must see.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A moment. A read that sees a moment sees every commit that this process knew of then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CommitTime(u64);

impl CommitTime {
    /// A moment before all commits.
    pub(crate) const FIRST: Self = Self(0);

    /// Returns this moment.
    pub(crate) fn now() -> Self {
        static START: OnceLock<Instant> = OnceLock::new();
        let passed = START.get_or_init(Instant::now).elapsed();
        Self(u64::try_from(passed.as_micros()).unwrap_or(u64::MAX))
    }

    /// Returns the time that has passed since this moment.
    pub(super) fn elapsed(self) -> Duration {
        Duration::from_micros(Self::now().0.saturating_sub(self.0))
    }
}

/// The latest of the moments that were recorded.
#[derive(Default)]
pub(crate) struct Latest(AtomicU64);

impl Latest {
    /// Records this moment.
    pub(crate) fn record(&self) {
        self.0.fetch_max(CommitTime::now().0, Ordering::AcqRel);
    }

    /// Returns the latest moment; one before all commits if none was recorded.
    pub(crate) fn get(&self) -> CommitTime {
        CommitTime(self.0.load(Ordering::Acquire))
    }
}
