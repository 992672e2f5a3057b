use super::place::{permissions, size};
use super::{Check, FOREIGN_KEYS, INTEGRITY, Run};
use crate::base::files::key_file;
use crate::base::location::Location;
use crate::record::error::Result;
use crate::store::InspectedServer;
use crate::store::inspect::Inspected;
use crate::store::{FromValue, Row, StoreError, Tx};

mod replication;

type Look = (&'static str, fn(&mut dyn Tx) -> Result<Check, StoreError>);

const LOOKS: [Look; 7] = [
    ("server", version),
    ("writable", writable),
    ("collation", collation),
    ("durability", durability),
    ("replication", replication::look),
    ("lanes", lanes),
    ("size", database_size),
];

pub(super) fn check(run: &mut Run<'_>, location: &Location) -> Result<()> {
    let Location::Postgres(url) = location else { return Ok(()) };
    run.begin(INTEGRITY);
    let inspected = InspectedServer::open(url, run.stop)?;
    let database: &dyn Inspected = &inspected;
    let check = database.read(|tx| Ok(integrity(tx)?));
    run.add_read(INTEGRITY, check)?;
    run.begin(FOREIGN_KEYS);
    let dangling = database.read(|tx| dangling(tx));
    run.add_references(dangling, |fault| {
        Check::new(FOREIGN_KEYS, false, format!("{fault}; restore a backup of the server"))
    });
    run.check_rows(database, inspected.schema_versions())?;
    for (name, look) in LOOKS {
        run.begin(name);
        let check = database.read(|tx| Ok(look(tx)?));
        run.add_read(name, check)?;
    }
    #[cfg(unix)]
    {
        let key = run.context.key.map_or_else(|| key_file(&location.base()), std::path::Path::to_owned);
        run.add(permissions(&[], &key, "the key"));
    }
    Ok(())
}

const NAMESPACE: &str = "(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('schema_version'))";

fn integrity(tx: &mut dyn Tx) -> Result<Check, StoreError> {
    let sql = format!(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE c.relnamespace = {NAMESPACE} AND NOT (i.indisvalid AND i.indisready) ORDER BY 1"
    );
    let mut faults: Vec<String> = texts(tx, &sql)?
        .iter()
        .map(|index| format!("the index {index} is invalid: REINDEX INDEX {index}"))
        .collect();
    let sql = "SELECT coalesce(checksum_failures, 0), current_setting('data_checksums')
               FROM pg_stat_database WHERE datname = current_database()";
    let (failures, checksums): (i64, String) = pair(tx, sql)?;
    if failures > 0 {
        faults.push(format!(
            "the server has found {failures} damaged pages: see its log, replace the disk, and restore a backup of the \
             server"
        ));
    }
    if !faults.is_empty() {
        return Ok(Check::new(INTEGRITY, false, faults.join("; ")));
    }
    let detail = match &*checksums {
        "on" => "every index is valid, and no page that was read had a wrong checksum",
        _ => "every index is valid; pages have no checksums: pg_checksums --enable adds them",
    };
    Ok(Check::new(INTEGRITY, true, detail))
}

/// Returns the tables that have rows with a reference to a missing row, and the number of such rows.
fn dangling(tx: &mut dyn Tx) -> Result<Vec<(String, u64)>, StoreError> {
    let mut tables = Vec::new();
    for table in ["label", "post_stats"] {
        let sql = format!(
            "SELECT count(*) FROM {table} r WHERE NOT EXISTS (SELECT FROM post p WHERE p.key = r.post)"
        );
        let rows: i64 = tx.one(&sql, &[])?.take(0)?;
        if rows > 0 {
            tables.push((table.to_owned(), rows.unsigned_abs()));
        }
    }
    Ok(tables)
}

fn version(tx: &mut dyn Tx) -> Result<Check, StoreError> {
    let version: String = tx.one("SELECT current_setting('server_version')", &[])?.take(0)?;
    Ok(Check::new("server", true, format!("PostgreSQL {version}")))
}

fn writable(tx: &mut dyn Tx) -> Result<Check, StoreError> {
    // The setting of the session itself is on in a transaction that only reads.
    let sql = "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')";
    let (is_standby, is_read_only): (bool, String) = pair(tx, sql)?;
    let name = "writable";
    Ok(if is_standby {
        let what = "no server of the URL is a primary, so writes fail: add the primary to the URL, or promote a standby";
        Check::new(name, false, what)
    } else if is_read_only == "on" {
        Check::new(name, false, "default_transaction_read_only is on, so writes fail: turn it off")
    } else {
        Check::new(name, true, "the server is a primary")
    })
}

/// Texts must be UTF-8 and compare by their bytes.
fn collation(tx: &mut dyn Tx) -> Result<Check, StoreError> {
    let name = "collation";
    // A table in which no column compares by bytes belongs to another program.
    let sql = format!(
        "SELECT o.relname || '.' || a.attname
         FROM (SELECT c.oid, c.relname FROM pg_class c WHERE c.relnamespace = {NAMESPACE} AND c.relkind = 'r') o
         JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
         JOIN pg_collation l ON l.oid = a.attcollation AND l.collname NOT IN ('C', 'POSIX', 'ucs_basic')
         WHERE EXISTS (SELECT FROM pg_attribute b JOIN pg_collation m ON m.oid = b.attcollation
                       WHERE b.attrelid = o.oid AND b.attnum > 0 AND m.collname = 'C')
         ORDER BY 1"
    );
    let wrong = texts(tx, &sql)?;
    if !wrong.is_empty() {
        let what = format!(
            "pages of lists may repeat or omit rows, because these columns do not compare by bytes: {}: ALTER TABLE … \
             ALTER COLUMN … TYPE text COLLATE \"C\"",
            super::first_few(&wrong)
        );
        return Ok(Check::new(name, false, what));
    }
    let sql = "SELECT pg_encoding_to_char(encoding), datcollate FROM pg_database WHERE datname = current_database()";
    let (encoding, locale): (String, String) = pair(tx, sql)?;
    let what =
        format!("texts are {encoding} and compare by their bytes; the locale of the database is {locale}");
    Ok(Check::new(name, true, what))
}

/// A crash of the server must lose no acknowledged change.
fn durability(tx: &mut dyn Tx) -> Result<Check, StoreError> {
    let name = "durability";
    let sql = "SELECT current_setting('fsync'), current_setting('synchronous_commit')";
    let (fsync, commit): (String, String) = pair(tx, sql)?;
    let mut faults = Vec::new();
    if fsync == "off" {
        faults.push("fsync is off, so a crash of the machine can destroy the database: set it to on");
    }
    if commit == "off" {
        faults.push("synchronous_commit is off, so a crash loses acknowledged changes: set it to on");
    }
    if !faults.is_empty() {
        return Ok(Check::new(name, false, faults.join("; ")));
    }
    let full_pages: String = tx.one("SELECT current_setting('full_page_writes')", &[])?.take(0)?;
    let mut detail = format!("an acknowledged change is on disk (fsync = on, synchronous_commit = {commit})");
    if full_pages == "off" {
        detail.push_str(
            "; full_page_writes is off, which only a file system with atomic writes such as ZFS permits",
        );
    }
    Ok(Check::new(name, true, detail))
}

fn lanes(tx: &mut dyn Tx) -> Result<Check, StoreError> {
    /// A lane is reserved for an hour. In milliseconds.
    const LEASE_MAX: i64 = 2 * 60 * 60 * 1000;
    let now = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
    let sql = format!("SELECT count(*), count(*) FILTER (WHERE until > {now}) FROM lane");
    let (lanes, reserved): (i64, i64) = pair(tx, &sql)?;
    let sql = format!("SELECT count(*) FROM lane WHERE until > {now} + $1");
    let ahead: i64 = tx.one(&sql, &[LEASE_MAX.into()])?.take(0)?;
    let name = "lanes";
    if ahead > 0 {
        let what = format!(
            "{ahead} of {lanes} write lanes are reserved for hours: the clock of the database server was set back; set it"
        );
        return Ok(Check::new(name, false, what));
    }
    Ok(Check::new(name, true, format!("{reserved} of {lanes} write lanes are reserved")))
}

fn database_size(tx: &mut dyn Tx) -> Result<Check, StoreError> {
    let bytes: i64 = tx.one("SELECT pg_database_size(current_database())", &[])?.take(0)?;
    Ok(Check::new("size", true, size(bytes.unsigned_abs())))
}

fn texts(tx: &mut dyn Tx, sql: &str) -> Result<Vec<String>, StoreError> {
    tx.rows(sql, &[])?.into_iter().map(|mut row| row.take(0)).collect()
}

/// The statement returns one row.
fn pair<A: FromValue, B: FromValue>(tx: &mut dyn Tx, sql: &str) -> Result<(A, B), StoreError> {
    let both = |mut row: Row| Ok((row.take(0)?, row.take(1)?));
    both(tx.one(sql, &[])?)
}

#[cfg(test)]
mod tests;
