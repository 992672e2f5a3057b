//! Whole tables: reading all rows of a snapshot, and filling a new database with them, on any engine.
//!
//! A transfer has connections of its own, because it runs without a [`Store`](super::Store).

use super::inspect::Inspected;
use super::{Arg, StoreError};

#[cfg(feature = "postgres")]
pub(crate) use super::postgres::{ServerSnapshot, ServerTarget};
pub(crate) use super::sqlite::bulk::{FileSnapshot, FileTarget};

/// The maximum number of columns of a table.
pub(crate) const COLUMNS_MAX: usize = 32;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A 64-bit integer.
    Integer,
    /// A 64-bit floating-point number.
    Real,
    /// A text.
    Text,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// A table, with its columns in the order of its definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
}

impl Table {
    /// Returns the names of the columns as SQL writes a list of them.
    pub(super) fn column_list(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| quoted(&column.name)).collect();
        names.join(", ")
    }
}

/// Returns a name as SQL writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Adds a column to the tables, whose rows a catalogue returns ordered by table.
///
/// # Errors
/// When the table has more than [`COLUMNS_MAX`] columns.
pub(super) fn add_column(tables: &mut Vec<Table>, table: &str, column: Column) -> Result<(), StoreError> {
    match tables.last_mut() {
        Some(last) if last.name == table => {
            if last.columns.len() == COLUMNS_MAX {
                return Err(StoreError::other(format!("the table {table} has too many columns")));
            }
            last.columns.push(column);
        }
        _ => tables.push(Table { name: table.to_owned(), columns: vec![column] }),
    }
    Ok(())
}

/// Receives a row: the values in the order of the columns.
pub(crate) type OnRow<'r> = dyn FnMut(&[Arg<'_>]) -> Result<(), StoreError> + 'r;

/// A key that was assigned to a row of a table, which has the greatest key so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastKey {
    pub(crate) table: String,
    pub(crate) key: i64,
}

/// A snapshot of a database: one committed state, while other processes write.
pub(crate) trait Snapshot {
    /// Returns the tables, also those of the engine; a search index is one table.
    ///
    /// # Errors
    /// When a column has a type other than those of [`Kind`] in a table other than the search index.
    fn tables(&mut self) -> Result<Vec<Table>, StoreError>;

    /// Returns the number of rows of a table.
    fn count(&mut self, table: &Table) -> Result<u64, StoreError>;

    /// Calls `each` with each row of a table: the columns that `table` names, in its order.
    ///
    /// # Errors
    /// The first error of `each`; `Interrupted` when a stop was requested.
    fn for_each(&mut self, table: &Table, each: &mut OnRow<'_>) -> Result<(), StoreError>;

    /// Returns the greatest revision of a commit in the snapshot.
    fn revision(&mut self) -> Result<i64, StoreError>;

    /// Returns the greatest keys that were ever assigned in the tables that never assign a key twice.
    fn last_keys(&mut self) -> Result<Vec<LastKey>, StoreError>;
}

/// A database that is being filled. Until it is finished, no program takes it for a database.
pub(crate) trait Target {
    /// Returns the tables, as [`Snapshot::tables`] does.
    ///
    /// # Errors
    /// As [`Snapshot::tables`].
    fn tables(&mut self) -> Result<Vec<Table>, StoreError>;

    /// Returns the first of these tables that has a row.
    fn first_with_rows(&mut self, tables: &[&str]) -> Result<Option<String>, StoreError>;

    /// Declares the database incomplete, begins a transaction, and empties tables.
    fn begin(&mut self, emptied: &[&str]) -> Result<(), StoreError>;

    /// Inserts rows into a table: all for which `feed` calls its argument.
    ///
    /// # Errors
    /// The first error of `feed`; when a row breaks a constraint of the table.
    fn insert(
        &mut self,
        table: &Table,
        feed: &mut dyn FnMut(&mut OnRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Commits. Later transactions have greater revisions than `revision`, and later rows have greater keys than those of
    /// their table and than its last key.
    fn commit(&mut self, revision: i64, last_keys: &[LastKey]) -> Result<(), StoreError>;

    /// Returns the database for statements, after the commit.
    fn inspected(&self) -> &dyn Inspected;

    /// Prepares the database for reading, after the last change to it.
    fn settle(&mut self) -> Result<(), StoreError>;

    /// Returns what is stored, read on another connection.
    fn stored(&mut self) -> Result<Box<dyn Snapshot + '_>, StoreError>;

    /// Returns the faults that the engine itself finds: of the file, and references to missing rows.
    fn faults(&mut self) -> Result<Vec<String>, StoreError>;
}
