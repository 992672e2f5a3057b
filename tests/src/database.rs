//! The databases of tests, on either engine.
//!
//! A test names its database by the path of an SQLite file. When tests run on PostgreSQL, [`location`] turns the path into
//! the URL of a database that stands for it, on the shared server of the test process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use rusqlite::types::{ToSqlOutput, ValueRef};
use tidings_cluster::{Cluster, Engine, Value};

/// By the path that they stand for.
static DATABASES: Mutex<BTreeMap<PathBuf, tidings_cluster::Database>> = Mutex::new(BTreeMap::new());

/// Returns what the flag `--db` takes for the database at `path`. On PostgreSQL the first call creates a database without
/// tables; it is removed some time after the directory of `path`.
pub fn location(path: &Path) -> OsString {
    match Engine::chosen() {
        Engine::Sqlite => path.into(),
        Engine::Postgres => with_postgres(path, |database| database.url().into()),
    }
}

/// Returns the path of a file that belongs to the database at `path`, such as its key: its name is that of the database
/// and `end`. The file is beside a database of SQLite, and in the working directory of the program for one of PostgreSQL.
pub(crate) fn beside(path: &Path, working_directory: &Path, end: &str) -> PathBuf {
    match Engine::chosen() {
        Engine::Sqlite => {
            let mut file = path.as_os_str().to_owned();
            file.push(end);
            file.into()
        }
        Engine::Postgres => {
            with_postgres(path, |database| working_directory.join(format!("{}{end}", database.name())))
        }
    }
}

fn with_postgres<T>(path: &Path, then: impl FnOnce(&tidings_cluster::Database) -> T) -> T {
    // Another test may have failed to create a database.
    let mut databases = DATABASES.lock().unwrap_or_else(PoisonError::into_inner);
    databases.retain(|path, _| path.parent().is_some_and(Path::exists));
    let create = || Cluster::shared().expect("the choice of the engine has started it").database();
    then(databases.entry(absolute(path).unwrap()).or_insert_with(create))
}

/// A connection to a database of tidings, which programs may have open. `$1` in a statement is the first argument.
#[derive(Debug)]
pub struct Database(Connection);

enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(tidings_cluster::Connection),
}

impl Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sqlite(_) => "Sqlite",
            Self::Postgres(_) => "Postgres",
        })
    }
}

impl Database {
    pub fn open(path: &Path) -> Self {
        Self(match Engine::chosen() {
            Engine::Sqlite => {
                assert!(path.exists(), "there is no database {}", path.display());
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.busy_timeout(crate::WAIT_MAX).unwrap();
                Connection::Sqlite(connection)
            }
            Engine::Postgres => Connection::Postgres(with_postgres(path, tidings_cluster::Database::connect)),
        })
    }

    /// Runs a statement and returns its rows, each value as text.
    pub fn query(&mut self, sql: &str, args: &[Value<'_>]) -> Vec<Vec<Option<String>>> {
        match &mut self.0 {
            Connection::Postgres(connection) => connection.query(sql, args),
            Connection::Sqlite(connection) => {
                let mut statement = prepare(connection, sql, args);
                let columns = statement.column_count();
                let mut rows = statement.raw_query();
                let mut all = Vec::new();
                while let Some(row) = rows.next().unwrap_or_else(|error| panic!("{sql}: {error}")) {
                    all.push((0..columns).map(|column| text(row.get_ref(column).unwrap())).collect());
                }
                all
            }
        }
    }

    /// Runs a statement that returns one value, which is not null.
    pub fn scalar<T: FromStr<Err: Debug>>(&mut self, sql: &str, args: &[Value<'_>]) -> T {
        let rows = self.query(sql, args);
        match rows.first().and_then(|row| row.first()) {
            Some(Some(value)) => value.parse().unwrap(),
            other => panic!("{sql}: {other:?}"),
        }
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub fn execute(&mut self, sql: &str, args: &[Value<'_>]) -> usize {
        match &mut self.0 {
            Connection::Postgres(connection) => {
                let changed =
                    connection.try_execute(sql, args).unwrap_or_else(|error| panic!("{sql}: {error}"));
                changed.try_into().unwrap()
            }
            Connection::Sqlite(connection) => {
                prepare(connection, sql, args).raw_execute().unwrap_or_else(|error| panic!("{sql}: {error}"))
            }
        }
    }

    pub fn batch(&mut self, sql: &str) {
        match &mut self.0 {
            Connection::Postgres(connection) => drop(connection.query(sql, &[])),
            Connection::Sqlite(connection) => {
                connection.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        }
    }
}

/// To SQLite, `$2` is a name.
fn prepare<'a>(
    connection: &'a rusqlite::Connection,
    sql: &str,
    args: &[Value<'_>],
) -> rusqlite::Statement<'a> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    for (arg, number) in args.iter().zip(1..) {
        let parameter = statement.parameter_index(&format!("${number}")).unwrap();
        let value = match *arg {
            Value::Null => ValueRef::Null,
            Value::Integer(integer) => ValueRef::Integer(integer),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        };
        let parameter = parameter.unwrap_or_else(|| panic!("{sql} has no ${number}"));
        statement.raw_bind_parameter(parameter, ToSqlOutput::Borrowed(value)).unwrap();
    }
    statement
}

/// As PostgreSQL prints it.
fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(integer) => Some(integer.to_string()),
        ValueRef::Real(real) => Some(real.to_string()),
        ValueRef::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
        ValueRef::Blob(bytes) => Some(format!("{bytes:?}")),
    }
}

/// Tables that any request may change: counters, the access log, the change numbers that invalidate caches, what servers
/// share beside the data, and the word model, which a server learns by itself. The sender of webhooks removes what it has sent.
const COUNTED: [&str; 19] = [
    "api_key",
    "day_count",
    "total_count",
    "visitor",
    "day_key",
    "request",
    "log",
    "log_shard",
    "notice_reads",
    "feed_order",
    "sign_in_failure",
    "lease",
    "touched",
    "revision",
    "lane",
    "word_model",
    "word_model_part",
    "sqlite_sequence",
    "webhook_delivery",
];

pub(crate) fn content(path: &Path) -> Vec<u8> {
    match Engine::chosen() {
        Engine::Sqlite => {
            let mut bytes = fs::read(path).unwrap();
            // There is no log after a clean stop.
            bytes.extend(fs::read(beside(path, Path::new(""), "-wal")).unwrap_or_default());
            bytes
        }
        Engine::Postgres => format!("{:?}", tables(path, |_| true)).into_bytes(),
    }
}

pub(crate) fn dump(path: &Path) -> BTreeMap<String, Vec<String>> {
    tables(path, |table| !COUNTED.contains(&table))
}

fn tables(path: &Path, is_included: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<String>> {
    let mut database = Database::open(path);
    // One transaction, so that all tables come from the same snapshot.
    let (begin, tables) = match Engine::chosen() {
        Engine::Sqlite => {
            let tables =
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'";
            ("BEGIN", tables)
        }
        Engine::Postgres => {
            // The rows of a partition are also those of its table.
            let tables = "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
                          AND relkind IN ('r', 'p') AND NOT relispartition";
            ("BEGIN ISOLATION LEVEL REPEATABLE READ", tables)
        }
    };
    database.batch(begin);
    let tables = database.query(tables, &[]).into_iter().flatten().flatten();
    let tables = tables.filter(|table| is_included(table));
    tables.map(|table| (table.clone(), rows(&mut database, &table))).collect()
}

fn rows(database: &mut Database, table: &str) -> Vec<String> {
    let rows = database.query(&format!("SELECT * FROM \"{table}\""), &[]);
    let mut rows: Vec<String> = rows.into_iter().map(|row| format!("{row:?}")).collect();
    // PostgreSQL returns the rows of a table in any order.
    rows.sort_unstable();
    rows
}

/// Runs the engine's own checks of a database that programs may have open, and returns their first finding; `ok` means
/// that there is none.
pub fn integrity(path: &Path) -> String {
    let mut database = Database::open(path);
    match Engine::chosen() {
        Engine::Sqlite => {
            let foreign_keys = database.query("PRAGMA foreign_key_check", &[]);
            assert_eq!(foreign_keys, [] as [Vec<Option<String>>; 0]);
            database.scalar("PRAGMA integrity_check", &[])
        }
        Engine::Postgres => {
            // The extension is a part of PostgreSQL that some systems package separately. It compares each index with
            // its table, and fails if they differ.
            let extension = "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'";
            if !database.query(extension, &[]).is_empty() {
                database.batch(
                    "CREATE EXTENSION IF NOT EXISTS amcheck;
                     SELECT bt_index_check(i.indexrelid, true) FROM pg_index i
                     JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
                     WHERE a.amname = 'btree' AND c.relkind = 'i' AND i.indisvalid
                           AND c.relnamespace = current_schema()::regnamespace",
                );
            }
            "ok".to_owned()
        }
    }
}
