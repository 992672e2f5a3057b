//! SQLite behind the door; only this file and those under it name rusqlite.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{self, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(super) use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, ffi};

use super::guard::Held;
use super::health::Health;
use super::{Arg, Row, StoreError, Topic, Tx, Value};
use crate::error::{Error, Result};
use crate::files::beside;

pub(crate) mod copy;
pub(crate) mod inspect;
mod open;

pub use open::SCHEMA_VERSION;
use open::{APPLICATION_ID, leave_log, open_to_read, refuse_emptied, wait_patiently};
pub(super) use open::{open, open_and_migrate};

/// How long emptying the write-ahead log may keep writers waiting for those who still read it.
const EMPTY_WAL_WAIT: Duration = Duration::from_millis(50);

/// Connections that read at the same time; a further reader waits for one.
const READERS: usize = 8;
/// Those of them that long reads may take, so that there is always one for a short read.
pub(super) const LONG_READERS: usize = READERS / 2;
/// Steps of SQLite's virtual machine between two looks at the time that a long read has left: a small part of a
/// millisecond.
const STEPS: i32 = 1_000;

/// What arguments are called in statements.
const NAMES: [&str; 16] =
    ["$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$16"];

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
    let connection = copy::open_immutable(path)?;
    Ok(connection.query_row("SELECT n FROM revision", [], |row| row.get(0))?)
}

/// Leaves the files of a connection as they are when it closes: one of them is somebody else's.
pub(super) fn abandon(connection: &Connection) {
    if let Err(error) = leave_log(connection, true) {
        tracing::warn!(%error, "the write-ahead log cannot be left alone");
    }
}

/// Runs `work` in a transaction of its own, on a connection that is not the writer's.
fn write<T>(connection: &Connection, work: impl FnOnce(&mut dyn Tx) -> Result<T>) -> Result<T> {
    let mut tx = SqliteTx::begin_write(connection)?;
    match work(&mut tx) {
        Ok(value) => Ok(tx.commit().map(|_| value)?),
        Err(error) => {
            tx.rollback();
            Err(error)
        }
    }
}

/// An open transaction on one connection.
pub(super) struct SqliteTx<'c> {
    connection: &'c Connection,
    revision: i64,
    touched: Vec<Topic>,
    counts: Vec<Addition>,
}

/// What a work adds to a counter.
struct Addition {
    counter: i64,
    day: Option<i64>,
    /// Whether it also counts all in all.
    total: bool,
    n: i64,
}

impl<'c> SqliteTx<'c> {
    /// Begins a transaction that reads.
    pub(super) fn begin(connection: &'c Connection) -> Result<Self, StoreError> {
        let mut tx = Self { connection, revision: 0, touched: Vec::new(), counts: Vec::new() };
        tx.run("BEGIN", &[])?;
        Ok(tx)
    }

    /// Begins a transaction that writes, and takes the next revision for it.
    pub(super) fn begin_write(connection: &'c Connection) -> Result<Self, StoreError> {
        let mut tx = Self { connection, revision: 0, touched: Vec::new(), counts: Vec::new() };
        tx.run("BEGIN IMMEDIATE", &[])?;
        match tx.one("UPDATE revision SET n = n + 1 RETURNING n", &[]).and_then(|mut row| row.take(0)) {
            Ok(revision) => tx.revision = revision,
            Err(error) => {
                tx.rollback();
                return Err(error);
            }
        }
        Ok(tx)
    }

    /// How many additions to counters there are: where those of the next work begin.
    pub(super) fn counted(&self) -> usize {
        self.counts.len()
    }

    /// Forgets the additions from there on, with the work that made them.
    pub(super) fn uncount(&mut self, from: usize) {
        self.counts.truncate(from);
    }

    /// Writes what has been added to counters.
    fn write_counts(&mut self) -> Result<(), StoreError> {
        let mut sums = BTreeMap::new();
        for Addition { counter, day, total, n } in self.counts.drain(..) {
            if total {
                *sums.entry((counter, None)).or_insert(0) += n;
            }
            if day.is_some() {
                *sums.entry((counter, day)).or_insert(0) += n;
            }
        }
        for ((counter, day), n) in &sums {
            match day {
                None => {
                    let sql = "INSERT INTO total_count (counter, n) VALUES ($1, $2)
                               ON CONFLICT (counter) DO UPDATE SET n = total_count.n + excluded.n";
                    self.run(sql, &[(*counter).into(), (*n).into()])?;
                }
                Some(day) => {
                    let sql = "INSERT INTO day_count (counter, day, n) VALUES ($1, $2, $3)
                               ON CONFLICT (day, counter) DO UPDATE SET n = day_count.n + excluded.n";
                    self.run(sql, &[(*counter).into(), (*day).into(), (*n).into()])?;
                }
            }
        }
        if !sums.is_empty() {
            self.touch(Topic::Counts);
        }
        Ok(())
    }

    /// Puts what was done on disk; answers the topics that it touched.
    pub(super) fn commit(mut self) -> Result<Vec<Topic>, StoreError> {
        if let Err(error) = self.write_counts() {
            self.rollback();
            return Err(error);
        }
        for topic in std::mem::take(&mut self.touched) {
            let sql = "INSERT INTO touched (topic, revision) VALUES ($1, $2)
                       ON CONFLICT (topic) DO UPDATE SET revision = excluded.revision";
            if let Err(error) = self.run(sql, &[topic.name().into(), self.revision.into()]) {
                self.rollback();
                return Err(error);
            }
            self.touched.push(topic);
        }
        match self.run("COMMIT", &[]) {
            Ok(_) => Ok(self.touched),
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    /// Undoes everything. Its own failure says only that SQLite has undone it already.
    pub(super) fn rollback(mut self) {
        let _ = self.run("ROLLBACK", &[]);
    }

    /// Whether the transaction still stands: a full disk makes SQLite undo it of its own accord.
    pub(super) fn is_open(&self) -> bool {
        !self.connection.is_autocommit()
    }
}

impl Tx for SqliteTx<'_> {
    fn rows(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        bind(&mut statement, args)?;
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|i| row.get_ref(i).map_err(StoreError::from).and_then(value));
            found.push(Row(values.collect::<Result<_, _>>()?));
        }
        Ok(found)
    }

    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        bind(&mut statement, args)?;
        Ok(statement.raw_execute()? as u64)
    }

    fn revision(&self) -> i64 {
        self.revision
    }

    fn touch(&mut self, topic: Topic) {
        if !self.touched.contains(&topic) {
            self.touched.push(topic);
        }
    }

    fn count(&mut self, counter: i64, day: Option<i64>, n: i64) {
        self.counts.push(Addition { counter, day, total: true, n });
    }

    fn count_on(&mut self, counter: i64, day: i64, n: i64) {
        self.counts.push(Addition { counter, day: Some(day), total: false, n });
    }
}

/// Binds by name, never by position: to SQLite `$2` is a name, numbered by where it first stands.
fn bind(statement: &mut rusqlite::CachedStatement<'_>, args: &[Arg<'_>]) -> Result<(), StoreError> {
    for (name, arg) in NAMES.iter().zip(args) {
        let index = statement.parameter_index(name)?;
        let index = index.ok_or_else(|| StoreError::other(format!("the statement has no {name}")))?;
        statement.raw_bind_parameter(index, arg)?;
    }
    Ok(())
}

impl rusqlite::ToSql for Arg<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Arg::Null => ValueRef::Null,
            Arg::Integer(value) => ValueRef::Integer(*value),
            Arg::Real(value) => ValueRef::Real(*value),
            Arg::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

fn value(value: ValueRef<'_>) -> Result<Value, StoreError> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(_) => return Err(StoreError::other("the schema has no blobs")),
    })
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

/// The connections that read: opened as they are needed, kept for the next.
pub(super) struct Readers {
    path: PathBuf,
    health: sync::Arc<Health>,
    pool: Mutex<Pool>,
    returned: Condvar,
    /// Long reads that run, and that one of them has ended.
    long: Mutex<usize>,
    long_ended: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Connection>,
    open: usize,
}

impl Readers {
    pub(super) fn new(path: &Path, health: sync::Arc<Health>) -> Self {
        Self {
            path: path.to_owned(),
            health,
            pool: Mutex::default(),
            returned: Condvar::new(),
            long: Mutex::default(),
            long_ended: Condvar::new(),
        }
    }

    pub(super) fn read<T>(&self, work: impl FnOnce(&mut dyn Tx) -> Result<T>) -> Result<T> {
        let lease = Lease { readers: self, connection: Some(self.take()?) };
        let connection = lease.connection.as_ref().expect("the lease was just made with one");
        let mut tx = SqliteTx::begin(connection)?;
        let result = work(&mut tx);
        tx.rollback();
        result
    }

    /// As [`super::Store::read_within`].
    pub(super) fn read_within<T>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut dyn Tx) -> Result<T>,
    ) -> Result<T> {
        let _share = LongRead::begin(self);
        let mut lease = Lease { readers: self, connection: Some(self.take()?) };
        let connection = lease.connection.as_mut().expect("the lease was just made with one");
        let began = Instant::now();
        connection
            .progress_handler(STEPS, Some(move || began.elapsed() >= limit))
            .map_err(StoreError::from)?;
        let result = SqliteTx::begin(connection).map_err(Error::from).and_then(|mut tx| {
            let result = work(&mut tx);
            tx.rollback();
            result
        });
        connection.progress_handler(0, None::<fn() -> bool>).map_err(StoreError::from)?;
        match result {
            Err(Error::Store(StoreError::Interrupted)) => Err(Error::Overloaded),
            result => result,
        }
    }

    /// Bytes of the file.
    pub(super) fn database_bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |file| file.len())
    }

    /// Bytes of the write-ahead log beside the file.
    pub(super) fn wal_bytes(&self) -> u64 {
        std::fs::metadata(beside(&self.path, "-wal")).map_or(0, |file| file.len())
    }

    /// As [`super::Store::empty_wal`], on a connection of its own.
    pub(super) fn empty_wal(&self) -> Result<bool, StoreError> {
        let connection = self.open(open)?;
        // Most of the work, while others write.
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        connection.busy_timeout(EMPTY_WAL_WAIT)?;
        checkpoint(&connection)
    }

    fn take(&self) -> Result<Connection, StoreError> {
        let mut pool = self.lock();
        loop {
            if let Some(connection) = pool.idle.pop() {
                return Ok(connection);
            }
            // Once the file is no longer at its path, the connections that are open are all there are.
            if pool.open < READERS && (pool.open == 0 || self.health.last_look().is_ok()) {
                pool.open += 1;
                drop(pool);
                return self.open(open_to_read).inspect_err(|_| self.lock().open -= 1);
            }
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Opens a further connection, to the file that the others have open and to no other.
    fn open(
        &self,
        open: impl FnOnce(&Path) -> Result<Connection, StoreError>,
    ) -> Result<Connection, StoreError> {
        self.health.look()?;
        let connection = open(&self.path)?;
        self.health.look().inspect_err(|_| abandon(&connection))?;
        Ok(connection)
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        if self.health.is_anothers() {
            self.lock().idle.iter().for_each(abandon);
        }
    }
}

/// A long read that runs.
struct LongRead<'r>(&'r Readers);

impl<'r> LongRead<'r> {
    /// Waits until there is a reader that a long read may take.
    fn begin(readers: &'r Readers) -> Self {
        let running = readers.long.lock().unwrap_or_else(PoisonError::into_inner);
        let all = readers.long_ended.wait_while(running, |running| *running >= LONG_READERS);
        *all.unwrap_or_else(PoisonError::into_inner) += 1;
        Self(readers)
    }
}

impl Drop for LongRead<'_> {
    fn drop(&mut self) {
        *self.0.long.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.long_ended.notify_one();
    }
}

/// A connection on loan: given back when dropped, thrown away when the work on it panicked.
struct Lease<'r> {
    readers: &'r Readers,
    connection: Option<Connection>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut pool = self.readers.lock();
        match self.connection.take() {
            Some(connection) if !std::thread::panicking() => pool.idle.push(connection),
            _ => pool.open -= 1,
        }
        drop(pool);
        self.readers.returned.notify_one();
    }
}
