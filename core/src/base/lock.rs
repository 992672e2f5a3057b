//! Locks of values that are valid after every statement.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Also locks what a panicking thread has left.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
