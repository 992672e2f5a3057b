//! Statements that run once for each of many lists of arguments, and answers that are read later.

use super::{Arg, Row, StoreError, Tx};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    FirstRow,
    /// The number of changed rows. The statement returns no rows.
    Changed,
    /// Each run changes other rows than the others do.
    Nothing,
}

pub struct RunResult {
    pub(super) row: Option<Row>,
    pub(super) changed: u64,
}

/// The answer to a statement that was sent. Other statements may follow before it is read, which saves a round trip for each.
#[must_use = "without reading the answer, nobody knows whether the statement succeeded"]
pub struct Pipelined<'a, T>(Box<Reading<'a, T>>);

type Reading<'a, T> = dyn FnOnce(&mut dyn Tx) -> Result<T, StoreError> + 'a;

impl<'a, T: 'a> Pipelined<'a, T> {
    pub fn given(answer: T) -> Self {
        Self(Box::new(|_| Ok(answer)))
    }

    /// `take` returns the answer once the transaction is [settled](Tx::settle).
    #[cfg(feature = "postgres")]
    pub(super) fn awaited(take: impl FnOnce() -> Result<T, StoreError> + 'a) -> Self {
        Self(Box::new(|tx| {
            tx.settle()?;
            take()
        }))
    }

    pub fn then<U: 'a>(
        self,
        next: impl FnOnce(&mut dyn Tx, T) -> Result<U, StoreError> + 'a,
    ) -> Pipelined<'a, U> {
        Pipelined(Box::new(|tx| {
            let answer = self.answer(tx)?;
            next(tx, answer)
        }))
    }

    /// `tx` is the transaction that has sent the statement. The error may be that of a statement that was sent earlier.
    pub fn answer(self, tx: &mut dyn Tx) -> Result<T, StoreError> {
        (self.0)(tx)
    }
}

/// Runs a statement once for each list of arguments, in their order.
pub fn row_each<const WIDTH: usize>(
    tx: &mut dyn Tx,
    sql: &str,
    args: &[[Arg<'_>; WIDTH]],
) -> Result<Vec<Option<Row>>, StoreError> {
    ask_row_each(tx, sql, args)?.answer(tx)
}

pub fn ask_row_each<const WIDTH: usize>(
    tx: &mut dyn Tx,
    sql: &str,
    args: &[[Arg<'_>; WIDTH]],
) -> Result<Pipelined<'static, Vec<Option<Row>>>, StoreError> {
    let sent = tx.run_many(Need::FirstRow, sql, WIDTH, args.as_flattened())?;
    Ok(sent.then(|_, runs| Ok(runs.into_iter().map(|run| run.row).collect())))
}

/// Returns the number of rows that each run changed. The statement returns no rows.
pub fn run_each<const WIDTH: usize>(
    tx: &mut dyn Tx,
    sql: &str,
    args: &[[Arg<'_>; WIDTH]],
) -> Result<Vec<u64>, StoreError> {
    ask_run_each(tx, sql, args)?.answer(tx)
}

pub fn ask_run_each<const WIDTH: usize>(
    tx: &mut dyn Tx,
    sql: &str,
    args: &[[Arg<'_>; WIDTH]],
) -> Result<Pipelined<'static, Vec<u64>>, StoreError> {
    let sent = tx.run_many(Need::Changed, sql, WIDTH, args.as_flattened())?;
    Ok(sent.then(|_, runs| Ok(runs.into_iter().map(|run| run.changed).collect())))
}

/// Like [`run_each`], but perhaps later. Each run changes other rows than the others do; insertions lock them in the order of the
/// lists.
pub fn send_each<const WIDTH: usize>(
    tx: &mut dyn Tx,
    sql: &str,
    args: &[[Arg<'_>; WIDTH]],
) -> Result<(), StoreError> {
    tx.run_many(Need::Nothing, sql, WIDTH, args.as_flattened()).map(drop)
}
