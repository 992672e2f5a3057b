//! Whether writes can be made: what the last ones came to, and whether the files are still there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::guard::FileGuard;
use crate::files;
use crate::store::StoreError;

/// What is known of writes.
pub(in crate::store) struct Health {
    guard: FileGuard,
    /// Whether the files are no longer those that were opened: what follows from `state`, for the writer to read often.
    replaced: AtomicBool,
    state: Mutex<State>,
    /// Commits that failed.
    failures: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Why the files are no longer those that were opened.
    replaced: Option<StoreError>,
    /// Why the last commit failed.
    failing: Option<StoreError>,
}

impl Health {
    pub(in crate::store) fn new(guard: FileGuard) -> Self {
        Self { guard, replaced: AtomicBool::new(false), state: Mutex::default(), failures: AtomicU64::new(0) }
    }

    /// How the files were when they were last looked at.
    ///
    /// # Errors
    /// [`StoreError::Replaced`].
    pub(in crate::store) fn last_check(&self) -> Result<(), StoreError> {
        if !self.replaced.load(Ordering::Acquire) {
            return Ok(());
        }
        self.state().replaced.clone().map_or(Ok(()), Err)
    }

    /// Looks at the files, and remembers how they are. Once all are back, writes are admitted again: none was
    /// acknowledged meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Replaced`].
    pub(in crate::store) fn check(&self) -> Result<(), StoreError> {
        let checked = self.guard.check();
        let was = self.replaced.load(Ordering::Acquire);
        if checked.is_ok() && !was {
            return checked;
        }
        let mut state = self.state();
        match &checked {
            Err(error) if state.replaced.is_none() => tracing::error!("{error}"),
            Ok(()) if state.replaced.is_some() => {
                tracing::warn!(database = %self.guard.path().display(), "the database's files are back: writes go on");
            }
            _ => {}
        }
        state.replaced = checked.as_ref().err().cloned();
        self.replaced.store(checked.is_err(), Ordering::Release);
        checked
    }

    /// As [`Health::check`], and at what the file holds when it was written since.
    pub(in crate::store) fn check_closely(&self) {
        self.guard.check_revision();
        // It remembers what it finds, and says so.
        let _ = self.check();
    }

    /// Whether closing may not bring the write-ahead log into the file, because one of both is somebody else's.
    pub(in crate::store) fn must_abandon(&self) -> bool {
        self.guard.must_abandon()
    }

    /// Remembers what a commit came to.
    pub(in crate::store) fn committed(&self, result: Result<(), &StoreError>) {
        match result {
            Ok(()) => self.succeeded(),
            Err(error) => self.failed(error),
        }
    }

    fn succeeded(&self) {
        let mut state = self.state();
        if state.failing.take().is_some() {
            tracing::warn!("writes succeed again");
        }
    }

    fn failed(&self, error: &StoreError) {
        use StoreError::{Damaged, Full, Other};
        self.failures.fetch_add(1, Ordering::Relaxed);
        // What depends on the moment or on the statement says nothing of the disk.
        if !matches!(error, Damaged(_) | Full | Other(_)) {
            return;
        }
        // SQLite undoes a transaction that finds no room, and what comes next fails for the lack of it.
        let error = if self.is_full() { Full } else { error.clone() };
        let mut state = self.state();
        if state.failing.is_none() {
            let database = self.guard.path().display();
            tracing::error!(%database, "writes fail, and are tried again every second: {error}");
        }
        state.failing = Some(error);
    }

    /// Whether the last commit failed and another one might succeed, so that one should be tried.
    pub(in crate::store) fn needs_probe(&self) -> bool {
        let state = self.state();
        let without_room = matches!(state.failing, Some(StoreError::Full)) && self.is_full();
        state.replaced.is_none() && state.failing.is_some() && !without_room
    }

    /// Whether a write can be made, as far as is known.
    ///
    /// # Errors
    /// Why not.
    pub(in crate::store) fn writable(&self) -> Result<(), StoreError> {
        let state = self.state();
        state.replaced.as_ref().or(state.failing.as_ref()).map_or(Ok(()), |error| Err(error.clone()))
    }

    /// How many commits failed.
    pub(in crate::store) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        files::is_full(self.guard.path())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
