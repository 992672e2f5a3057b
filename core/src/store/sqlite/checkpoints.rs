//! Copies the write-ahead log into the database file while the writer goes on.
//!
//! A checkpoint syncs the database file, which takes long on a busy disk. So a thread copies most of the log beside the
//! writer, which then copies the little that it has written meanwhile. After that the log begins again at its start.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::{Health, StoreError, abandon, open};

/// The pages of the write-ahead log after which it is copied: 16 MiB, so that a page that changes often is copied once for
/// many changes.
const PAGES: u64 = 4_096;
/// The further pages after which an incomplete copy is tried again, because a reader was in its way.
const RETRY_PAGES: u64 = 1_024;
/// The pages from which the writer waits for the thread, because the disk is slower than the writes.
const PAGES_MAX: u64 = 4 * PAGES;

/// The thread that copies the log. Ends when it is dropped.
pub(in crate::store) struct Checkpoints {
    state: Arc<State>,
    health: Arc<Health>,
    /// The pages at which the log is copied next.
    next: u64,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    /// The pages in the log after the last commit of the writer.
    pages: AtomicU64,
    /// Whether the thread has been asked to copy the log, and has not finished.
    is_copying: AtomicBool,
    /// Whether the thread has copied the log and the writer has not copied the rest yet.
    has_copied: AtomicBool,
    /// Whether no reader was in the way of that copy.
    is_complete: AtomicBool,
    is_stopped: AtomicBool,
}

impl Checkpoints {
    /// Starts the thread, and counts the pages that `writer` writes.
    pub(in crate::store) fn start(
        path: &Path,
        writer: &mut Connection,
        health: Arc<Health>,
    ) -> Result<Self, StoreError> {
        let state = Arc::<State>::default();
        let counted = Arc::clone(&state);
        // Also replaces the checkpoints that SQLite would run within commits.
        writer.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            counted.pages.store(u64::try_from(pages).unwrap_or_default(), Ordering::Relaxed);
            Ok(())
        }))?;
        let connection = open(path)?;
        let (copied, files) = (Arc::clone(&state), Arc::clone(&health));
        let copy = move || {
            while !copied.is_stopped.load(Ordering::Acquire) {
                if copied.is_copying.load(Ordering::Acquire) {
                    let is_complete = files.check().is_ok() && copy_log(&connection);
                    copied.is_complete.store(is_complete, Ordering::Release);
                    copied.has_copied.store(true, Ordering::Release);
                    copied.is_copying.store(false, Ordering::Release);
                }
                std::thread::park();
            }
            if files.must_abandon() {
                abandon(&connection);
            }
        };
        let thread = std::thread::Builder::new().name("tidings-checkpt".into()).spawn(copy);
        Ok(Self { state, health, next: PAGES, thread: Some(thread.map_err(StoreError::other)?) })
    }

    /// Continues after a commit: starts a copy, or ends one. Takes long only if the log has become very long.
    ///
    /// Copies nothing if the files were replaced, because the log does not belong to the new file.
    pub(in crate::store) fn committed(&mut self, writer: &Connection) {
        let pages = self.state.pages.load(Ordering::Relaxed);
        if pages < PAGES {
            // The log has begun again.
            self.next = PAGES;
        }
        while pages >= PAGES_MAX && self.state.is_copying.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.state.is_copying.load(Ordering::Acquire) {
            return;
        }
        if self.state.has_copied.swap(false, Ordering::AcqRel) {
            // The rest is what the writer has written meanwhile. More may be left if a reader was in the way: that is
            // left to the thread.
            if self.state.is_complete.load(Ordering::Acquire) && self.health.check().is_ok() {
                copy_log(writer);
            }
            self.next = pages + RETRY_PAGES;
        } else if pages >= self.next && self.health.check().is_ok() {
            self.state.is_copying.store(true, Ordering::Release);
            self.unpark();
        }
    }

    /// Returns a function that returns whether the thread copies the log.
    #[cfg(test)]
    pub(in crate::store) fn copying(&self) -> impl Fn() -> bool + 'static + use<> {
        let state = Arc::clone(&self.state);
        move || state.is_copying.load(Ordering::Acquire)
    }

    fn unpark(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.state.is_stopped.store(true, Ordering::Release);
        self.unpark();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Copies as much of the log as readers allow, without waiting for them or for the writer. Returns whether it copied all
/// of it.
fn copy_log(connection: &Connection) -> bool {
    let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        let (busy, pages, copied): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(busy == 0 && pages == copied)
    });
    // The next checkpoint tries again after an error.
    copied.unwrap_or_else(|error| {
        tracing::warn!(%error, "the write-ahead log could not be copied into the database file");
        false
    })
}
