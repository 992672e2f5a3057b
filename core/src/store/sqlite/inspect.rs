//! What SQLite says of a database, for whoever checks it.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::guard::DatabaseFile;
use super::open::open_unchanged;
use super::{APPLICATION_ID, SqliteTx, StoreError, Tx};
use crate::cancel::CancelFlag;

/// Faults that are told; a damaged file has thousands.
const FAULTS: usize = 5;

/// Steps of SQLite's virtual machine between two looks at whether to stop: some milliseconds.
const LOOK_EVERY: i32 = 100_000;

/// A database whose whole is looked at, on a connection of its own.
pub(crate) struct Inspected(
    Connection,
    /// The file that is held open, if it is: closed behind the connection, which loses its locks with it.
    #[expect(dead_code, reason = "it is there to be dropped")]
    Option<Arc<DatabaseFile>>,
);

impl Inspected {
    /// Opens the database at `path`, which has to be there, only to look at it: what runs ends when `stop` is asked.
    ///
    /// # Errors
    /// When it cannot be read, or is somebody else's.
    pub(crate) fn open(path: &Path, stop: &CancelFlag) -> Result<Self, StoreError> {
        super::refuse_emptied(path)?;
        let mut connection = open_unchanged(path)?;
        // Each look is at a moment of its own, so that none keeps the write-ahead log from being emptied for long.
        connection.execute_batch("COMMIT")?;
        stops(&mut connection, stop)?;
        let inspected = Self(connection, None);
        if inspected.number("application_id")? != APPLICATION_ID {
            return Err(StoreError::Foreign);
        }
        Ok(inspected)
    }

    /// What is wrong with the file and the search index, the first few faults; none when they are sound.
    pub(crate) fn integrity(&self) -> Result<Vec<String>, StoreError> {
        integrity(&self.0)
    }

    /// Tables with rows that refer to one that does not exist, and how many they are.
    pub(crate) fn dangling(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1 ORDER BY 1";
        let mut statement = self.0.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The version of its schema.
    pub(crate) fn schema_version(&self) -> Result<i64, StoreError> {
        self.number("user_version")
    }

    /// How large it is.
    pub(crate) fn bytes(&self) -> Result<u64, StoreError> {
        Ok(self.number("page_count")?.unsigned_abs() * self.number("page_size")?.unsigned_abs())
    }

    /// How changes are kept until they are in the file: `wal` in a database that this program has opened.
    pub(crate) fn journal_mode(&self) -> Result<String, StoreError> {
        Ok(self.0.pragma_query_value(None, "journal_mode", |row| row.get(0))?)
    }

    /// Runs `work` on what is committed at this moment.
    ///
    /// # Errors
    /// What `work` answers, and the store's own.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut tx = SqliteTx::begin(&self.0)?;
        let result = work(&mut tx);
        tx.rollback();
        result
    }

    /// Opens the database at `path` to mend it, brought to this program's schema where needed.
    ///
    /// # Errors
    /// As a store that is opened.
    pub(crate) fn open_to_mend(path: &Path) -> Result<Self, StoreError> {
        let (connection, file) = super::open_and_migrate(path)?;
        Ok(Self(connection, Some(file)))
    }

    /// Runs `work` in a transaction of its own: nothing that others wrote is still to be counted.
    ///
    /// # Errors
    /// What `work` answers, and the store's own.
    pub(crate) fn write<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        super::write(&self.0, work)
    }

    fn number(&self, pragma: &str) -> Result<i64, StoreError> {
        Ok(self.0.pragma_query_value(None, pragma, |row| row.get(0))?)
    }
}

/// The version of SQLite in the program, as text and as a number such as 3,051,003.
pub(crate) fn version() -> (&'static str, i32) {
    (rusqlite::version(), rusqlite::version_number())
}

/// Makes what runs on a connection end with `Interrupted` when `stop` is asked.
pub(super) fn stops(connection: &mut Connection, stop: &CancelFlag) -> Result<(), StoreError> {
    let stop = stop.clone();
    Ok(connection.progress_handler(LOOK_EVERY, Some(move || stop.is_set()))?)
}

/// What is wrong with a database, the first few faults.
pub(super) fn integrity(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({FAULTS})"))?;
    let faults = statement.query_map([], |row| row.get::<_, String>(0))?;
    let faults = faults.filter(|fault| fault.as_ref().map_or(true, |fault| fault != "ok"));
    Ok(faults.collect::<Result<_, _>>()?)
}
