//! How much the writer has to do, for whoever watches over the service.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Upper bounds of the sizes of commits, in works, that are told apart.
pub(crate) const SIZES: [u64; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/// What the writer is doing.
#[derive(Default)]
pub(super) struct Gauges {
    /// Works in the queue.
    pub(super) waiting: AtomicUsize,
    /// Commits by their size: those of at most so many works, each counted once; behind them, larger ones.
    commits: [AtomicU64; SIZES.len() + 1],
    /// Works in all of them.
    works: AtomicU64,
}

/// The commits of the writer since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commits {
    /// Commits of at most so many works, and how many there were, the smaller ones included.
    pub up_to: Vec<(u64, u64)>,
    /// All commits.
    pub count: u64,
    /// All works that they carried.
    pub works: u64,
}

impl Gauges {
    /// Counts a commit.
    pub(super) fn committed(&self, works: usize) {
        let works = works as u64;
        let size = SIZES.iter().position(|bound| works <= *bound).unwrap_or(SIZES.len());
        self.commits[size].fetch_add(1, Ordering::Relaxed);
        self.works.fetch_add(works, Ordering::Relaxed);
    }

    pub(super) fn commits(&self) -> Commits {
        let mut commits = Commits { works: self.works.load(Ordering::Relaxed), ..Commits::default() };
        for (size, count) in self.commits.iter().enumerate() {
            commits.count += count.load(Ordering::Relaxed);
            commits.up_to.extend(SIZES.get(size).map(|bound| (*bound, commits.count)));
        }
        commits
    }
}
