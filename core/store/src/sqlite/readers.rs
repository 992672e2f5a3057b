//! Reading from an SQLite database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::health::Health;
use super::running::Reads;
use super::{READERS, SqliteTx, abandon, checkpoint, open, open_to_read};
use crate::engine::WriteTx as _;
use crate::files::{self, beside};
use crate::pool::{Lease, Pool, WaitLimits};
use crate::{StoreError, Tx};

/// Emptying the write-ahead log blocks writers this long while it waits for readers.
const EMPTY_WAL_WAIT: Duration = Duration::from_millis(50);

/// Steps of SQLite's virtual machine between two checks of a long read's time limit: a small fraction of a millisecond.
const STEPS: i32 = 1_000;

pub(super) struct Readers {
    path: PathBuf,
    health: Arc<Health>,
    reads: Arc<Reads>,
    pool: Pool<Connection>,
}

impl Readers {
    pub(super) fn new(path: &Path, health: Arc<Health>, reads: Arc<Reads>) -> Self {
        Self { path: path.to_owned(), health, reads, pool: Pool::new(READERS, WaitLimits::NONE) }
    }

    pub(super) fn read(
        &self,
        limit: Option<Duration>,
        work: &mut dyn FnMut(&mut dyn Tx),
    ) -> Result<(), StoreError> {
        let _long = limit.map(|_| self.pool.begin_long()).transpose()?;
        let mut lease = self.lease()?;
        let _running = self.reads.begin();
        let (connection, began) = (lease.connection(), Instant::now());
        if let Some(limit) = limit {
            connection.progress_handler(STEPS, Some(move || began.elapsed() >= limit))?;
        }
        let result = SqliteTx::begin_limited(connection, limit.is_some()).map(|mut tx| {
            work(&mut tx);
            tx.rollback();
        });
        if limit.is_some() {
            connection.progress_handler(0, None::<fn() -> bool>)?;
        }
        result
    }

    pub(super) fn has_idle(&self) -> bool {
        self.pool.has_idle()
    }

    pub(super) fn database_bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |file| file.len())
    }

    pub(super) fn wal_bytes(&self) -> u64 {
        let file = files::resolved(&self.path).unwrap_or_else(|_| self.path.clone());
        std::fs::metadata(beside(&file, "-wal")).map_or(0, |file| file.len())
    }

    pub(super) fn empty_wal(&self) -> Result<bool, StoreError> {
        // This does most of the work and does not block writers.
        let connection = self.copied_wal()?;
        connection.busy_timeout(EMPTY_WAL_WAIT)?;
        checkpoint(&connection)
    }

    pub(super) fn copy_wal(&self) -> Result<(), StoreError> {
        self.copied_wal().map(drop)
    }

    fn copied_wal(&self) -> Result<Connection, StoreError> {
        let connection = self.open(open)?;
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(connection)
    }

    fn lease(&self) -> Result<Lease<'_, Connection>, StoreError> {
        // After the file has been replaced, no further connections can be opened.
        self.pool.lease(|| self.health.last_check().is_ok(), || self.open(open_to_read))
    }

    /// Checks that the connection has opened the same file as the others.
    fn open(
        &self,
        open: impl FnOnce(&Path) -> Result<Connection, StoreError>,
    ) -> Result<Connection, StoreError> {
        self.health.check()?;
        let connection = open(&self.path)?;
        self.health.check().inspect_err(|_| abandon(&connection))?;
        Ok(connection)
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        if self.health.must_abandon() {
            self.pool.take_idle().iter().for_each(abandon);
        }
    }
}
