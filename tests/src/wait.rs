//! Waiting for what follows soon, but not at once.

use std::time::{Duration, Instant};

/// The longest that [`wait_until`] waits: far longer than anything takes, for the machine may be busy.
pub const WAIT_MAX: Duration = Duration::from_secs(30);
/// Between one look and the next.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until `condition` holds, half a minute at most.
///
/// # Panics
/// When it does not hold by then; `what` says what was waited for.
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    assert!(holds_within(WAIT_MAX, condition), "waited {WAIT_MAX:?} in vain until {what}");
}

/// Whether `condition` holds before so long has passed.
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
