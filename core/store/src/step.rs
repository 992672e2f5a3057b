//! The progress of copying a database.

/// The progress of copying a database. `of` is the number of all, `done` of those so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Copying the pages of an SQLite file, in bytes.
    Copying { done: u64, of: u64 },
    /// Copying the rows of the tables.
    Rows { done: u64, of: u64 },
    /// Rebuilding the search index, in posts.
    Indexing { done: u64, of: u64 },
    /// Reading the copied rows and comparing them with the source, in rows.
    Verifying { done: u64, of: u64 },
    /// Writing the copy again without the content of deleted rows.
    Compacting,
    /// Checking the finished copy.
    Checking,
}
