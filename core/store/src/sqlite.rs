//! The SQLite implementation of the store. Only this file and the files below it use rusqlite.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, ffi};

use super::engine::WriteTx as _;
use super::{StoreError, Tx};

mod checkpoints;
pub mod copy;
mod engine;
mod guard;
mod health;
pub(crate) mod inspect;
mod open;
mod readers;
mod running;
mod tx;
mod watch;

pub(super) use engine::SqliteEngine;
use guard::FileGuard;
pub(super) use health::Health;
pub use open::SCHEMA_VERSION;
use open::{leave_log, open_to_read, refuse_emptied, refuse_no_file};
pub(super) use open::{open, open_and_migrate};
use readers::Readers;
use tx::SqliteTx;

/// Further reads wait for a connection. Half of them may be long.
pub(super) const READERS: usize = 8;
/// "tdng".
const APPLICATION_ID: i64 = 0x7464_6e67;

/// Source: *Database File Format*, section 1.3, <https://sqlite.org/fileformat2.html>.
pub fn is_head_of_ours(head: &[u8; 72]) -> bool {
    let mut application = [0; 4];
    application.copy_from_slice(&head[68..]);
    head.starts_with(b"SQLite format 3\0") && i64::from(u32::from_be_bytes(application)) == APPLICATION_ID
}

/// Returns the version as of the last checkpoint; `None` if these are not the first bytes of a tidings database.
pub fn schema_of_head(head: &[u8; 72]) -> Option<i64> {
    let mut version = [0; 4];
    version.copy_from_slice(&head[60..64]);
    is_head_of_ours(head).then(|| u32::from_be_bytes(version).into())
}

/// Changes with each commit of another connection, in this process or another.
fn data_version(connection: &Connection) -> Result<i64, StoreError> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Copies the write-ahead log into the file and empties it. Returns false if another connection prevents it.
fn checkpoint(connection: &Connection) -> Result<bool, StoreError> {
    let blocked = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    Ok(blocked.map(|blocked: i64| blocked == 0)?)
}

/// Reads the database file itself, without the write-ahead log.
fn revision_of_file(path: &Path) -> Result<i64, StoreError> {
    let connection = open::open_immutable(path)?;
    Ok(connection.query_row("SELECT n FROM revision", [], |row| row.get(0))?)
}

/// Lets a connection leave its files unchanged when it closes, because one of them was replaced.
fn abandon(connection: &Connection) {
    if let Err(error) = leave_log(connection, true) {
        tracing::warn!(%error, "cannot keep SQLite from changing the write-ahead log on close");
    }
}

/// For a connection other than the writer's. `work` may run more than once.
fn write<T, E: From<StoreError>>(
    connection: &Connection,
    mut work: impl FnMut(&mut dyn Tx) -> Result<T, E>,
) -> Result<T, E> {
    let mut tx = SqliteTx::begin_write(connection)?;
    if super::is_replaying() {
        tx.rehearse(|tx| work(tx))?;
    }
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
            Some((ErrorCode::NotADatabase, _)) => Self::Foreign,
            _ => Self::other(error),
        }
    }
}
