//! Measurements of the writer and of statements.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Upper bounds of the sizes of commits that are counted together, in writes.
const SIZES: [u64; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

pub(super) static STATEMENTS: AtomicU64 = AtomicU64::new(0);

pub(super) fn count_statement() {
    STATEMENTS.fetch_add(1, Ordering::Relaxed);
}

/// A standby that follows the primary.
#[derive(Clone, Debug)]
pub struct Follower {
    /// Its name; empty if the user may not see it.
    pub name: String,
    /// Whether commits wait for it: `sync`, `quorum`, `potential` or `async`.
    pub state: String,
    /// The time in milliseconds until it has replayed a commit, as the primary measured it last.
    pub lag_ms: i64,
}

/// The commits since a database was opened.
#[derive(Clone, Debug)]
pub struct Commits {
    /// For some sizes, the number of commits with at most so many writes.
    pub up_to: Vec<(u64, u64)>,
    /// The number of all commits.
    pub count: u64,
    /// The number of all writes.
    pub writes: u64,
}

#[derive(Default)]
pub(super) struct Gauges {
    pub(super) waiting: AtomicUsize,
    /// One for each of [`SIZES`], and one for larger commits.
    commits: [AtomicU64; SIZES.len() + 1],
    writes: AtomicU64,
}

impl Gauges {
    pub(super) fn committed(&self, writes: usize) {
        let writes = writes as u64;
        self.commits[SIZES.partition_point(|size| *size < writes)].fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes, Ordering::Relaxed);
    }

    pub(super) fn commits(&self) -> Commits {
        let mut count = 0;
        let sums = self.commits.each_ref().map(|commits| {
            count += commits.load(Ordering::Relaxed);
            count
        });
        Commits {
            up_to: SIZES.into_iter().zip(sums).collect(),
            count,
            writes: self.writes.load(Ordering::Relaxed),
        }
    }
}
