//! Measures the processor time of operations.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time that one round of an operation takes, unless a single operation takes longer …
const ROUND: Duration = Duration::from_millis(40);
/// … and the number of rounds. The cheapest one counts, because work in the background raises the others.
const ROUNDS: u32 = 5;

/// Returns the processor time that all threads of this process have used.
pub(crate) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let part = |n: i64| u64::try_from(n).unwrap_or_default();
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

/// Runs `work` once, and returns its result and its processor time.
pub(crate) fn once<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = processor_time();
    let result = work();
    (result, processor_time().saturating_sub(before))
}

/// Returns the processor time of an operation, which `work` performs once per call; `None` if it fails.
pub(crate) fn each<T, E>(mut work: impl FnMut() -> Result<T, E>) -> Option<Duration> {
    let mut cheapest = Duration::MAX;
    for _ in 0..ROUNDS {
        let (mut times, mut total) = (0, Duration::ZERO);
        while total < ROUND {
            let (result, cost) = once(&mut work);
            result.ok()?;
            total += cost;
            times += 1;
        }
        cheapest = cheapest.min(total / times);
    }
    Some(cheapest)
}
