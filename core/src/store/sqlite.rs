//! SQLite behind the door; only this file and those under it name rusqlite.

use std::path::Path;

pub(super) use rusqlite::Connection;
use rusqlite::{ErrorCode, ffi};

use super::{StoreError, Tx};

pub(crate) mod copy;
mod guard;
mod health;
pub(crate) mod inspect;
mod open;
mod readers;
mod tx;

pub(super) use guard::FileGuard;
pub(super) use health::Health;
pub use open::SCHEMA_VERSION;
use open::{leave_log, open_to_read, refuse_emptied};
pub(super) use open::{open, open_and_migrate};
#[cfg(test)]
pub(super) use readers::LONG_READERS;
pub(super) use readers::Readers;
pub(super) use tx::SqliteTx;

/// Marks the file as ours (`PRAGMA application_id`): "tdng".
const APPLICATION_ID: i64 = 0x7464_6e67;

/// Whether the first 72 bytes of a file say that it is a database of this program.
///
/// Source: *Database File Format*, section 1.3, <https://sqlite.org/fileformat2.html>.
pub(crate) fn is_head_of_ours(head: &[u8; 72]) -> bool {
    let mut application = [0; 4];
    application.copy_from_slice(&head[68..]);
    head.starts_with(b"SQLite format 3\0") && i64::from(u32::from_be_bytes(application)) == APPLICATION_ID
}

/// Says when another process has committed: the number changes with each commit of another connection.
pub(super) fn data_version(connection: &Connection) -> Result<i64, StoreError> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Brings the write-ahead log into the file and empties it; false when somebody is in the way.
pub(super) fn checkpoint(connection: &Connection) -> Result<bool, StoreError> {
    let in_the_way = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    Ok(in_the_way.map(|in_the_way: i64| in_the_way == 0)?)
}

/// The revision in the database file alone, without what the write-ahead log holds.
pub(super) fn revision_of_file(path: &Path) -> Result<i64, StoreError> {
    let connection = open::open_immutable(path)?;
    Ok(connection.query_row("SELECT n FROM revision", [], |row| row.get(0))?)
}

/// Leaves the files of a connection as they are when it closes: one of them is somebody else's.
pub(super) fn abandon(connection: &Connection) {
    if let Err(error) = leave_log(connection, true) {
        tracing::warn!(%error, "the write-ahead log cannot be left alone");
    }
}

/// Runs `work` in a transaction of its own, on a connection that is not the writer's.
fn write<T, E: From<StoreError>>(
    connection: &Connection,
    work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
) -> Result<T, E> {
    let mut tx = SqliteTx::begin_write(connection)?;
    match work(&mut tx) {
        Ok(value) => Ok(tx.commit().map(|_| value)?),
        Err(error) => {
            tx.rollback();
            Err(error)
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error().map(|e| (e.code, e.extended_code)) {
            Some((_, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY)) => Self::Duplicate,
            Some((_, ffi::SQLITE_CONSTRAINT_FOREIGNKEY)) => Self::Dangling,
            Some((ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _)) => Self::Overloaded,
            Some((ErrorCode::OperationInterrupted, _)) => Self::Interrupted,
            Some((ErrorCode::DiskFull, _)) => Self::Full,
            Some((ErrorCode::DatabaseCorrupt, _)) => Self::Damaged(error.to_string()),
            _ => Self::other(error),
        }
    }
}
