//! What stands in a database, for tests that ask whether something was written.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

fn open(database: &Path) -> Connection {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

/// What every answered request may write, and how caches learn of it.
const COUNTED: [&str; 9] = [
    "day_count",
    "total_count",
    "visitor",
    "day_key",
    "request",
    "log",
    "touched",
    "revision",
    "sqlite_sequence",
];

/// Every row of every table, as text; but for those that every answered request may write to.
pub(crate) fn dump(database: &Path) -> BTreeMap<String, Vec<String>> {
    let connection = open(database);
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'";
    let mut tables = connection.prepare(sql).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    // One transaction, so that the tables are of the same moment.
    connection.execute_batch("BEGIN").unwrap();
    let tables = tables.map(Result::unwrap).filter(|table| !COUNTED.contains(&table.as_str()));
    tables.map(|table| (table.clone(), rows(&connection, &table))).collect()
}

fn rows(connection: &Connection, table: &str) -> Vec<String> {
    let mut rows = connection.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
    let columns = rows.column_count();
    let rows = rows.query_map([], |row| {
        (0..columns).map(|column| row.get::<_, Value>(column)).collect::<Result<Vec<_>, _>>()
    });
    rows.unwrap().map(|row| format!("{:?}", row.unwrap())).collect()
}

/// What SQLite finds wrong with the file: `ok` when it is sound.
pub(crate) fn integrity(database: &Path) -> String {
    open(database).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}
