//! The state of a running service, for monitoring.

use crate::Tidings;
use crate::base::clock::Timestamp;
use crate::store::Store;
pub use crate::store::{Commits, Follower, ReadStandby, Retries, ServerGauges};
use crate::{mail, source, webhook};

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
    /// Figures of a PostgreSQL server and its standbys; `None` for a file.
    pub server: Option<ServerGauges>,
    /// The deliveries of webhooks.
    pub webhooks: webhook::Figures,
    /// The mail.
    pub mail: mail::Figures,
    /// The sources and their fetches.
    pub sources: source::Figures,
    /// Milliseconds since the feed index was last updated; `None` before it is loaded.
    pub feeds_age_ms: Option<i64>,
    /// Milliseconds since the word model was trained; `None` without a model.
    pub words_age_ms: Option<i64>,
}

impl Stats {
    /// Returns the current state of a service.
    pub fn of(tidings: &Tidings) -> Self {
        let store = tidings.store();
        let age = |made: Option<Timestamp>| made.map(|made| tidings.now() - made);
        Self {
            writes_waiting: store.waiting(),
            records_waiting: tidings.analysis().records_waiting(),
            records_lost: tidings.analysis().records_lost(),
            crawled: tidings.analysis().crawled(),
            statements: Store::statements(),
            commits: store.commits(),
            commits_failed: store.failures(),
            writable: store.writable().is_ok(),
            database_bytes: store.database_bytes(),
            wal_bytes: store.wal_bytes(),
            server: store.server_gauges(),
            webhooks: tidings.webhook_sender().figures(),
            mail: tidings.mail_sender().figures(),
            sources: tidings.sources().figures(),
            feeds_age_ms: age(tidings.feeds().updated()),
            words_age_ms: age(tidings.words().made()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tidings_cluster::Engine;

    use super::*;
    use crate::account::Caller;
    use crate::newsfeed;
    use crate::post::{self, Draft};
    use crate::testing::service;

    #[test]
    fn the_state_reflects_the_operations_of_the_service() {
        let service = service();
        let before = Stats::of(&service);
        assert_eq!((before.writes_waiting, before.records_waiting, before.feeds_age_ms), (0, 0, None));
        newsfeed::start(&service).unwrap();
        service.clock().advance(500);
        let draft = Draft { title: Some("t".into()), url: Some("https://a.b/".into()), ..Draft::default() };
        service.call(&Caller::Operator, post::Insert { draft }).unwrap();
        let after = Stats::of(&service);
        assert_eq!((after.feeds_age_ms, after.words_age_ms), (Some(500), None));
        // At least BEGIN, the revision, the post, and COMMIT. Other tests of this process run statements too.
        assert!(after.statements >= before.statements + 4);
        assert_eq!((after.commits_failed, after.writable), (0, true));
        assert!(after.database_bytes > 0);
        assert_eq!(after.wal_bytes > 0, Engine::chosen() == Engine::Sqlite);
        let Commits { up_to, count, writes } = after.commits;
        assert_eq!((count, writes), (before.commits.count + 1, before.commits.writes + 1));
        assert_eq!(up_to[0], (1, before.commits.up_to[0].1 + 1));
    }
}
