//! Statements that run once for each of many lists of arguments: [over arrays](super::super::arrays) where that is the same.

use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt as _;
use lru::LruCache;
use tokio_postgres::{Client, Error, Statement};

use super::super::arrays::{
    change_over_arrays, insert_absent_over_arrays, insert_over_arrays, query_over_arrays,
};
use super::{Session, is_query};
use crate::StoreError;
use crate::each::{Need, RunResult};
use crate::gauges::count_statement;
use crate::value::{Arg, Row, Value};

/// By [`Need`]; `None` where there is no statement over arrays.
pub(super) type OverArrays = [LruCache<String, Option<Statement>>; 3];

/// The answer is there once the session is settled.
type Sent<T> = Box<dyn FnOnce() -> Result<T, StoreError>>;

impl Session {
    /// Runs a statement once for each list of `width` arguments, without waiting for the answers.
    pub(in crate::postgres) fn run_many(
        &mut self,
        need: Need,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Sent<Vec<RunResult>>, StoreError> {
        let is_query = need == Need::FirstRow && is_query(sql);
        if args.len() > width
            && let Some(statement) = self.over_arrays(need, sql, width)?
        {
            return self.ask(args, is_query, |client, args| run_at_once(client, statement, width, args));
        }
        let statement = self.prepared(sql, width)?;
        let runs = args.chunks(width);
        let sent =
            runs.map(|args| self.ask(args, is_query, |client, args| run(client, statement.clone(), args)));
        let sent = sent.collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(|| sent.into_iter().map(|sent| sent()).collect()))
    }

    fn over_arrays(&mut self, need: Need, sql: &str, width: usize) -> Result<Option<Statement>, StoreError> {
        self.check()?;
        if let Some(known) = self.over_arrays[need as usize].get(sql) {
            return Ok(known.clone());
        }
        let statement = self.prepared(sql, width)?;
        let types = statement.params();
        let over_arrays = match need {
            Need::FirstRow => query_over_arrays(sql, types),
            Need::Changed => insert_over_arrays(sql, types).or_else(|| insert_absent_over_arrays(sql, types)),
            Need::Nothing => change_over_arrays(sql, types),
        };
        let over_arrays = over_arrays.map(|sql| self.prepared(&sql, width)).transpose()?;
        self.over_arrays[need as usize].put(sql.to_owned(), over_arrays.clone());
        Ok(over_arrays)
    }

    /// The first poll of the future of `run` sends a statement.
    fn ask<T: Send + 'static, F: Future<Output = Result<T, Error>> + Send + 'static>(
        &mut self,
        args: &[Arg<'_>],
        is_query: bool,
        run: impl FnOnce(Arc<Client>, Vec<Value>) -> F,
    ) -> Result<Sent<T>, StoreError> {
        count_statement();
        self.check()?;
        let (sender, answer) = oneshot::channel();
        let answered = run(Arc::clone(&self.client), args.iter().map(Value::from).collect());
        let sent = Box::pin(async move {
            // Fails if the answer is not read.
            let _ = sender.send(answered.await?);
            Ok(())
        });
        self.send_ahead(sent, is_query)?;
        Ok(Box::new(move || answer.try_recv().map_err(|_| StoreError::other("a statement has no answer"))))
    }
}

async fn run(client: Arc<Client>, statement: Statement, args: Vec<Value>) -> Result<RunResult, Error> {
    let mut rows = pin!(client.query_raw(&statement, args.iter().map(Arg::from)).await?);
    let mut first = None;
    while let Some(row) = rows.next().await {
        let row = row?;
        if first.is_none() {
            first = Some(values_from(0, &row)?);
        }
    }
    Ok(RunResult { row: first, changed: rows.rows_affected().unwrap_or(0) })
}

/// The rows have the numbers of their elements; a change changes a row for each element.
async fn run_at_once(
    client: Arc<Client>,
    statement: Statement,
    width: usize,
    args: Vec<Value>,
) -> Result<Vec<RunResult>, Error> {
    let changed = u64::from(statement.columns().is_empty());
    let mut results: Vec<_> = args.chunks(width).map(|_| RunResult { row: None, changed }).collect();
    let columns = (0..width).map(|column| args[column..].iter().step_by(width).map(Arg::from).collect());
    let columns: Vec<Vec<Arg<'_>>> = columns.collect();
    let mut rows = pin!(client.query_raw(&statement, columns).await?);
    while let Some(row) = rows.next().await {
        let row = row?;
        // The server numbers the elements from 1 on.
        let at = usize::try_from(row.try_get::<_, i64>(0)? - 1).ok();
        let result = at.and_then(|at| results.get_mut(at)).expect("the row is that of an element");
        *result = RunResult { row: Some(values_from(1, &row)?), changed: 1 };
    }
    Ok(results)
}

fn values_from(column: usize, row: &tokio_postgres::Row) -> Result<Row, Error> {
    (column..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>().map(Row)
}
