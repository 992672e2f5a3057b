//! The progress of copying a database.

/// The progress of copying a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Copying the pages of an SQLite file.
    Copying {
        /// Bytes copied so far.
        done: u64,
        /// Bytes of the whole database.
        of: u64,
    },
    /// Copying the rows of the tables.
    Rows {
        /// Rows copied so far.
        done: u64,
        /// Rows of all tables.
        of: u64,
    },
    /// Rebuilding the search index.
    Indexing {
        /// Posts in the index so far.
        done: u64,
        /// All posts.
        of: u64,
    },
    /// Reading the copied rows and comparing them with the source.
    Verifying {
        /// Rows read so far.
        done: u64,
        /// Rows of all tables.
        of: u64,
    },
    /// Writing the copy again without the content of deleted rows.
    Compacting,
    /// Checking the finished copy.
    Checking,
}
