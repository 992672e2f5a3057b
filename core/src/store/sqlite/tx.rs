//! A transaction on one connection.

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::super::{Arg, Row, StoreError, Topic, Tx, Value};

/// The names of arguments in statements; no statement has more.
const NAMES: [&str; 16] =
    ["$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$16"];

/// An open transaction on one connection.
pub(in crate::store) struct SqliteTx<'c> {
    connection: &'c Connection,
    /// Whether an interrupted statement means that the time for reading is over.
    is_limited: bool,
    revision: i64,
    touched: Vec<Topic>,
    counts: Vec<Addition>,
}

/// What a work adds to a counter.
struct Addition {
    counter: i64,
    day: Option<i64>,
    /// Whether it also counts all in all.
    total: bool,
    n: i64,
}

impl<'c> SqliteTx<'c> {
    /// Begins a transaction that reads.
    pub(in crate::store) fn begin(connection: &'c Connection) -> Result<Self, StoreError> {
        let mut tx = Self::new(connection);
        tx.run("BEGIN", &[])?;
        Ok(tx)
    }

    /// As [`SqliteTx::begin`], on a connection whose statements are interrupted when a time limit is over: they fail
    /// with [`StoreError::Overloaded`].
    pub(in crate::store) fn begin_limited(connection: &'c Connection) -> Result<Self, StoreError> {
        Ok(Self { is_limited: true, ..Self::begin(connection)? })
    }

    fn new(connection: &'c Connection) -> Self {
        Self { connection, is_limited: false, revision: 0, touched: Vec::new(), counts: Vec::new() }
    }

    /// Begins a transaction that writes, and takes the next revision for it.
    pub(in crate::store) fn begin_write(connection: &'c Connection) -> Result<Self, StoreError> {
        let mut tx = Self::new(connection);
        tx.run("BEGIN IMMEDIATE", &[])?;
        match tx.one("UPDATE revision SET n = n + 1 RETURNING n", &[]).and_then(|mut row| row.take(0)) {
            Ok(revision) => tx.revision = revision,
            Err(error) => {
                tx.rollback();
                return Err(error);
            }
        }
        Ok(tx)
    }

    /// What the failure of a statement means.
    fn meaning_of(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Interrupted if self.is_limited => StoreError::Overloaded,
            error => error,
        }
    }

    /// How many additions to counters there are: where those of the next work begin.
    pub(in crate::store) fn counted(&self) -> usize {
        self.counts.len()
    }

    /// Forgets the additions from there on, with the work that made them.
    pub(in crate::store) fn uncount(&mut self, from: usize) {
        self.counts.truncate(from);
    }

    /// Writes what has been added to counters.
    fn write_counts(&mut self) -> Result<(), StoreError> {
        let mut sums = BTreeMap::new();
        for Addition { counter, day, total, n } in self.counts.drain(..) {
            if total {
                *sums.entry((counter, None)).or_insert(0) += n;
            }
            if day.is_some() {
                *sums.entry((counter, day)).or_insert(0) += n;
            }
        }
        for ((counter, day), n) in &sums {
            match day {
                None => {
                    let sql = "INSERT INTO total_count (counter, n) VALUES ($1, $2)
                               ON CONFLICT (counter) DO UPDATE SET n = total_count.n + excluded.n";
                    self.run(sql, &[(*counter).into(), (*n).into()])?;
                }
                Some(day) => {
                    let sql = "INSERT INTO day_count (counter, day, n) VALUES ($1, $2, $3)
                               ON CONFLICT (day, counter) DO UPDATE SET n = day_count.n + excluded.n";
                    self.run(sql, &[(*counter).into(), (*day).into(), (*n).into()])?;
                }
            }
        }
        if !sums.is_empty() {
            self.touch(Topic::Counts);
        }
        Ok(())
    }

    /// Puts what was done on disk; answers the topics that it touched.
    pub(in crate::store) fn commit(mut self) -> Result<Vec<Topic>, StoreError> {
        if let Err(error) = self.write_counts() {
            self.rollback();
            return Err(error);
        }
        for topic in std::mem::take(&mut self.touched) {
            let sql = "INSERT INTO touched (topic, revision) VALUES ($1, $2)
                       ON CONFLICT (topic) DO UPDATE SET revision = excluded.revision";
            if let Err(error) = self.run(sql, &[topic.name().into(), self.revision.into()]) {
                self.rollback();
                return Err(error);
            }
            self.touched.push(topic);
        }
        match self.run("COMMIT", &[]) {
            Ok(_) => Ok(self.touched),
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    /// Undoes everything. Its own failure says only that SQLite has undone it already.
    pub(in crate::store) fn rollback(mut self) {
        let _ = self.run("ROLLBACK", &[]);
    }

    /// Whether the transaction still stands: a full disk makes SQLite undo it of its own accord.
    pub(in crate::store) fn is_open(&self) -> bool {
        !self.connection.is_autocommit()
    }
}

impl Tx for SqliteTx<'_> {
    fn rows(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>, StoreError> {
        rows(self.connection, sql, args).map_err(|error| self.meaning_of(error))
    }

    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        run(self.connection, sql, args).map_err(|error| self.meaning_of(error))
    }

    fn revision(&self) -> i64 {
        self.revision
    }

    fn touch(&mut self, topic: Topic) {
        if !self.touched.contains(&topic) {
            self.touched.push(topic);
        }
    }

    fn count(&mut self, counter: i64, day: Option<i64>, n: i64) {
        self.counts.push(Addition { counter, day, total: true, n });
    }

    fn count_on(&mut self, counter: i64, day: i64, n: i64) {
        self.counts.push(Addition { counter, day: Some(day), total: false, n });
    }
}

fn rows(connection: &Connection, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, args)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|i| row.get_ref(i).map_err(StoreError::from).and_then(value));
        found.push(Row(values.collect::<Result<_, _>>()?));
    }
    Ok(found)
}

fn run(connection: &Connection, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, args)?;
    Ok(statement.raw_execute()? as u64)
}

/// Binds arguments by name, never by position: SQLite numbers `$2` by where it first occurs in the statement.
///
/// # Errors
/// When the statement does not take exactly these arguments, or more than [`NAMES`] has.
fn bind(statement: &mut rusqlite::CachedStatement<'_>, args: &[Arg<'_>]) -> Result<(), StoreError> {
    let (given, taken, most) = (args.len(), statement.parameter_count(), NAMES.len());
    if given != taken || given > most {
        return Err(StoreError::other(format!(
            "{given} arguments were given to a statement that takes {taken}; the most are {most}"
        )));
    }
    for (name, arg) in NAMES.iter().zip(args) {
        let index = statement.parameter_index(name)?;
        let index = index.ok_or_else(|| StoreError::other(format!("the statement has no {name}")))?;
        statement.raw_bind_parameter(index, arg)?;
    }
    Ok(())
}

impl rusqlite::ToSql for Arg<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Arg::Null => ValueRef::Null,
            Arg::Integer(value) => ValueRef::Integer(*value),
            Arg::Real(value) => ValueRef::Real(*value),
            Arg::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

fn value(value: ValueRef<'_>) -> Result<Value, StoreError> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(_) => return Err(StoreError::other("the schema has no blobs")),
    })
}
