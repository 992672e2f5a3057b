//! Statements that run once for each of many lists of arguments: [over arrays](super::super::arrays) where that is the same.

use std::pin::pin;
use std::sync::Arc;

use futures_util::stream::FuturesOrdered;
use futures_util::{StreamExt as _, TryStreamExt as _};
use lru::LruCache;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Statement};

use super::super::arrays::{
    change_over_arrays, insert_absent_over_arrays, insert_over_arrays, query_over_arrays,
};
use super::{AHEAD, STATEMENTS, Session, is_query};
use crate::store::StoreError;
use crate::store::gauges::count_statement;
use crate::store::value::{Arg, Row, Value};

/// The forms of statements over arrays.
#[derive(Clone, Copy)]
enum Form {
    Query,
    Insert,
    InsertAbsent,
    Change,
}

impl Form {
    /// Returns the statement over arrays in place of `sql`, whose arguments have these types.
    fn of(self, sql: &str, types: &[Type]) -> Option<String> {
        match self {
            Self::Query => query_over_arrays(sql, types),
            Self::Insert => insert_over_arrays(sql, types),
            Self::InsertAbsent => insert_absent_over_arrays(sql, types),
            Self::Change => change_over_arrays(sql, types),
        }
    }
}

/// The statements over arrays in place of others, by [`Form`]; `None` where there is none.
pub(super) type OverArrays = [LruCache<String, Option<Statement>>; 4];

/// Returns no statements.
pub(super) fn none_over_arrays() -> OverArrays {
    std::array::from_fn(|_| LruCache::new(STATEMENTS))
}

impl Session {
    /// Runs a statement once for each list of `width` arguments, and returns the first row of each result.
    pub(in crate::store::postgres) fn row_each(
        &mut self,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Vec<Option<Row>>, StoreError> {
        if args.len() > width
            && let Some(statement) = self.over_arrays(Form::Query, sql, width)?
        {
            return self.row_each_at_once(&statement, width, args);
        }
        let (client, statement) = (Arc::clone(&self.client), self.prepared(sql, width)?);
        let rows = self.each(width, args, |args| first_row(&client, &statement, args))?;
        if !is_query(sql) {
            self.changes += rows.len() as u64;
        }
        Ok(rows)
    }

    /// Does the same as [`Session::row_each`] with a query [over arrays](query_over_arrays).
    fn row_each_at_once(
        &mut self,
        statement: &Statement,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Vec<Option<Row>>, StoreError> {
        count_statement();
        let columns = columns(width, args);
        let (client, count) = (Arc::clone(&self.client), args.len() / width);
        self.receive(self.waiter.max(), async {
            let mut found: Vec<Option<Row>> = std::iter::repeat_with(|| None).take(count).collect();
            let mut rows = pin!(client.query_raw(statement, &columns).await?);
            while let Some(row) = rows.next().await {
                let row = row?;
                let number: i64 = row.try_get(0)?;
                let values = (1..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>()?;
                // The server numbers the elements from 1 on.
                let at = usize::try_from(number - 1).ok().and_then(|at| found.get_mut(at));
                *at.expect("the row is that of an element") = Some(Row(values));
            }
            Ok(found)
        })
    }

    /// Runs a statement once for each list of `width` arguments, and returns how many rows each run changed.
    pub(in crate::store::postgres) fn run_each(
        &mut self,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Vec<u64>, StoreError> {
        if args.len() > width {
            if let Some(statement) = self.over_arrays(Form::Insert, sql, width)? {
                self.send_over_arrays(statement, width, args)?;
                return Ok(vec![1; args.len() / width]);
            }
            if let Some(statement) = self.over_arrays(Form::InsertAbsent, sql, width)? {
                return self.insert_absent(&statement, width, args);
            }
        }
        let (client, statement) = (Arc::clone(&self.client), self.prepared(sql, width)?);
        let changed = self.each(width, args, |args| client.execute_raw(&statement, args.iter().copied()))?;
        self.changes += changed.iter().sum::<u64>();
        Ok(changed)
    }

    /// Inserts the rows that are absent with a statement [over arrays](insert_absent_over_arrays), and returns how many rows each
    /// run inserted.
    fn insert_absent(
        &mut self,
        statement: &Statement,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Vec<u64>, StoreError> {
        count_statement();
        let (client, columns) = (Arc::clone(&self.client), columns(width, args));
        let mut inserted = vec![0; args.len() / width];
        let rows = self.receive(self.waiter.max(), async {
            client.query_raw(statement, &columns).await?.try_collect::<Vec<_>>().await
        })?;
        self.changes += rows.len() as u64;
        for row in rows {
            // The server numbers the elements from 1 on.
            let at = usize::try_from(row.try_get::<_, i64>(0)? - 1).ok().and_then(|at| inserted.get_mut(at));
            *at.expect("the row is that of an element") = 1;
        }
        Ok(inserted)
    }

    /// Sends a statement that runs once for each list of `width` arguments, as [`Session::send`] does. Each run changes other rows.
    pub(in crate::store::postgres) fn send_each(
        &mut self,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<(), StoreError> {
        if args.len() > width
            && let Some(statement) = self.over_arrays(Form::Change, sql, width)?
        {
            return self.send_over_arrays(statement, width, args);
        }
        args.chunks(width).try_for_each(|args| self.send(sql, args))
    }

    /// Sends a statement over arrays without waiting for its answer.
    fn send_over_arrays(
        &mut self,
        statement: Statement,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<(), StoreError> {
        count_statement();
        let client = Arc::clone(&self.client);
        let values: Vec<Value> = args.iter().map(Value::from).collect();
        self.send_ahead(Box::pin(async move {
            let args: Vec<Arg<'_>> = values.iter().map(Arg::from).collect();
            client.execute_raw(&statement, columns(width, &args)).await.map(drop)
        }))
    }

    /// Returns the statement over arrays in place of one that takes `width` arguments, if there is one.
    fn over_arrays(&mut self, form: Form, sql: &str, width: usize) -> Result<Option<Statement>, StoreError> {
        self.check()?;
        if let Some(known) = self.over_arrays[form as usize].get(sql) {
            return Ok(known.clone());
        }
        let statement = self.prepared(sql, width)?;
        let over_arrays = form.of(sql, statement.params());
        let over_arrays = over_arrays.map(|sql| self.prepared(&sql, width)).transpose()?;
        self.over_arrays[form as usize].put(sql.to_owned(), over_arrays.clone());
        Ok(over_arrays)
    }

    /// Sends what `run` returns for each list of arguments before it waits for the first answer.
    fn each<'a, T, F: Future<Output = Result<T, Error>>>(
        &mut self,
        width: usize,
        args: &'a [Arg<'a>],
        run: impl Fn(&'a [Arg<'a>]) -> F,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::with_capacity(args.len() / width);
        for args in args.chunks(width * AHEAD) {
            let answers: FuturesOrdered<F> =
                args.chunks(width).map(&run).inspect(|_| count_statement()).collect();
            found.extend(self.receive(self.waiter.max(), answers.try_collect::<Vec<T>>())?);
        }
        Ok(found)
    }
}

/// Returns the arguments at each place of lists of `width` arguments.
fn columns<'a>(width: usize, args: &[Arg<'a>]) -> Vec<Vec<Arg<'a>>> {
    (0..width).map(|column| args[column..].iter().step_by(width).copied().collect()).collect()
}

/// Returns the first row of the result of a statement.
async fn first_row(client: &Client, statement: &Statement, args: &[Arg<'_>]) -> Result<Option<Row>, Error> {
    let mut rows = pin!(client.query_raw(statement, args.iter().copied()).await?);
    let mut first = None;
    while let Some(row) = rows.next().await {
        let row = row?;
        if first.is_none() {
            let values = (0..row.len()).map(|column| row.try_get(column));
            first = Some(Row(values.collect::<Result<_, _>>()?));
        }
    }
    Ok(first)
}
