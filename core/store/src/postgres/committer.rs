//! Writes: the attempts of each group, and their transactions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::each::{Need, RunResult};
use super::super::effects::Effects;
use super::super::engine::{Committer, WriteTx};
use super::super::value::{Arg, Row};
use super::super::{Dialect, Isolation, Pipelined, StoreError, Topic, Tx};
use super::lane::limit_of_locks;
use super::server::Server;
use super::session::Session;
use super::wait;
use super::write_connection::{ANSWER_MAX, PAUSE, WriteConnection};

/// No attempt follows a failed one when its first write was sent, or the first attempt of the outage began, this long ago. Then
/// the callers receive the error, after about 30 s: the last attempt takes a few seconds.
const RETRY_FOR: Duration = Duration::from_secs(25);
/// An attempt that took this long shows that this process was suspended: the waits of an attempt end much earlier.
const SUSPENDED_AFTER: Duration = Duration::from_secs(50);
/// A limit of waits is shortened by at least this: each time takes a statement.
const SHORTER: Duration = Duration::from_secs(1);

pub(crate) struct PgCommitter {
    connection: WriteConnection,
    group: Option<Instant>,
    /// When this process went on after it was suspended. Writes that were sent before count as sent then.
    resumed: Option<Instant>,
    outage: Option<Outage>,
    has_refused: bool,
}

struct Outage {
    since: Instant,
    pause: Duration,
}

impl PgCommitter {
    pub(super) fn start(server: Arc<Server>, session: Session) -> Result<Self, StoreError> {
        let connection = WriteConnection::start(server, session)?;
        Ok(Self { connection, group: None, resumed: None, outage: None, has_refused: false })
    }
}

impl Committer for PgCommitter {
    type Tx<'c> = PgWriteTx<'c>;

    const REFUSES_QUEUE: bool = true;
    const HAS_OTHERS: bool = true;

    fn shares_database(&self) -> bool {
        self.connection.server.lanes() > 1
    }

    fn begin(&mut self, isolation: Isolation, since: Option<Instant>) -> Result<PgWriteTx<'_>, StoreError> {
        let attempt = Instant::now();
        let group = *self.group.get_or_insert(attempt);
        let since = since.unwrap_or(group);
        let since = self.resumed.map_or(since, |resumed| resumed.max(since));
        let (session, revision, wait) = self.connection.begin(isolation, attempt, since)?;
        let (connection, effects) = (&mut self.connection, Effects::default());
        Ok(PgWriteTx { connection, session, revision, isolation, wait, long_since: None, effects })
    }

    fn confirm(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn ended(&mut self, result: Result<(), &StoreError>) {
        self.connection.server.committed(result);
    }

    fn retry(&mut self, error: StoreError) -> Result<(), StoreError> {
        if !error.is_temporary() {
            return Err(error);
        }
        let WriteConnection { attempt, since, .. } = &mut self.connection;
        if attempt.elapsed() >= SUSPENDED_AFTER {
            // It has not tried for as long as it seems.
            *attempt = Instant::now();
            (*since, self.group, self.resumed) = (*attempt, None, Some(*attempt));
        }
        let outage = self.outage.get_or_insert_with(|| Outage { since: *attempt, pause: PAUSE[0] });
        if outage.since.elapsed() >= RETRY_FOR || since.elapsed() >= RETRY_FOR {
            self.has_refused = true;
            return Err(error);
        }
        std::thread::sleep(outage.pause);
        outage.pause = (outage.pause * 2).min(PAUSE[1]);
        Ok(())
    }

    fn after_group(&mut self) {
        self.group = None;
        // During an outage, each group has one attempt.
        if !std::mem::take(&mut self.has_refused) {
            self.outage = None;
        }
    }

    fn close(self) {
        self.connection.close();
    }
}

pub(crate) struct PgWriteTx<'c> {
    connection: &'c mut WriteConnection,
    session: Session,
    revision: i64,
    isolation: Isolation,
    wait: Duration,
    long_since: Option<Instant>,
    effects: Effects,
}

impl Tx for PgWriteTx<'_> {
    fn for_each(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.session.for_each(sql, args, each)
    }

    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        self.session.run(sql, args)
    }

    fn send(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<(), StoreError> {
        self.session.send(sql, args)
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        self.session.settle()
    }

    fn run_many(
        &mut self,
        need: Need,
        sql: &str,
        width: usize,
        args: &[Arg<'_>],
    ) -> Result<Pipelined<'static, Vec<RunResult>>, StoreError> {
        let locks = need == Need::Nothing || sql.ends_with(Dialect::Postgres.for_update());
        debug_assert!(!locks || args.chunks(width).is_sorted(), "rows are locked in the order of their keys");
        self.session.run_many(need, sql, width, args).map(Pipelined::awaited)
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn revision(&self) -> i64 {
        self.revision
    }

    /// When the transaction runs alone, every earlier one has ended before its first statement.
    fn horizon(&mut self) -> Result<i64, StoreError> {
        match self.isolation {
            Isolation::Alone => Ok(self.revision),
            // Others may commit with any revision.
            Isolation::Concurrent | Isolation::Locking => Ok(0),
        }
    }

    fn at_commit(&mut self) -> Option<&mut Effects> {
        Some(&mut self.effects)
    }

    fn writer(&self) -> i64 {
        self.connection.lane_number()
    }
}

impl WriteTx for PgWriteTx<'_> {
    fn changes(&self) -> u64 {
        self.session.changes()
    }

    fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }

    fn is_settled(&self) -> bool {
        self.session.is_settled()
    }

    fn limit_waits(&mut self, max: Duration) -> Result<(), StoreError> {
        let wait = self.connection.wait().min(max);
        if self.wait.saturating_sub(wait) < SHORTER {
            return Ok(());
        }
        self.wait = wait;
        self.session.send(&limit_of_locks(wait), &[])
    }

    fn expect_long(&mut self, begins: bool) {
        if begins {
            self.long_since = Some(Instant::now());
            self.session.limit(wait::ANSWER_MAX);
        } else if let Some(begin) = self.long_since.take() {
            self.session.limit(ANSWER_MAX);
            self.connection.has_worked(begin.elapsed());
        }
    }

    fn conflict(&self) -> Option<StoreError> {
        self.session.conflict()
    }

    fn is_sound(&self) -> bool {
        self.session.is_sound()
    }

    fn fault(&self) -> Option<StoreError> {
        self.session.lost()
    }

    fn commit(mut self) -> Result<Vec<Topic>, StoreError> {
        let touched = match std::mem::take(&mut self.effects).write(&mut self) {
            Ok(touched) => touched,
            Err(error) => {
                self.rollback();
                return Err(error);
            }
        };
        self.connection.commit(self.session).map(|()| touched)
    }

    fn rollback(mut self) {
        if self.session.lost().is_none() {
            self.session.roll_back();
            self.connection.reuse(self.session);
        }
    }
}
