//! A connection: its statements, and whether it can still be used.

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use lru::LruCache;
use tokio_postgres::{CancelToken, Client, SimpleQueryMessage, Statement};

use super::super::StoreError;
use super::super::gauges::count_statement;
use super::super::value::{ARGS_MAX, Arg, Row};
use super::wait::Waiter;

/// Maximum number of prepared statements of a connection. The program has fewer.
const STATEMENTS: NonZeroUsize = NonZeroUsize::new(512).expect("512 is not 0");

/// Maximum time that the answer to a COMMIT takes, which may have to wait for a standby. Then the connection counts as lost.
const COMMIT_MAX: Duration = Duration::from_secs(10);

/// A connection of which one thread at a time runs statements.
pub(super) struct Session {
    client: Client,
    waiter: Waiter,
    statements: LruCache<String, Statement>,
    /// Whether the server has sent a warning since the flag was last cleared.
    warned: Arc<AtomicBool>,
    /// Why the connection can no longer be used.
    lost: Option<StoreError>,
    /// Whether a statement has failed since the last rollback, so that the server refuses further ones.
    is_aborted: bool,
    /// The number of rows that statements have changed, and of statements that have failed.
    changes: u64,
}

impl Session {
    pub(super) fn new(client: Client, waiter: Waiter, warned: Arc<AtomicBool>) -> Self {
        let statements = LruCache::new(STATEMENTS);
        Self { client, waiter, statements, warned, lost: None, is_aborted: false, changes: 0 }
    }

    /// Limits the time that the answer to a statement, or a row of its result, takes to arrive. Then the connection counts
    /// as lost.
    pub(super) fn limit(&mut self, limit: Duration) {
        self.waiter.limit(limit);
    }

    /// Lets statements run for as long as they take.
    pub(super) fn allow_long_statements(&mut self) -> Result<(), StoreError> {
        self.limit(Duration::MAX);
        self.control("SET statement_timeout = 0")?;
        // Otherwise a statement runs on when this process has ended. Some systems do not support it.
        if self.control("SET client_connection_check_interval = '2s'").is_err() {
            self.is_aborted = false;
        }
        Ok(())
    }

    /// Returns what interrupts the running statement of the connection.
    pub(super) fn cancel_token(&self) -> CancelToken {
        self.client.cancel_token()
    }

    /// Returns why the connection can no longer be used.
    pub(super) fn lost(&self) -> Option<StoreError> {
        match &self.lost {
            None if self.client.is_closed() => Some(StoreError::Disconnected(CLOSED.into())),
            None if self.waiter.is_abandoned() => Some(StoreError::Disconnected(SILENT.into())),
            lost => lost.clone(),
        }
    }

    /// Returns whether the connection was lost because an answer took too long.
    pub(super) fn is_silent(&self) -> bool {
        matches!(&self.lost, Some(StoreError::Disconnected(cause)) if cause == SILENT)
    }

    /// Checks that a statement can be sent. One on a connection without answers would wait as long as the one before it.
    fn check(&self) -> Result<(), StoreError> {
        self.lost().map_or(Ok(()), Err)
    }

    /// Returns whether the next statement of a transaction can succeed.
    pub(super) fn is_sound(&self) -> bool {
        !self.is_aborted && self.lost().is_none()
    }

    /// Returns a number that grows when a statement changes something or fails.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Runs a statement without arguments and results, such as `BEGIN`.
    pub(super) fn control(&mut self, sql: &str) -> Result<u64, StoreError> {
        self.control_within(self.waiter.max(), sql)
    }

    fn control_within(&mut self, limit: Duration, sql: &str) -> Result<u64, StoreError> {
        self.check()?;
        let answered = self.waiter.wait_within(limit, self.client.simple_query(sql));
        let messages = self.answered(answered)?;
        if sql.starts_with("ROLLBACK") {
            self.is_aborted = false;
        }
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::CommandComplete(rows) => Some(rows),
            _ => None,
        });
        Ok(rows.sum())
    }

    /// Commits. Returns false if the server has warned that the changes may be on the primary only.
    ///
    /// Any warning counts: a commit has no other, and its text depends on the language of the server.
    pub(super) fn commit(&mut self) -> Result<bool, StoreError> {
        if self.is_aborted {
            // The server would answer a COMMIT with a rollback, which is no error.
            return Err(StoreError::other("a statement of the transaction has failed"));
        }
        self.warned.store(false, Ordering::Release);
        self.control_within(COMMIT_MAX, "COMMIT")?;
        Ok(!self.warned.load(Ordering::Acquire))
    }

    /// Sends a rollback without waiting for its answer: later statements of this connection come after it.
    pub(super) fn roll_back(&mut self) {
        self.is_aborted = false;
        // The first poll sends the statement.
        let _ = self.client.batch_execute("ROLLBACK").now_or_never();
    }

    /// Runs a statement and calls `each` with each row.
    pub(super) fn for_each(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        count_statement();
        let statement = self.prepared(sql, args)?;
        let sent = self.client.query_raw(&statement, args.iter().copied());
        let answered = self.waiter.wait(sent);
        let mut rows = pin!(self.answered(answered)?);
        let mut values = Row(Vec::with_capacity(statement.columns().len()));
        loop {
            let answered = match self.waiter.wait(rows.next()) {
                Some(None) => break,
                Some(row) => row,
                None => None,
            };
            let row = self.answered(answered)?;
            values.0.clear();
            for column in 0..row.len() {
                values.0.push(row.try_get(column)?);
            }
            each(&mut values)?;
        }
        self.changes += rows.rows_affected().filter(|_| !is_query(sql)).unwrap_or(0);
        Ok(())
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub(super) fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        count_statement();
        let changed = if args.is_empty() {
            self.control(sql)?
        } else {
            let statement = self.prepared(sql, args)?;
            let sent = self.client.execute_raw(&statement, args.iter().copied());
            let answered = self.waiter.wait(sent);
            self.answered(answered)?
        };
        self.changes += changed;
        Ok(changed)
    }

    /// Returns the statement of a text.
    fn prepared(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Statement, StoreError> {
        self.check()?;
        let statement = if let Some(statement) = self.statements.get(sql) {
            statement.clone()
        } else {
            let answered = self.waiter.wait(self.client.prepare(sql));
            let statement = self.answered(answered)?;
            self.statements.put(sql.to_owned(), statement.clone());
            statement
        };
        let (given, taken) = (args.len(), statement.params().len());
        if given != taken || given > ARGS_MAX {
            let what = format!(
                "{given} arguments were given to a statement that takes {taken}; the most are {ARGS_MAX}"
            );
            return Err(StoreError::other(what));
        }
        Ok(statement)
    }

    /// Records the outcome of a request to the server.
    fn answered<T>(&mut self, answered: Option<Result<T, tokio_postgres::Error>>) -> Result<T, StoreError> {
        let error = match answered {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) => error,
            None => {
                let error = StoreError::Disconnected(SILENT.into());
                self.lost = Some(error.clone());
                self.changes += 1;
                return Err(error);
            }
        };
        self.changes += 1;
        self.is_aborted = true;
        let error = StoreError::from(error);
        if matches!(error, StoreError::Disconnected(_)) {
            self.lost = Some(error.clone());
        }
        Err(error)
    }
}

/// The text of the error of a closed connection.
const CLOSED: &str = "the server has closed it";
/// The text of the error of a server that does not answer.
const SILENT: &str = "the server does not answer";

/// Returns whether a statement only reads.
fn is_query(sql: &str) -> bool {
    let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    word.eq_ignore_ascii_case("SELECT")
}
