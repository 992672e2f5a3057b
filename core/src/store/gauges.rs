//! Measurements of the writer and of statements.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use prometheus::{Histogram, HistogramOpts};

/// Upper bounds of the buckets of commit sizes, in writes.
const SIZES: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];

/// The number of statements that this process has run in transactions.
static STATEMENTS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of statements that this process has run in transactions, of all its databases.
pub(super) fn statements() -> u64 {
    STATEMENTS.load(Ordering::Relaxed)
}

/// Counts a statement.
pub(super) fn count_statement() {
    STATEMENTS.fetch_add(1, Ordering::Relaxed);
}

/// The measurements of the writer.
pub(super) struct Gauges {
    /// Writes in the queue.
    pub(super) waiting: AtomicUsize,
    /// Commits by the number of writes in each.
    pub(super) commits: Histogram,
}

impl Default for Gauges {
    fn default() -> Self {
        let commits = HistogramOpts::new("commit_works", "Commits by the works that each carried.");
        let commits = Histogram::with_opts(commits.buckets(SIZES.into()));
        Self { waiting: AtomicUsize::new(0), commits: commits.expect("the name and the buckets are valid") }
    }
}

impl Gauges {
    /// Counts a commit of this many writes.
    #[expect(clippy::cast_precision_loss, reason = "a commit has far fewer than 2^52 writes")]
    pub(super) fn committed(&self, writes: usize) {
        self.commits.observe(writes as f64);
    }
}
