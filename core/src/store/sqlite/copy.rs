//! Copies of a database, by SQLite's online backup.
//!
//! The copy is of one moment: the source is read in one transaction from the first page to the last, so nothing that
//! is written meanwhile makes it begin anew, and in the write-ahead log's mode whoever reads is in no writer's way.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::open::open_unchanged;
use super::{APPLICATION_ID, StoreError, Tx};
use crate::cancel::CancelFlag;
use crate::files;

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
        stop: &CancelFlag,
    ) -> Result<(), StoreError> {
        let mut target = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // A copy that is not whole is thrown away, so nothing of it has to be undone, nor be on disk before the end.
        target.pragma_update(None, "journal_mode", "OFF")?;
        target.pragma_update(None, "synchronous", "OFF")?;
        let backup = Backup::new(&self.connection, &mut target)?;
        let mut pages = STEP;
        loop {
            if stop.is_set() {
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
    pub(crate) fn check(&mut self, stop: &CancelFlag) -> Result<u64, StoreError> {
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
