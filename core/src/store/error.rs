//! Why the store failed.

use std::error::Error as StdError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why the store failed, named by meaning.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A row with this key is already there.
    #[error("a row with this key is already there")]
    Duplicate,
    /// The row refers to one that does not exist.
    #[error("the row refers to one that does not exist")]
    Dangling,
    /// Too much is waiting to be written, another process holds the database, or the service is stopping.
    #[error("too much is waiting for the database")]
    Overloaded,
    /// The database was written by a newer program.
    #[error("the database has schema version {found}, this program knows {known}: use the newer program")]
    Newer {
        /// The version of the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The settings name another time zone than the one that the database's days are counted in.
    #[error(
        "days are counted in the time zone {counted} and cannot be cut anew in {asked}: leave the timezone setting out, \
         or set it to {counted}"
    )]
    Zone {
        /// The database's zone.
        counted: String,
        /// The settings' zone.
        asked: String,
    },
    /// The file is a database, but not one of ours.
    #[error("the file is no tidings database")]
    Foreign,
    /// The file is not whole any more; what SQLite says of it.
    #[error("{0}")]
    Damaged(String),
    /// The caller cancelled it.
    #[error("it was stopped")]
    Interrupted,
    /// The disk has no room for what is written.
    #[error("the disk is full")]
    Full,
    /// A file of the database is no longer the one that was opened: a write would be lost.
    #[error(
        "{} {fault} while it was in use, so nothing is written: put it back under its name, or {}",
        .file.display(), advice(database, *saves)
    )]
    Replaced {
        /// The database.
        database: PathBuf,
        /// The file: the database itself, or one beside it.
        file: PathBuf,
        /// What happened to it.
        fault: &'static str,
        /// Whether closing the database saves what was written before.
        saves: bool,
    },
    /// The file is empty, and files beside it say that it was a database.
    #[error(
        "{} is empty, but {} says that it was a database: put a backup in its place with tidings restore FILE; or, to \
         begin with a new database, remove both files", .database.display(), .beside.display()
    )]
    Emptied {
        /// The file.
        database: PathBuf,
        /// The file beside it.
        beside: PathBuf,
    },
    /// Anything else: a disk that fails, a mistake in a statement.
    #[error("{0}")]
    Other(Arc<dyn StdError + Send + Sync>),
}

impl StoreError {
    /// An error that callers need not match on.
    pub(super) fn other(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Other(Arc::from(cause.into()))
    }
}

/// What to do when a file cannot be put back.
fn advice(database: &Path, saves: bool) -> String {
    if saves {
        // An ordinary stop brings the log, which is still open, into the database.
        return "stop the program in the ordinary way, which saves what was written, and start it again"
            .to_owned();
    }
    let database = database.display();
    format!(
        "stop the program, put a backup in the place of {database} with tidings restore FILE, and start it again"
    )
}
