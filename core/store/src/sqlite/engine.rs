//! The store's engine over an SQLite file, and its writing connection.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::checkpoints::Checkpoints;
use super::running::Reads;
use super::watch::FileWatch;
use super::{Connection, FileGuard, Health, Readers, SqliteTx, abandon, checkpoint, data_version};
use crate::engine::{Committer, Engine};
use crate::watch::{Versions, Watcher};
use crate::{Isolation, StoreError, Tx};

pub(crate) struct SqliteEngine {
    readers: Readers,
    _watcher: Watcher,
    // Declared last: it holds the file open until all connections are closed.
    health: Arc<Health>,
}

pub(crate) struct SqliteCommitter {
    connection: Connection,
    checkpoints: Checkpoints,
    health: Arc<Health>,
}

impl SqliteEngine {
    /// Creates the database if it does not exist, and updates an older schema.
    pub(crate) fn open(path: &Path, versions: &Arc<Versions>) -> Result<(Self, SqliteCommitter), StoreError> {
        let (mut connection, file) = super::open_and_migrate(path)?;
        // The first read creates the write-ahead log and its index.
        data_version(&connection)?;
        let health = Arc::new(Health::new(FileGuard::new(path, file, &connection)));
        let watch = FileWatch::new(super::open(path)?, versions, Arc::clone(&health))?;
        let watcher = Watcher::start(Arc::clone(versions), watch)?;
        let reads = Arc::<Reads>::default();
        let checkpoints = Checkpoints::start(path, &mut connection, Arc::clone(&health), Arc::clone(&reads))?;
        let readers = Readers::new(path, Arc::clone(&health), reads);
        let committer = SqliteCommitter { connection, checkpoints, health: Arc::clone(&health) };
        Ok((Self { readers, _watcher: watcher, health }, committer))
    }

    #[cfg(test)]
    pub(crate) fn health(&self) -> Arc<Health> {
        Arc::clone(&self.health)
    }
}

impl Engine for SqliteEngine {
    fn read(&self, limit: Option<Duration>, work: &mut dyn FnMut(&mut dyn Tx)) -> Result<(), StoreError> {
        self.readers.read(limit, work)
    }

    fn can_read_now(&self) -> bool {
        self.readers.has_idle()
    }

    fn writable(&self) -> Result<(), StoreError> {
        self.health.writable()
    }

    fn failures(&self) -> u64 {
        self.health.failures()
    }

    fn database_bytes(&self) -> u64 {
        self.readers.database_bytes()
    }

    fn wal_bytes(&self) -> u64 {
        self.readers.wal_bytes()
    }

    fn empty_wal(&self) -> Result<bool, StoreError> {
        self.readers.empty_wal()
    }

    fn copy_wal(&self) -> Result<(), StoreError> {
        self.readers.copy_wal()
    }
}

impl SqliteCommitter {
    #[cfg(test)]
    pub(crate) fn copying(&self) -> impl Fn() -> bool + 'static + use<> {
        self.checkpoints.copying()
    }
}

impl Committer for SqliteCommitter {
    type Tx<'c> = SqliteTx<'c>;

    const REFUSES_QUEUE: bool = false;
    const HAS_OTHERS: bool = false;

    fn begin(&mut self, _: Isolation, _: Option<Instant>) -> Result<SqliteTx<'_>, StoreError> {
        self.health.check()?;
        SqliteTx::begin_write(&self.connection)
    }

    /// A commit to a file that was just replaced is not acknowledged.
    fn confirm(&mut self) -> Result<(), StoreError> {
        self.health.check()
    }

    fn ended(&mut self, result: Result<(), &StoreError>) {
        self.health.committed(result);
    }

    fn retry(&mut self, error: StoreError) -> Result<(), StoreError> {
        Err(error)
    }

    fn after_group(&mut self) {
        self.checkpoints.committed(&mut self.connection);
    }

    fn close(self) {
        let Self { connection, checkpoints, health } = self;
        // Its thread must not use the log during the last checkpoint.
        drop(checkpoints);
        if health.must_abandon() {
            abandon(&connection);
            return;
        }
        // Fails when a reader in another process still uses the log.
        if let Err(error) = checkpoint(&connection) {
            tracing::warn!(%error, "the write-ahead log remains until the next start");
        }
    }
}
