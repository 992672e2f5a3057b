//! The writing connection: it numbers each transaction, and finds out the outcome of a COMMIT without an answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::engine::Committer;
use super::super::writer::JOIN_FOR;
use super::super::{Isolation, StoreError};
use super::lane::Lane;
use super::migrate::refuse_newer;
use super::revision::continue_revisions;
use super::server::Server;
use super::session::Session;
use super::tx::PgWriteTx;

/// No attempt follows a failed one when its first write was sent this long ago, or when this long ago the first attempt of the
/// outage began. Then the callers receive the error, after about 30 s: the last attempt takes a few seconds.
const RETRY_FOR: Duration = Duration::from_secs(25);
/// The outcome of a COMMIT counts as unknown this long after the first write of its group was sent. Clients send a write again
/// that was refused earlier than 25 s after they sent it, and the last one of a group was sent up to [`JOIN_FOR`] later.
const UNKNOWN_AFTER: Duration = Duration::from_secs(26).saturating_add(JOIN_FOR);
/// An attempt that took this long shows that this process was suspended: the waits of an attempt end much earlier.
const SUSPENDED_AFTER: Duration = Duration::from_secs(50);
/// The shortest and the longest time that an attempt waits for a lock, and then for its COMMIT.
const WAIT: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// The first and the longest pause between two attempts.
const PAUSE: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// Maximum time that the answer to a statement of a short write takes: it takes milliseconds, and waits for locks for 10 s at
/// most.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(if cfg!(test) { 12 } else { 20 });

/// The key of the lock that a transaction holds: alone, or together with others. It is "tidings" as a number.
const ALONE: i64 = 0x0074_6964_696e_6773;

/// The writing connection of a database on a server.
pub(in crate::store) struct PgCommitter {
    server: Arc<Server>,
    /// The connection, unless it was lost.
    session: Option<Session>,
    /// The lane, unless another server has taken it.
    lane: Option<Lane>,
    /// The begin of the current attempt.
    attempt: Instant,
    /// The time since which the first write of the current transaction waits.
    since: Instant,
    /// The begin of the first attempt of the current group of writes.
    group: Option<Instant>,
    /// The time when this process went on after it was suspended. Writes that were sent before are as good as sent then.
    resumed: Option<Instant>,
    outage: Option<Outage>,
    /// Whether the current group of writes was refused.
    has_refused: bool,
}

/// The failures since the last group of writes that succeeded.
struct Outage {
    since: Instant,
    pause: Duration,
}

impl PgCommitter {
    /// Leases a lane on the primary.
    pub(super) fn start(server: Arc<Server>, mut session: Session) -> Result<Self, StoreError> {
        continue_revisions(&mut session, server.timeline())?;
        let (lane, now) = (Some(Lane::lease(&mut session)?), Instant::now());
        let (session, group, resumed, outage) = (Some(session), None, None, None);
        Ok(Self {
            server,
            session,
            lane,
            attempt: now,
            since: now,
            group,
            resumed,
            outage,
            has_refused: false,
        })
    }

    /// Returns the connection, which has a lane.
    fn connected(&mut self) -> Result<Session, StoreError> {
        let kept = self.session.take().and_then(|mut session| session.is_usable().then_some(session));
        let is_kept = kept.is_some();
        let mut session = kept.map_or_else(|| self.connect(), Ok)?;
        if !is_kept {
            continue_revisions(&mut session, self.server.timeline())?;
        }
        let until = self.until();
        if let Some(lane) = self.lane.as_mut().filter(|_| !is_kept)
            && !lane.take_over(&mut session, until)?
        {
            self.lane = None;
        }
        if self.lane.is_none() {
            // A newer program takes the lanes of those that may not use its schema.
            refuse_newer(&mut session)?;
            self.lane = Some(Lane::lease(&mut session)?);
        }
        Ok(session)
    }

    fn connect(&self) -> Result<Session, StoreError> {
        let mut session = self.server.connect()?;
        session.limit(ANSWER_MAX);
        Ok(session)
    }

    /// Begins a transaction with the lock of its isolation, and returns its revision; `None` if the lane has another owner. Waits
    /// for locks for `wait` each.
    fn begin_with(
        &self,
        isolation: Isolation,
        session: &mut Session,
        wait: Duration,
    ) -> Result<Option<i64>, StoreError> {
        let Some(lane) = &self.lane else { return Ok(None) };
        let lock = match isolation {
            Isolation::Alone => "pg_advisory_xact_lock",
            Isolation::Concurrent | Isolation::Locking => "pg_advisory_xact_lock_shared",
        };
        let limit = if wait < WAIT[1] { limit_of_locks(wait) } else { String::new() };
        // The lock comes before the id, so that the id of a transaction that runs alone is greater than those of all that
        // have ended. If it fails, so does the numbering.
        session.send(&format!("BEGIN; {limit} SELECT {lock}({ALONE})"), &[])?;
        lane.number(session)
    }

    /// Returns how long the current attempt may wait for a lock, or for its COMMIT.
    pub(super) fn wait(&self) -> Duration {
        wait_until(self.until())
    }

    /// Returns the time when the writes of the current transaction have waited for too long.
    fn until(&self) -> Instant {
        self.since + UNKNOWN_AFTER
    }

    /// Takes this time of the current attempt for work instead of waiting.
    pub(super) fn has_worked(&mut self, time: Duration) {
        self.since += time;
        self.attempt += time;
    }

    /// Returns the number of the lane.
    pub(super) fn lane_number(&self) -> i64 {
        self.lane.as_ref().map_or(0, |lane| lane.number)
    }

    /// Keeps the connection for the next transaction.
    pub(super) fn reuse(&mut self, mut session: Session) {
        // The writes that failed are rolled back, and the others are committed: their success says nothing of the disk.
        if session.take_full() {
            self.server.found_full();
        }
        self.session = Some(session);
    }

    /// Commits the transaction of `session`.
    ///
    /// # Errors
    /// A temporary error if nothing is committed; [`StoreError::OutcomeUnknown`] if the outcome cannot be found out.
    pub(super) fn commit(&mut self, mut session: Session) -> Result<(), StoreError> {
        let next = self.lane.as_ref().map_or(0, Lane::next);
        match session.commit_within(self.wait()) {
            Ok(true) => {
                if let Some(lane) = &mut self.lane {
                    lane.last = next;
                }
                self.reuse(session);
                return Ok(());
            }
            // The server has rolled back the transaction, and says so.
            Err(error) if session.lost().is_none() => {
                self.reuse(session);
                return Err(error);
            }
            // There is no answer, or the changes may not survive the primary.
            Ok(false) | Err(_) => {}
        }
        drop(session);
        self.find_outcome(next)
    }

    /// Finds out whether the transaction `number` of the lane was committed.
    ///
    /// Taking the lane over waits for the end of the transaction, which holds the lock of its lane. Its own commit is
    /// acknowledged only when everything before it is also on the standby that commits wait for.
    fn find_outcome(&mut self, number: i64) -> Result<(), StoreError> {
        let unknown = |cause: &str| Err(StoreError::OutcomeUnknown(cause.to_owned()));
        let mut pause = PAUSE[0];
        loop {
            let until = self.until();
            let Some(lane) = &mut self.lane else {
                return unknown("another server has taken the write lane");
            };
            let taken = self.server.connect().and_then(|mut session| {
                session.limit(ANSWER_MAX);
                continue_revisions(&mut session, self.server.timeline())?;
                let is_ours = lane.take_over(&mut session, until)?;
                Ok((session, is_ours))
            });
            match taken {
                Ok((session, true)) => {
                    self.session = Some(session);
                    let last = lane.last;
                    if last == number {
                        tracing::warn!("the answer to a commit was lost, and the changes are stored");
                        return Ok(());
                    }
                    return Err(StoreError::Disconnected(LOST.into()));
                }
                Ok((_, false)) => self.lane = None,
                Err(error) if Instant::now() >= until => return unknown(&error.to_string()),
                Err(_) => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(PAUSE[1]);
                }
            }
        }
    }
}

/// Returns how long the next wait may take if all of them are to end at that time.
pub(super) fn wait_until(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now()).clamp(WAIT[0], WAIT[1])
}

/// Returns the statement that limits how long the statements of a transaction wait for a lock.
pub(super) fn limit_of_locks(wait: Duration) -> String {
    format!("SET LOCAL lock_timeout = {};", wait.as_millis())
}

/// The text of the error of a transaction that was not committed.
const LOST: &str = "the changes are not stored";

impl Committer for PgCommitter {
    type Tx<'c> = PgWriteTx<'c>;

    const REFUSES_QUEUE: bool = true;
    const HAS_OTHERS: bool = true;

    fn shares_database(&self) -> bool {
        self.server.lanes() > 1
    }

    fn begin(&mut self, isolation: Isolation, since: Option<Instant>) -> Result<PgWriteTx<'_>, StoreError> {
        self.attempt = Instant::now();
        let group = *self.group.get_or_insert(self.attempt);
        let since = since.unwrap_or(group);
        self.since = self.resumed.map_or(since, |resumed| resumed.max(since));
        let mut session = self.connected()?;
        let wait = self.wait();
        let begun = self.begin_with(isolation, &mut session, wait);
        if let Ok(Some(revision)) = begun {
            return Ok(PgWriteTx::new(self, session, revision, isolation, wait));
        }
        session.roll_back();
        self.reuse(session);
        begun?;
        // The next attempt leases another lane.
        self.lane = None;
        Err(StoreError::Conflict("another server has taken the write lane".into()))
    }

    fn confirm(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn ended(&mut self, result: Result<(), &StoreError>) {
        self.server.committed(result);
    }

    fn retry(&mut self, error: StoreError) -> Result<(), StoreError> {
        if !error.is_temporary() {
            return Err(error);
        }
        if self.attempt.elapsed() >= SUSPENDED_AFTER {
            // It has not tried for as long as it seems.
            self.attempt = Instant::now();
            (self.since, self.group, self.resumed) = (self.attempt, None, Some(self.attempt));
        }
        let begin = self.attempt;
        let outage = self.outage.get_or_insert_with(|| Outage { since: begin, pause: PAUSE[0] });
        if outage.since.elapsed() >= RETRY_FOR || self.since.elapsed() >= RETRY_FOR {
            self.has_refused = true;
            return Err(error);
        }
        std::thread::sleep(outage.pause);
        outage.pause = (outage.pause * 2).min(PAUSE[1]);
        self.server.retried(&error);
        Ok(())
    }

    fn after_group(&mut self) {
        self.group = None;
        // While an outage goes on, each group has one attempt.
        if !std::mem::take(&mut self.has_refused) {
            self.outage = None;
        }
    }

    fn close(mut self) {
        // Without it the lane stays reserved for an hour.
        if let (Some(mut session), Some(lane)) = (self.session.take(), self.lane.take())
            && let Err(error) = lane.free(&mut session)
        {
            tracing::warn!(%error, "the write lane stays reserved");
        }
    }
}
