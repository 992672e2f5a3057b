use std::ops::ControlFlow;
use std::path::PathBuf;

use tempfile::TempDir;
#[cfg(feature = "postgres")]
use tidings_cluster::{Cluster, Database, is_installed};

use super::*;
use crate::account::Caller;
use crate::base::clock::Clock;
use crate::base::config::{Config, Secret};
use crate::post;
use crate::record::export::{Export as _, ExportLines as _};
use crate::store::{Arg, Isolation, Store, Topic, Value};
use crate::testing::{NOW, operator};
use crate::{Builder, Tidings};

mod refused;
#[cfg(feature = "postgres")]
mod server;

struct Places {
    folder: TempDir,
    #[cfg(feature = "postgres")]
    server: Vec<Database>,
}

impl Places {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            #[cfg(feature = "postgres")]
            server: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str) -> Location {
        Location::File(self.path(name))
    }

    /// Returns a new database on the shared server, with an extension that has a view and a table with a row.
    #[cfg(feature = "postgres")]
    fn server(&mut self) -> Location {
        let database = Cluster::shared().expect("it is installed").database();
        database.query(
            "CREATE EXTENSION pg_stat_statements; CREATE TABLE spatial (id bigint GENERATED ALWAYS AS IDENTITY, name text);
             INSERT INTO spatial (name) VALUES ('a'); ALTER EXTENSION pg_stat_statements ADD TABLE spatial",
            &[],
        );
        let location = Location::from(database.url());
        self.server.push(database);
        location
    }

    fn posts(&self, name: &str) -> Location {
        let location = self.file(name);
        let sample = include_str!("../../../../tests/data/rust-blog.jsonl");
        let go_on = &mut |_| ControlFlow::Continue(());
        let report = post::import(&open_at(&location), &Caller::Operator, sample.as_bytes(), go_on).unwrap();
        assert_eq!(report.errors, []);
        location
    }

    /// Returns a database with values in all columns of all tables that are easily changed by mistake.
    fn odd(&self, name: &str) -> Location {
        let location = self.file(name);
        let file = InspectedFile::create(&self.path(name), &CancelFlag::default()).unwrap();
        let target: &dyn Inspected = &file;
        target.write(sql::empty).unwrap();
        for table in plan::copied() {
            target.write(|tx| odd_rows(tx, table)).unwrap();
        }
        location
    }
}

const KEYS: [&str; 12] = [
    "act", "counter", "date", "day", "key", "member", "number", "post", "revision", "slot", "source",
    "visitor",
];
const NULLABLE: &str = "feedback.member member.admin member.blacklisted member.major member.name post.end_date \
    post_stats.heat post_stats.heat_0 log.named_member log.path request.named_member";

fn odd_rows(tx: &mut dyn Tx, table: &str) -> Result<(), StoreError> {
    let sql = "SELECT name, type FROM pragma_table_info($1) ORDER BY cid";
    let columns = tx.rows(sql, &[table.into()])?.into_iter();
    let columns: Vec<(String, String)> =
        columns.map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect::<Result<_, StoreError>>()?;
    let names: Vec<String> = columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let insert = sql::insert(table, &names);
    let long = "Wie? \u{1f980}\n".repeat(200_000);
    for row in 0..if columns[0].0 == "one" { 1 } else { 4 } {
        let cells = columns.iter().map(|(name, kind)| odd_cell(table, name, kind, row, &long));
        tx.run(&insert, &cells.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn odd_cell<'l>(table: &str, name: &str, kind: &str, row: usize, long: &'l str) -> Arg<'l> {
    if row == 2 && NULLABLE.split(' ').any(|column| column == format!("{table}.{name}")) {
        return Arg::Null;
    }
    match kind {
        "INTEGER" if name == "one" => Arg::Integer(1),
        "INTEGER" if KEYS.contains(&name) => Arg::Integer([1, 2, 1 << 32, i64::MAX - 1][row]),
        "INTEGER" => Arg::Integer([i64::MIN, -1, 0, i64::MAX][row]),
        "REAL" => Arg::Real([f64::MAX, f64::MIN_POSITIVE, -0.0, f64::NEG_INFINITY][row]),
        _ if matches!(name, "topic" | "tag") => Arg::Text("[]"),
        _ if name == "post" && row == 0 => Arg::Text(long),
        _ => Arg::Text(["", "\\N\t\"'\r\n\u{1}", "\u{10ffff}\u{e9}e\u{301}", " B"][row]),
    }
}

/// Returns the builder of a service that has its own key, and so creates no file for it.
fn builder(location: &Location) -> Builder {
    let config = Config {
        token_key: Some(Secret(b"a key for tests, long enough for a signature".to_vec().into())),
        ..Config::default()
    };
    Tidings::builder(location).config(config).clock(Clock::fixed(NOW))
}

fn open_at(location: &Location) -> Tidings {
    builder(location).open().unwrap()
}

fn copied(from: &Location, to: &Location) -> Result<Report> {
    copy(operator(), from, to, &mut |_| {}, &CancelFlag::default())
}

fn rows(location: &Location) -> Vec<(&'static str, Vec<String>)> {
    let source = open(location, &CancelFlag::default()).unwrap();
    plan::copied().map(|table| (table, source.read(|tx| rows_of(tx, table)).unwrap())).collect()
}

fn rows_of(tx: &mut dyn Tx, table: &str) -> Result<Vec<String>, StoreError> {
    // The columns in the order of their names, which the engines share.
    let mut columns = sql::columns(tx, table)?;
    for column in &mut columns {
        *column = format!("\"{}\"", column.trim_matches('"'));
    }
    columns.sort();
    let sql = format!("SELECT {} FROM {}", columns.join(", "), sql::rows_of(tx.dialect(), table));
    let mut rows = Vec::new();
    tx.for_each(&sql, &[], &mut |row| {
        let cell = |place| {
            Ok(match row.take(place)? {
                // SQLite stores -0.0 as 0.0; their sum is 0.0.
                Value::Real(value) => format!("{}", value + 0.0),
                value => format!("{value:?}"),
            })
        };
        rows.push((0..columns.len()).map(cell).collect::<Result<Vec<_>, StoreError>>()?.join(", "));
        Ok(())
    })?;
    rows.sort();
    Ok(rows)
}

#[track_caller]
fn assert_equal(one: &Location, other: &Location) {
    for (one, other) in rows(one).into_iter().zip(rows(other)) {
        assert_eq!(one.0, other.0);
        assert!(one.1 == other.1, "{}: {} and {} rows", one.0, one.1.len(), other.1.len());
    }
}

fn exported(location: &Location) -> Vec<u8> {
    let mut out = Vec::new();
    let take = &mut |lines: &[u8], _| {
        out.extend_from_slice(lines);
        ControlFlow::Continue(())
    };
    let tidings = open_at(location);
    post::ExportPosts {}.export(&tidings, &Caller::Operator).pass_to(&tidings, take).unwrap();
    out
}

fn run(location: &Location, sql: &'static str) {
    let store = Store::open(location).unwrap();
    store.write(Isolation::Alone, move |tx| tx.run(sql, &[])).unwrap();
}

fn number(location: &Location, sql: &str) -> i64 {
    Store::open(location).unwrap().read(|tx| tx.one(sql, &[])?.take(0)).unwrap()
}

#[test]
fn a_file_is_copied_with_its_keys_and_later_revisions() {
    let places = Places::new();
    let (source, copy) = (places.posts("a.db"), places.file("b.db"));
    // The greatest key is not given again.
    run(
        &source,
        "INSERT INTO member (key, id, folded, password, generation, nickname, date) VALUES (70, 'a', 'a', '', 0, '', 0)",
    );
    run(&source, "DELETE FROM member WHERE key = 70");
    let report = copied(&source, &copy).unwrap();
    assert!(report.rows > 100 && report.failed.is_empty() && report.replaced == 0, "{report:?}");
    assert_equal(&source, &copy);
    assert!(exported(&source) == exported(&copy));
    let sequence = "SELECT seq FROM sqlite_sequence WHERE name = 'member'";
    assert_eq!((number(&source, sequence), number(&copy, sequence)), (70, 70));
    let revision = "SELECT n FROM revision";
    let touched = number(&copy, "SELECT min(revision) FROM touched");
    assert!(touched > number(&source, revision) && number(&copy, revision) >= touched);
    let topics = number(&copy, "SELECT count(*) FROM touched");
    assert_eq!(usize::try_from(topics), Ok(Topic::ALL.len()));
    let found = number(&copy, "SELECT count(*) FROM post_index WHERE post_index MATCH 'rust'");
    assert!(found > 0);
}

#[test]
fn odd_values_are_copied_to_a_file() {
    let places = Places::new();
    let (source, copy) = (places.odd("a.db"), places.file("b.db"));
    copied(&source, &copy).unwrap();
    assert_equal(&source, &copy);
}
