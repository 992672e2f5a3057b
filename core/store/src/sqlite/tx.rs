//! A transaction on one connection.

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::effects::Effects;
use crate::engine::WriteTx;
use crate::gauges::count_statement;
use crate::value::{ARGS_MAX, Arg, Row, Value};
use crate::{Dialect, StoreError, Topic, Tx};

const NAMES: [&str; ARGS_MAX] = [
    "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$16",
    "$17", "$18", "$19", "$20", "$21", "$22", "$23", "$24", "$25", "$26", "$27", "$28", "$29", "$30", "$31",
    "$32",
];

pub(crate) struct SqliteTx<'c> {
    connection: &'c Connection,
    /// An interrupted statement means that the time limit of a read is over.
    is_limited: bool,
    revision: i64,
    /// The revision of the last commit in this snapshot, once read.
    horizon: Option<i64>,
    effects: Effects,
}

impl<'c> SqliteTx<'c> {
    pub(crate) fn begin(connection: &'c Connection) -> Result<Self, StoreError> {
        let mut tx = Self::new(connection);
        tx.run("BEGIN", &[])?;
        Ok(tx)
    }

    /// With `is_limited`, the connection interrupts statements after a time limit: they fail with [`StoreError::Overloaded`].
    pub(super) fn begin_limited(connection: &'c Connection, is_limited: bool) -> Result<Self, StoreError> {
        Ok(Self { is_limited, ..Self::begin(connection)? })
    }

    fn new(connection: &'c Connection) -> Self {
        Self { connection, is_limited: false, revision: 0, horizon: None, effects: Effects::default() }
    }

    pub(crate) fn begin_write(connection: &'c Connection) -> Result<Self, StoreError> {
        let mut tx = Self::new(connection);
        tx.run("BEGIN IMMEDIATE", &[])?;
        match tx.one("UPDATE revision SET n = n + 1 RETURNING n", &[]).and_then(|mut row| row.take(0)) {
            Ok(revision) => (tx.revision, tx.horizon) = (revision, Some(revision)),
            Err(error) => {
                tx.rollback();
                return Err(error);
            }
        }
        Ok(tx)
    }

    /// Past the time limit, an interruption means overload.
    fn meaning_of(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Interrupted if self.is_limited => StoreError::Overloaded,
            error => error,
        }
    }

    fn finish(&mut self) -> Result<Vec<Topic>, StoreError> {
        let touched = std::mem::take(&mut self.effects).write(self)?;
        self.run("COMMIT", &[])?;
        Ok(touched)
    }

    /// When the disk is full, SQLite rolls the transaction back.
    fn is_open(&self) -> bool {
        !self.connection.is_autocommit()
    }
}

impl WriteTx for SqliteTx<'_> {
    fn changes(&self) -> u64 {
        self.connection.total_changes()
    }

    fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }

    fn is_sound(&self) -> bool {
        self.is_open()
    }

    fn fault(&self) -> Option<StoreError> {
        (!self.is_open()).then(|| StoreError::other("the transaction was rolled back"))
    }

    fn commit(mut self) -> Result<Vec<Topic>, StoreError> {
        let committed = self.finish();
        if committed.is_err() {
            self.rollback();
        }
        committed
    }

    fn rollback(mut self) {
        let _ = self.run("ROLLBACK", &[]);
    }
}

impl Tx for SqliteTx<'_> {
    fn for_each(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for_each(self.connection, sql, args, each).map_err(|error| self.meaning_of(error))
    }

    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        run(self.connection, sql, args).map_err(|error| self.meaning_of(error))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn revision(&self) -> i64 {
        self.revision
    }

    fn horizon(&mut self) -> Result<i64, StoreError> {
        if let Some(horizon) = self.horizon {
            return Ok(horizon);
        }
        let horizon = self.one("SELECT n FROM revision", &[])?.take(0)?;
        Ok(*self.horizon.insert(horizon))
    }

    fn at_commit(&mut self) -> Option<&mut Effects> {
        Some(&mut self.effects)
    }
}

fn for_each(
    connection: &Connection,
    sql: &str,
    args: &[Arg<'_>],
    each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    count_statement();
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, args)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut values = Row(Vec::with_capacity(columns));
    while let Some(row) = rows.next()? {
        values.0.clear();
        for column in 0..columns {
            values.0.push(value(row.get_ref(column)?));
        }
        each(&mut values)?;
    }
    Ok(())
}

fn run(connection: &Connection, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
    count_statement();
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, args)?;
    Ok(statement.raw_execute()? as u64)
}

/// Binds arguments by name, never by position: SQLite numbers `$2` by where it first occurs in the statement.
fn bind(statement: &mut rusqlite::CachedStatement<'_>, args: &[Arg<'_>]) -> Result<(), StoreError> {
    let (given, taken, most) = (args.len(), statement.parameter_count(), NAMES.len());
    if given != taken || given > most {
        return Err(StoreError::other(format!(
            "{given} arguments were given to a statement that takes {taken}; the most are {most}"
        )));
    }
    for (position, (name, arg)) in (1..).zip(NAMES.iter().zip(args)) {
        let index = index_of(statement, position, name)?;
        statement.raw_bind_parameter(index, arg)?;
    }
    Ok(())
}

/// The index usually is the argument's position: looking there takes half the time of a look-up by name.
fn index_of(
    statement: &rusqlite::CachedStatement<'_>,
    position: usize,
    name: &str,
) -> Result<usize, StoreError> {
    if statement.parameter_name(position) == Some(name) {
        return Ok(position);
    }
    let index = statement.parameter_index(name)?;
    index.ok_or_else(|| StoreError::other(format!("the statement has no {name}")))
}

impl rusqlite::ToSql for Arg<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Arg::Null => ValueRef::Null,
            Arg::Integer(value) => ValueRef::Integer(*value),
            Arg::Real(value) => ValueRef::Real(*value),
            Arg::Text(value) => ValueRef::Text(value.as_bytes()),
            Arg::Blob(value) => ValueRef::Blob(value),
        }))
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(value) => Value::Text(match str::from_utf8(value) {
            Ok(value) => value.to_owned(),
            Err(_) => String::from_utf8_lossy(value).into_owned(),
        }),
        ValueRef::Blob(value) => Value::Blob(value.to_owned()),
    }
}
