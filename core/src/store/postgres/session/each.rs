//! Statements that run once for each of many lists of arguments: [over arrays](super::super::arrays) where that is the same.

use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt as _;
use lru::LruCache;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Statement};

use super::super::arrays::{
    change_over_arrays, insert_absent_over_arrays, insert_over_arrays, query_over_arrays,
};
use super::{STATEMENTS, Session, is_query};
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

/// What returns the answer to a statement that was sent, once the session is settled.
pub(super) type Sent<T> = Box<dyn FnOnce() -> Result<T, StoreError>>;

impl Session {
    /// Runs a statement once for each list of `width` arguments, and returns the first row of each result.
    pub(in crate::store::postgres) fn row_each(
        &mut self,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Vec<Option<Row>>, StoreError> {
        let sent = self.ask_row_each(sql, width, args)?;
        self.settle()?;
        sent()
    }

    /// Does the same as [`Session::row_each`] without waiting for the answers.
    pub(in crate::store::postgres) fn ask_row_each(
        &mut self,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Sent<Vec<Option<Row>>>, StoreError> {
        if args.len() > width
            && let Some(statement) = self.over_arrays(Form::Query, sql, width)?
        {
            return self.ask_row_each_at_once(statement, width, args);
        }
        let statement = self.prepared(sql, width)?;
        self.ask_each(width, args, is_query(sql), |client, args| {
            let statement = statement.clone();
            async move { first_row(&client, &statement, &args).await }
        })
    }

    /// Does the same as [`Session::ask_row_each`] with a query [over arrays](query_over_arrays).
    fn ask_row_each_at_once(
        &mut self,
        statement: Statement,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Sent<Vec<Option<Row>>>, StoreError> {
        let count = args.len() / width;
        self.ask(values(args), true, move |client, args| async move {
            let mut found: Vec<Option<Row>> = std::iter::repeat_with(|| None).take(count).collect();
            let mut rows = pin!(client.query_raw(&statement, columns(width, &args)).await?);
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

    /// Runs a statement once for each list of `width` arguments, without waiting for the answers: how many rows each run changed.
    pub(in crate::store::postgres) fn ask_run_each(
        &mut self,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Sent<Vec<u64>>, StoreError> {
        if args.len() > width {
            let count = args.len() / width;
            if let Some(statement) = self.over_arrays(Form::Insert, sql, width)? {
                self.send_over_arrays(statement, width, args)?;
                return Ok(Box::new(move || Ok(vec![1; count])));
            }
            if let Some(statement) = self.over_arrays(Form::InsertAbsent, sql, width)? {
                return self.ask_absent(statement, width, args);
            }
        }
        let statement = self.prepared(sql, width)?;
        self.ask_each(width, args, false, |client, args| {
            let statement = statement.clone();
            async move { client.execute_raw(&statement, args.iter().map(Arg::from)).await }
        })
    }

    /// Inserts the rows that are absent with a statement [over arrays](insert_absent_over_arrays). The answer is how many rows
    /// each run inserted.
    fn ask_absent(
        &mut self,
        statement: Statement,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Sent<Vec<u64>>, StoreError> {
        let count = args.len() / width;
        self.ask(values(args), false, move |client, args| async move {
            let mut inserted = vec![0; count];
            let mut rows = pin!(client.query_raw(&statement, columns(width, &args)).await?);
            while let Some(row) = rows.next().await {
                // The server numbers the elements from 1 on.
                let at = usize::try_from(row?.try_get::<_, i64>(0)? - 1);
                let at = at.ok().and_then(|at| inserted.get_mut(at));
                *at.expect("the row is that of an element") = 1;
            }
            Ok(inserted)
        })
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
        let (client, args) = (Arc::clone(&self.client), values(args));
        let sent = async move { client.execute_raw(&statement, columns(width, &args)).await.map(drop) };
        self.send_ahead(Box::pin(sent), false)
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

    /// Sends what `run` returns for each list of `width` arguments without waiting for the answers.
    fn ask_each<T: Send + 'static, F: Future<Output = Result<T, Error>> + Send + 'static>(
        &mut self,
        width: usize,
        args: &[Arg<'_>],
        is_query: bool,
        run: impl Fn(Arc<Client>, Vec<Value>) -> F,
    ) -> Result<Sent<Vec<T>>, StoreError> {
        let sent = args.chunks(width).map(|args| self.ask(values(args), is_query, &run));
        let sent = sent.collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(|| sent.into_iter().map(|sent| sent()).collect()))
    }

    /// Sends what `run` returns, whose first poll sends a statement, without waiting for its answer.
    fn ask<T: Send + 'static, F: Future<Output = Result<T, Error>> + Send + 'static>(
        &mut self,
        args: Vec<Value>,
        is_query: bool,
        run: impl FnOnce(Arc<Client>, Vec<Value>) -> F,
    ) -> Result<Sent<T>, StoreError> {
        count_statement();
        self.check()?;
        let (sender, answer) = oneshot::channel();
        let answered = run(Arc::clone(&self.client), args);
        let sent = Box::pin(async move {
            // Fails if the answer is not read.
            let _ = sender.send(answered.await?);
            Ok(())
        });
        self.send_ahead(sent, is_query)?;
        Ok(Box::new(move || answer.try_recv().map_err(|_| StoreError::other("a statement has no answer"))))
    }
}

/// Returns arguments that outlive the caller.
fn values(args: &[Arg<'_>]) -> Vec<Value> {
    args.iter().map(Value::from).collect()
}

/// Returns the arguments at each place of lists of `width` arguments.
fn columns(width: usize, args: &[Value]) -> Vec<Vec<Arg<'_>>> {
    (0..width).map(|column| args[column..].iter().step_by(width).map(Arg::from).collect()).collect()
}

/// Returns the first row of the result of a statement.
async fn first_row(client: &Client, statement: &Statement, args: &[Value]) -> Result<Option<Row>, Error> {
    let mut rows = pin!(client.query_raw(statement, args.iter().map(Arg::from)).await?);
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
