//! Waits for conditions that become true after a short time.

use std::time::{Duration, Instant};

/// The timeout of [`wait_until`], with much room for a busy machine: a lease of a killed server alone lasts 15 seconds.
pub const WAIT_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until `condition` is true, for at most [`WAIT_MAX`].
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    assert!(holds_within(WAIT_MAX, condition), "still waiting after {WAIT_MAX:?} until {what}");
}

pub(crate) fn holds_within(most: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if begin.elapsed() >= most {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
