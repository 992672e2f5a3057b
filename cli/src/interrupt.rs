//! Ctrl-C, for work that takes its time and has something to put away before it ends.

use tidings_core::backup::Stop;

use crate::failure::Failure;

/// Has Ctrl-C, and a service manager's wish to end, ask the work to stop instead of ending the process at once.
///
/// # Errors
/// When the system has no handler for it.
pub(crate) fn stop() -> Result<Stop, Failure> {
    let stop = Stop::default();
    let asked = stop.clone();
    let set = ctrlc::set_handler(move || asked.ask());
    set.map_err(|e| Failure::system(format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(stop)
}
