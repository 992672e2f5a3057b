//! Ctrl-C during long work that must clean up before it ends.

use tidings_core::backup::CancelFlag;

use crate::failure::Failure;

/// Makes Ctrl-C and SIGTERM ask the work to stop, instead of ending the process at once.
///
/// # Errors
/// When the signal handler cannot be installed.
pub(crate) fn stop() -> Result<CancelFlag, Failure> {
    let stop = CancelFlag::default();
    let asked = stop.clone();
    let set = ctrlc::set_handler(move || asked.set());
    set.map_err(|e| Failure::system(format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(stop)
}
