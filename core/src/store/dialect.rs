//! The parts of statements that the engines write differently, by name.
//!
//! Statements use the SQL that all engines share. Where there is none, a statement gets the text from the [`Dialect`] of
//! its transaction. The search index, of which the engines share nothing, has a file for each engine in `post/index/`.

/// The SQL of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres,
}

impl Dialect {
    /// Returns the function of two texts whose result is the position of the second in the first, counted from 1, or 0 if
    /// the first does not contain the second.
    pub(crate) const fn position(self) -> &'static str {
        match self {
            Self::Sqlite => "instr",
            #[cfg(feature = "postgres")]
            Self::Postgres => "strpos",
        }
    }

    /// Returns the statement that records that the topic $1 changed at the revision $2.
    ///
    /// On SQLite, where one transaction writes at a time, a topic has one row. On PostgreSQL each change is a row of its own,
    /// so that transactions do not wait for each other; the rows that later ones have replaced are deleted every minute.
    pub(crate) const fn insert_touched(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "INSERT INTO touched (topic, revision) VALUES ($1, $2)
                 ON CONFLICT (topic) DO UPDATE SET revision = excluded.revision"
            }
            #[cfg(feature = "postgres")]
            Self::Postgres => "INSERT INTO touched (topic, revision) VALUES ($1, $2)",
        }
    }
}
