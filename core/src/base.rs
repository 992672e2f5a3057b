//! The foundation of the slices: settings, files, text and other small tools. Some of them belong to the store, which is below.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod atomic_file;
pub(crate) mod client;
pub mod config;
pub(crate) mod host;
pub(crate) mod keyed;
pub(crate) mod sized_lru;
pub(crate) mod text;
pub(crate) mod zone;

pub(crate) use tidings_store::{cancel, files, random, step};
pub use tidings_store::{clock, location, text_file, tls};

/// Also locks what a panicking thread has left, for values that are valid after every statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
