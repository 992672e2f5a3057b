//! Watching an SQLite database: commits of other processes, and the state of its files.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::{Health, SqliteTx, abandon, data_version};
use crate::StoreError;
use crate::engine::WriteTx as _;
use crate::watch::{TRY_EVERY, Versions, Watch, publish};

pub(super) struct FileWatch {
    connection: Connection,
    health: Arc<Health>,
    /// The [`data_version`] of the last look.
    seen: i64,
    intervals: u32,
}

impl FileWatch {
    pub(super) fn new(
        connection: Connection,
        versions: &Versions,
        health: Arc<Health>,
    ) -> Result<Self, StoreError> {
        let seen = data_version(&connection)?;
        publish_all(&connection, versions)?;
        // If another process is writing, the watcher does not wait; it tries again after the interval.
        connection.busy_timeout(Duration::ZERO)?;
        Ok(Self { connection, health, seen, intervals: 0 })
    }

    fn look_for_commits(&mut self, versions: &Versions) -> Result<(), StoreError> {
        let version = data_version(&self.connection)?;
        if version != self.seen {
            publish_all(&self.connection, versions)?;
            self.seen = version;
        }
        Ok(())
    }

    /// Commits a new revision without other changes, to find out whether writes succeed again while no caller writes.
    fn try_to_write(&self) {
        let tried = SqliteTx::begin_write(&self.connection).and_then(SqliteTx::commit);
        if tried.and_then(|_| self.health.check()).is_ok() {
            self.health.committed(Ok(()));
        }
    }
}

impl Watch for FileWatch {
    fn look(&mut self, versions: &Versions) {
        self.health.check_closely();
        self.intervals = (self.intervals + 1) % TRY_EVERY;
        if self.intervals == 0 && self.health.needs_probe() {
            self.try_to_write();
        }
        if let Err(error) = self.look_for_commits(versions) {
            tracing::warn!(%error, "cannot check for changes of other processes");
        }
    }
}

impl Drop for FileWatch {
    fn drop(&mut self) {
        if self.health.must_abandon() {
            abandon(&self.connection);
        }
    }
}

fn publish_all(connection: &Connection, versions: &Versions) -> Result<(), StoreError> {
    let mut tx = SqliteTx::begin(connection)?;
    let read = publish(&mut tx, versions);
    tx.rollback();
    read
}
