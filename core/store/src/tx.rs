//! Transactions: what the other modules can do with the database.

use super::each::{Need, RunResult};
use super::effects::{Addition, Effects};
use super::value::Value;
use super::{Arg, Dialect, Pipelined, Row, StoreError, Topic};

pub trait Tx {
    /// Fails when the statement does not take exactly these arguments.
    fn rows(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>, StoreError> {
        let mut found = Vec::new();
        self.for_each(sql, args, &mut |row| {
            let columns = row.0.len();
            found.push(Row(std::mem::replace(&mut row.0, Vec::with_capacity(columns))));
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `each` with each row, without an allocation for each row. A large result is never in memory as a whole.
    fn for_each(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Returns the number of changed rows. The statement returns no rows.
    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError>;

    /// Runs a statement whose outcome the caller does not need, perhaps later: before any later statement. An error may be that
    /// of a later statement or of the whole write instead. On a server this saves waiting for the answer.
    fn send(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<(), StoreError> {
        self.run(sql, args).map(drop)
    }

    /// Waits for the statements that were sent. Returns the error of the first that failed.
    fn settle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Runs a statement once for each list of `width` arguments, in their order. [`row_each`](super::row_each) and the functions
    /// beside it are easier to call. On a server this takes little more time than one run, and other statements may follow before
    /// the results are read.
    fn run_many(
        &mut self,
        need: Need,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Pipelined<'static, Vec<RunResult>>, StoreError> {
        let runs = args.chunks(width).map(|args| match need {
            Need::FirstRow => Ok(RunResult { row: self.row(sql, args)?, changed: 0 }),
            Need::Changed | Need::Nothing => Ok(RunResult { row: None, changed: self.run(sql, args)? }),
        });
        runs.collect::<Result<_, _>>().map(Pipelined::given)
    }

    fn dialect(&self) -> Dialect;

    /// Greater than the revision of every transaction that began to write before, in any process; 0 in a transaction that only
    /// reads.
    fn revision(&self) -> i64;

    /// The transaction sees every commit whose revision is at most this, and perhaps some with greater revisions.
    ///
    /// A transaction asks for it, or for the version of a topic, before anything else. Later it may be smaller than necessary: a
    /// server does not tell afterwards which of the transactions that it did not see belonged to another database. That of a
    /// write is 0 unless it runs alone.
    fn horizon(&mut self) -> Result<i64, StoreError>;

    /// `None` in a transaction that commits nothing: there, the methods below have no effect.
    fn at_commit(&mut self) -> Option<&mut Effects> {
        None
    }

    /// Caches of `topic` become stale with the commit.
    fn touch(&mut self, topic: Topic) {
        if let Some(effects) = self.at_commit() {
            effects.touch(topic);
        }
    }

    /// Adds `n` to the total of a counter and, if given, to `day`. The store sums up all additions of a commit and writes each
    /// sum once.
    fn count(&mut self, counter: i64, day: Option<i64>, n: i64) {
        if let Some(effects) = self.at_commit() {
            effects.additions.push(Addition { counter, day, has_total: true, n });
        }
    }

    /// For a counter that has no total.
    fn count_on(&mut self, counter: i64, day: i64, n: i64) {
        if let Some(effects) = self.at_commit() {
            effects.additions.push(Addition { counter, day: Some(day), has_total: false, n });
        }
    }

    /// Runs a statement with the arguments `key` and [`Tx::revision`] when the transaction commits: once for each key, and in the
    /// order of the keys, so that transactions that change the same rows never wait for each other in a circle.
    fn run_at_commit(&mut self, sql: &'static str, key: i64) {
        if let Some(effects) = self.at_commit() {
            effects.last.push((sql, key));
        }
    }

    /// Runs a statement that sets a column of the row `key` with the arguments `key` and `value` when the transaction commits:
    /// with the last of several values, and in the order of the keys. All such statements change rows of one table.
    fn set_at_commit(&mut self, sql: &'static str, key: i64, value: Value) {
        if let Some(effects) = self.at_commit() {
            effects.set.push(((key, sql), value));
        }
    }

    /// A number that no other writer has at the same time; 0 where there is only one.
    fn writer(&self) -> i64 {
        0
    }

    fn row(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, args)?.into_iter().next())
    }

    /// For a statement that always returns a row.
    fn one(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Row, StoreError> {
        self.row(sql, args)?.ok_or_else(|| StoreError::other("the statement returned no row"))
    }
}
