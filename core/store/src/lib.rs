//! The store of tidings, the only way to the database: [`Store::read`] and [`Store::write`] run a closure over a [`Tx`], which shows no connection,
//! driver or error code. It may return any error type that a [`StoreError`] converts into. docs/ARCHITECTURE.md explains groups
//! of writes, revisions and caches.
//!
//! - **Order.** A write sees the changes of every write whose result arrived before it was submitted. Writes that wait at the
//!   same time may be committed in any order, and a deferred write after writes and reads that follow it: [`Store::flush`] waits
//!   for it.
//! - **A write may run more than once**: it decides beforehand what another run must not decide differently, and returns the rest
//!   as its result. It delays all other writes, so slow work (hashing, parsing) happens before it.
//! - **Statements** use the SQL that SQLite and PostgreSQL share. `$1` is the first argument wherever it occurs. A statement
//!   takes exactly the arguments that it names. Times are arguments, in integer milliseconds.
//! - **Caches.** A write calls [`Tx::touch`] for each [`Topic`] that it changes. A cache stores the version of its data
//!   ([`version_in`]) and is stale when [`Store::version`] is greater. A cache that may lack a late commit stays stale until it
//!   is loaded without a gap. A cache that reads only new rows stores the horizon, reads the rows with greater revisions, and may
//!   see a row twice. Equal versions of two transactions mean equal data only if they are [complete](complete_version_in). A long
//!   transaction holds the horizon back, and meanwhile caches are loaded more often: a thread that waits for a newer version
//!   pauses between two loads.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use engine::{Committer, Engine};
#[cfg(feature = "postgres")]
use postgres::PgEngine;
use sqlite::SqliteEngine;

pub mod cancel;
pub mod clock;
mod deferred;
mod dialect;
mod each;
mod effects;
mod engine;
mod error;
pub mod files;
mod gathered_reads;
mod gauges;
pub mod inspect;
mod isolation;
pub mod location;
mod pending;
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
pub mod random;
mod sqlite;
pub mod step;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod text_file;
pub mod tls;
mod topic;
mod tx;
mod value;
mod watch;
mod writer;

pub use deferred::{Deferred, TimeSlice};
pub use dialect::Dialect;
pub use each::{Need, Pipelined, ask_row_each, ask_run_each, row_each, run_each, send_each};
pub use engine::{Expiry, Leftover};
pub use error::{ServerError, StoreError};
pub use gathered_reads::GatheredReads;
pub use gauges::{Commits, Follower};
pub use isolation::Isolation;
pub use location::Location;
pub use pending::{Pending, PendingFuture};
#[cfg(feature = "postgres")]
pub use postgres::{InspectedServer, ServerTarget};
pub use sqlite::SCHEMA_VERSION;
pub use sqlite::inspect::{InspectedFile, version as engine_version};
pub use sqlite::{copy, is_head_of_ours, schema_of_head};
pub use topic::{Topic, complete_version_in, last_change_in, version_in, versions_in};
pub use tx::Tx;
pub use value::{Arg, FromValue, Row, Value};
pub use watch::Versions;
pub use writer::Gathered;

/// Connections to a PostgreSQL server for reads, half of which are for long ones. Further reads wait.
pub const READ_CONNECTIONS: usize = 16;
/// The time limit of a search or another long query.
pub const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

/// The database. Dropping it writes everything that is queued, including deferred writes, and closes the file.
pub struct Store {
    // Declared before the engine, so that the writer's connection closes first.
    writer: writer::Writer,
    engine: Box<dyn Engine>,
    versions: Arc<watch::Versions>,
}

/// The first step is the whole schema of version `base`.
fn missing<S>(steps: &[S], base: usize, found: i64) -> Result<&[S], StoreError> {
    match usize::try_from(found).unwrap_or_default() {
        0 => Ok(steps),
        version if version < base => {
            Err(StoreError::TooOld { found, oldest: base.try_into().unwrap_or(i64::MAX) })
        }
        version => Ok(steps.get(version - base + 1..).unwrap_or_default()),
    }
}

/// Runs every write twice, to test that it can run again. Builds without debug assertions ignore the variable.
fn is_replaying() -> bool {
    cfg!(debug_assertions) && std::env::var_os("TIDINGS_STORE_REPLAY").is_some_and(|value| value == "1")
}

impl Store {
    /// Opens the database at `location`. Creates it if it does not exist, and updates an older schema.
    ///
    /// # Errors
    /// When the file cannot be opened or written, is not a tidings database, or has a schema newer than the program's; when
    /// the server cannot be used.
    pub fn open(location: &Location) -> Result<Self, StoreError> {
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

    pub fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.read_on_engine(None, work)
    }

    /// A read would start at once, because a connection is idle.
    pub fn can_read_now(&self) -> bool {
        self.engine.can_read_now()
    }

    /// For work that may take long: such reads use at most half of the connections, so that short reads never wait for them, and
    /// the store interrupts their statements after `limit`, with [`StoreError::Overloaded`].
    pub fn read_within<T, E: From<StoreError>>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.read_on_engine(Some(limit), work)
    }

    fn read_on_engine<T, E: From<StoreError>>(
        &self,
        limit: Option<Duration>,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        #[cfg(any(test, feature = "testing"))]
        let work = |tx: &mut dyn Tx| self.versions.simulation.run(tx, work);
        let (mut work, mut result) = (Some(work), None);
        self.engine.read(limit, &mut |tx| result = work.take().map(|work| work(tx)))?;
        result.expect("the engine has run the work")
    }

    /// Returns when the changes of `work` are on disk. `work` may run more than once: only the changes and the result of its last
    /// run count. It is rolled back if it returns `Err`; a panic gives [`StoreError::Other`], a full queue
    /// [`StoreError::Overloaded`].
    pub fn write<T, E>(
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

    /// Like [`Store::write`], but does not block.
    pub fn submit<T, E>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    ) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        #[cfg(any(test, feature = "testing"))]
        let work = {
            let (versions, mut work) = (Arc::clone(&self.versions), work);
            move |tx: &mut dyn Tx| versions.simulation.run(tx, &mut work)
        };
        self.writer.submit(isolation, work, false)
    }

    /// For work that takes milliseconds, such as a batch of deletions. It has a savepoint of its own, so that the failure of
    /// another write does not make it run again, which would delay all other writes a second time.
    pub fn write_long<T, E>(
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

    pub fn submit_long<T, E>(
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

    /// Returns a queue of writes of one kind, which [`Store::submit_gathered`] fills and which run together.
    ///
    /// An error of `run` is that of all of them, so `run` returns the error of one write as the result of that write, before it
    /// changes anything for it. It may run more than once.
    pub fn gathered<I, T, E>(
        &self,
        isolation: Isolation,
        run: impl Fn(&mut dyn Tx, &mut [I]) -> Result<Vec<Result<T, E>>, StoreError> + Send + Sync + 'static,
    ) -> Gathered<I, T, E> {
        #[cfg(any(test, feature = "testing"))]
        let run = {
            let versions = Arc::clone(&self.versions);
            move |tx: &mut dyn Tx, writes: &mut [I]| versions.simulation.run(tx, |tx| run(tx, writes))
        };
        Gathered::new(isolation, run)
    }

    pub fn submit_gathered<I, T, E>(&self, gathered: &Gathered<I, T, E>, write: I) -> Pending<T, E>
    where
        I: Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.gather(gathered, write)
    }

    /// For counters and log lines: the write joins a commit after about 100 ms, and nobody waits for it. It is dropped before it
    /// has written anything if the queue is full.
    pub fn defer(&self, write: impl Deferred) -> Result<(), StoreError> {
        self.writer.defer(write)
    }

    /// Commits the deferred writes, as far as the time slices of one commit allow. Afterwards, reads and writes see what was
    /// deferred before the call, except for the rest of a long queue.
    pub fn flush(&self) -> Pending<(), StoreError> {
        self.writer.flush()
    }

    /// Returns the revision at which `topic` last changed, as far as this process knows. It learns of its own commits
    /// immediately, and of those of other processes within a quarter of a second.
    pub fn version(&self, topic: Topic) -> i64 {
        self.versions.get(topic)
    }

    /// Unlike [`Store::version`], this number also grows with a commit whose revision is smaller than that of an earlier one.
    pub fn changes(&self, topic: Topic) -> i64 {
        self.versions.changes(topic)
    }

    /// On a database server, several servers of the service may use the database.
    pub fn is_on_server(&self) -> bool {
        self.engine.is_on_server()
    }

    /// Copies the write-ahead log into the file and empties it, so that no overwritten data remains. Returns false when a reader
    /// prevents it. Blocks writes for at most 50 ms.
    pub fn empty_wal(&self) -> Result<bool, StoreError> {
        self.engine.empty_wal()
    }

    /// Drops the partitions whose rows have all expired, and adds partitions ahead of time, if the engine has any. Writes wait
    /// for at most 50 ms. [`StoreError::Conflict`] means that others use the table.
    pub fn arrange_partitions(&self, expiry: &Expiry) -> Result<Leftover, StoreError> {
        self.engine.arrange_partitions(expiry)
    }

    /// Copies the write-ahead log into the file as far as no reader prevents it, without blocking writes. A thread that writes
    /// much calls this, because otherwise the writer copies the log while other writes wait.
    pub fn copy_wal(&self) -> Result<(), StoreError> {
        self.engine.copy_wal()
    }

    pub fn versions(&self) -> Arc<watch::Versions> {
        Arc::clone(&self.versions)
    }

    pub fn waiting(&self) -> usize {
        self.writer.gauges().waiting.load(Ordering::Relaxed)
    }

    pub fn waiting_writes(&self) -> impl Fn() -> usize + Clone + Send + use<> {
        let gauges = Arc::clone(self.writer.gauges());
        move || gauges.waiting.load(Ordering::Relaxed)
    }

    pub fn commits(&self) -> Commits {
        self.writer.gauges().commits()
    }

    /// The last commit succeeded, and the files are still the opened ones.
    pub fn writable(&self) -> Result<(), StoreError> {
        self.engine.writable()
    }

    /// The milliseconds by which the clock that all processes of the database share is ahead of that of this machine; `None` if
    /// they share that of this machine.
    pub fn clock_ahead(&self) -> Option<Arc<AtomicI64>> {
        self.engine.clock_ahead()
    }

    pub fn failures(&self) -> u64 {
        self.engine.failures()
    }

    /// Measured in the last second; none for a file.
    pub fn followers(&self) -> Vec<Follower> {
        self.engine.followers()
    }

    /// Counts the statements of all databases of this process.
    pub fn statements() -> u64 {
        gauges::STATEMENTS.load(Ordering::Relaxed)
    }

    /// In bytes; 0 on a server.
    pub fn wal_bytes(&self) -> u64 {
        self.engine.wal_bytes()
    }

    /// In bytes, without the write-ahead log. A server's database is not measured on each call.
    pub fn database_bytes(&self) -> u64 {
        self.engine.database_bytes()
    }
}
