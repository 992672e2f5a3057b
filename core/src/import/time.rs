//! The time of a batch, which bounds how long other writes wait for it.

use std::time::{Duration, Instant};

/// The time that a batch has for its rows while other writes wait. The search index and the disk add approximately the
/// same time.
const SHARED: Duration = Duration::from_millis(10);
/// The time that it has while no other write waits. A write that arrives later than [`SHARED`] ends the batch, so it
/// waits only for the search index and the disk.
const ALONE: Duration = Duration::from_millis(30);

/// Long batches are faster, because they write the pages of indexes less often.
pub(crate) struct BatchTime {
    began: Instant,
    /// `None` if the time is unlimited.
    waiting: Option<Box<dyn Fn() -> usize>>,
}

impl BatchTime {
    pub(super) fn begin(waiting: impl Fn() -> usize + 'static) -> Self {
        Self { began: Instant::now(), waiting: Some(Box::new(waiting)) }
    }

    /// For a transaction that delays no other write.
    #[cfg(feature = "demo")]
    pub(crate) fn unlimited() -> Self {
        Self { began: Instant::now(), waiting: None }
    }

    pub(crate) fn is_over(&self) -> bool {
        let Some(waiting) = &self.waiting else { return false };
        let elapsed = self.began.elapsed();
        elapsed > SHARED && (elapsed > ALONE || waiting() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a batch that began `ms` milliseconds ago must end while this number of writes wait.
    fn is_over(ms: u64, waiting: usize) -> bool {
        let began = Instant::now().checked_sub(Duration::from_millis(ms)).unwrap();
        BatchTime { began, waiting: Some(Box::new(move || waiting)) }.is_over()
    }

    #[test]
    fn a_batch_ends_earlier_if_other_writes_wait() {
        assert!(is_over(11, 1) && is_over(11, 100));
        assert!(is_over(31, 0) && is_over(31, 1));
        assert!(!is_over(0, 1) && !is_over(0, 0));
    }
}
