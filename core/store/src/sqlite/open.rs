//! Opens databases: configures the connection, updates the schema, and checks that the file was not replaced while it
//! was being opened.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::guard::DatabaseFile;
use super::{APPLICATION_ID, StoreError};
use crate::files::{self, beside, key_file, private};
use crate::missing;

/// The schema of version [`BASE`], and the steps after it, which are applied once each and in order. Until the first release, a
/// change is a further step; the release folds the steps into the schema. A released step is never edited.
const STEPS: [&str; 3] =
    [include_str!("0031_schema.sql"), include_str!("0032_corrections.sql"), include_str!("0033_codes.sql")];

const BASE: usize = 31;

/// The schema version of this program.
#[expect(clippy::cast_possible_wrap, reason = "a handful of steps")]
pub const SCHEMA_VERSION: i64 = (BASE + STEPS.len() - 1) as i64;

/// Transactions wait for one of another process, in attempts of one millisecond. SQLite's own wait sleeps up to 100 ms between
/// attempts, so for seconds it can miss the short pauses of a busy writer.
const BUSY_TRIES: i32 = 20_000;

/// The writer changes the same pages repeatedly.
const WRITER_CACHE_KIB: i64 = 32 << 10;
const READER_CACHE_KIB: i64 = 4 << 10;

/// Fails if the file is missing, because it was then removed.
pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
    let mut connection = Connection::open_with_flags(path, flags)?;
    wait_for_locks(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(256);
    // Otherwise SQLite plans a cached statement that has a join or a limit again for every set of values.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Overwrites deleted content with zeros in pages that are written anyway.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    Ok(connection)
}

pub(super) fn wait_for_locks(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(|tries| {
        std::thread::sleep(Duration::from_millis(1));
        tries < BUSY_TRIES
    }))
}

pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

/// Opens the first connection of a store: creates the file, readable only by its owner, and updates the schema.
///
/// A restore may replace the file while this function waits for a lock; the function then starts again with the new file. After
/// it returns, no restore can replace the file, because the connection holds a lock until it is closed.
///
/// Also returns the open file, which must be closed after all connections.
pub(crate) fn open_and_migrate(path: &Path) -> Result<(Connection, Arc<DatabaseFile>), StoreError> {
    refuse_emptied(path)?;
    make_private(path)?;
    while_replaced(path, |is_current| {
        let file = DatabaseFile::open(path).map_err(StoreError::other)?;
        let mut connection = open(path)?;
        leave_log(&connection, true)?;
        if !migrate(&mut connection, is_current)? {
            return Ok(None);
        }
        // Changing the journal mode releases the lock until the next read, so the file may have been replaced.
        leave_log(&connection, true)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        if !is_current() {
            return Ok(None);
        }
        leave_log(&connection, false)?;
        connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
        Ok(Some((connection, file)))
    })
}

/// Opens the database at a path until its file was not replaced meanwhile: no result for a file with the log of another one
/// counts, not even an error. `open` receives a function that checks that the file is still the same.
fn while_replaced<T, E>(
    path: &Path,
    mut open: impl FnMut(&dyn Fn() -> bool) -> Result<Option<T>, E>,
) -> Result<T, E> {
    loop {
        let before = files::identity(path);
        let is_current = || before == files::identity(path);
        match open(&is_current) {
            Ok(Some(opened)) => return Ok(opened),
            Err(error) if is_current() => return Err(error),
            Ok(None) | Err(_) => {}
        }
    }
}

/// With `leave`, closing the last connection leaves the write-ahead log unchanged. SQLite finds the log by its name, so after a
/// replacement it would remove the log of the new file.
pub(super) fn leave_log(connection: &Connection, leave: bool) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave)?;
    Ok(())
}

/// Returns false, without changes, if the file was replaced before the transaction began.
pub(super) fn migrate(
    connection: &mut Connection,
    is_current: impl Fn() -> bool,
) -> Result<bool, StoreError> {
    let begin = rusqlite::TransactionBehavior::Immediate;
    let tx = connection.transaction_with_behavior(begin)?;
    if !is_current() {
        return Ok(false);
    }
    leave_log(&tx, false)?;
    let pragma = |name: &str| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, found) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID && tables > 0 {
        return Err(StoreError::Foreign);
    }
    if found > SCHEMA_VERSION {
        return Err(StoreError::Newer { found, known: SCHEMA_VERSION });
    }
    for step in missing(&STEPS, BASE, found)? {
        tx.execute_batch(step)?;
    }
    if found < SCHEMA_VERSION {
        tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    tx.commit()?;
    Ok(true)
}

/// Refuses names that SQLite does not take for those of files, and pipes and devices, which would block or lose the data.
pub(super) fn refuse_no_file(path: &Path) -> Result<(), StoreError> {
    let name = path.to_string_lossy();
    let is_special = ["", "-", ":memory:"].contains(&&*name) || name.starts_with("file:");
    let is_other = || fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir());
    let what = match () {
        () if is_special => "is not the name of a file",
        () if is_other() => "is not a file",
        () => return Ok(()),
    };
    Err(StoreError::NotAFile { path: path.to_owned(), what })
}

/// Like [`refuse_no_file`]. Also refuses an empty file that was a database, because it would silently become a new database, and
/// a missing file whose write-ahead log exists, because SQLite would remove the log.
pub(super) fn refuse_emptied(path: &Path) -> Result<(), StoreError> {
    refuse_no_file(path)?;
    let has = |file: &Path| fs::metadata(file).is_ok_and(|about| about.len() > 0);
    let path = &files::resolved(path).unwrap_or_else(|_| path.to_owned());
    // Checked before the size of the database, because a process that creates a database creates these files later.
    let traces = [beside(path, "-wal"), key_file(path)].into_iter().find(|file| has(file));
    let Some(beside) = traces else { return Ok(()) };
    let is_log = beside == files::beside(path, "-wal");
    let emptied = match fs::metadata(path) {
        Ok(about) => about.is_file() && about.len() == 0,
        Err(error) => is_log && error.kind() == io::ErrorKind::NotFound,
    };
    if emptied { Err(StoreError::Emptied { database: path.clone(), beside }) } else { Ok(()) }
}

/// SQLite gives the files next to the database the same mode.
///
/// Does not open an existing file, because closing it would release the locks of this process's other connections. Only checks
/// that it is writable.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let made = match files::writable(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            private(OpenOptions::new().create(true).append(true)).open(path).map(drop)
        }
        asked => asked,
    };
    made.map_err(|error| {
        let directory = files::directory(path);
        // A link to nowhere is not found either.
        if error.kind() == io::ErrorKind::NotFound && !directory.exists() {
            return StoreError::NoDirectory(directory.to_owned());
        }
        StoreError::other(format!("cannot open {} for writing: {error}", path.display()))
    })
}

/// Also begins a transaction.
pub(super) fn open_unchanged(path: &Path) -> rusqlite::Result<Connection> {
    let begin = |mut connection: Connection| -> rusqlite::Result<Connection> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "query_only", true)?;
        wait_for_locks(&mut connection)?;
        connection.execute_batch("BEGIN")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    while_replaced(path, |is_current| {
        // Opened for writing if possible, because a read-only connection cannot remove the log when it is the last one
        // to close.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = match Connection::open_with_flags(path, flags).and_then(begin) {
            // As in `open_and_migrate`, a restore may have replaced the file.
            Ok(connection) if is_current() => {
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
                return Ok(Some(connection));
            }
            Ok(_) => return Ok(None),
            Err(error) => error,
        };
        // In a read-only directory SQLite cannot create the index of the write-ahead log. If there is no log, the file is
        // complete and no process writes to it.
        let is_read_only =
            matches!(failed.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly));
        if !is_read_only || !path.is_file() || fs::exists(beside(path, "-wal")).unwrap_or(true) {
            return Err(failed);
        }
        open_immutable(path).and_then(begin).map(Some)
    })
}

/// Opens a database file without its write-ahead log and without locks.
pub(super) fn open_immutable(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(immutable(path), flags)
}

fn immutable(path: &Path) -> String {
    const SPECIAL: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'?').add(b'#').add(b'"');
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    format!("file://{}?immutable=1", percent_encode(path.as_os_str().as_encoded_bytes(), SPECIAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection has the lock that keeps a restore away while it has the log open.
    #[test]
    fn an_opened_database_is_locked_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let _opened = open_and_migrate(&path).unwrap();
        assert!(beside(&path, "-wal").exists());
    }

    #[test]
    fn an_error_counts_only_if_the_file_was_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("a.db"), directory.path().join("b.db"));
        fs::write(&path, "").unwrap();
        let mut tries = 0;
        let opened = while_replaced(&path, |is_current| {
            tries += 1;
            assert!(is_current());
            if tries < 3 {
                fs::write(&other, "").unwrap();
                fs::rename(&other, &path).unwrap();
            }
            match tries {
                1 => Err("the log of another file"),
                2 => Ok(None),
                _ => Ok(Some(tries)),
            }
        });
        assert_eq!(opened, Ok(3));
        let failed: Result<(), _> = while_replaced(&path, |_| Err("the disk is full"));
        assert_eq!(failed, Err("the disk is full"));
    }
}
