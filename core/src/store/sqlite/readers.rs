//! A pool of connections for reading.

use std::path::{Path, PathBuf};
use std::sync::{self, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::health::Health;
use super::{SqliteTx, abandon, checkpoint, open, open_to_read};
use crate::files::beside;
use crate::store::{StoreError, Tx};

/// Maximum time that emptying the write-ahead log blocks writers while it waits for readers.
const EMPTY_WAL_WAIT: Duration = Duration::from_millis(50);

/// Maximum number of concurrent reads; further reads wait for a connection.
const READERS: usize = 8;
/// Maximum number of concurrent long reads, which leaves connections for short reads.
pub(in crate::store) const LONG_READERS: usize = READERS / 2;
/// Steps of SQLite's virtual machine between two checks of a long read's time limit: a small fraction of a millisecond.
const STEPS: i32 = 1_000;

/// A pool that opens connections on demand and reuses them for later reads.
pub(in crate::store) struct Readers {
    path: PathBuf,
    health: sync::Arc<Health>,
    pool: Mutex<Pool>,
    returned: Condvar,
    /// The number of running long reads.
    long: Mutex<usize>,
    /// Signals that a long read has ended.
    long_ended: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Connection>,
    open: usize,
    /// The number of reads that wait for a connection.
    waiting: usize,
}

impl Readers {
    pub(in crate::store) fn new(path: &Path, health: sync::Arc<Health>) -> Self {
        Self {
            path: path.to_owned(),
            health,
            pool: Mutex::default(),
            returned: Condvar::new(),
            long: Mutex::default(),
            long_ended: Condvar::new(),
        }
    }

    pub(in crate::store) fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let lease = Lease { readers: self, connection: Some(self.take()?) };
        let connection = lease.connection.as_ref().expect("a new lease has a connection");
        let mut tx = SqliteTx::begin(connection)?;
        let result = work(&mut tx);
        tx.rollback();
        result
    }

    /// Implements [`crate::store::Store::can_read_now`].
    pub(in crate::store) fn has_idle(&self) -> bool {
        self.pool.try_lock().is_ok_and(|pool| !pool.idle.is_empty())
    }

    /// Implements [`crate::store::Store::read_within`].
    pub(in crate::store) fn read_within<T, E: From<StoreError>>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let _share = LongRead::begin(self);
        let mut lease = Lease { readers: self, connection: Some(self.take()?) };
        let connection = lease.connection.as_mut().expect("a new lease has a connection");
        let began = Instant::now();
        connection
            .progress_handler(STEPS, Some(move || began.elapsed() >= limit))
            .map_err(StoreError::from)?;
        let result = SqliteTx::begin_limited(connection).map_err(E::from).and_then(|mut tx| {
            let result = work(&mut tx);
            tx.rollback();
            result
        });
        connection.progress_handler(0, None::<fn() -> bool>).map_err(StoreError::from)?;
        result
    }

    /// Returns the size of the database file in bytes.
    pub(in crate::store) fn database_bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |file| file.len())
    }

    /// Returns the size of the write-ahead log in bytes.
    pub(in crate::store) fn wal_bytes(&self) -> u64 {
        std::fs::metadata(beside(&self.path, "-wal")).map_or(0, |file| file.len())
    }

    /// Implements [`crate::store::Store::empty_wal`] on a separate connection.
    pub(in crate::store) fn empty_wal(&self) -> Result<bool, StoreError> {
        // This does most of the work and does not block writers.
        let connection = self.copied_wal()?;
        connection.busy_timeout(EMPTY_WAL_WAIT)?;
        checkpoint(&connection)
    }

    /// Implements [`crate::store::Store::copy_wal`] on a separate connection.
    pub(in crate::store) fn copy_wal(&self) -> Result<(), StoreError> {
        self.copied_wal().map(drop)
    }

    fn copied_wal(&self) -> Result<Connection, StoreError> {
        let connection = self.open(open)?;
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(connection)
    }

    fn take(&self) -> Result<Connection, StoreError> {
        let mut pool = self.lock();
        loop {
            if let Some(connection) = pool.idle.pop() {
                return Ok(connection);
            }
            // After the file has been replaced, no further connections can be opened.
            if pool.open < READERS && (pool.open == 0 || self.health.last_check().is_ok()) {
                pool.open += 1;
                drop(pool);
                return self.open(open_to_read).inspect_err(|_| {
                    self.lock().open -= 1;
                    // Another read may wait for the place of this connection.
                    self.returned.notify_one();
                });
            }
            pool.waiting += 1;
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
            pool.waiting -= 1;
        }
    }

    /// Opens another connection, and checks that it has opened the same file as the others.
    fn open(
        &self,
        open: impl FnOnce(&Path) -> Result<Connection, StoreError>,
    ) -> Result<Connection, StoreError> {
        self.health.check()?;
        let connection = open(&self.path)?;
        self.health.check().inspect_err(|_| abandon(&connection))?;
        Ok(connection)
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        if self.health.must_abandon() {
            self.lock().idle.iter().for_each(abandon);
        }
    }
}

/// A running long read, counted until it is dropped.
struct LongRead<'r>(&'r Readers);

impl<'r> LongRead<'r> {
    /// Waits until another long read may run.
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

/// A borrowed connection. Dropping it returns the connection to the pool, or closes it during a panic.
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
        let is_awaited = pool.waiting > 0;
        drop(pool);
        // A notification is a system call even if no read waits.
        if is_awaited {
            self.readers.returned.notify_one();
        }
    }
}
