//! Transactions that read.

use std::time::{Duration, Instant};

use super::super::each::{Need, RunResult};
use super::super::pool::{Lease, Pool};
use super::super::value::{Arg, Row};
use super::super::{Dialect, Pipelined, StoreError, Tx};
use super::horizon::{Running, horizon};
use super::session::Session;

pub(super) fn lease<'p>(
    pool: &'p Pool<Session>,
    connect: &dyn Fn() -> Result<Session, StoreError>,
) -> Result<Lease<'p, Session>, StoreError> {
    loop {
        let mut lease = pool.lease(|| true, connect)?;
        if lease.connection().is_usable() {
            return Ok(lease);
        }
        lease.close();
    }
}

pub(super) struct ReadTx<'c> {
    session: &'c mut Session,
    /// Sent together with the first other statement, which takes the snapshot.
    begin: Option<String>,
    /// For a connection that turns out to be lost before there is an answer.
    connect: Option<&'c dyn Fn() -> Result<Session, StoreError>>,
    horizon: Option<i64>,
    until: Option<Instant>,
}

impl<'c> ReadTx<'c> {
    pub(super) fn begin(session: &'c mut Session, limit: Option<Duration>) -> Self {
        const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let begin = limit.map_or_else(
            || BEGIN.to_owned(),
            |limit| format!("{BEGIN}; SET LOCAL statement_timeout = {}", limit.as_millis().max(1)),
        );
        let until = limit.map(|limit| Instant::now() + limit);
        Self { session, begin: Some(begin), connect: None, horizon: None, until }
    }

    /// The first statement runs on a new connection if this one turns out to be lost: it may have been idle.
    pub(super) fn or_connect(self, connect: &'c dyn Fn() -> Result<Session, StoreError>) -> Self {
        Self { connect: Some(connect), ..self }
    }

    pub(super) fn end(self) {
        if self.begin.is_none() || !self.session.is_sound() {
            self.session.roll_back();
        }
    }

    fn statement<T>(
        &mut self,
        mut run: impl FnMut(&mut Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(StoreError::Overloaded);
        }
        let result = match self.begin.take() {
            None => run(self.session),
            Some(begin) => {
                let mut first = |session: &mut Session| session.send(&begin, &[]).and_then(|()| run(session));
                match (first(self.session), self.connect) {
                    (Err(StoreError::Disconnected(_)), Some(connect)) => {
                        *self.session = connect()?;
                        first(self.session)
                    }
                    (result, _) => result,
                }
            }
        };
        result.map_err(|error| self.meaning_of(error))
    }

    /// Past the time limit, an interruption means overload.
    fn meaning_of(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Interrupted if self.until.is_some() => StoreError::Overloaded,
            error => error,
        }
    }
}

impl Tx for ReadTx<'_> {
    fn for_each(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut has_rows = false;
        self.statement(|session| {
            if has_rows {
                return Err(StoreError::Disconnected("the connection was lost between two rows".into()));
            }
            session.for_each(sql, args, &mut |row| {
                has_rows = true;
                each(row)
            })
        })
    }

    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        self.statement(|session| session.run(sql, args))
    }

    fn run_many(
        &mut self,
        need: Need,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Pipelined<'static, Vec<RunResult>>, StoreError> {
        let results = self.statement(|session| {
            let sent = session.run_many(need, sql, width, args)?;
            session.settle()?;
            sent()
        });
        results.map(Pipelined::given)
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn revision(&self) -> i64 {
        0
    }

    fn horizon(&mut self) -> Result<i64, StoreError> {
        if let Some(horizon) = self.horizon {
            return Ok(horizon);
        }
        // The list must be older than the snapshot.
        let running = match self.begin.is_some().then(|| Running::list(self.session)) {
            // The next statement finds it too, and connects again.
            None | Some(Err(StoreError::Disconnected(_))) => None,
            Some(running) => running?,
        };
        if running.is_some() {
            // The list is of no use on another connection, perhaps to a new primary.
            self.connect = None;
        }
        let horizon = self.statement(|session| horizon(session, running.as_ref()))?;
        Ok(*self.horizon.insert(horizon))
    }
}
