//! The foundation of the store: the clock, settings, files, text and other small tools.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod atomic_file;
pub(crate) mod cancel;
pub(crate) mod client;
pub mod clock;
pub mod config;
pub(crate) mod files;
pub(crate) mod host;
pub(crate) mod keyed;
pub mod location;
pub(crate) mod random;
pub(crate) mod sized_lru;
pub(crate) mod step;
pub(crate) mod text;
pub mod text_file;
pub mod tls;
pub(crate) mod zone;

/// Also locks what a panicking thread has left, for values that are valid after every statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
