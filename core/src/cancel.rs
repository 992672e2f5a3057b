//! A wish to stop, told to work that takes its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether some work is to stop: shared by who does it and who may want it stopped, such as a handler of Ctrl-C.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the work to stop. It does so soon, and leaves nothing half done.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was asked to.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
