//! The store's engine over a database on a PostgreSQL server.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use super::super::engine::{Engine, Expiry, Leftover};
use super::super::pool::{Pool, WaitLimits};
use super::super::watch::{Versions, Watcher};
use super::super::{Follower, StoreError, Tx};
use super::committer::PgCommitter;
use super::connect::Connector;
use super::migrate::migrate;
use super::partition;
use super::server::Server;
use super::session::Session;
use super::tx::{ReadTx, lease};
use super::watch::ServerWatch;
use super::write_connection::ANSWER_MAX;
use crate::location::PostgresUrl;

/// Reads wait for a connection about as long as a client waits for an answer. The queue holds as many reads as a server answers
/// in that time.
const WAIT: WaitLimits = WaitLimits { time: Duration::from_secs(5), reads: 1_024 };

pub(crate) struct PgEngine {
    pool: Pool<Session>,
    _watcher: Watcher,
    server: Arc<Server>,
}

impl PgEngine {
    /// Creates the schema if there is none, and updates an older one. At most `connections` reads run at the same time, half of
    /// them long ones; further reads wait.
    pub(crate) fn open(
        url: &PostgresUrl,
        connections: usize,
        versions: &Arc<Versions>,
    ) -> Result<(Self, PgCommitter), StoreError> {
        let server = Server::new(Connector::new(url)?);
        let mut session = server.first_connection()?;
        migrate(&mut session)?;
        let watch = ServerWatch::new(Arc::clone(&server), versions)?;
        session.limit(ANSWER_MAX);
        let committer = PgCommitter::start(Arc::clone(&server), session)?;
        let watcher = Watcher::start(Arc::clone(versions), watch)?;
        Ok((Self { pool: Pool::new(connections, WAIT), _watcher: watcher, server }, committer))
    }
}

impl Engine for PgEngine {
    fn read(&self, limit: Option<Duration>, work: &mut dyn FnMut(&mut dyn Tx)) -> Result<(), StoreError> {
        let _long = limit.map(|_| self.pool.begin_long()).transpose()?;
        let connect = || self.server.connect_if_reachable();
        let mut lease = lease(&self.pool, &connect)?;
        let mut tx = ReadTx::begin(lease.connection(), limit).or_connect(&connect);
        work(&mut tx);
        tx.end();
        if lease.connection().lost().is_some() {
            lease.close();
        }
        Ok(())
    }

    /// A read waits for the network, which it must not do on a thread of an asynchronous program.
    fn can_read_now(&self) -> bool {
        false
    }

    fn is_on_server(&self) -> bool {
        true
    }

    fn writable(&self) -> Result<(), StoreError> {
        self.server.writable()
    }

    fn clock_ahead(&self) -> Option<Arc<AtomicI64>> {
        Some(Arc::clone(self.server.time().ahead()))
    }

    fn followers(&self) -> Vec<Follower> {
        self.server.followers()
    }

    fn failures(&self) -> u64 {
        self.server.failures()
    }

    /// The size when it was last measured, because asking the server for it takes time.
    fn database_bytes(&self) -> u64 {
        self.server.bytes()
    }

    fn wal_bytes(&self) -> u64 {
        0
    }

    /// Data that must leave no trace is in an unlogged table.
    fn empty_wal(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn copy_wal(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn arrange_partitions(&self, expiry: &Expiry) -> Result<Leftover, StoreError> {
        partition::arrange(&mut self.server.connect_if_reachable()?, expiry)
    }
}

#[cfg(test)]
mod tests;
