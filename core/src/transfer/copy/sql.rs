use super::plan;
use crate::store::{Dialect, StoreError, Tx};

/// A table, and the greatest key that it ever gave to a row.
pub(super) type LastKey = (String, i64);

/// Returns the `FROM` item of a query. On a server, a counter has a row for each writer, of which a copy has the sum.
pub(super) fn rows_of(dialect: Dialect, table: &str) -> String {
    match dialect {
        Dialect::Sqlite => table.to_owned(),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => {
            let key = match table {
                "day_count" => "day, counter",
                "total_count" => "counter",
                _ => return table.to_owned(),
            };
            format!("(SELECT {key}, CAST(sum(n) AS bigint) AS n FROM {table} GROUP BY {key}) AS {table}")
        }
    }
}

/// Returns columns that both engines have, as SQL writes them; none if there is no table.
pub(super) fn columns(tx: &mut dyn Tx, table: &str) -> Result<Vec<String>, StoreError> {
    let sql = match tx.dialect() {
        Dialect::Sqlite => "SELECT '\"' || name || '\"' FROM pragma_table_info($1) ORDER BY cid",
        #[cfg(feature = "postgres")]
        Dialect::Postgres => {
            "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0
             AND NOT attisdropped AND attgenerated = '' AND attname <> 'writer' ORDER BY attnum"
        }
    };
    tx.rows(sql, &[table.into()])?.into_iter().map(|mut row| row.take(0)).collect()
}

pub(super) fn insert(table: &str, columns: &[String]) -> String {
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
    format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), places.join(", "))
}

pub(super) fn count(tx: &mut dyn Tx, table: &str) -> Result<u64, StoreError> {
    let sql = format!("SELECT count(*) FROM {}", rows_of(tx.dialect(), table));
    tx.one(&sql, &[])?.take::<i64>(0).map(i64::unsigned_abs)
}

/// Without statistics, the planner of a server expects few rows.
#[cfg(feature = "postgres")]
pub(super) fn analyze(tx: &mut dyn Tx, table: &str) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => Ok(()),
        Dialect::Postgres => tx.run(&format!("ANALYZE {table}"), &[]).map(drop),
    }
}

/// A new database or an interrupted copy has rows.
pub(super) fn empty(tx: &mut dyn Tx) -> Result<(), StoreError> {
    let mut tables = Vec::new();
    for table in plan::emptied() {
        if !columns(tx, table)?.is_empty() {
            tables.push(table);
        }
    }
    match tx.dialect() {
        Dialect::Sqlite => {
            tables.iter().try_for_each(|table| tx.run(&format!("DELETE FROM {table}"), &[]).map(drop))
        }
        #[cfg(feature = "postgres")]
        Dialect::Postgres => tx.run(&format!("TRUNCATE {} CASCADE", tables.join(", ")), &[]).map(drop),
    }
}

#[cfg(feature = "postgres")]
pub(super) fn first_with_rows(tx: &mut dyn Tx) -> Result<Option<&'static str>, StoreError> {
    for table in plan::unused() {
        if tx.row(&format!("SELECT 1 FROM {table} LIMIT 1"), &[])?.is_some() {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

/// Of the commits that the transaction sees.
pub(super) fn revision(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let sql = match tx.dialect() {
        Dialect::Sqlite => "SELECT n FROM revision",
        // Every transaction has left its revision in its lane.
        #[cfg(feature = "postgres")]
        Dialect::Postgres => {
            "SELECT greatest(max(l.revision), max(b.base), 0) FROM revision_base b LEFT JOIN lane l ON true"
        }
    };
    tx.one(sql, &[])?.take(0)
}

/// Returns the greatest keys ever given, of the tables that never give a key twice.
pub(super) fn last_keys(tx: &mut dyn Tx) -> Result<Vec<LastKey>, StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => {
            let rows = tx.rows("SELECT name, seq FROM sqlite_sequence", &[])?.into_iter();
            rows.map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
        }
        #[cfg(feature = "postgres")]
        Dialect::Postgres => {
            // A sequence is not part of a snapshot, so its value may be that of a later row, which does no harm.
            let sql = "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, attname)), 0)
                       FROM pg_attribute WHERE attrelid = to_regclass($1) AND attidentity <> ''";
            let mut keys = Vec::new();
            for table in plan::copied() {
                if let Some(mut row) = tx.row(sql, &[table.into()])? {
                    keys.push((table.to_owned(), row.take(0)?));
                }
            }
            Ok(keys)
        }
    }
}

/// Later transactions get greater revisions than `revision`, and later rows greater keys than those of their table and than its
/// last key.
pub(super) fn continue_after(
    tx: &mut dyn Tx,
    revision: i64,
    last_keys: &[LastKey],
) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => {
            tx.run("UPDATE revision SET n = max(n, $1)", &[revision.into()])?;
            for (table, key) in last_keys {
                let args = [table.into(), (*key).into()];
                // Other tables have no counter, because SQLite gives their keys again after a deletion.
                tx.run(
                    "INSERT INTO sqlite_sequence (name, seq) SELECT $1, 0
                     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = $1)
                       AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = $1 AND sql LIKE '%AUTOINCREMENT%')",
                    &args[..1],
                )?;
                tx.run("UPDATE sqlite_sequence SET seq = max(seq, $2) WHERE name = $1", &args)?;
            }
            Ok(())
        }
        #[cfg(feature = "postgres")]
        Dialect::Postgres => {
            tx.run("UPDATE revision_base SET base = greatest(base, $1)", &[revision.into()])?;
            for (table, _) in self::last_keys(tx)? {
                let last = last_keys.iter().find(|(name, _)| *name == table).map_or(0, |(_, key)| *key);
                // A sequence begins at 1: without a key, 1 is the next one.
                let sql = format!(
                    "SELECT setval(pg_get_serial_sequence('{table}', 'key'), greatest(k.last, 1), k.last > 0)
                     FROM (SELECT greatest(max(key), $1) AS last FROM {table}) k"
                );
                tx.one(&sql, &[last.into()])?;
            }
            Ok(())
        }
    }
}
