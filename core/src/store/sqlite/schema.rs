//! The schema of an SQLite file, compared with that of a new database.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::StoreError;
use super::open::create_schema;
use crate::store::schema::{Comparison, Part, PartKind, PartName, Parts, compare, normalised};

/// The tables whose rows `tidings check --repair` recomputes, so that they can be created again without a loss.
const RECOMPUTED: [&str; 4] = ["category", "label", "post_index", "post_terms"];

/// How the row of a table is created if a new database's row would be wrong: from the rows of other tables.
const ROWS: [(&str, &str); 3] = [
    // A revision is above all that were stored.
    (
        "revision",
        "INSERT INTO revision (one, n)
         SELECT 1, 1 + max(n) FROM (
             SELECT coalesce(max(revision), 0) AS n FROM touched
             UNION ALL SELECT coalesce(max(revision), 0) FROM post_change
             UNION ALL SELECT coalesce(max(revision), 0) FROM member_acts
             UNION ALL SELECT coalesce(max(revision), 0) FROM removed_post
             UNION ALL SELECT coalesce(max(revision), 0) FROM term)",
    ),
    // All posts may have changed.
    ("post_change", "INSERT INTO post_change (revision, post) SELECT n, 0 FROM revision"),
    // The chain before its earliest record is known only if that is the first one.
    (
        "audit_chain",
        "INSERT INTO audit_chain (one, removed_seq, removed_hash, head_seq, head_hash)
         SELECT 1, 0, printf('%064d', 0), coalesce(max(seq), 0),
                coalesce((SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), printf('%064d', 0))
         FROM audit HAVING coalesce(min(seq), 1) = 1",
    ),
];

/// Compares the schema of a database whose version is this program's.
pub(super) fn compare_schema(connection: &Connection) -> Result<Comparison, StoreError> {
    let reference = Connection::open_in_memory()?;
    create_schema(&reference)?;
    let mut expected = parts(&reference)?;
    let tables: Vec<String> =
        expected.keys().filter(|name| name.kind == PartKind::Table).map(|name| name.table.clone()).collect();
    for table in &tables {
        if let Some(create) = row(&reference, table)? {
            let replaced = ROWS.iter().find(|(of, _)| of == table).map(|(_, sql)| (*sql).to_owned());
            let part = Part { create: replaced.unwrap_or(create), ..Part::default() };
            expected.insert(name_of_row(table), part);
        }
    }
    let mut found = parts(connection)?;
    let stored: BTreeSet<String> = found.keys().map(|name| name.table.clone()).collect();
    let with_row = expected.keys().filter(|name| name.kind == PartKind::Row && stored.contains(&name.table));
    for name in with_row {
        if row(connection, &name.table)?.is_some() {
            found.insert(name.clone(), Part::default());
        }
    }
    Ok(Comparison::Compared(compare(&expected, &found)))
}

fn name_of_row(table: &str) -> PartName {
    PartName { kind: PartKind::Row, table: table.to_owned(), name: table.to_owned() }
}

/// Returns all parts of a schema except rows.
fn parts(connection: &Connection) -> Result<Parts, StoreError> {
    // The names of SQLite's own tables and indexes begin with `sqlite_`. The definitions of the internal tables of the search
    // index depend on the version of SQLite.
    let sql =
        "SELECT s.type, s.tbl_name, s.name, coalesce(s.sql, ''), coalesce(l.type, '') FROM sqlite_schema s
               LEFT JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.name AND s.type = 'table'
               WHERE s.name NOT LIKE 'sqlite!_%' ESCAPE '!'";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut parts = Parts::new();
    while let Some(row) = rows.next()? {
        let [kind, table, name, sql, form]: [String; 5] =
            [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
        let Some(kind) = PartKind::of(&kind) else { continue };
        let part = match &*form {
            "shadow" => Part::default(),
            _ => part(kind, &name, &sql),
        };
        parts.insert(PartName { kind, table, name }, part);
    }
    Ok(parts)
}

fn part(kind: PartKind, name: &str, sql: &str) -> Part {
    let definition = normalised(sql);
    let affects_writes = match kind {
        PartKind::Trigger => true,
        PartKind::Index => definition.starts_with("CREATE UNIQUE "),
        _ => false,
    };
    let (create, remove) = match kind {
        PartKind::Table if RECOMPUTED.contains(&name) => (sql.to_owned(), String::new()),
        PartKind::Index => (sql.to_owned(), format!("DROP INDEX {name}")),
        PartKind::View => (sql.to_owned(), format!("DROP VIEW {name}")),
        PartKind::Trigger => (sql.to_owned(), format!("DROP TRIGGER {name}")),
        _ => (String::new(), String::new()),
    };
    Part { definition, create, remove, affects_writes }
}

/// Returns the statement that inserts the first row of a table; `None` if there is none. The counters have a check of their own,
/// and the internal tables of the search index are SQLite's.
fn row(connection: &Connection, table: &str) -> Result<Option<String>, StoreError> {
    if table == "total_count" || table.starts_with("post_index") {
        return Ok(None);
    }
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    let columns: Vec<String> = columns.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let values: Vec<String> = columns.iter().map(|column| format!("quote({column})")).collect();
    let sql = format!(
        "SELECT 'INSERT INTO {table} ({}) VALUES (' || {} || ')' FROM {table} LIMIT 1",
        columns.join(", "),
        values.join(" || ', ' || ")
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
}
