//! Copies of a database, made with SQLite's online backup.
//!
//! A copy is one snapshot: the source is read in a single transaction, so concurrent writes do not restart the copy, and with a
//! write-ahead log readers do not block writers.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::open::{migrate, open_unchanged};
use super::{APPLICATION_ID, StoreError, Tx};
use crate::cancel::CancelFlag;
use crate::files;
use crate::step::Step;

/// The pages of the first step: 1 MiB. The size of later steps is adjusted to [`STEP_TIME`], within [`STEPS`].
const STEP: i32 = 256;
const STEPS: RangeInclusive<i32> = 16..=4_096;
/// Target duration of a step, and maximum pause after it, which leaves the disk to other processes.
const STEP_TIME: Duration = Duration::from_millis(10);

pub struct Source {
    connection: Connection,
    /// In bytes.
    page: u64,
}

impl Source {
    /// Does not change the database.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        super::refuse_no_file(path)?;
        let connection = open_unchanged(path)?;
        let page = connection.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0))?;
        let source = Self { connection, page: page.unsigned_abs() };
        if source.pragma("application_id")? != APPLICATION_ID {
            return Err(StoreError::Foreign);
        }
        Ok(source)
    }

    pub fn schema_version(&self) -> Result<i64, StoreError> {
        self.pragma("user_version")
    }

    /// In bytes.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        Ok(self.pragma("page_count")?.unsigned_abs() * self.page)
    }

    /// Of all tables together.
    pub fn rows(&self) -> Result<u64, StoreError> {
        rows(&self.connection)
    }

    fn pragma(&self, name: &str) -> Result<i64, StoreError> {
        Ok(self.connection.pragma_query_value(None, name, |row| row.get(0))?)
    }

    /// Copies to the empty file at `to`, in steps with pauses, so that other processes can use the disk too.
    pub fn copy(
        &self,
        to: &Path,
        progress: &mut dyn FnMut(Step),
        stop: &CancelFlag,
    ) -> Result<(), StoreError> {
        let mut target = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // An incomplete copy is removed, so it needs neither a journal nor syncs.
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

/// A finished copy that is not in use yet.
pub struct Copied(Connection);

impl Copied {
    /// Opens the copy without a write-ahead log, so that it stays a single file.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(Self(connection))
    }

    pub fn migrate(&mut self) -> Result<(), StoreError> {
        migrate(&mut self.0, || true).map(drop)
    }

    /// Writes the rows to the empty file at `to`, without unused pages and parts of pages.
    pub fn compact(&mut self, to: &Path, stop: &CancelFlag) -> Result<(), StoreError> {
        super::inspect::stops(&mut self.0, stop)?;
        let to = to.to_str().ok_or_else(|| StoreError::other("the path is not UTF-8"))?;
        self.0.execute("VACUUM INTO ?1", [to])?;
        Ok(())
    }

    /// Checks the integrity of the copy and returns the number of rows of all tables together.
    pub fn check(&mut self, stop: &CancelFlag) -> Result<u64, StoreError> {
        super::inspect::stops(&mut self.0, stop)?;
        let faults = super::inspect::integrity(&self.0)?;
        if !faults.is_empty() {
            return Err(StoreError::Damaged(faults.join("; ")));
        }
        rows(&self.0)
    }

    pub fn write<E: From<StoreError>>(
        &self,
        work: impl FnMut(&mut dyn Tx) -> Result<(), E>,
    ) -> Result<(), E> {
        super::write(&self.0, work)
    }

    /// Switches to a write-ahead log, for use by a service.
    pub fn ready(self) -> Result<(), StoreError> {
        Ok(self.0.pragma_update(None, "journal_mode", "WAL")?)
    }
}

/// Copies the write-ahead log into the file, so that the file contains the whole database. [`StoreError::Overloaded`] means that
/// a process, maybe this one, has the database open.
pub fn settle(path: &Path) -> Result<(), StoreError> {
    let before = files::identity(path);
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    super::leave_log(&connection, true)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // In every journal mode this needs a lock that conflicts with those of all open connections.
    connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
    if before != files::identity(path) {
        return Err(StoreError::Overloaded);
    }
    super::leave_log(&connection, false)?;
    super::checkpoint(&connection).map(drop)
}

fn rows(connection: &Connection) -> Result<u64, StoreError> {
    // Excludes the internal tables of SQLite and of the search index.
    let sql = "SELECT name FROM pragma_table_list
               WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'";
    let mut tables = connection.prepare(sql)?;
    let tables = tables.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    tables.iter().try_fold(0, |sum, table| {
        let sql = format!("SELECT count(*) FROM \"{}\"", table.replace('"', "\"\""));
        Ok(sum + connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
    })
}
