//! The requests of this program to a server. The server counts and logs them like all others, so a program that watches the
//! figures must know which changes it has caused itself by reading.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A request may change the figures this long after it: the server writes the change within a fifth of a second, and looks for
/// changes twice a second.
const TOLD_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    running: usize,
    answered: Option<Instant>,
}

/// The request runs until this is dropped.
pub(crate) struct Running<'r>(&'r Requests);

impl Requests {
    pub(crate) fn begin(&self) -> Running<'_> {
        self.state().running += 1;
        Running(self)
    }

    /// A change of the figures that is reported now may come from a request of this program.
    pub(crate) fn may_have_changed(&self) -> bool {
        let state = self.state();
        state.running > 0 || state.answered.is_some_and(|answered| answered.elapsed() < TOLD_AFTER)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        state.answered = Some(Instant::now());
    }
}

#[cfg(test)]
impl Requests {
    /// Forgets the requests before.
    pub(crate) fn forget(&self) {
        self.state().answered = None;
    }
}
