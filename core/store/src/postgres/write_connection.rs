//! The writing connection: it numbers each transaction, and finds out the outcome of a COMMIT whose answer was lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::writer::JOIN_FOR;
use super::super::{Isolation, StoreError};
use super::lane::{Lane, WAIT, limit_of_locks, wait_until};
use super::migrate::refuse_newer;
use super::server::Server;
use super::session::Session;

/// The outcome of a COMMIT counts as unknown this long after the first write of its group was sent. Clients repeat a write that
/// was refused earlier than 25 s after they sent it, and the last one of a group was sent up to [`JOIN_FOR`] later.
const UNKNOWN_AFTER: Duration = Duration::from_secs(26).saturating_add(JOIN_FOR);
/// The first and the longest pause between two attempts.
pub(super) const PAUSE: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// For the answer to a statement of a short write: it takes milliseconds, and waits for locks for 10 s at most.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(if cfg!(test) { 12 } else { 20 });

/// More than the transactions that a standby can lack, because transaction ids have 32 bits.
const PROMOTION_STEP: i64 = 1 << 32;

/// A transaction holds this lock, alone or together with others. It is "tidings" as a number.
const ALONE: i64 = 0x0074_6964_696e_6773;

pub(super) struct WriteConnection {
    pub(super) server: Arc<Server>,
    /// `None` if it was lost.
    session: Option<Session>,
    /// `None` if another server has taken it.
    lane: Option<Lane>,
    pub(super) attempt: Instant,
    /// The time since which the first write of the current transaction waits.
    pub(super) since: Instant,
}

impl WriteConnection {
    pub(super) fn start(server: Arc<Server>, mut session: Session) -> Result<Self, StoreError> {
        continue_revisions(&mut session, server.timeline())?;
        let (lane, now) = (Some(Lane::lease(&mut session)?), Instant::now());
        Ok(Self { server, session: Some(session), lane, attempt: now, since: now })
    }

    /// The returned connection has a lane.
    fn connected(&mut self) -> Result<Session, StoreError> {
        let kept = self.session.take().and_then(|mut session| session.is_usable().then_some(session));
        let is_kept = kept.is_some();
        let mut session = kept.map_or_else(|| connect(&self.server), Ok)?;
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

    /// Takes the lock of the isolation. Returns the connection, the revision, and how long each statement waits for a lock.
    pub(super) fn begin(
        &mut self,
        isolation: Isolation,
        attempt: Instant,
        since: Instant,
    ) -> Result<(Session, i64, Duration), StoreError> {
        (self.attempt, self.since) = (attempt, since);
        let mut session = self.connected()?;
        let wait = self.wait();
        let begun = self.begin_with(isolation, &mut session, wait);
        if let Ok(Some(revision)) = begun {
            return Ok((session, revision, wait));
        }
        session.roll_back();
        self.reuse(session);
        begun?;
        // The next attempt leases another lane.
        self.lane = None;
        Err(StoreError::Conflict("another server has taken the write lane".into()))
    }

    /// Sends the begin of a transaction, and returns its revision; `None` if the lane has another owner. Waits for locks for
    /// `wait` each.
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

    /// How long the current attempt may wait for a lock, or for its COMMIT.
    pub(super) fn wait(&self) -> Duration {
        wait_until(self.until())
    }

    /// The time when the writes of the current transaction have waited for too long.
    fn until(&self) -> Instant {
        self.since + UNKNOWN_AFTER
    }

    /// This time of the current attempt was work, not waiting.
    pub(super) fn has_worked(&mut self, time: Duration) {
        self.since += time;
        self.attempt += time;
    }

    pub(super) fn lane_number(&self) -> i64 {
        self.lane.as_ref().map_or(0, |lane| lane.number)
    }

    pub(super) fn reuse(&mut self, mut session: Session) {
        // The writes that failed are rolled back, and the others are committed: their success says nothing of the disk.
        if session.take_full() {
            self.server.found_full();
        }
        self.session = Some(session);
    }

    /// A temporary error means that nothing is committed; [`StoreError::OutcomeUnknown`] that the outcome cannot be found out.
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
            let taken = connect(&self.server).and_then(|mut session| {
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
                    return Err(StoreError::Disconnected("the changes are not stored".into()));
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

    /// The lane would otherwise stay reserved for an hour.
    pub(super) fn close(mut self) {
        if let (Some(mut session), Some(lane)) = (self.session.take(), self.lane.take())
            && let Err(error) = lane.free(&mut session)
        {
            tracing::warn!(%error, "the write lane stays reserved");
        }
    }
}

fn connect(server: &Server) -> Result<Session, StoreError> {
    let mut session = server.connect()?;
    session.limit(ANSWER_MAX);
    continue_revisions(&mut session, server.timeline())?;
    Ok(session)
}

/// Makes the revisions of a primary greater than all earlier ones. Runs on each new connection that writes, before its first
/// transaction.
///
/// A standby that was promoted may lack the last transactions of its primary, and uses their ids again. Caches of the servers may
/// have seen these transactions, and would take new changes for known ones.
fn continue_revisions(session: &mut Session, timeline: u32) -> Result<(), StoreError> {
    let timeline = i64::from(timeline);
    let is_new = "SELECT 1 FROM revision_base WHERE timeline <> $1";
    if session.row(is_new, &[timeline.into()])?.is_some() {
        // Of several servers one changes the row; the others wait for it, and find nothing to change.
        session.control("BEGIN")?;
        let sql = format!(
            "UPDATE revision_base SET base = base + CASE timeline WHEN 0 THEN 0 ELSE {PROMOTION_STEP} END, timeline = $1
             WHERE timeline <> $1"
        );
        session.run(&sql, &[timeline.into()])?;
        session.commit()?;
    }
    Ok(())
}
