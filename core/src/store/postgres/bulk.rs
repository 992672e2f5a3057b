//! Whole tables of databases on a server, with COPY.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::bulk::{
    COLUMNS_MAX, Column, Kind, LastKey, OnRow, Snapshot, Table, Target, add_column, quoted,
};
use super::super::inspect::Inspected;
use super::super::{Arg, ServerError, StoreError};
use super::InspectedServer;
use super::connect::{Connector, Purpose};
use super::migrate::{self, INCOMPLETE, OF_EXTENSION, Schema};
use super::server::Server;
use crate::base::cancel::CancelFlag;
use crate::base::location::PostgresUrl;

mod binary;
mod link;

use binary::Encoder;
use link::{Link, text};

/// The schema of the tables.
const SCHEMA: &str = "(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('schema_version'))";

/// The first half of the key of the lock that a program holds while it fills a database: "tdgc" as a number. The second
/// half is the number of the schema.
const FILLING: i32 = 0x7464_6763;

/// Maximum time to wait for the end of an earlier copy to the same database: the server notices only after a moment that
/// a program was killed.
const EARLIER_MAX: Duration = Duration::from_secs(10);
/// The time between two attempts to get the lock.
const TRY_EVERY: Duration = Duration::from_millis(100);

/// The rows of a COPY. The server reports an error only at the end of one.
const COPY_ROWS: u64 = 250_000;
/// The bytes that are sent at once.
const SEND_BYTES: usize = 256 << 10;

/// A snapshot of a database on a server.
pub(crate) struct ServerSnapshot(Link);

impl ServerSnapshot {
    /// Opens the existing database of a URL: on a standby if there is no primary. Statements end when `stop` is requested.
    ///
    /// # Errors
    /// When no server can be reached or it refuses; when the database has no tables, those of another program, or a
    /// newer or older schema than the program's; when it is incomplete.
    pub(crate) fn open(url: &PostgresUrl, stop: &CancelFlag) -> Result<Self, StoreError> {
        let connector = Connector::new(url)?;
        let server = Server::new(connector.clone());
        let (mut session, purpose) = match server.first_connection() {
            Err(StoreError::Server(ServerError::NoPrimary { .. })) => {
                (server.connect_for(Purpose::Read)?, Purpose::Read)
            }
            connected => (connected?, Purpose::Write),
        };
        let Schema { found, known } = migrate::existing(&mut session)?;
        if found > known {
            return Err(StoreError::Newer { found, known });
        }
        if found < known {
            return Err(StoreError::Older { found, known });
        }
        Self::begin(Link::open(&connector, purpose, stop)?)
    }

    /// Returns whether a program fills the database. Later programs do not until the snapshot ends.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(crate) fn is_being_filled(&self) -> Result<bool, StoreError> {
        // A lock belongs to a database. Two connections to different databases can have the same lock.
        Ok(!has_locked(&self.0, Lock::Read)?)
    }

    fn begin(link: Link) -> Result<Self, StoreError> {
        link.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        // The snapshot is taken by the first statement.
        link.run("SELECT 1")?;
        Ok(Self(link))
    }
}

impl Snapshot for ServerSnapshot {
    fn tables(&mut self) -> Result<Vec<Table>, StoreError> {
        tables(&self.0)
    }

    fn count(&mut self, table: &Table) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {}", rows_of(&table.name));
        Ok(self.0.number(&sql)?.unwrap_or_default().unsigned_abs())
    }

    fn for_each(&mut self, table: &Table, each: &mut OnRow<'_>) -> Result<(), StoreError> {
        // In the order of the key, rows are inserted at the end of a B-tree, which is faster and leaves it dense.
        let (columns, name) = (table.column_list(), rows_of(&table.name));
        let order = match primary_key(&self.0, &table.name)? {
            Some(key) => format!(" ORDER BY {key}"),
            None => String::new(),
        };
        let sql = format!("COPY (SELECT {columns} FROM {name}{order}) TO STDOUT (FORMAT binary)");
        self.0.copy_out(&sql, &mut |row| {
            let mut cells = [Arg::Null; COLUMNS_MAX];
            let cells = &mut cells[..table.columns.len()];
            if binary::decode(row, table, cells)? { each(cells) } else { Ok(()) }
        })
    }

    fn revision(&mut self) -> Result<i64, StoreError> {
        // Every transaction that the snapshot sees has left its revision in its lane.
        let sql =
            "SELECT greatest(max(l.revision), max(b.base), 0) FROM revision_base b LEFT JOIN lane l ON true";
        Ok(self.0.number(sql)?.unwrap_or_default())
    }

    fn last_keys(&mut self) -> Result<Vec<LastKey>, StoreError> {
        let mut keys = Vec::new();
        for (table, column) in identities(&self.0)? {
            // A sequence is not part of the snapshot, so its value may be that of a later row, which does no harm.
            let sql = format!(
                "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('{}', '{column}')), 0)",
                quoted(&table)
            );
            let key = self.0.number(&sql)?.unwrap_or_default();
            keys.push(LastKey { table, key });
        }
        Ok(keys)
    }
}

/// A database on a server that is being filled. A table marks it as incomplete, so that no program uses it.
pub(crate) struct ServerTarget {
    connector: Connector,
    /// The connection that inserts. It also holds the lock that tells others of the copy.
    link: Link,
    /// Whether an earlier copy to the database was interrupted.
    is_begun: bool,
    /// The database for statements, once the rows are committed.
    inspected: Option<InspectedServer>,
    url: PostgresUrl,
    stop: CancelFlag,
    _server: Arc<Server>,
}

impl ServerTarget {
    /// Opens the database of a URL, and creates the schema if there is none. Statements end when `stop` is requested.
    ///
    /// # Errors
    /// When there is no primary; when the database has tables of another program or a newer schema; `Overloaded` when
    /// another program fills it.
    pub(crate) fn open(url: &PostgresUrl, stop: &CancelFlag) -> Result<Self, StoreError> {
        let connector = Connector::new(url)?;
        let server = Server::new(connector.clone());
        let mut session = server.first_connection()?;
        let link = Link::open(&connector, Purpose::Write, stop)?;
        let began = Instant::now();
        while !has_locked(&link, Lock::Fill)? {
            if began.elapsed() >= EARLIER_MAX {
                return Err(StoreError::Overloaded);
            }
            std::thread::sleep(TRY_EVERY);
        }
        let is_begun = migrate::is_incomplete(&mut session)?;
        migrate::migrate_incomplete(&mut session)?;
        let (url, stop) = (url.clone(), stop.clone());
        Ok(Self { connector, link, is_begun, inspected: None, url, stop, _server: server })
    }

    /// Declares the database complete, which any program may then use.
    ///
    /// # Errors
    /// When the outcome is unknown, or nothing has changed.
    pub(crate) fn finish(mut self) -> Result<(), StoreError> {
        if let Some(inspected) = self.inspected.take() {
            inspected.close();
        }
        self.link.run(&format!("DROP TABLE {INCOMPLETE}"))
    }
}

/// The lock of a database, which its connection keeps.
#[derive(Clone, Copy)]
enum Lock {
    /// Of the one program that fills it.
    Fill,
    /// Of a program that copies it.
    Read,
}

/// Tries to lock the database of a connection.
fn has_locked(link: &Link, lock: Lock) -> Result<bool, StoreError> {
    let function = match lock {
        Lock::Fill => "pg_try_advisory_lock",
        Lock::Read => "pg_try_advisory_lock_shared",
    };
    let schema = "CAST(CAST(CAST(current_schema() AS regnamespace) AS oid) AS bigint) % 2147483648";
    let sql = format!("SELECT CAST({function}({FILLING}, CAST({schema} AS integer)) AS integer)");
    Ok(link.number(&sql)? == Some(1))
}

impl Target for ServerTarget {
    fn tables(&mut self) -> Result<Vec<Table>, StoreError> {
        tables(&self.link)
    }

    fn first_with_rows(&mut self, tables: &[&str]) -> Result<Option<String>, StoreError> {
        if self.is_begun {
            return Ok(None);
        }
        for table in tables {
            let sql = format!("SELECT CAST(EXISTS (SELECT FROM {}) AS integer)", quoted(table));
            if self.link.number(&sql)? == Some(1) {
                return Ok(Some((*table).to_owned()));
            }
        }
        Ok(None)
    }

    fn begin(&mut self, emptied: &[&str]) -> Result<(), StoreError> {
        self.link.run(&format!("CREATE TABLE IF NOT EXISTS {INCOMPLETE} (one bigint PRIMARY KEY)"))?;
        // The rows of an emptied table need no write-ahead log at `wal_level = minimal`, and can be frozen.
        let emptied: Vec<String> = emptied.iter().map(|table| quoted(table)).collect();
        self.link.run(&format!("BEGIN; TRUNCATE {} CASCADE", emptied.join(", ")))
    }

    fn insert(
        &mut self,
        table: &Table,
        feed: &mut dyn FnMut(&mut OnRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (name, columns) = (quoted(&table.name), table.column_list());
        // Frozen rows are not written again when they are first read. The parts of a partitioned table cannot be frozen.
        let freeze = if is_partitioned(&self.link, &table.name)? { "" } else { ", FREEZE" };
        let sql = format!("COPY {name} ({columns}) FROM STDIN (FORMAT binary{freeze})");
        let (mut encoder, mut rows) = (Encoder::new(SEND_BYTES), 0_u64);
        let mut copy = None;
        feed(&mut |cells| {
            let mut open = if let Some(open) = copy.take() {
                open
            } else {
                encoder.begin();
                self.link.copy_in(&sql)?
            };
            encoder.row(table, cells)?;
            rows += 1;
            if rows.is_multiple_of(COPY_ROWS) {
                return open.finish(encoder.end());
            }
            if let Some(bytes) = encoder.full() {
                open.send(bytes)?;
            }
            copy = Some(open);
            Ok(())
        })?;
        match copy {
            Some(open) => open.finish(encoder.end()),
            None => Ok(()),
        }
    }

    fn commit(&mut self, revision: i64, last_keys: &[LastKey]) -> Result<(), StoreError> {
        for (table, column) in identities(&self.link)? {
            let last = last_keys.iter().find(|last| last.table == table).map_or(0, |last| last.key);
            let sequence = format!("pg_get_serial_sequence('{}', '{column}')", quoted(&table));
            let (table, column) = (quoted(&table), quoted(&column));
            // A sequence begins at 1: without a key, 1 is the next one.
            self.link.run(&format!(
                "SELECT setval({sequence}, greatest(k.last, 1), k.last > 0)
                 FROM (SELECT greatest(max({column}), {last}) AS last FROM {table}) k"
            ))?;
        }
        self.link.run(&format!("UPDATE revision_base SET base = greatest(base, {revision}); COMMIT"))?;
        self.inspected = Some(InspectedServer::open_incomplete(&self.url, &self.stop)?);
        Ok(())
    }

    fn inspected(&self) -> &dyn Inspected {
        self.inspected.as_ref().expect("the caller has committed")
    }

    /// The planner needs statistics: without them it expects few rows.
    fn settle(&mut self) -> Result<(), StoreError> {
        for table in tables(&self.link)? {
            self.link.run(&format!("ANALYZE {}", quoted(&table.name)))?;
        }
        Ok(())
    }

    fn stored(&mut self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        let link = Link::open(&self.connector, Purpose::Write, &self.stop)?;
        Ok(Box::new(ServerSnapshot::begin(link)?))
    }

    /// The server checks references when rows are inserted.
    fn faults(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}

fn tables(link: &Link) -> Result<Vec<Table>, StoreError> {
    let sql = format!(
        "SELECT c.relname, a.attname, format_type(a.atttypid, NULL) FROM pg_class c
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
         WHERE c.relnamespace = {SCHEMA} AND c.relkind IN ('r', 'p') AND NOT c.relispartition
               AND c.relname <> '{INCOMPLETE}' AND a.attname <> '{WRITER}' AND NOT {OF_EXTENSION}
         ORDER BY c.relname, a.attnum"
    );
    let mut tables = Vec::new();
    for row in link.rows(&sql)? {
        let (table, name) = (text(&row, 0)?, text(&row, 1)?.to_owned());
        let kind = match text(&row, 2)? {
            "bigint" | "integer" => Kind::Integer,
            "double precision" => Kind::Real,
            // Bytes are in the search index, which is never copied.
            _ => Kind::Text,
        };
        add_column(&mut tables, table, Column { name, kind })?;
    }
    Ok(tables)
}

/// The column that tells the rows of the writers of a counter apart.
const WRITER: &str = "writer";

/// Returns what a query reads the rows of a table from. A counter has a row for each writer, of which a copy has the sum.
fn rows_of(table: &str) -> String {
    let key = match table {
        "day_count" => "day, counter",
        "total_count" => "counter",
        _ => return quoted(table),
    };
    format!("(SELECT {key}, CAST(sum(n) AS bigint) AS n FROM {table} GROUP BY {key}) AS {table}")
}

/// Returns the tables with an identity column, and that column.
fn identities(link: &Link) -> Result<Vec<(String, String)>, StoreError> {
    let sql = format!(
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
         WHERE c.relnamespace = {SCHEMA} AND c.relkind IN ('r', 'p') AND NOT {OF_EXTENSION} ORDER BY c.relname"
    );
    link.rows(&sql)?.iter().map(|row| Ok((text(row, 0)?.to_owned(), text(row, 1)?.to_owned()))).collect()
}

/// Returns the columns of the primary key of a table, as SQL writes a list of them.
fn primary_key(link: &Link, table: &str) -> Result<Option<String>, StoreError> {
    let sql = format!(
        "SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY array_position(i.indkey::int2[], a.attnum))
         FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
         WHERE i.indrelid = to_regclass('{}') AND i.indisprimary AND a.attname <> '{WRITER}'",
        quoted(table)
    );
    Ok(link.rows(&sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
}

fn is_partitioned(link: &Link, table: &str) -> Result<bool, StoreError> {
    let sql = format!(
        "SELECT CAST(relkind = 'p' AS integer) FROM pg_class WHERE oid = to_regclass('{}')",
        quoted(table)
    );
    Ok(link.number(&sql)? == Some(1))
}
