//! Copies of a database, by SQLite's online backup.
//!
//! The copy is of one moment: the source is read in one transaction from the first page to the last, so nothing that
//! is written meanwhile makes it begin anew, and in the write-ahead log's mode whoever reads is in no writer's way.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{APPLICATION_ID, StoreError, Tx};
use crate::files::{self, beside};
use crate::stop::Stop;

/// Pages that are copied in one go, 1 MiB at first; then as many as take about [`STEP_TIME`].
const STEP: i32 = 256;
const STEPS: RangeInclusive<i32> = 16..=4_096;
/// How long the disk may be busy with a step, and is left to others after it.
const STEP_TIME: Duration = Duration::from_millis(10);

/// What a copy does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many bytes are copied, of so many.
    Copying {
        /// Bytes that are copied.
        done: u64,
        /// Bytes of the whole database.
        of: u64,
    },
    /// What was copied is read once more.
    Checking,
}

/// A database that is only read, as it is at one moment.
pub(crate) struct Source {
    connection: Connection,
    /// Bytes of a page.
    page: u64,
}

impl Source {
    /// Opens the database at `path`, which has to be there, has to be ours, and is left as it is.
    ///
    /// # Errors
    /// When it cannot be read, or is not ours.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = open_unchanged(path).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::Foreign,
            _ => error.into(),
        })?;
        let page = connection.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0))?;
        let source = Self { connection, page: page.unsigned_abs() };
        if source.pragma("application_id")? != APPLICATION_ID {
            return Err(StoreError::Foreign);
        }
        Ok(source)
    }

    /// The version of its schema.
    pub(crate) fn schema_version(&self) -> Result<i64, StoreError> {
        self.pragma("user_version")
    }

    /// How large it is.
    pub(crate) fn bytes(&self) -> Result<u64, StoreError> {
        Ok(self.pragma("page_count")?.unsigned_abs() * self.page)
    }

    /// Its rows, all tables together.
    pub(crate) fn rows(&self) -> Result<u64, StoreError> {
        rows(&self.connection)
    }

    fn pragma(&self, name: &str) -> Result<i64, StoreError> {
        Ok(self.connection.pragma_query_value(None, name, |row| row.get(0))?)
    }

    /// Copies it over the empty file at `to`, step by step with pauses between, so that whoever writes meanwhile has
    /// the disk as well.
    ///
    /// # Errors
    /// When there is no room, when the disk fails, and when `stop` is asked.
    pub(crate) fn copy(
        &self,
        to: &Path,
        progress: &mut dyn FnMut(Step),
        stop: &Stop,
    ) -> Result<(), StoreError> {
        let mut target = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // A copy that is not whole is thrown away, so nothing of it has to be undone, nor be on disk before the end.
        target.pragma_update(None, "journal_mode", "OFF")?;
        target.pragma_update(None, "synchronous", "OFF")?;
        let backup = Backup::new(&self.connection, &mut target)?;
        let mut pages = STEP;
        loop {
            if stop.is_asked() {
                return Err(StoreError::Interrupted);
            }
            let began = Instant::now();
            let result = backup.step(pages)?;
            let took = began.elapsed();
            let at = backup.progress();
            let bytes = |pages: i32| u64::from(pages.unsigned_abs()) * self.page;
            progress(Step::Copying { done: bytes(at.pagecount - at.remaining), of: bytes(at.pagecount) });
            if result == StepResult::Done {
                return Ok(());
            }
            let fits = if took > STEP_TIME { pages / 2 } else { pages * 2 };
            pages = fits.clamp(*STEPS.start(), *STEPS.end());
            std::thread::sleep(took.min(STEP_TIME));
        }
    }
}

/// A copy, before anybody uses it.
pub(crate) struct Copied(Connection);

impl Copied {
    /// Opens the copy at `path`, as one file with nothing beside it.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(Self(connection))
    }

    /// Its rows, all tables together, once SQLite has found nothing wrong with it.
    ///
    /// # Errors
    /// When something is; when `stop` is asked.
    pub(crate) fn check(&mut self, stop: &Stop) -> Result<u64, StoreError> {
        super::inspect::stops(&mut self.0, stop)?;
        let faults = super::inspect::integrity(&self.0)?;
        if !faults.is_empty() {
            return Err(StoreError::Damaged(faults.join("; ")));
        }
        rows(&self.0)
    }

    /// Changes it in a transaction.
    ///
    /// # Errors
    /// What `work` answers, and the store's own.
    pub(crate) fn write<E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<(), E>,
    ) -> Result<(), E> {
        super::write(&self.0, work)
    }

    /// Makes it ready to be a service's database.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn ready(self) -> Result<(), StoreError> {
        Ok(self.0.pragma_update(None, "journal_mode", "WAL")?)
    }
}

/// Brings the write-ahead log of the database at `path` into the file, so that the file is all there is of it.
///
/// # Errors
/// `Overloaded` when it is open anywhere, in this process too; another one when it is damaged, or not there.
pub(crate) fn settle(path: &Path) -> Result<(), StoreError> {
    let before = files::identity(path);
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    super::leave_log(&connection, true)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // In every mode of the journal this takes the lock that everybody who has it open keeps a part of.
    connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
    if before != files::identity(path) {
        return Err(StoreError::Overloaded);
    }
    super::leave_log(&connection, false)?;
    super::checkpoint(&connection).map(drop)
}

/// Whether the first 72 bytes of a file say that it is a database of this program.
///
/// Source: *Database File Format*, section 1.3, <https://sqlite.org/fileformat2.html>.
pub(crate) fn is_head_of_ours(head: &[u8; 72]) -> bool {
    let mut application = [0; 4];
    application.copy_from_slice(&head[68..]);
    head.starts_with(b"SQLite format 3\0") && i64::from(u32::from_be_bytes(application)) == APPLICATION_ID
}

/// Opens a database to read it, in a transaction that has begun, and changes nothing of it.
pub(super) fn open_unchanged(path: &Path) -> rusqlite::Result<Connection> {
    let begin = |mut connection: Connection| -> rusqlite::Result<Connection> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "query_only", true)?;
        super::wait_patiently(&mut connection)?;
        connection.execute_batch("BEGIN")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    loop {
        let before = files::identity(path);
        // Not only to read where more is allowed, or the last one to close it leaves its log behind.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = match Connection::open_with_flags(path, flags).and_then(begin) {
            // As with the first connection, a restore may have come before.
            Ok(connection) if before == files::identity(path) => {
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
                return Ok(connection);
            }
            Ok(_) => continue,
            Err(error) => error,
        };
        // In a place that may only be read SQLite cannot make the files that readers of a write-ahead log share. Where
        // there is no such log the file is all there is, and nobody writes it.
        let no_place =
            matches!(failed.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly));
        if !no_place || !path.is_file() || fs::exists(beside(path, "-wal")).unwrap_or(true) {
            return Err(failed);
        }
        return open_immutable(path).and_then(begin);
    }
}

/// Opens a database file as it is, without its write-ahead log and without locks.
pub(super) fn open_immutable(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(immutable(path), flags)
}

/// The address of a file that does not change.
fn immutable(path: &Path) -> String {
    const SPECIAL: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'?').add(b'#').add(b'"');
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    format!("file://{}?immutable=1", percent_encode(path.as_os_str().as_encoded_bytes(), SPECIAL))
}

fn rows(connection: &Connection) -> Result<u64, StoreError> {
    // Not the tables that SQLite keeps for itself and for the search index.
    let sql = "SELECT name FROM pragma_table_list
               WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'";
    let mut tables = connection.prepare(sql)?;
    let tables = tables.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    tables.iter().try_fold(0, |sum, table| {
        let sql = format!("SELECT count(*) FROM \"{}\"", table.replace('"', "\"\""));
        Ok(sum + connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
    })
}
