//! The one door to the database: what a slice may say to it, and what it answers.
//!
//! A slice hands [`Store::read`] or [`Store::write`] a closure over a [`Tx`] and sees nothing else: no
//! connection, no driver, no error code. `SQLite` stands behind the door in `store/sqlite.rs`.
//!
//! Writes go to one thread (`store/writer.rs`), which commits what is waiting as one transaction and answers
//! once it is on disk. Reads run on the caller's thread, each on a connection of its own, at one moment in
//! time. Caches learn from [`Store::version`] that what they hold has changed, here or in another process
//! (`store/watch.rs`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus::Histogram;

use crate::clock::Timestamp;

mod deferred;
mod error;
mod gauges;
mod group;
mod guard;
mod health;
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
pub(crate) use sqlite::{copy, inspect};
pub(crate) use topic::{Topic, version_in};

/// An argument of a statement: what `$1`, `$2` … stand for.
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

/// What a column of an answer holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
}

/// A type that a column can be read as.
pub(crate) trait FromValue: Sized {
    /// The value as this type, or `None` where it is of another.
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

/// A row of an answer.
#[derive(Debug)]
pub(crate) struct Row(Vec<Value>);

impl Row {
    /// Takes column `index` (from 0) out of the row; a text is moved, not copied, so each is taken once.
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

/// An open transaction: all a slice ever sees of a database.
///
/// Statements are in the dialect that SQLite and PostgreSQL share. `$1` is the first argument wherever it
/// stands and however often.
pub(crate) trait Tx {
    /// The rows that a statement answers.
    fn rows(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>, StoreError>;

    /// Runs a statement that answers no rows; returns how many it changed.
    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError>;

    /// The number of this transaction: greater than that of every one committed before, in any process.
    ///
    /// Only a transaction that writes has one of its own; one that reads has 0.
    fn revision(&self) -> i64;

    /// Says that this transaction changes what caches of `topic` hold.
    fn touch(&mut self, topic: Topic);

    /// Adds `n` to a counter, all in all and, where a `day` is given, on that day.
    ///
    /// What the works of one commit add is gathered and written once, with the commit.
    fn count(&mut self, counter: i64, day: Option<i64>, n: i64);

    /// Adds `n` to a counter on a day alone, which is kept of no total.
    fn count_on(&mut self, counter: i64, day: i64, n: i64);

    /// The first row that a statement answers, if any.
    fn row(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, args)?.into_iter().next())
    }

    /// The one row that a statement always answers.
    fn one(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Row, StoreError> {
        self.row(sql, args)?.ok_or_else(|| StoreError::other("the statement answered no row"))
    }
}

/// The database. Cheap to share; the last one dropped flushes what rides along and closes the file.
pub(crate) struct Store {
    // Declared before the readers, so that the writer's connection closes first.
    writer: writer::Writer,
    readers: sqlite::Readers,
    versions: Arc<watch::Versions>,
    _watcher: watch::Watcher,
    // Declared last: it holds the file open until all connections are closed.
    health: Arc<health::Health>,
}

impl Store {
    /// Opens the database at `path`, made and brought to this program's schema where needed.
    ///
    /// # Errors
    /// When the file cannot be opened or written, is not ours, or is newer than the program.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let (connection, held) = sqlite::open_and_migrate(path)?;
        // Reads, which makes the write-ahead log and its index where there are none.
        sqlite::data_version(&connection)?;
        let health = Arc::new(health::Health::new(guard::FileGuard::new(path, held, &connection)));
        let versions = Arc::new(watch::Versions::default());
        let watcher = watch::Watcher::start(sqlite::open(path)?, Arc::clone(&versions), Arc::clone(&health))?;
        let writer = writer::Writer::start(connection, Arc::clone(&versions), Arc::clone(&health))?;
        let readers = sqlite::Readers::new(path, Arc::clone(&health));
        Ok(Self { writer, readers, versions, _watcher: watcher, health })
    }

    /// Runs `work` in a transaction and returns once it is on disk, or undone on `Err`.
    ///
    /// # Errors
    /// What `work` answers; `overloaded` when too much is waiting; the store's own when it fails.
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

    /// As [`Store::write`], without waiting: the answer comes through the [`Pending`].
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
        // It is behind the deferred writes in the queue, and a commit takes all of them along.
        self.submit(|_| Ok(()))
    }

    /// Runs `work` on what is committed at this moment, on the caller's thread.
    ///
    /// # Errors
    /// What `work` answers, and the store's own when it fails.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.readers.read(work)
    }

    /// As [`Store::read`], for work that may take long: it has a share of the connections, so that short reads never
    /// wait for it, and its statements are given up after `limit`.
    ///
    /// # Errors
    /// As [`Store::read`]; `overloaded` after `limit`.
    pub(crate) fn read_within<T, E: From<StoreError>>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.readers.read_within(limit, work)
    }

    /// The revision at which `topic` last changed, as far as this process knows: at once for its own
    /// writes, within a quarter of a second for another's. A cache that was loaded at less is stale.
    pub(crate) fn version(&self, topic: Topic) -> i64 {
        self.versions.get(topic)
    }

    /// How many works wait for the writer.
    pub(crate) fn waiting(&self) -> usize {
        self.writer.gauges().waiting.load(Ordering::Relaxed)
    }

    /// Returns the histogram of the commits since the store was opened, by the number of writes in each.
    pub(crate) fn commits(&self) -> &Histogram {
        &self.writer.gauges().commits
    }

    /// Whether writes can be made, as far as is known: the last one succeeded, and the files are those that were
    /// opened.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        self.health.writable()
    }

    /// Commits that failed since the store was opened.
    pub(crate) fn failures(&self) -> u64 {
        self.health.failures()
    }

    /// Bytes of the write-ahead log.
    pub(crate) fn wal_bytes(&self) -> u64 {
        self.readers.wal_bytes()
    }

    /// Bytes of the database file, without the write-ahead log.
    pub(crate) fn database_bytes(&self) -> u64 {
        self.readers.database_bytes()
    }

    /// Brings the write-ahead log into the file and empties it, so that nothing of what was written over is left;
    /// false when somebody who reads is in the way. Writers wait meanwhile, a twentieth of a second at most.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn empty_wal(&self) -> Result<bool, StoreError> {
        self.readers.empty_wal()
    }

    /// The versions themselves, for a thread that waits for them to change.
    pub(crate) fn versions(&self) -> Arc<watch::Versions> {
        Arc::clone(&self.versions)
    }
}
