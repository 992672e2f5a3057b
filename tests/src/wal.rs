//! Counts the pages that other programs write to write-ahead logs.
//!
//! SQLite reuses the file of a log: once a checkpoint has copied all of it, the next frames start at the beginning of the file
//! again, under a new salt, so the size of the file does not show how much was written. The number of frames is read from the
//! log's index. When the salt has changed, the log shows where the frames of the earlier salt end.
//!
//! Source: *WAL-mode File Format*, sections 2 and 3, <https://sqlite.org/walformat.html>, and *Database File Format*, section
//! 4.1, <https://sqlite.org/fileformat2.html>.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// In bytes. The index has two copies of the header.
const INDEX_HEADER: usize = 48;
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;
/// The position of the first salt in the header of a frame.
const FRAME_SALT: u64 = 8;
/// The number of reads of the index while a writer changes its header.
const ATTEMPTS: u32 = 1_000;
/// The interval in which a [`WalWatch`] reads the index: shorter than a fast writer takes to fill a log.
const INTERVAL: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    /// Grows by one when the log starts again.
    salt: u32,
    /// The number of committed frames, each of which holds a page.
    frames: u32,
    page_size: u64,
}

impl State {
    /// Returns `None` if both copies of the header differ, because a writer is changing them.
    fn parse(index: &[u8; 2 * INDEX_HEADER]) -> Option<Self> {
        let (header, copy) = index.split_at(INDEX_HEADER);
        let four = |at: usize| header[at..at + 4].try_into().expect("four bytes");
        let page_size = u16::from_ne_bytes([header[14], header[15]]);
        let is_initialised = header[12] != 0;
        (header == copy && is_initialised).then(|| Self {
            // The index has the byte order of the machine, except for the salts.
            salt: u32::from_be_bytes(four(32)),
            frames: u32::from_ne_bytes(four(16)),
            // 65,536 does not fit and is stored as 1.
            page_size: if page_size == 1 { 65_536 } else { page_size.into() },
        })
    }

    /// Frames are counted from 0.
    fn position(&self, frame: u32) -> u64 {
        LOG_HEADER + u64::from(frame) * (FRAME_HEADER + self.page_size)
    }
}

struct WalPages {
    log: File,
    index: File,
    state: State,
    pages: u64,
}

impl WalPages {
    fn open(database: &Path) -> io::Result<Self> {
        let file = |suffix: &str| {
            let mut name = database.as_os_str().to_owned();
            name.push(suffix);
            File::open(name)
        };
        let (log, index) = (file("-wal")?, file("-shm")?);
        let state = state(&index)?;
        Ok(Self { log, index, state, pages: 0 })
    }

    /// Returns the pages that were written since [`WalPages::open`].
    ///
    /// The number is exact if the log started again at most once since the last call, and is shorter than before. If it
    /// started again more often, each log in between counts with the number of frames for which the file has room.
    fn count(&mut self) -> io::Result<u64> {
        let now = state(&self.index)?;
        let before = std::mem::replace(&mut self.state, now);
        self.pages += match now.salt.wrapping_sub(before.salt) {
            0 => u64::from(now.frames.saturating_sub(before.frames)),
            1 => u64::from(self.end_of(before)? - before.frames + now.frames),
            starts => {
                let room = self.log.metadata()?.len().saturating_sub(LOG_HEADER);
                let room = room / (FRAME_HEADER + now.page_size);
                (u64::from(starts) * room).saturating_sub(before.frames.into()) + u64::from(now.frames)
            }
        };
        Ok(self.pages)
    }

    /// Returns the number of frames with which the log of an earlier state ended.
    ///
    /// Frames of the current log may have replaced the first of them. Older frames may follow.
    fn end_of(&self, before: State) -> io::Result<u32> {
        let mut end = before.frames;
        for frame in before.frames.. {
            let mut salt = [0; 4];
            match self.log.read_exact_at(&mut salt, before.position(frame) + FRAME_SALT) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                read => read?,
            }
            match u32::from_be_bytes(salt).wrapping_sub(before.salt) {
                0 => end = frame + 1,
                1 => {}
                _ => break,
            }
        }
        Ok(end)
    }
}

fn state(index: &File) -> io::Result<State> {
    for _ in 0..ATTEMPTS {
        let mut headers = [0; 2 * INDEX_HEADER];
        index.read_exact_at(&mut headers, 0)?;
        if let Some(state) = State::parse(&headers) {
            return Ok(state);
        }
        thread::yield_now();
    }
    Err(io::Error::other("the index of the write-ahead log is incomplete"))
}

/// Counts the pages of a log on a thread of its own.
#[derive(Debug)]
pub struct WalWatch {
    stop: Sender<()>,
    thread: JoinHandle<io::Result<u64>>,
}

impl WalWatch {
    /// Begins to count the pages that are written to the log of this database.
    pub fn start(database: &Path) -> io::Result<Self> {
        let mut log = WalPages::open(database)?;
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            loop {
                let is_last = stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout);
                let pages = log.count()?;
                if is_last {
                    return Ok(pages);
                }
            }
        });
        Ok(Self { stop, thread })
    }

    /// Stops, and returns the number of pages.
    pub fn finish(self) -> io::Result<u64> {
        drop(self.stop);
        self.thread.join().map_err(|_| io::Error::other("counting pages panicked"))?
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// Opens a database whose log is never copied by itself, and which grows by at least a page with each row.
    fn database(directory: &Path) -> (std::path::PathBuf, Connection) {
        let path = directory.join("0.db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        connection.execute_batch("CREATE TABLE t (text TEXT)").unwrap();
        (path, connection)
    }

    fn insert(connection: &Connection, rows: u32) {
        connection.execute_batch("BEGIN").unwrap();
        for _ in 0..rows {
            connection.execute("INSERT INTO t VALUES (hex(zeroblob(3000)))", []).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
    }

    /// Copies the log, so that it starts again with the next commit, and returns the number of its frames.
    fn checkpoint(connection: &Connection) -> u64 {
        let frames: u32 =
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1)).unwrap();
        frames.into()
    }

    #[test]
    fn pages_are_counted_when_the_log_starts_again_between_two_counts() {
        let directory = tempfile::tempdir().unwrap();
        let (path, connection) = database(directory.path());
        let mut pages = WalPages::open(&path).unwrap();
        checkpoint(&connection);
        assert_eq!(pages.count().unwrap(), 0);
        let mut written = 0;
        // The new log is shorter than, longer than, and as long as the part of the earlier log that was counted.
        for (counted, rest, next) in [(10, 30, 5), (2, 30, 20), (10, 5, 10), (1, 30, 7)] {
            insert(&connection, counted);
            pages.count().unwrap();
            insert(&connection, rest);
            written += checkpoint(&connection);
            insert(&connection, next);
            let now = written + checkpoint(&connection);
            assert_eq!(pages.count().unwrap(), now, "{counted} {rest} {next}");
            written = now;
        }
        // Several logs between two counts are estimated.
        let before = pages.count().unwrap();
        insert(&connection, 50);
        pages.count().unwrap();
        written = checkpoint(&connection);
        for _ in 0..3 {
            insert(&connection, 50);
            written += checkpoint(&connection);
        }
        let estimated = pages.count().unwrap() - before;
        assert!(estimated.abs_diff(written) <= written / 10, "{estimated} of {written}");
        let watch = WalWatch::start(&path).unwrap();
        insert(&connection, 20);
        assert_eq!(watch.finish().unwrap(), checkpoint(&connection));
    }
}
