//! The state of a running service, for monitoring.

use crate::Tidings;
use crate::store::Store;
pub use crate::store::{Commits, Follower};
use crate::webhook;

/// The state of the service at one moment.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Writes in the queue of the writer.
    pub writes_waiting: usize,
    /// Access log lines that wait for a commit.
    pub records_waiting: usize,
    /// Access log lines that were lost since the database was opened: a client made too many requests, too many lines
    /// waited, or writing them failed. Their communications are counted.
    pub records_lost: u64,
    /// Communications of crawlers since the database was opened. Crawlers do not count as visitors.
    pub crawled: u64,
    /// Statements that this process has run in transactions, of all its databases. BEGIN, COMMIT and savepoints are
    /// statements too.
    pub statements: u64,
    /// Commits since the database was opened.
    pub commits: Commits,
    /// Commits that failed since the database was opened.
    pub commits_failed: u64,
    /// Whether writes are expected to succeed: the last one did, and the database's files are in place.
    pub writable: bool,
    /// Bytes of the database: of an SQLite file without the write-ahead log, or on a server as measured in the last minute.
    pub database_bytes: u64,
    /// Bytes of the write-ahead log of an SQLite file; 0 on a server.
    pub wal_bytes: u64,
    /// The standbys that follow the primary of a PostgreSQL database, as measured in the last second: at most 16.
    pub followers: Vec<Follower>,
    /// The deliveries of webhooks.
    pub webhooks: webhook::Figures,
}

impl Stats {
    /// Returns the current state of a service.
    pub fn of(tidings: &Tidings) -> Self {
        let store = tidings.store();
        Self {
            writes_waiting: store.waiting(),
            records_waiting: tidings.analysis().journal.len(),
            records_lost: tidings.analysis().journal.lost(),
            crawled: tidings.analysis().journal.crawled(),
            statements: Store::statements(),
            commits: store.commits(),
            commits_failed: store.failures(),
            writable: store.writable().is_ok(),
            database_bytes: store.database_bytes(),
            wal_bytes: store.wal_bytes(),
            followers: store.followers(),
            webhooks: tidings.0.webhook_counters.figures(),
        }
    }
}
