//! The parts of statements that the engines write differently, by name.
//!
//! Statements use the SQL that all engines share. Where there is none, a statement gets the text from the [`Dialect`] of
//! its transaction. The search index finds posts in another way on each engine: see `post/index.rs`.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
}

impl Dialect {
    /// A function of two texts: the position of the second in the first, counted from 1, or 0.
    pub const fn position(self) -> &'static str {
        match self {
            Self::Sqlite => "instr",
            #[cfg(feature = "postgres")]
            Self::Postgres => "strpos",
        }
    }

    /// Adds $2 to the total of the counter $1. On PostgreSQL each writer has a row of its own, so that transactions do not wait
    /// for each other.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "SQLite needs none"))]
    pub(super) fn add_to_total(self, writer: i64) -> Cow<'static, str> {
        match self {
            Self::Sqlite => "INSERT INTO total_count (counter, n) VALUES ($1, $2)
                             ON CONFLICT (counter) DO UPDATE SET n = total_count.n + excluded.n"
                .into(),
            #[cfg(feature = "postgres")]
            Self::Postgres => format!(
                "INSERT INTO total_count (counter, n, writer) VALUES ($1, $2, {writer})
                 ON CONFLICT (counter, writer) DO UPDATE SET n = total_count.n + excluded.n"
            )
            .into(),
        }
    }

    /// Adds $3 to the counter $1 of the day $2.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "SQLite needs none"))]
    pub(super) fn add_to_day(self, writer: i64) -> Cow<'static, str> {
        match self {
            Self::Sqlite => "INSERT INTO day_count (counter, day, n) VALUES ($1, $2, $3)
                             ON CONFLICT (day, counter) DO UPDATE SET n = day_count.n + excluded.n"
                .into(),
            #[cfg(feature = "postgres")]
            Self::Postgres => format!(
                "INSERT INTO day_count (counter, day, n, writer) VALUES ($1, $2, $3, {writer})
                 ON CONFLICT (day, counter, writer) DO UPDATE SET n = day_count.n + excluded.n"
            )
            .into(),
        }
    }

    /// The greatest number of visitors of a day, counter 1; no row without a day. The number of the counter is written out, as in
    /// the partial index that answers it.
    pub const fn most_visitors(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT n FROM day_count WHERE counter = 1 ORDER BY n DESC LIMIT 1",
            #[cfg(feature = "postgres")]
            Self::Postgres => {
                "SELECT CAST(sum(n) AS bigint) FROM day_count WHERE counter = 1 GROUP BY day ORDER BY 1 DESC LIMIT 1"
            }
        }
    }

    pub const fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            #[cfg(feature = "postgres")]
            Self::Postgres => "FOR UPDATE",
        }
    }

    pub const fn skip_locked(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            #[cfg(feature = "postgres")]
            Self::Postgres => "FOR UPDATE SKIP LOCKED",
        }
    }

    /// The row of this query says whether the transaction took the lock, which lasts until its end. `None` where one transaction
    /// writes at a time.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "SQLite needs none"))]
    pub fn try_lock(self, key: i64) -> Option<String> {
        match self {
            Self::Sqlite => None,
            #[cfg(feature = "postgres")]
            Self::Postgres => Some(format!("SELECT pg_try_advisory_xact_lock({key})")),
        }
    }

    pub const fn is_concurrent(self) -> bool {
        !matches!(self, Self::Sqlite)
    }

    /// Records of an import are looked up and inserted together, so that they share the time that a statement takes to reach a
    /// server.
    pub const fn records_at_once(self) -> usize {
        match self {
            Self::Sqlite => 1,
            #[cfg(feature = "postgres")]
            Self::Postgres => 128,
        }
    }

    /// Records that the topic $1 changed at the revision $2.
    ///
    /// On SQLite, where one transaction writes at a time, a topic has one row. On PostgreSQL each change is a row of its own, so
    /// that transactions do not wait for each other; rows replaced by later ones are deleted every minute.
    pub const fn insert_touched(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "INSERT INTO touched (topic, revision) VALUES ($1, $2)
                 ON CONFLICT (topic) DO UPDATE SET revision = excluded.revision"
            }
            #[cfg(feature = "postgres")]
            Self::Postgres => "INSERT INTO touched (topic, revision) VALUES ($1, $2)",
        }
    }

    /// The keys of the access log within a millisecond are divided into shards, so that transactions write lines at the same
    /// time. A power of two.
    pub const fn log_shards(self) -> i64 {
        match self {
            Self::Sqlite => 1,
            #[cfg(feature = "postgres")]
            Self::Postgres => 128,
        }
    }
}
