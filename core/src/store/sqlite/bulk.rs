//! Whole tables of SQLite files.

use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};

use super::inspect::{InspectedFile, integrity, stops};
use super::open::open_unchanged;
use super::{APPLICATION_ID, SCHEMA_VERSION, StoreError, open_and_migrate};
use crate::base::cancel::CancelFlag;
use crate::store::Arg;
use crate::store::bulk::{
    COLUMNS_MAX, Column, Kind, LastKey, OnRow, Snapshot, Table, Target, add_column, quoted,
};
use crate::store::inspect::Inspected;

/// The page cache while a database is filled: indexes grow in random places.
const CACHE_KIB: i64 = 128 << 10;

/// A snapshot of a database file.
pub(crate) struct FileSnapshot(Connection);

impl FileSnapshot {
    /// Opens the existing tidings database at `path` without changing it. Statements end when `stop` is requested.
    ///
    /// # Errors
    /// When it cannot be read, is not a tidings database, or has a newer or older schema than the program's.
    pub(crate) fn open(path: &Path, stop: &CancelFlag) -> Result<Self, StoreError> {
        super::refuse_emptied(path)?;
        let mut connection = open_unchanged(path)?;
        stops(&mut connection, stop)?;
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (application, found) = (pragma("application_id")?, pragma("user_version")?);
        if application != APPLICATION_ID {
            return Err(StoreError::Foreign);
        }
        if found > SCHEMA_VERSION {
            return Err(StoreError::Newer { found, known: SCHEMA_VERSION });
        }
        if found < SCHEMA_VERSION {
            return Err(StoreError::Older { found, known: SCHEMA_VERSION });
        }
        Ok(Self(connection))
    }
}

impl Snapshot for FileSnapshot {
    fn tables(&mut self) -> Result<Vec<Table>, StoreError> {
        tables(&self.0)
    }

    fn count(&mut self, table: &Table) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {}", quoted(&table.name));
        Ok(self.0.query_row(&sql, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
    }

    fn for_each(&mut self, table: &Table, each: &mut OnRow<'_>) -> Result<(), StoreError> {
        let sql = format!("SELECT {} FROM {}", table.column_list(), quoted(&table.name));
        let mut statement = self.0.prepare(&sql)?;
        let columns = table.columns.len();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut cells = [Arg::Null; COLUMNS_MAX];
            for (place, cell) in cells.iter_mut().enumerate().take(columns) {
                *cell = match row.get_ref(place)? {
                    ValueRef::Null => Arg::Null,
                    ValueRef::Integer(value) => Arg::Integer(value),
                    ValueRef::Real(value) => Arg::Real(value),
                    ValueRef::Text(text) => {
                        Arg::Text(str::from_utf8(text).map_err(|_| damaged(table, place))?)
                    }
                    ValueRef::Blob(_) => return Err(damaged(table, place)),
                };
            }
            each(&cells[..columns])?;
        }
        Ok(())
    }

    fn revision(&mut self) -> Result<i64, StoreError> {
        Ok(self.0.query_row("SELECT n FROM revision", [], |row| row.get(0))?)
    }

    fn last_keys(&mut self) -> Result<Vec<LastKey>, StoreError> {
        let mut statement = self.0.prepare("SELECT name, seq FROM sqlite_sequence")?;
        let keys = statement.query_map([], |row| Ok(LastKey { table: row.get(0)?, key: row.get(1)? }))?;
        Ok(keys.collect::<Result<_, _>>()?)
    }
}

/// The error of a value that is not a UTF-8 text in a column of texts, which this program never writes.
fn damaged(table: &Table, place: usize) -> StoreError {
    StoreError::Damaged(format!("{}.{} is not a text in UTF-8", table.name, table.columns[place].name))
}

fn tables(connection: &Connection) -> Result<Vec<Table>, StoreError> {
    // A virtual table is the search index; its internal tables are shadow tables. The names of SQLite's own tables
    // begin with `sqlite_`.
    let sql = "SELECT t.name, t.type, c.name, c.type FROM pragma_table_list t JOIN pragma_table_info(t.name) c
               WHERE t.schema = 'main' AND t.type IN ('table', 'virtual') AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!'
               ORDER BY t.name, c.cid";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut tables = Vec::new();
    while let Some(row) = rows.next()? {
        let (table, form, name): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let declared: String = row.get(3)?;
        let kind = match &*declared {
            "INTEGER" => Kind::Integer,
            "REAL" => Kind::Real,
            // The search index has bytes and columns without types. It is never copied.
            "TEXT" | "BLOB" => Kind::Text,
            _ if form == "virtual" => Kind::Text,
            _ => return Err(StoreError::other(format!("{table}.{name} has the type {declared}"))),
        };
        add_column(&mut tables, &table, Column { name, kind })?;
    }
    Ok(tables)
}

/// A file that is being filled. The caller renames it when it is complete.
pub(crate) struct FileTarget {
    file: InspectedFile,
    path: PathBuf,
    stop: CancelFlag,
}

impl FileTarget {
    /// Creates the schema in the empty file at `path`. Statements end when `stop` is requested.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn create(path: &Path, stop: &CancelFlag) -> Result<Self, StoreError> {
        let (mut connection, file) = open_and_migrate(path)?;
        stops(&mut connection, stop)?;
        // An incomplete file is removed, so it needs no syncs. A rollback needs a journal, in memory.
        connection.pragma_update(None, "journal_mode", "MEMORY")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        // All references are checked at the end, which is faster.
        connection.pragma_update(None, "foreign_keys", false)?;
        let file = InspectedFile::of_connection(connection, file);
        Ok(Self { file, path: path.to_owned(), stop: stop.clone() })
    }

    fn connection(&self) -> &Connection {
        self.file.connection()
    }
}

impl Target for FileTarget {
    fn tables(&mut self) -> Result<Vec<Table>, StoreError> {
        tables(self.connection())
    }

    /// A file was created without rows.
    fn first_with_rows(&mut self, _: &[&str]) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    fn begin(&mut self, emptied: &[&str]) -> Result<(), StoreError> {
        self.connection().execute_batch("BEGIN IMMEDIATE")?;
        for table in emptied {
            self.connection().execute(&format!("DELETE FROM {}", quoted(table)), [])?;
        }
        Ok(())
    }

    fn insert(
        &mut self,
        table: &Table,
        feed: &mut dyn FnMut(&mut OnRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (name, columns) = (quoted(&table.name), table.column_list());
        let places: Vec<String> = (1..=table.columns.len()).map(|place| format!("?{place}")).collect();
        let sql = format!("INSERT INTO {name} ({columns}) VALUES ({})", places.join(", "));
        let mut statement = self.connection().prepare(&sql)?;
        feed(&mut |cells| {
            for (place, cell) in cells.iter().enumerate() {
                bind(&mut statement, place + 1, *cell)?;
            }
            statement.raw_execute()?;
            Ok(())
        })
    }

    fn commit(&mut self, revision: i64, last_keys: &[LastKey]) -> Result<(), StoreError> {
        let connection = self.connection();
        connection.execute("UPDATE revision SET n = max(n, ?1)", [revision])?;
        for LastKey { table, key } in last_keys {
            // Other tables have no counter, because SQLite gives their keys again after a deletion.
            connection.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, 0
                 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)
                   AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1 AND sql LIKE '%AUTOINCREMENT%')",
                [table],
            )?;
            let sql = "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1";
            connection.execute(sql, (table, key))?;
        }
        Ok(connection.execute_batch("COMMIT")?)
    }

    fn inspected(&self) -> &dyn Inspected {
        &self.file
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn stored(&mut self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(FileSnapshot::open(&self.path, &self.stop)?))
    }

    fn faults(&mut self) -> Result<Vec<String>, StoreError> {
        let mut faults = integrity(self.connection())?;
        let dangling = self.file.dangling()?;
        faults.extend(dangling.iter().map(|(table, rows)| format!("{rows} rows of {table} refer to no row")));
        Ok(faults)
    }
}

/// Binds the value of a column.
fn bind(statement: &mut Statement<'_>, place: usize, cell: Arg<'_>) -> Result<(), StoreError> {
    let value = match cell {
        Arg::Null => ValueRef::Null,
        Arg::Integer(value) => ValueRef::Integer(value),
        Arg::Real(value) => ValueRef::Real(value),
        Arg::Text(text) => ValueRef::Text(text.as_bytes()),
        Arg::Blob(bytes) => ValueRef::Blob(bytes),
    };
    Ok(statement.raw_bind_parameter(place, ToSqlOutput::Borrowed(value))?)
}
