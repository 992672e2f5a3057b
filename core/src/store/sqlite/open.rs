//! Opening a database: its settings, its schema, and that it is the file that was meant.

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
use crate::files::{self, beside, key_file, private, word_model};

/// The schema's steps, each applied once and in order; a released one is never edited.
const MIGRATIONS: [&str; 5] = [
    include_str!("0001_initial.sql"),
    include_str!("0002_analysis.sql"),
    include_str!("0003_acts.sql"),
    include_str!("0004_paths.sql"),
    include_str!("0005_names.sql"),
];

/// The schema that this program writes: the number of its migrations.
#[expect(clippy::cast_possible_wrap, reason = "a handful of migrations")]
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// How long a transaction waits for another process's, in tries of a millisecond.
///
/// SQLite's own wait sleeps up to 100 ms between tries and so can miss, for seconds, the short moments in
/// which a busy writer lets go.
const BUSY_TRIES: i32 = 20_000;

/// Memory for pages: the writer's, so that it need not read what it changes again and again, and each reader's.
const WRITER_CACHE_KIB: i64 = 32 << 10;
const READER_CACHE_KIB: i64 = 4 << 10;

/// Pages of the write-ahead log after which the writer brings it into the file: 16 MiB, so that pages which change
/// often are brought there once for many changes.
const CHECKPOINT_PAGES: i64 = 4_096;

/// A connection as every process opens it. It makes no file: one that is missing was removed.
pub(in crate::store) fn open(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
    let mut connection = Connection::open_with_flags(path, flags)?;
    wait_patiently(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(256);
    // Or every cached statement with a join or a limit is planned anew at each use, for the values bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // What is deleted or written over does not stay in its page, which is written anyway.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    Ok(connection)
}

/// Makes a connection wait while another process holds the database.
pub(super) fn wait_patiently(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(|tries| {
        std::thread::sleep(Duration::from_millis(1));
        tries < BUSY_TRIES
    }))
}

/// A connection that refuses to write.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

/// The first connection: makes the file, readable by its owner alone, and brings its schema up to date.
///
/// While it waited for its turn, a restore may have put another file in the place of the one it opened: then it begins
/// anew. Once it has had its turn none can, for the connection keeps a lock as long as it is open.
///
/// The file is also held open, from before until after all connections.
pub(in crate::store) fn open_and_migrate(path: &Path) -> Result<(Connection, Arc<DatabaseFile>), StoreError> {
    loop {
        refuse_emptied(path)?;
        make_private(path)?;
        let file = DatabaseFile::open(path).map_err(StoreError::other)?;
        let before = files::identity(path);
        let mut connection = open(path)?;
        leave_log(&connection, true)?;
        let is_meant = || before == files::identity(path);
        if !migrate(&mut connection, is_meant)? {
            continue;
        }
        // A file that had another journal was nobody's for a moment.
        leave_log(&connection, true)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        if is_meant() {
            leave_log(&connection, false)?;
            connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
            connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
            return Ok((connection, file));
        }
    }
}

/// Whether the last connection of a file to close leaves the log alone: it goes by the file's name, so that one whose
/// file has lost the name to another would take that one's.
pub(super) fn leave_log(connection: &Connection, leave: bool) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave)?;
    Ok(())
}

/// Brings the schema up to date, unless the file turns out to be another one than was meant.
fn migrate(connection: &mut Connection, is_meant: impl Fn() -> bool) -> Result<bool, StoreError> {
    let begin = rusqlite::TransactionBehavior::Immediate;
    let tx = connection.transaction_with_behavior(begin)?;
    if !is_meant() {
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
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or_default()) {
        tx.execute_batch(migration)?;
    }
    if found < SCHEMA_VERSION {
        tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    tx.commit()?;
    Ok(true)
}

/// Refuses an empty file in the place of what was a database, which would silently become a new one; and one that is
/// missing beside its write-ahead log, which SQLite would remove.
pub(super) fn refuse_emptied(path: &Path) -> Result<(), StoreError> {
    let has = |file: &Path| fs::metadata(file).is_ok_and(|about| about.len() > 0);
    let path = &files::resolved(path).unwrap_or_else(|_| path.to_owned());
    // Asked before the database's length: another process that makes the database makes these files later.
    let traces = [beside(path, "-wal"), key_file(path), word_model(path)].into_iter().find(|file| has(file));
    let Some(beside) = traces else { return Ok(()) };
    let is_log = beside == files::beside(path, "-wal");
    let emptied = match fs::metadata(path) {
        Ok(about) => about.is_file() && about.len() == 0,
        Err(error) => is_log && error.kind() == io::ErrorKind::NotFound,
    };
    if emptied { Err(StoreError::Emptied { database: path.clone(), beside }) } else { Ok(()) }
}

/// Makes the file for its owner alone; SQLite gives the files beside it the same mode.
///
/// One that is there is not opened, only asked about: to close it again would take the locks away that other
/// connections of this process have on it.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let made = match files::writable(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            private(OpenOptions::new().create(true).append(true)).open(path).map(drop)
        }
        asked => asked,
    };
    made.map_err(|e| StoreError::other(format!("cannot open {} for writing: {e}", path.display())))
}

/// Opens a database to read it, in a transaction that has begun, and changes nothing of it.
pub(super) fn open_unchanged(path: &Path) -> rusqlite::Result<Connection> {
    let begin = |mut connection: Connection| -> rusqlite::Result<Connection> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "query_only", true)?;
        wait_patiently(&mut connection)?;
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
