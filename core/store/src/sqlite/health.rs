//! Tracks whether writes succeed: the outcome of the last commits, and whether the files are in place.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::guard::FileGuard;
use crate::StoreError;
use crate::files;

pub(crate) struct Health {
    guard: FileGuard,
    /// Set when `state.replaced` is: a copy that is cheap to read.
    replaced: AtomicBool,
    state: Mutex<State>,
    failures: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The files are no longer the ones that were opened.
    replaced: Option<StoreError>,
    failing: Option<StoreError>,
}

impl Health {
    pub(super) fn new(guard: FileGuard) -> Self {
        Self { guard, replaced: AtomicBool::new(false), state: Mutex::default(), failures: AtomicU64::new(0) }
    }

    pub(crate) fn last_check(&self) -> Result<(), StoreError> {
        if !self.replaced.load(Ordering::Acquire) {
            return Ok(());
        }
        self.state().replaced.clone().map_or(Ok(()), Err)
    }

    /// When all files are in place again, writes are admitted again. No write was acknowledged in between.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let checked = self.guard.check();
        let was = self.replaced.load(Ordering::Acquire);
        if checked.is_ok() && !was {
            return checked;
        }
        let mut state = self.state();
        match &checked {
            Err(error) if state.replaced.is_none() => tracing::error!("{error}"),
            Ok(()) if state.replaced.is_some() => {
                tracing::warn!(
                    database = %self.guard.path().display(),
                    "the database's files are in place again: writes continue"
                );
            }
            _ => {}
        }
        state.replaced = checked.as_ref().err().cloned();
        self.replaced.store(checked.is_err(), Ordering::Release);
        checked
    }

    /// Also checks the revision in the database if it was written since the last check.
    pub(crate) fn check_closely(&self) {
        self.guard.check_revision();
        // `check` stores the result and logs changes.
        let _ = self.check();
    }

    /// Closing must not copy the write-ahead log into the file, because one of the files was replaced.
    pub(crate) fn must_abandon(&self) -> bool {
        self.guard.must_abandon()
    }

    pub(crate) fn committed(&self, result: Result<(), &StoreError>) {
        if let Err(error) = result {
            self.failed(error);
        } else if self.state().failing.take().is_some() {
            tracing::warn!("writes succeed again");
        }
    }

    fn failed(&self, error: &StoreError) {
        use StoreError::{Damaged, Full, Other};
        self.failures.fetch_add(1, Ordering::Relaxed);
        // Other errors are temporary or caused by a statement, so they do not indicate a problem of the disk.
        if !matches!(error, Damaged(_) | Full | Other(_)) {
            return;
        }
        // After a full disk SQLite rolls back the transaction, and later statements fail with other errors.
        let error = if self.is_full() { Full } else { error.clone() };
        let mut state = self.state();
        if state.failing.is_none() {
            let database = self.guard.path().display();
            tracing::error!(%database, "writes fail and are retried every second: {error}");
        }
        state.failing = Some(error);
    }

    /// The last commit failed, and the next one might succeed.
    pub(crate) fn needs_probe(&self) -> bool {
        let state = self.state();
        let without_room = matches!(state.failing, Some(StoreError::Full)) && self.is_full();
        state.replaced.is_none() && state.failing.is_some() && !without_room
    }

    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        let state = self.state();
        state.replaced.as_ref().or(state.failing.as_ref()).map_or(Ok(()), |error| Err(error.clone()))
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        files::is_full(self.guard.path())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
