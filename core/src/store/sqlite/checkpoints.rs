//! Copies the write-ahead log into the database file while the writer goes on.
//!
//! A checkpoint syncs the database file, which takes long on a busy disk. So a thread copies most of the log beside the
//! writer, which then copies the little that it has written meanwhile. After that the log begins again at its start.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::{Health, StoreError, abandon, open};

/// The pages of the write-ahead log after which it is copied: 16 MiB, so that a page that changes often is copied once for
/// many changes.
const PAGES: u64 = 4_096;
/// The pages after which the writer copies the log itself, because the thread is too slow or readers were in its way.
const PAGES_MAX: u64 = 4 * PAGES;

/// The thread that copies the log. Ends when it is dropped.
pub(in crate::store) struct Checkpoints {
    state: Arc<State>,
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
        let copied = Arc::clone(&state);
        let copy = move || {
            while !copied.is_stopped.load(Ordering::Acquire) {
                if copied.is_copying.load(Ordering::Acquire) {
                    if health.last_check().is_ok() {
                        copy_log(&connection);
                    }
                    copied.has_copied.store(true, Ordering::Release);
                    copied.is_copying.store(false, Ordering::Release);
                }
                std::thread::park();
            }
            if health.must_abandon() {
                abandon(&connection);
            }
        };
        let thread = std::thread::Builder::new().name("tidings-checkpt".into()).spawn(copy);
        Ok(Self { state, next: PAGES, thread: Some(thread.map_err(StoreError::other)?) })
    }

    /// Continues after a commit: starts a copy, or ends one. Takes long only if the log has become very long.
    pub(in crate::store) fn committed(&mut self, writer: &Connection) {
        let pages = self.state.pages.load(Ordering::Relaxed);
        if pages < PAGES {
            // The log has begun again.
            self.next = PAGES;
        }
        let is_copying = self.state.is_copying.load(Ordering::Acquire);
        if self.state.has_copied.load(Ordering::Acquire) && !is_copying {
            self.state.has_copied.store(false, Ordering::Release);
            copy_log(writer);
        } else if pages >= self.next && !is_copying {
            if pages >= PAGES_MAX {
                copy_log(writer);
            } else {
                self.state.is_copying.store(true, Ordering::Release);
                self.unpark();
            }
            // If the log does not begin again, a reader needs it: another copy is worth while after more pages.
            self.next = pages + PAGES;
        }
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

/// Copies as much of the log as readers allow, without waiting for them or for the writer.
fn copy_log(connection: &Connection) {
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        // The next checkpoint tries again.
        tracing::warn!(%error, "the write-ahead log could not be copied into the database file");
    }
}
