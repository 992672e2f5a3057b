//! The interface between the core and the database.
//!
//! The other modules pass a closure to [`Store::read`] or [`Store::write`]. The closure gets a [`Tx`] and never sees a
//! connection, the driver or an error code: only `store/sqlite.rs` and the files below it use SQLite's driver. The store
//! does not depend on the modules above it: a closure may return any error type that a [`StoreError`] converts into.
//!
//! # Reading
//!
//! [`Store::read`] runs the closure on the caller's thread, on a separate connection, in one snapshot of the database.
//! Reads do not wait for writes. [`Store::read_within`] limits the time of a long read. Frequent reads of one kind, such as look-ups of callers, run together on a server
//! ([`GatheredReads`]).
//!
//! # Writing
//!
//! - One thread writes. [`Store::write`] queues the closure and returns when its changes are on disk; [`Store::submit`]
//!   returns a [`Pending`] instead, which the caller can block on or await. When the queue is full, the result is
//!   [`StoreError::Overloaded`] and nothing is written.
//! - **Group commit.** The writer runs all queued writes in one transaction, so that they share one fsync, and sends the
//!   results after the commit. When a write returns an error or panics, only its own changes are rolled back. So a write
//!   is all or nothing.
//! - **Order.** A write sees the changes of every write whose result arrived before it was submitted. Nothing else is
//!   promised: writes that wait at the same time may be committed in any order, and a deferred write after writes and
//!   reads that follow it. A caller that reads what was deferred first waits for [`Store::flush`], as reports do.
//! - **A write may run more than once.** Short writes share their fate: if one of them fails after it has changed
//!   something, all of them are rolled back, and each runs again in a savepoint of its own. So a write takes nothing out
//!   of itself, and has no effect outside its transaction that would be wrong after another run or a failed commit: it
//!   decides once what another run must not decide differently, and returns the rest as its result. With
//!   `TIDINGS_STORE_REPLAY=1`, a build with debug assertions runs, rolls back and repeats every write, which tests this.
//! - **Alone or concurrent.** Every write declares its [`Isolation`]: whether others may run at the same time, also in
//!   other processes. On SQLite all writes run alone.
//! - A write delays all other writes, so slow work (hashing, parsing) happens before it.
//! - **Deferred writes.** Data that must not delay an answer (counters, log lines) collects in memory, and a
//!   [`Deferred`] writes it about 100 ms later, together with other writes: a crash loses up to 200 ms of data, and a
//!   clean stop loses nothing. In each commit a deferred write has a [`TimeSlice`] of a few milliseconds, and continues in the
//!   next commit when the time is up. After each commit it learns whether its rows are on disk.
//! - **Gathered writes.** Frequent writes of one kind, such as likes, run together ([`Store::submit_gathered`]): one run
//!   does for all of them what each would do, with fewer statements.
//! - **Counters.** [`Tx::count`] is cheap: the store sums up all additions of a commit and writes each sum once.
//!
//! # Statements
//!
//! Statements use the SQL that SQLite and PostgreSQL share: `$1`, `ON CONFLICT … DO UPDATE`, `RETURNING`, and arguments
//! for times, in integer milliseconds. `$1` is the first argument wherever it occurs. A statement takes exactly the
//! arguments that it names, at most 16. What the two write differently is in [`Dialect`].
//!
//! # Caches
//!
//! Every writing transaction has a number, its revision, which grows in the order in which transactions begin to write,
//! across all processes. A write calls [`Tx::touch`] for each [`Topic`] that it changes. A cache stores the version of
//! the data that it loaded ([`version_in`]) and is stale when [`Store::version`] is greater: immediately after a commit
//! of this process, within a quarter of a second after a commit of another process.
//!
//! Transactions of several writers can commit out of the order of their revisions, so a commit with a smaller revision
//! than that of a visible one may become visible later. The [horizon](Tx::horizon) of a transaction is the revision up
//! to which it sees everything. From this follow the rules for caches:
//!
//! - A version is at most the horizon. A cache that may lack a late commit stays stale until it is loaded without a
//!   gap.
//! - A cache that reads only what is new stores the horizon, reads the rows with greater revisions, and may see a row
//!   twice.
//! - Equal versions of two transactions mean equal data only if they are [complete](complete_version_in).
//! - A transaction that runs for long holds the horizon back, in which time caches are loaded more often. A thread that
//!   waits for a newer version pauses between two loads.
//!
//! On SQLite one transaction writes at a time, so revisions grow in the order of commits, and the horizon is the
//! revision of the last commit.

use std::sync::Arc;
use std::time::Duration;

use crate::base::location::Location;
use engine::{Committer, Engine};
#[cfg(feature = "postgres")]
use postgres::PgEngine;
use sqlite::SqliteEngine;

mod counts;
mod deferred;
mod dialect;
mod each;
mod effects;
mod engine;
mod error;
mod expiry;
mod figures;
mod gathered_reads;
mod gauges;
pub(crate) mod inspect;
mod isolation;
mod pending;
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
mod reading;
mod sqlite;
#[cfg(test)]
mod tests;
mod topic;
mod tx;
mod value;
mod watch;
mod writer;

#[cfg(test)]
pub(crate) use deferred::once;
pub(crate) use deferred::{Deferred, TimeSlice};
pub(crate) use dialect::Dialect;
pub(crate) use each::{Need, Pipelined, ask_row_each, ask_run_each, row_each, run_each, send_each};
#[cfg(test)]
pub(crate) use effects::Effects;
pub use error::{ServerError, StoreError};
pub(crate) use expiry::{Expiry, Leftover};
pub(crate) use gathered_reads::GatheredReads;
pub use gauges::{Commits, Follower};
pub(crate) use isolation::Isolation;
pub(crate) use pending::Pending;
pub use pending::PendingFuture;
pub use sqlite::SCHEMA_VERSION;
pub(crate) use sqlite::{copy, is_head_of_ours, schema_of_head};
pub(crate) use topic::{Topic, complete_version_in, last_change_in, version_in, versions_in};
pub(crate) use tx::Tx;
pub(crate) use value::{Arg, FromValue, Row, Value};
pub(crate) use watch::Versions;
pub(crate) use writer::Gathered;

/// Connections to a PostgreSQL server for reads, half of which are for long ones. Further reads wait.
pub const READ_CONNECTIONS: usize = 16;
/// The time limit of a search or another long query.
pub(crate) const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

/// The database. Dropping it writes everything that is queued, including deferred writes, and closes the file.
pub(crate) struct Store {
    // Declared before the engine, so that the writer's connection closes first.
    writer: writer::Writer,
    engine: Box<dyn Engine>,
    versions: Arc<watch::Versions>,
}

/// Returns the steps of the schema that a database of version `found` lacks. The first step is the whole schema of version `base`.
///
/// # Errors
/// [`StoreError::TooOld`] when there are no steps from that version.
fn missing<S>(steps: &[S], base: usize, found: i64) -> Result<&[S], StoreError> {
    match usize::try_from(found).unwrap_or_default() {
        0 => Ok(steps),
        version if version < base => {
            Err(StoreError::TooOld { found, oldest: base.try_into().unwrap_or(i64::MAX) })
        }
        version => Ok(steps.get(version - base + 1..).unwrap_or_default()),
    }
}

/// Returns whether every write runs twice, which tests that it can: `TIDINGS_STORE_REPLAY` is 1, and this is a build with
/// debug assertions.
fn is_replaying() -> bool {
    cfg!(debug_assertions) && std::env::var_os("TIDINGS_STORE_REPLAY").is_some_and(|value| value == "1")
}

impl Store {
    /// Opens the database at `location`. Creates it if it does not exist, and updates an older schema.
    ///
    /// # Errors
    /// When the file cannot be opened or written, is not a tidings database, or has a schema newer than the program's; when
    /// the server cannot be used.
    pub(crate) fn open(location: &Location) -> Result<Self, StoreError> {
        Self::open_replaying(location, is_replaying())
    }

    /// Opens the database like [`Store::open`]. `is_replaying` is whether every write runs, is rolled back and runs again.
    fn open_replaying(location: &Location, is_replaying: bool) -> Result<Self, StoreError> {
        let versions = Arc::default();
        match location {
            Location::File(path) => {
                let (engine, committer) = SqliteEngine::open(path, &versions)?;
                Self::start(Box::new(engine), committer, versions, is_replaying)
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(url) => {
                let (engine, committer) = PgEngine::open(url, READ_CONNECTIONS, &versions)?;
                Self::start(Box::new(engine), committer, versions, is_replaying)
            }
            #[cfg(not(feature = "postgres"))]
            Location::Postgres(_) => Err(ServerError::NotBuilt.into()),
        }
    }

    fn start(
        engine: Box<dyn Engine>,
        committer: impl Committer,
        versions: Arc<watch::Versions>,
        is_replaying: bool,
    ) -> Result<Self, StoreError> {
        let writer = writer::Writer::start(committer, Arc::clone(&versions), is_replaying)?;
        Ok(Self { writer, engine, versions })
    }

    /// Runs `work` in a transaction and returns when its changes are on disk. Rolls back if `work` returns `Err`.
    ///
    /// `work` may run more than once: only the changes and the result of its last run count. `isolation` is whether
    /// other work may run at the same time.
    ///
    /// # Errors
    /// The error of `work` or of the commit; [`StoreError::Overloaded`] when the queue is full; [`StoreError::Other`] when
    /// `work` panics.
    pub(crate) fn write<T, E>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.submit(isolation, work).wait()
    }

    /// Does the same as [`Store::write`] without blocking: the result arrives through the [`Pending`].
    pub(crate) fn submit<T, E>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    ) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        #[cfg(test)]
        let work = self.simulated(work);
        self.writer.submit(isolation, work, false)
    }

    /// Does the same as [`Store::write`] for work that takes milliseconds, such as a batch of deletions. It has a
    /// savepoint of its own, so that the failure of another write does not make it run again, which would delay all other
    /// writes a second time.
    pub(crate) fn write_long<T, E>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.submit_long(isolation, work).wait()
    }

    /// Does the same as [`Store::write_long`] without blocking.
    pub(crate) fn submit_long<T, E>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    ) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.submit(isolation, work, true)
    }

    /// Returns a queue of writes of one kind, which [`Store::submit_gathered`] fills and which run together: `run` returns
    /// the result of each.
    ///
    /// An error of `run` is that of all of them, so it returns what concerns one write as the result of that write, before it
    /// has changed anything for it. It may run more than once, as [`Store::write`] says.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "tests simulate transactions of this store"))]
    pub(crate) fn gathered<I, T, E>(
        &self,
        isolation: Isolation,
        run: impl Fn(&mut dyn Tx, &mut [I]) -> Result<Vec<Result<T, E>>, StoreError> + Send + Sync + 'static,
    ) -> Gathered<I, T, E> {
        #[cfg(test)]
        let run = {
            let versions = Arc::clone(&self.versions);
            move |tx: &mut dyn Tx, writes: &mut [I]| run(&mut versions.simulation.of(tx), writes)
        };
        Gathered::new(isolation, run)
    }

    /// Queues a write that runs together with others of its kind.
    ///
    /// # Errors
    /// The result that `run` returns for it; the errors of [`Store::write`].
    pub(crate) fn submit_gathered<I, T, E>(&self, gathered: &Gathered<I, T, E>, write: I) -> Pending<T, E>
    where
        I: Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.gather(gathered, write)
    }

    /// Queues a deferred write, which joins a commit after about 100 ms. The caller does not wait.
    ///
    /// This is for counters and log lines, which must never delay an answer.
    ///
    /// # Errors
    /// [`StoreError::Overloaded`] when the queue is full: the write is dropped before it has written anything.
    pub(crate) fn defer(&self, write: impl Deferred) -> Result<(), StoreError> {
        self.writer.defer(write)
    }

    /// Commits the current deferred writes immediately, as far as the time slices of one commit allow. Afterwards,
    /// reads and writes see what was deferred before the call, except for the rest of a long queue.
    ///
    /// The caller waits for the result: no order between a deferred write and a later write or read is promised
    /// otherwise.
    pub(crate) fn flush(&self) -> Pending<(), StoreError> {
        self.writer.flush()
    }

    /// Returns the revision at which `topic` last changed, as far as this process knows. It learns of its own commits
    /// immediately, and of the commits of other processes within a quarter of a second. A cache of an earlier revision
    /// is stale.
    pub(crate) fn version(&self, topic: Topic) -> i64 {
        self.versions.get(topic)
    }

    /// Returns a number that grows with each change of `topic`, at the same times as [`Store::version`]. Unlike a
    /// version, it also grows with a commit whose revision is smaller than that of an earlier one.
    pub(crate) fn changes(&self, topic: Topic) -> i64 {
        self.versions.changes(topic)
    }

    /// Returns whether the database is on a database server, where several servers of the service may use it.
    pub(crate) fn is_on_server(&self) -> bool {
        self.engine.is_on_server()
    }

    /// Copies the write-ahead log into the file and empties it, so that no overwritten data remains. Returns false when
    /// a reader prevents it. Blocks writes for at most 50 ms.
    pub(crate) fn empty_wal(&self) -> Result<bool, StoreError> {
        self.engine.empty_wal()
    }

    /// Drops the partitions of a table of which all rows have expired, and adds partitions ahead of time, if the engine has
    /// any. Writes wait for at most 50 ms.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if others use the table; another attempt may succeed. When the store fails.
    pub(crate) fn arrange_partitions(&self, expiry: &Expiry) -> Result<Leftover, StoreError> {
        self.engine.arrange_partitions(expiry)
    }

    /// Copies the write-ahead log into the file as far as no reader prevents it, without blocking writes. A thread that
    /// writes much calls it, because otherwise the writer copies the log while other writes wait.
    pub(crate) fn copy_wal(&self) -> Result<(), StoreError> {
        self.engine.copy_wal()
    }

    /// Returns the versions of all topics, for a thread that waits for changes.
    pub(crate) fn versions(&self) -> Arc<watch::Versions> {
        Arc::clone(&self.versions)
    }
}

#[cfg(test)]
impl Store {
    fn simulation(&self) -> &tests::horizon::Simulation {
        &self.versions.simulation
    }

    fn simulated<T, E>(
        &self,
        mut work: impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    ) -> impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static {
        let versions = Arc::clone(&self.versions);
        move |tx| work(&mut versions.simulation.of(tx))
    }
}
