//! Reads the content of a database, for tests that check whether something was written.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

fn open(database: &Path) -> Connection {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

/// Tables that any request may change: counters, the access log, and the change numbers that invalidate caches.
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

/// Returns every row as text, by table, except the tables that any request may change.
pub(crate) fn dump(database: &Path) -> BTreeMap<String, Vec<String>> {
    let connection = open(database);
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'";
    let mut tables = connection.prepare(sql).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    // One transaction, so that all tables come from the same snapshot.
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

/// Runs SQLite's integrity check; `ok` means that it found no error.
pub(crate) fn integrity(database: &Path) -> String {
    open(database).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}
