//! SQLite's own checks of a database, for the check of the core.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, ErrorCode};

use super::guard::DatabaseFile;
use super::open::open_unchanged;
use super::{APPLICATION_ID, SCHEMA_VERSION, SqliteTx, StoreError, Tx};
use crate::cancel::CancelFlag;
use crate::engine::WriteTx as _;
use crate::inspect::Inspected;

/// A damaged file has thousands of faults.
const FAULTS: usize = 5;

/// Steps of SQLite's virtual machine between two checks for a requested stop: a few milliseconds.
const LOOK_EVERY: i32 = 100_000;

pub struct InspectedFile(
    Connection,
    /// Closed after the connection, because closing it releases the connection's locks.
    #[expect(dead_code, reason = "held only to be closed after the connection")]
    Option<Arc<DatabaseFile>>,
);

impl InspectedFile {
    /// Does not change the database. Statements end when `stop` is requested.
    pub fn open(path: &Path, stop: &CancelFlag) -> Result<Self, StoreError> {
        super::refuse_emptied(path)?;
        let connection = open_unchanged(path).map_err(|error| match error.sqlite_error_code() {
            // The file that is checked was a database.
            Some(ErrorCode::NotADatabase) => StoreError::Damaged(error.to_string()),
            _ => error.into(),
        })?;
        Self::unchanged(connection, stop)
    }

    /// Does not change the database; refuses a newer or older schema. Statements end when `stop` is requested.
    pub fn open_to_copy(path: &Path, stop: &CancelFlag) -> Result<Self, StoreError> {
        super::refuse_emptied(path)?;
        let inspected = Self::unchanged(open_unchanged(path)?, stop)?;
        match inspected.schema_version()? {
            SCHEMA_VERSION => Ok(inspected),
            found if found > SCHEMA_VERSION => Err(StoreError::Newer { found, known: SCHEMA_VERSION }),
            found => Err(StoreError::Older { found, known: SCHEMA_VERSION }),
        }
    }

    fn unchanged(mut connection: Connection, stop: &CancelFlag) -> Result<Self, StoreError> {
        // Each check reads its own snapshot: a long transaction would keep the write-ahead log from being emptied.
        connection.execute_batch("COMMIT")?;
        stops(&mut connection, stop)?;
        let inspected = Self(connection, None);
        if inspected.number("application_id")? != APPLICATION_ID {
            return Err(StoreError::Foreign);
        }
        Ok(inspected)
    }

    /// Returns the first faults of the file and the search index.
    pub fn integrity(&self) -> Result<Vec<String>, StoreError> {
        integrity(&self.0)
    }

    /// Returns the tables that have rows with a reference to a missing row, and the number of such rows.
    pub fn dangling(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1 ORDER BY 1";
        let mut statement = self.0.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn schema_version(&self) -> Result<i64, StoreError> {
        self.number("user_version")
    }

    /// In bytes.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        Ok(self.number("page_count")?.unsigned_abs() * self.number("page_size")?.unsigned_abs())
    }

    /// `wal` in a database that this program has opened.
    pub fn journal_mode(&self) -> Result<String, StoreError> {
        Ok(self.0.pragma_query_value(None, "journal_mode", |row| row.get(0))?)
    }

    /// Updates an older schema.
    pub fn open_for_repair(path: &Path) -> Result<Self, StoreError> {
        let (connection, file) = super::open_and_migrate(path)?;
        Ok(Self(connection, Some(file)))
    }

    /// The caller fills, syncs and renames the empty file at `path`. Statements end when `stop` is requested.
    pub fn create(path: &Path, stop: &CancelFlag) -> Result<Self, StoreError> {
        let (mut connection, file) = super::open_and_migrate(path)?;
        stops(&mut connection, stop)?;
        // An incomplete file is removed, so it needs no syncs. A rollback needs a journal, in memory.
        connection.pragma_update(None, "journal_mode", "MEMORY")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        // All references are checked at the end, which is faster.
        connection.pragma_update(None, "foreign_keys", false)?;
        Ok(Self(connection, Some(file)))
    }

    fn number(&self, pragma: &str) -> Result<i64, StoreError> {
        Ok(self.0.pragma_query_value(None, pragma, |row| row.get(0))?)
    }
}

impl Inspected for InspectedFile {
    fn read_with(&self, work: &mut dyn FnMut(&mut dyn Tx)) -> Result<(), StoreError> {
        let mut tx = SqliteTx::begin(&self.0)?;
        work(&mut tx);
        tx.rollback();
        Ok(())
    }

    fn write_with(&self, work: &mut dyn FnMut(&mut dyn Tx) -> bool) -> Result<(), StoreError> {
        // `None` stands for a rollback that `work` asked for.
        let written = super::write(&self.0, |tx| if work(tx) { Ok(()) } else { Err(None) });
        written.or_else(|error| error.map_or(Ok(()), Err))
    }
}

/// The number is such as 3,051,003.
pub fn version() -> (&'static str, i32) {
    (rusqlite::version(), rusqlite::version_number())
}

/// Statements fail with [`StoreError::Interrupted`] when `stop` is requested.
pub(super) fn stops(connection: &mut Connection, stop: &CancelFlag) -> Result<(), StoreError> {
    let stop = stop.clone();
    Ok(connection.progress_handler(LOOK_EVERY, Some(move || stop.is_set()))?)
}

pub(super) fn integrity(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({FAULTS})"))?;
    let faults = statement.query_map([], |row| row.get::<_, String>(0))?;
    let faults = faults.filter(|fault| fault.as_ref().map_or(true, |fault| fault != "ok"));
    Ok(faults.collect::<Result<_, _>>()?)
}
