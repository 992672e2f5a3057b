//! Copies the write-ahead log into the database file while the writer goes on, and makes the log begin again at its start.
//!
//! A checkpoint syncs the database file, which takes long on a busy disk. So a thread copies most of the log beside the
//! writer, which then copies the little that it has written meanwhile.
//!
//! The log begins again only when no read uses it, and overlapping reads leave no such moment. But a read that begins while all
//! of the log is in the file does not use the log. So it is enough to write nothing until the earlier reads end. No read waits:
//! from [`PAGES_MAX`] on, the writer pauses for a few milliseconds, and when the log has become longer still, for as long as the
//! reads of this process take.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::open::wait_for_locks;
use super::running::Reads;
use super::{Health, StoreError, abandon, open};

/// The log is copied after this many pages, 16 MiB, so that a page that changes often is copied once for many changes.
const PAGES: u64 = 4_096;
/// An incomplete copy, because a reader was in its way, is tried again after this many further pages.
const RETRY_PAGES: u64 = 1_024;
/// From this length on, 64 MiB, the disk is slower than the writes: the writer waits for the thread, and pauses to make the log
/// begin again.
const PAGES_MAX: u64 = 4 * PAGES;
/// From this length on, 96 MiB, it pauses for longer, if reads of this process are the reason why the log cannot begin again.
const PAGES_LONG: u64 = 6 * PAGES;
/// The length of a pause, in attempts of one millisecond.
const PAUSE_TRIES: i32 = 20;
/// Most reads that take long have a limit of two seconds.
const LONG_PAUSE_MAX: Duration = Duration::from_secs(2);
/// After a pause that was in vain because of another process, the writer goes on for at least this many times its length: it
/// loses at most a twentieth of its time to a reader that stays.
const WRITING: u32 = 20;

/// The thread that copies the log. Ends when it is dropped.
pub(super) struct Checkpoints {
    state: Arc<State>,
    health: Arc<Health>,
    reads: Arc<Reads>,
    /// The log is copied next at this many pages.
    next: u64,
    next_pause: Instant,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    /// After the last commit of the writer.
    pages: AtomicU64,
    /// The thread has been asked to copy the log, and has not finished.
    is_copying: AtomicBool,
    /// The thread has copied the log, and the writer has not copied the rest yet.
    has_copied: AtomicBool,
    /// No reader was in the way of that copy.
    is_complete: AtomicBool,
    is_stopped: AtomicBool,
}

impl Checkpoints {
    /// Also counts the pages that `writer` writes. `reads` has the reads of this process.
    pub(super) fn start(
        path: &Path,
        writer: &mut Connection,
        health: Arc<Health>,
        reads: Arc<Reads>,
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
        let thread = Some(thread.map_err(StoreError::other)?);
        Ok(Self { state, health, reads, next: PAGES, next_pause: Instant::now(), thread })
    }

    /// Starts a copy after a commit, or ends one. Takes long only if the log has become very long. Copies nothing if the files
    /// were replaced, because the log does not belong to the new file.
    pub(super) fn committed(&mut self, writer: &mut Connection) {
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
            self.next = pages + RETRY_PAGES;
            if self.health.check().is_err() {
                return;
            }
            // The rest is what the writer has written meanwhile. More may be left if a reader was in the way: that is
            // left to the thread, unless the log has become long.
            if pages >= PAGES_MAX && Instant::now() >= self.next_pause {
                self.pause(writer, pages);
            } else if self.state.is_complete.load(Ordering::Acquire) {
                copy_log(writer);
            }
        } else if pages >= self.next && self.health.check().is_ok() {
            self.state.is_copying.store(true, Ordering::Release);
            self.unpark();
        }
    }

    /// Writes nothing until the log can begin again, or the pause is over.
    fn pause(&mut self, writer: &mut Connection, pages: u64) {
        let began = Instant::now();
        // Reads that began earlier are in the way.
        let mut since = began;
        let mut is_last = false;
        let are_ours = loop {
            let attempt = restart_log(writer);
            if attempt == Attempt::Restarted {
                self.state.pages.store(0, Ordering::Relaxed);
                self.next = PAGES;
                return;
            }
            if attempt == Attempt::Copied && since == began {
                since = Instant::now();
            }
            let are_ours = self.reads.any_before(since);
            let is_over = pages < PAGES_LONG || began.elapsed() >= LONG_PAUSE_MAX;
            if is_last || are_ours && is_over {
                break are_ours;
            }
            // The last of them may have ended only now, and otherwise another process reads.
            is_last = !are_ours;
        };
        let writing = match are_ours {
            true if pages < PAGES_LONG => 0,
            true => 1,
            false => WRITING,
        };
        self.next_pause = Instant::now() + began.elapsed() * writing;
    }

    #[cfg(test)]
    pub(super) fn copying(&self) -> impl Fn() -> bool + 'static + use<> {
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

/// Does not wait for readers or the writer. Returns whether it copied all of the log.
fn copy_log(connection: &Connection) -> bool {
    checkpoint_with(connection, "PASSIVE") == Attempt::Restarted
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The next commit writes to the start of the log.
    Restarted,
    /// All of the log is in the database file.
    Copied,
    /// A reader, or an error, prevents a part of the copy.
    Blocked,
}

/// Waits for up to 20 ms, in which no other process writes.
fn restart_log(writer: &mut Connection) -> Attempt {
    let wait = |connection: &mut Connection| {
        connection.busy_handler(Some(|tries| {
            std::thread::sleep(Duration::from_millis(1));
            tries < PAUSE_TRIES
        }))
    };
    let attempt = match wait(writer) {
        Ok(()) => checkpoint_with(writer, "RESTART"),
        Err(_) => Attempt::Blocked,
    };
    if let Err(error) = wait_for_locks(writer) {
        tracing::warn!(%error, "the writer does not wait for other processes");
    }
    attempt
}

fn checkpoint_with(connection: &Connection, mode: &str) -> Attempt {
    let attempt = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        let (busy, pages, copied): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // Both are -1 if another process copies.
        let is_copied = pages >= 0 && pages == copied;
        Ok(match (is_copied, busy) {
            (true, 0) => Attempt::Restarted,
            (true, _) => Attempt::Copied,
            (false, _) => Attempt::Blocked,
        })
    });
    // The next checkpoint tries again after an error.
    attempt.unwrap_or_else(|error| {
        tracing::warn!(%error, "the write-ahead log could not be copied into the database file");
        Attempt::Blocked
    })
}
