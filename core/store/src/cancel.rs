//! Cancellation of long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that cancels long work, such as a backup. Clones share it: the work checks one clone, and for example the
/// handler of Ctrl-C sets another.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Requests cancellation. The work ends soon and leaves a consistent state.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether cancellation was requested.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
