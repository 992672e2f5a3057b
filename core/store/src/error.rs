//! The errors of the store.

use std::error::Error as StdError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod server;

pub use server::ServerError;

/// A failure of the store, by its meaning for the caller.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("a row with this key already exists")]
    Duplicate,
    #[error("the row refers to a row that does not exist")]
    Dangling,
    /// The queue of writes is full, another process keeps the database locked, or the service is stopping.
    #[error("the database is busy")]
    Overloaded,
    #[error(
        "the database has schema version {found}, and this program supports {known}: use the newer program"
    )]
    Newer {
        found: i64,
        /// The newest version that this program supports.
        known: i64,
    },
    /// The database was written by a program before the schema of this one, which has no steps from there.
    #[error(
        "the database has schema version {found}, and this program updates {oldest} and later: open it once with the program of \
         the commit f641f7e1, which updates it to version {oldest}"
    )]
    TooOld {
        found: i64,
        /// The oldest version that this program updates.
        oldest: i64,
    },
    /// The database was written by an older program, and this operation does not update it.
    #[error(
        "the database has schema version {found}, and this operation needs {known}: start this program with it once, \
         which updates it"
    )]
    Older { found: i64, known: i64 },
    /// The time zone in the settings differs from the one in which the database counts days.
    #[error(
        "the database counts days in the time zone {counted}, not in {asked}: remove the timezone setting, or set it to \
         {counted}; to change the zone of the database, run tidings store timezone {asked}"
    )]
    Zone {
        /// The time zone of the database.
        counted: String,
        /// The time zone of the settings.
        asked: String,
    },
    #[error("the file is not a tidings database")]
    Foreign,
    /// The file cannot be created because its directory does not exist.
    #[error("the directory {} does not exist: create it, or name another file", .0.display())]
    NoDirectory(PathBuf),
    /// The name is not that of a file, or there is something else under it, such as a pipe.
    #[error("{} {what}: name a file, such as tidings.db", .path.display())]
    NotAFile {
        path: PathBuf,
        /// The fault, such as `is a pipe or a device`.
        what: &'static str,
    },
    /// The file is damaged. Contains SQLite's message.
    #[error("{0}")]
    Damaged(String),
    #[error("the operation was cancelled")]
    Interrupted,
    #[error("the disk is full")]
    Full,
    /// A file of the database is no longer the one that was opened, so writes to it would be lost.
    #[error(
        "{} {fault} while it was in use, so writes are refused: put it back under its name, or {}",
        .file.display(), remedy(database, *saves)
    )]
    Replaced {
        database: PathBuf,
        /// The file that changed: the database itself or a file next to it.
        file: PathBuf,
        /// The way in which it changed.
        fault: &'static str,
        /// Whether closing the database saves the writes so far.
        saves: bool,
    },
    /// The file is empty, and a file next to it shows that it was a database.
    #[error(
        "{} is empty, but {} shows that it was a database: remove both files to begin with a new database, or restore a \
         backup", .database.display(), .beside.display()
    )]
    Emptied {
        database: PathBuf,
        /// The file next to it.
        beside: PathBuf,
    },
    /// A PostgreSQL server cannot be used.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server rolled the transaction back because of another one, or a lock was not free: the work can be repeated.
    /// Contains the server's message.
    #[error("the database is busy: {0}")]
    Conflict(String),
    /// The connection to the server was lost, or the server no longer accepts writes. The outcome of a commit in progress
    /// is unknown. Contains the cause.
    #[error("the connection to the database server was lost: {0}")]
    Disconnected(String),
    /// The connection was lost during a commit, and it was not possible to find out in time whether the commit succeeded.
    /// Contains the cause.
    #[error("it is not known whether the change was stored: {0}: look before you repeat it")]
    OutcomeUnknown(String),
    #[error(
        "the other servers of this database sign tokens with a different key: copy their key file to {}, or set \
         TIDINGS_TOKEN_KEY or token-key-file to the same key", .file.display()
    )]
    OtherKey {
        /// The default key file of the database.
        file: PathBuf,
    },
    /// The servers of the database sign tokens with a key that this program does not have.
    #[error(
        "there is no key {}, with which the servers of this database sign tokens: copy their key file there, or set \
         TIDINGS_TOKEN_KEY or token-key-file", .file.display()
    )]
    MissingKey {
        /// The default key file of the database.
        file: PathBuf,
    },
    /// Any other failure: of the disk, or of a wrong statement.
    #[error("{0}")]
    Other(Arc<dyn StdError + Send + Sync>),
}

impl StoreError {
    /// The transaction may succeed soon, so its writes run again.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::Conflict(_) | Self::Disconnected(_) => true,
            Self::Server(error) => error.is_transient(),
            _ => false,
        }
    }

    /// Returns whether the database server could not be used for a moment: the operation may succeed later without a
    /// change to the settings.
    pub fn is_unavailable(&self) -> bool {
        self.is_temporary() || matches!(self, Self::OutcomeUnknown(_))
    }

    /// An error that callers need not match on.
    pub fn other(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Other(Arc::from(cause.into()))
    }
}

fn remedy(database: &Path, saves: bool) -> String {
    if saves {
        // An ordinary stop copies the write-ahead log, which is still open, into the database.
        return "stop the program in the ordinary way, which saves all earlier writes, and start it again"
            .to_owned();
    }
    format!("stop the program, restore a backup to {}, and start it again", database.display())
}
