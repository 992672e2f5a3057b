//! The only way to the database: what the rest of the core can ask of it, and what it returns.
//!
//! The other modules pass [`Store::read`] or [`Store::write`] a closure, the work, and the work sees a [`Tx`]: no
//! connection, no driver, no error code. Only `store/sqlite.rs` and the files below it name SQLite's driver. The store
//! uses nothing of the modules above it: a work fails with any error that a [`StoreError`] converts into.
//!
//! # Reading
//!
//! [`Store::read`] runs its work on the caller's thread, on a connection of its own and as of one moment. Reads do not
//! wait for writes. A read that may take long uses [`Store::read_within`], which limits its time and leaves connections
//! to short reads.
//!
//! # Writing
//!
//! - One thread writes. [`Store::write`] queues the work and returns when its changes are on disk; [`Store::submit`]
//!   returns a [`Pending`] instead, which can be waited for or awaited. A full queue answers
//!   [`StoreError::Overloaded`], and nothing is written.
//! - **Group commit.** The writer runs the works that are waiting in one transaction, so one fsync serves all of them.
//!   It answers them after the commit. Each work has a savepoint of its own: when it returns an error or panics, only
//!   its own changes are undone.
//! - So a work is all or nothing, sees the changes of the works before it, and may not have effects outside its
//!   transaction that a failed commit would make wrong.
//! - A work holds up all other writes: what takes long (hashing, parsing) is done before it.
//! - **Deferred writes.** What must not delay an answer (counters, log lines) gathers in memory, and a [`Deferred`]
//!   writes it with the next commit, within 200 ms: a crash loses that much of it, a clean stop nothing. In each commit
//!   a deferred write has a [`TimeSlice`] of a few milliseconds, and continues in the next commit when that is over.
//!   It is told afterwards whether what it wrote is on disk.
//! - **Counters.** [`Tx::count`] is cheap: the additions of all works of a commit are summed up and written once.
//!
//! # Statements
//!
//! Statements are in the SQL that SQLite and PostgreSQL share: `$1`, `ON CONFLICT … DO UPDATE`, `RETURNING`, times as
//! integer milliseconds that are passed in. `$1` is the first argument wherever it occurs. A statement takes exactly
//! the arguments that it names, at most 16.
//!
//! # Caches
//!
//! Every transaction that writes has a number, its revision, which grows in the order of commits in all processes. A
//! work calls [`Tx::touch`] for each [`Topic`] that it changes. A cache keeps the revision of what it loaded
//! ([`version_in`]) and is stale when [`Store::version`] is greater: at once after a commit of this process, within a
//! quarter of a second after a commit of another one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus::Histogram;

use crate::clock::Timestamp;

mod counts;
mod deferred;
mod error;
mod gauges;
mod pending;
mod sqlite;
#[cfg(test)]
mod tests;
mod topic;
mod watch;
mod writer;

#[cfg(test)]
pub(crate) use deferred::once;
pub(crate) use deferred::{Deferred, TimeSlice};
pub use error::StoreError;
pub(crate) use pending::Pending;
pub use pending::PendingFuture;
pub use sqlite::SCHEMA_VERSION;
pub(crate) use sqlite::{copy, inspect, is_head_of_ours};
pub(crate) use topic::{Topic, version_in};

/// An argument of a statement: the value of `$1`, `$2` ….
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg<'a> {
    /// No value.
    Null,
    /// A whole number; a point in time is milliseconds.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(&'a str),
}

impl From<i64> for Arg<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<Timestamp> for Arg<'_> {
    fn from(time: Timestamp) -> Self {
        Self::Integer(time.as_millis())
    }
}

impl From<f64> for Arg<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Arg<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a, T: Into<Arg<'a>>> From<Option<T>> for Arg<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
}

/// A type that a column can be read as.
pub(crate) trait FromValue: Sized {
    /// The value as this type; `None` when it has another type.
    fn from_value(value: &mut Value) -> Option<Self>;
}

impl FromValue for i64 {
    fn from_value(value: &mut Value) -> Option<Self> {
        if let Value::Integer(value) = value { Some(*value) } else { None }
    }
}

impl FromValue for Timestamp {
    fn from_value(value: &mut Value) -> Option<Self> {
        i64::from_value(value).map(Self::from_millis)
    }
}

impl FromValue for f64 {
    fn from_value(value: &mut Value) -> Option<Self> {
        if let Value::Real(value) = value { Some(*value) } else { None }
    }
}

impl FromValue for bool {
    fn from_value(value: &mut Value) -> Option<Self> {
        i64::from_value(value).map(|value| value != 0)
    }
}

impl FromValue for String {
    fn from_value(value: &mut Value) -> Option<Self> {
        if let Value::Text(value) = value { Some(std::mem::take(value)) } else { None }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &mut Value) -> Option<Self> {
        if *value == Value::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}

/// A row that a statement returned.
#[derive(Debug)]
pub(crate) struct Row(Vec<Value>);

impl Row {
    /// Takes column `index` (from 0) out of the row. A text is moved, not copied, so it can be taken only once.
    ///
    /// # Errors
    /// When there is no such column or it holds another type: a mistake in a statement.
    pub(crate) fn take<T: FromValue>(&mut self, index: usize) -> Result<T, StoreError> {
        self.0
            .get_mut(index)
            .and_then(T::from_value)
            .ok_or_else(|| StoreError::other(format!("column {index} is not what the statement promised")))
    }
}

/// An open transaction: all that other modules see of the database.
pub(crate) trait Tx {
    /// Runs a statement and returns its rows.
    ///
    /// # Errors
    /// When the statement fails, or does not take exactly these arguments.
    fn rows(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>, StoreError>;

    /// Runs a statement that returns no rows; returns the number of rows that it changed.
    ///
    /// # Errors
    /// As [`Tx::rows`].
    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError>;

    /// The number of this transaction: greater than that of every earlier commit of any process. It is 0 in a
    /// transaction that only reads.
    fn revision(&self) -> i64;

    /// Notes that this transaction changes `topic`: caches of it become stale with the commit.
    fn touch(&mut self, topic: Topic);

    /// Adds `n` to the total of a counter and, when a `day` is given, to that day.
    ///
    /// The additions of all works of a commit are summed up and written once, with the commit.
    fn count(&mut self, counter: i64, day: Option<i64>, n: i64);

    /// Adds `n` to a day of a counter that has no total.
    fn count_on(&mut self, counter: i64, day: i64, n: i64);

    /// Runs a statement and returns its first row, if it has any.
    fn row(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, args)?.into_iter().next())
    }

    /// Runs a statement that always returns a row, and returns the first.
    fn one(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Row, StoreError> {
        self.row(sql, args)?.ok_or_else(|| StoreError::other("the statement returned no row"))
    }
}

/// The database. When it is dropped, it writes everything that waits, deferred writes included, and closes the file.
pub(crate) struct Store {
    // Declared before the readers, so that the writer's connection closes first.
    writer: writer::Writer,
    readers: sqlite::Readers,
    versions: Arc<watch::Versions>,
    _watcher: watch::Watcher,
    // Declared last: it holds the file open until all connections are closed.
    health: Arc<sqlite::Health>,
}

impl Store {
    /// Opens the database at `path`: creates it when there is none, and updates an older schema.
    ///
    /// # Errors
    /// When the file cannot be opened or written, is not a tidings database, or is newer than the program.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let (connection, file) = sqlite::open_and_migrate(path)?;
        // The first read creates the write-ahead log and its index.
        sqlite::data_version(&connection)?;
        let health = Arc::new(sqlite::Health::new(sqlite::FileGuard::new(path, file, &connection)));
        let versions = Arc::new(watch::Versions::default());
        let watcher = watch::Watcher::start(sqlite::open(path)?, Arc::clone(&versions), Arc::clone(&health))?;
        let writer = writer::Writer::start(connection, Arc::clone(&versions), Arc::clone(&health))?;
        let readers = sqlite::Readers::new(path, Arc::clone(&health));
        Ok(Self { writer, readers, versions, _watcher: watcher, health })
    }

    /// Runs `work` in a transaction and returns once its changes are on disk; on `Err` they are undone.
    ///
    /// # Errors
    /// The error of `work`; [`StoreError::Overloaded`] when too much is waiting; why the commit failed;
    /// [`StoreError::Other`] when `work` panicked.
    pub(crate) fn write<T, E>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.submit(work).wait()
    }

    /// As [`Store::write`], without waiting: the [`Pending`] has the result later.
    pub(crate) fn submit<T, E>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    ) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.submit(work)
    }

    /// Hands over a deferred write: the next commit takes it along, within 200 ms, and the caller does not wait.
    ///
    /// For counters and log lines, which must never delay an answer.
    ///
    /// # Errors
    /// [`StoreError::Overloaded`] when too much is waiting: the write is dropped, and has written nothing.
    pub(crate) fn defer(&self, write: impl Deferred) -> Result<(), StoreError> {
        self.writer.defer(write)
    }

    /// Commits now what was deferred before, as far as one commit has time for it.
    pub(crate) fn flush(&self) -> Pending<(), StoreError> {
        // It comes after the deferred writes in the queue, and a commit takes all of them along.
        self.submit(|_| Ok(()))
    }

    /// Runs `work` on the caller's thread, on the database as it is now.
    ///
    /// # Errors
    /// The error of `work`; why the store could not read.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.readers.read(work)
    }

    /// As [`Store::read`], for work that may take long. Such reads use at most half of the connections, so short reads
    /// never wait for them, and their statements are interrupted after `limit`.
    ///
    /// # Errors
    /// As [`Store::read`]; [`StoreError::Overloaded`] after `limit`.
    pub(crate) fn read_within<T, E: From<StoreError>>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.readers.read_within(limit, work)
    }

    /// The revision at which `topic` last changed, as far as this process knows: it knows its own commits at once,
    /// those of other processes within a quarter of a second. A cache of an earlier revision is stale.
    pub(crate) fn version(&self, topic: Topic) -> i64 {
        self.versions.get(topic)
    }

    /// The number of works in the writer's queue.
    pub(crate) fn waiting(&self) -> usize {
        self.writer.gauges().waiting.load(Ordering::Relaxed)
    }

    /// Returns the histogram of the commits since the store was opened, by the number of writes in each.
    pub(crate) fn commits(&self) -> &Histogram {
        &self.writer.gauges().commits
    }

    /// Succeeds when writes are expected to: the last commit succeeded, and the files are still the opened ones.
    ///
    /// # Errors
    /// Why writes fail.
    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        self.health.writable()
    }

    /// The number of commits that failed since the store was opened.
    pub(crate) fn failures(&self) -> u64 {
        self.health.failures()
    }

    /// The size of the write-ahead log in bytes.
    pub(crate) fn wal_bytes(&self) -> u64 {
        self.readers.wal_bytes()
    }

    /// The size of the database file in bytes, without the write-ahead log.
    pub(crate) fn database_bytes(&self) -> u64 {
        self.readers.database_bytes()
    }

    /// Copies the write-ahead log into the file and empties it, so that no overwritten data is left; returns false when
    /// a reader prevents it. Writes wait meanwhile, for 50 ms at most.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn empty_wal(&self) -> Result<bool, StoreError> {
        self.readers.empty_wal()
    }

    /// The versions of all topics, for a thread that waits until they change.
    pub(crate) fn versions(&self) -> Arc<watch::Versions> {
        Arc::clone(&self.versions)
    }
}
