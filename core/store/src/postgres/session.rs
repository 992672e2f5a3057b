//! A connection: its statements, and whether it can still be used.
//!
//! Most of the time of a short statement is the round trip. So [`Session::send`] and [`Session::run_many`] do not wait for the
//! answers, which arrive in the order of the statements.

use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use lru::LruCache;
use tokio_postgres::{CancelToken, Client, Error, SimpleQueryMessage, Statement};

use super::super::StoreError;
use super::super::each::Need;
use super::super::gauges::count_statement;
use super::super::value::{ARGS_MAX, Arg, FromValue, Row};
use super::connect::Connected;
use super::wait::{Driver, Lifetime, Waiter};

mod each;

use each::OverArrays;

/// The program has fewer statements.
const STATEMENTS: NonZeroUsize = NonZeroUsize::new(512).expect("512 is not 0");

/// The commit may have to wait for a standby. After this time, the connection counts as lost.
const COMMIT_MAX: Duration = Duration::from_secs(10);

/// Statements that are sent before their answers are read: their arguments and answers are in memory.
const AHEAD: usize = 256;

/// Statements that are sent in one message, because each message wakes the server.
const TOGETHER: usize = 16;

type Answer = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

pub(super) struct Session {
    client: Arc<Client>,
    unanswered: Vec<Answer>,
    statements: LruCache<String, Statement>,
    over_arrays: OverArrays,
    /// The server has sent a warning since the flag was last cleared.
    warned: Arc<AtomicBool>,
    lost: Option<StoreError>,
    /// The error since the last rollback: the server refuses further statements.
    failed: Option<StoreError>,
    found_full: bool,
    /// Counts changed rows and failed statements.
    changes: u64,
    // Declared last: it sends the end of the connection after the client was dropped.
    waiter: Waiter,
}

impl Session {
    /// `warned` is set when the server sends a warning.
    pub(super) fn new(
        connected: Connected,
        driver: Driver,
        lifetime: Lifetime,
        warned: Arc<AtomicBool>,
    ) -> Self {
        let Connected { client, driving, .. } = connected;
        Self {
            client: client.into(),
            unanswered: Vec::new(),
            statements: LruCache::new(STATEMENTS),
            over_arrays: std::array::from_fn(|_| LruCache::new(STATEMENTS)),
            warned,
            lost: None,
            failed: None,
            found_full: false,
            changes: 0,
            waiter: Waiter::new(driving, driver, lifetime),
        }
    }

    /// For the answer to a statement, or a row of its result. Then the connection counts as lost.
    pub(super) fn limit(&mut self, limit: Duration) {
        self.waiter.limit(limit);
    }

    pub(super) fn allow_long_statements(&mut self) -> Result<(), StoreError> {
        self.limit(Duration::MAX);
        self.control("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0")?;
        // Otherwise a statement runs on when this process has ended. Some systems do not support it.
        if self.control("SET client_connection_check_interval = '2s'").is_err() {
            self.failed = None;
        }
        Ok(())
    }

    pub(super) fn cancel_token(&self) -> CancelToken {
        self.client.cancel_token()
    }

    /// The server may have ended the connection while it was idle.
    pub(super) fn is_usable(&mut self) -> bool {
        self.waiter.look();
        self.lost().is_none()
    }

    pub(super) fn lost(&self) -> Option<StoreError> {
        match &self.lost {
            None if self.client.is_closed() => Some(StoreError::Disconnected(CLOSED.into())),
            None if self.waiter.is_abandoned() => Some(StoreError::Disconnected(ABANDONED.into())),
            lost => lost.clone(),
        }
    }

    pub(super) fn is_silent(&self) -> bool {
        matches!(&self.lost, Some(StoreError::Disconnected(cause)) if cause == SILENT)
    }

    /// A statement on a connection without answers would wait as long as the one before it.
    fn check(&self) -> Result<(), StoreError> {
        self.lost().map_or(Ok(()), Err)
    }

    /// Says only what the answers tell that have been read.
    pub(super) fn is_sound(&self) -> bool {
        self.failed.is_none() && self.lost().is_none()
    }

    /// Only an error after which a later transaction may succeed.
    pub(super) fn conflict(&self) -> Option<StoreError> {
        self.failed.clone().filter(StoreError::is_temporary)
    }

    pub(super) fn take_full(&mut self) -> bool {
        std::mem::take(&mut self.found_full)
    }

    /// Grows when a statement changes something or fails, and may grow with any other.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// For a statement without arguments and results, such as `BEGIN`.
    pub(super) fn control(&mut self, sql: &str) -> Result<u64, StoreError> {
        self.control_within(self.waiter.max(), sql)
    }

    /// The process of the server that runs the statements.
    pub(super) fn backend(&mut self) -> Result<String, StoreError> {
        let client = Arc::clone(&self.client);
        let messages = self.receive(self.waiter.max(), client.simple_query("SELECT pg_backend_pid()"))?;
        let found = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        found.ok_or_else(|| StoreError::other("the server has no number of its process"))
    }

    fn control_within(&mut self, limit: Duration, sql: &str) -> Result<u64, StoreError> {
        self.check()?;
        let client = Arc::clone(&self.client);
        let is_rollback = sql.starts_with("ROLLBACK");
        if is_rollback {
            self.unanswered.clear();
        }
        let messages = self.receive(limit, client.simple_query(sql))?;
        if is_rollback {
            self.failed = None;
        }
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::CommandComplete(rows) => Some(rows),
            _ => None,
        });
        Ok(rows.sum())
    }

    /// Returns false if the server has warned that the changes may be on the primary only. Any warning counts: a commit has no
    /// other, and its text depends on the language of the server.
    ///
    /// An error means that the transaction has ended without changes, unless the connection is lost.
    pub(super) fn commit(&mut self) -> Result<bool, StoreError> {
        self.commit_within(COMMIT_MAX)
    }

    pub(super) fn commit_within(&mut self, limit: Duration) -> Result<bool, StoreError> {
        if self.failed.is_some() {
            // The server would answer a COMMIT with a rollback, which is no error.
            self.roll_back();
            return Err(StoreError::other("a statement of the transaction has failed"));
        }
        self.warned.store(false, Ordering::Release);
        let committed = self.control_within(limit, "COMMIT");
        self.failed = None;
        committed.map(|_| !self.warned.load(Ordering::Acquire))
    }

    /// Does not wait for the answer: later statements of this connection come after the rollback.
    pub(super) fn roll_back(&mut self) {
        self.failed = None;
        self.unanswered.clear();
        // The first poll hands the statement to the connection, which does not wait.
        let _ = self.client.batch_execute("ROLLBACK").now_or_never();
        self.waiter.look();
    }

    pub(super) fn for_each(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        count_statement();
        let statement = self.prepared(sql, args.len())?;
        let client = Arc::clone(&self.client);
        let sent = client.query_raw(&statement, args.iter().copied());
        let mut rows = pin!(self.receive(self.waiter.max(), sent)?);
        let mut values = Row(Vec::with_capacity(statement.columns().len()));
        loop {
            let answered = match self.waiter.wait_within(self.waiter.max(), rows.next()) {
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

    /// Returns the first row.
    pub(super) fn row(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Option<Row>, StoreError> {
        let mut first = None;
        self.for_each(sql, args, &mut |row| {
            first.get_or_insert_with(|| Row(std::mem::take(&mut row.0)));
            Ok(())
        })?;
        Ok(first)
    }

    /// Returns the first value of the first row.
    pub(super) fn first<T: FromValue>(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
    ) -> Result<Option<T>, StoreError> {
        self.row(sql, args)?.map(|mut row| row.take(0)).transpose()
    }

    pub(super) fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        count_statement();
        let changed = if args.is_empty() {
            self.control(sql)?
        } else {
            let statement = self.prepared(sql, args.len())?;
            let client = Arc::clone(&self.client);
            let sent = client.execute_raw(&statement, args.iter().copied());
            self.receive(self.waiter.max(), sent)?
        };
        self.changes += changed;
        Ok(changed)
    }

    /// The error of the statement is that of the next statement whose answer is read.
    pub(super) fn send(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<(), StoreError> {
        if !args.is_empty() {
            return self.run_many(Need::Nothing, sql, args.len(), args).map(drop);
        }
        count_statement();
        self.check()?;
        let (client, sql) = (Arc::clone(&self.client), sql.to_owned());
        self.send_ahead(Box::pin(async move { client.batch_execute(&sql).await }), false)
    }

    /// The first poll of `answer` sends a statement.
    fn send_ahead(&mut self, mut answer: Answer, is_query: bool) -> Result<(), StoreError> {
        if self.unanswered.len() >= AHEAD {
            self.settle()?;
        }
        // It is ready only if sending fails.
        let failed = answer.as_mut().now_or_never();
        self.changes += u64::from(!is_query);
        if failed.is_some() {
            return self.answered(failed);
        }
        self.unanswered.push(answer);
        // The others are sent together with the statement whose answer is read next.
        if self.unanswered.len().is_multiple_of(TOGETHER) {
            self.waiter.look();
        }
        Ok(())
    }

    pub(super) fn is_settled(&self) -> bool {
        self.unanswered.is_empty()
    }

    pub(super) fn settle(&mut self) -> Result<(), StoreError> {
        if self.unanswered.is_empty() { Ok(()) } else { self.receive(self.waiter.max(), async { Ok(()) }) }
    }

    fn prepared(&mut self, sql: &str, given: usize) -> Result<Statement, StoreError> {
        self.check()?;
        let statement = if let Some(statement) = self.statements.get(sql) {
            statement.clone()
        } else {
            let client = Arc::clone(&self.client);
            let statement = self.receive(self.waiter.max(), client.prepare(sql))?;
            self.statements.put(sql.to_owned(), statement.clone());
            statement
        };
        let taken = statement.params().len();
        if given != taken || given > ARGS_MAX {
            let what = format!(
                "{given} arguments were given to a statement that takes {taken}; the most are {ARGS_MAX}"
            );
            return Err(StoreError::other(what));
        }
        Ok(statement)
    }

    /// Also waits for `own`, whose first poll sends a statement. The error is the first of all: after it, the server refuses the
    /// other statements.
    fn receive<T: Send>(
        &mut self,
        limit: Duration,
        own: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, StoreError> {
        let sent = std::mem::take(&mut self.unanswered);
        let answered = self.waiter.wait_within(limit, async {
            let mut own = pin!(own);
            let early = own.as_mut().now_or_never();
            let mut failed = None;
            // In the order of the statements: the connection reads no answer before the one before it was taken.
            for answer in sent {
                failed = failed.or(answer.await.err());
            }
            let own = if let Some(own) = early { own } else { own.await };
            failed.map_or(own, Err)
        });
        self.answered(answered)
    }

    fn answered<T>(&mut self, answered: Option<Result<T, Error>>) -> Result<T, StoreError> {
        let error = match answered {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) => error,
            None => {
                let cause = if self.waiter.is_abandoned() { ABANDONED } else { SILENT };
                let error = StoreError::Disconnected(cause.into());
                self.lost = Some(error.clone());
                self.changes += 1;
                return Err(error);
            }
        };
        self.changes += 1;
        let error = StoreError::from(error);
        self.found_full |= matches!(error, StoreError::Full);
        self.failed = Some(error.clone());
        if matches!(error, StoreError::Disconnected(_)) {
            self.lost = Some(error.clone());
        }
        Err(error)
    }
}

const CLOSED: &str = "the server has closed it";
const SILENT: &str = "the server does not answer";
const ABANDONED: &str = "the server counts as lost";

fn is_query(sql: &str) -> bool {
    let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    word.eq_ignore_ascii_case("SELECT")
}
