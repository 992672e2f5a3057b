//! Ctrl-C during long work that must clean up before it ends.

use std::sync::atomic::{AtomicBool, Ordering};

use tidings_core::backup::CancelFlag;

use crate::failure::Failure;

static ENDS_AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Lets the first signal end the process at once, because opening and writing a pipe or a device may block for ever. There is
/// nothing to clean up: the reader sees that the output ends.
pub(crate) fn end_at_once() {
    ENDS_AT_ONCE.store(true, Ordering::Relaxed);
}

pub(crate) fn ends_at_once() -> bool {
    ENDS_AT_ONCE.load(Ordering::Relaxed)
}

/// Makes Ctrl-C and SIGTERM ask the work to stop, instead of ending the process at once.
pub(crate) fn stop() -> Result<CancelFlag, Failure> {
    let stop = CancelFlag::default();
    let asked = stop.clone();
    let set = ctrlc::set_handler(move || asked.set());
    set.map_err(|e| Failure::system(format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(stop)
}
