//! A pool that opens connections for reading on demand and reuses them for later reads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::StoreError;

/// A pool of connections, some of which long reads may use.
pub(super) struct Pool<C> {
    /// The maximum number of connections; further reads wait for one.
    size: usize,
    connections: Mutex<Connections<C>>,
    returned: Condvar,
    /// The number of running long reads.
    long: Mutex<usize>,
    /// Signals that a long read has ended.
    long_ended: Condvar,
}

struct Connections<C> {
    idle: Vec<C>,
    open: usize,
    /// The number of reads that wait for a connection.
    waiting: usize,
    /// The number of reads that have waited.
    waited: u64,
}

/// The use of a pool.
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only servers report it"))]
pub(super) struct PoolUse {
    /// Open connections.
    pub(super) open: usize,
    /// Those that are borrowed.
    pub(super) busy: usize,
    /// Reads that wait for a connection.
    pub(super) waiting: usize,
    /// Reads that have waited.
    pub(super) waited: u64,
}

impl<C> Pool<C> {
    pub(super) fn new(size: usize) -> Self {
        Self {
            size,
            connections: Mutex::new(Connections { idle: Vec::new(), open: 0, waiting: 0, waited: 0 }),
            returned: Condvar::new(),
            long: Mutex::default(),
            long_ended: Condvar::new(),
        }
    }

    /// Returns whether a connection is idle.
    pub(super) fn has_idle(&self) -> bool {
        self.connections.try_lock().is_ok_and(|all| !all.idle.is_empty())
    }

    /// Borrows an idle connection, or opens one. Waits for a connection if all are in use, or if some are and `may_open`
    /// returns false.
    ///
    /// # Errors
    /// The errors of `open`.
    pub(super) fn lease(
        &self,
        may_open: impl Fn() -> bool,
        open: impl FnOnce() -> Result<C, StoreError>,
    ) -> Result<Lease<'_, C>, StoreError> {
        let mut all = self.lock();
        loop {
            if let Some(connection) = all.idle.pop() {
                return Ok(Lease { pool: self, connection: Some(connection) });
            }
            if all.open < self.size && (all.open == 0 || may_open()) {
                all.open += 1;
                drop(all);
                // Dropping it without a connection gives the place back.
                let mut lease = Lease { pool: self, connection: None };
                lease.connection = Some(open()?);
                return Ok(lease);
            }
            all.waiting += 1;
            all.waited += 1;
            all = self.returned.wait(all).unwrap_or_else(PoisonError::into_inner);
            all.waiting -= 1;
        }
    }

    /// Waits until another long read may run: they use at most half of the connections.
    pub(super) fn begin_long(&self) -> LongRead<'_, C> {
        let running = self.long.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.long_ended.wait_while(running, |running| *running >= self.size / 2);
        *all.unwrap_or_else(PoisonError::into_inner) += 1;
        LongRead(self)
    }

    /// Returns the use of the pool.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only servers report it"))]
    pub(super) fn in_use(&self) -> PoolUse {
        let all = self.lock();
        let Connections { open, waiting, waited, .. } = *all;
        PoolUse { open, busy: open - all.idle.len(), waiting, waited }
    }

    /// Removes the idle connections and returns them.
    pub(super) fn take_idle(&self) -> Vec<C> {
        let mut all = self.lock();
        all.open -= all.idle.len();
        std::mem::take(&mut all.idle)
    }

    fn lock(&self) -> MutexGuard<'_, Connections<C>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running long read, counted until it is dropped.
pub(super) struct LongRead<'p, C>(&'p Pool<C>);

impl<C> Drop for LongRead<'_, C> {
    fn drop(&mut self) {
        *self.0.long.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.long_ended.notify_one();
    }
}

/// A borrowed connection. Dropping it returns the connection to the pool, or closes it during a panic.
pub(super) struct Lease<'p, C> {
    pool: &'p Pool<C>,
    connection: Option<C>,
}

impl<C> Lease<'_, C> {
    /// Returns the connection.
    pub(super) fn connection(&mut self) -> &mut C {
        self.connection.as_mut().expect("a lease has a connection until it ends")
    }

    /// Closes the connection instead of returning it to the pool.
    #[cfg(feature = "postgres")]
    pub(super) fn close(mut self) {
        self.connection = None;
    }
}

impl<C> Drop for Lease<'_, C> {
    fn drop(&mut self) {
        let mut all = self.pool.lock();
        match self.connection.take() {
            Some(connection) if !std::thread::panicking() => all.idle.push(connection),
            _ => all.open -= 1,
        }
        let is_awaited = all.waiting > 0;
        drop(all);
        // A notification is a system call even if no read waits.
        if is_awaited {
            self.pool.returned.notify_one();
        }
    }
}
