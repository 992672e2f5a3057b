//! Write lanes: the leases of writing connections, and the record of what each last committed.
//!
//! The first statement that changes a row in each writing transaction numbers the transaction in its lane. When the answer to a
//! COMMIT is lost, the number tells whether the transaction was committed. And a transaction of an earlier connection cannot be
//! committed any more once a later connection has taken the lane with a new owner: either it holds the lock of the row, and the
//! later connection waits for its end, or it finds that the owner has changed.

use std::time::{Duration, Instant};

use super::super::StoreError;
use super::session::Session;
use crate::random::random;

/// A lane stays reserved for its server this long after its last transaction, in milliseconds.
///
/// This is much longer than a server tries to find out whether a transaction was committed, because the next owner writes over
/// the record.
const LEASE: i64 = 60 * 60 * 1000;

/// In milliseconds.
const NOW: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

/// The shortest and the longest time that an attempt waits for a lock, and then for its COMMIT.
pub(super) const WAIT: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

pub(super) struct Lane {
    pub(super) number: i64,
    /// A random text that names this server.
    server: String,
    /// The connection of this server that owns the lane.
    connection: u64,
    /// The last transaction that is known to be committed.
    pub(super) last: i64,
}

impl Lane {
    /// Takes a lane that no server has reserved, or adds one. The lease need not be durable: a transaction whose lane has no
    /// owner any more fails.
    pub(super) fn lease(session: &mut Session) -> Result<Self, StoreError> {
        session.control("BEGIN")?;
        let lane = Self::leased(session)?;
        session.commit()?;
        Ok(lane)
    }

    fn leased(session: &mut Session) -> Result<Self, StoreError> {
        let (server, connection) = (format!("{:032x}", u128::from_be_bytes(random())), 1);
        let owner = owner(&server, connection);
        let sql = format!(
            "UPDATE lane SET owner = $1, until = {NOW} + {LEASE}, last = 0 WHERE lane = (
                 SELECT lane FROM lane WHERE until < {NOW} ORDER BY lane LIMIT 1 FOR UPDATE SKIP LOCKED)
             RETURNING lane"
        );
        let number = loop {
            if let Some(number) = session.first(&sql, &[(&owner).into()])? {
                break number;
            }
            if let Some(number) = add(session, &owner)? {
                break number;
            }
        };
        Ok(Self { number, server, connection, last: 0 })
    }

    /// Takes the lane over from an earlier connection of this server, after the end of its last transaction. Returns false if
    /// another server has taken the lane. Waits for that end, and for its own commit, until about that time. Also fails when the
    /// server does not confirm that all earlier commits are as durable as it promises.
    pub(super) fn take_over(&mut self, session: &mut Session, until: Instant) -> Result<bool, StoreError> {
        self.connection += 1;
        session.control(&format!("BEGIN; {}", limit_of_locks(wait_until(until))))?;
        // An earlier call may have taken the lane without an answer, so the number of the connection does not matter.
        let sql = format!(
            "UPDATE lane SET owner = $1, until = {NOW} + {LEASE} WHERE lane = $2 AND split_part(owner, ' ', 1) = $3
             RETURNING last"
        );
        let owner = self.owner();
        let last = session.first(&sql, &[(&owner).into(), self.number.into(), (&self.server).into()])?;
        if !session.commit_within(wait_until(until))? {
            return Err(StoreError::Conflict("a commit did not wait for its standby".into()));
        }
        Ok(last.inspect(|last| self.last = *last).is_some())
    }

    /// Numbers the transaction that has begun on `session`. Returns its revision, or `None` if another server has taken the lane.
    pub(super) fn number(&self, session: &mut Session) -> Result<Option<i64>, StoreError> {
        let sql = format!(
            "UPDATE lane SET last = $1, until = {NOW} + {LEASE},
                 revision = CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT) + (SELECT base FROM revision_base)
             WHERE lane = $2 AND owner = $3 RETURNING revision"
        );
        let owner = self.owner();
        session.first(&sql, &[self.next().into(), self.number.into(), (&owner).into()])
    }

    pub(super) fn next(&self) -> i64 {
        self.last + 1
    }

    pub(super) fn free(self, session: &mut Session) -> Result<(), StoreError> {
        let sql = "UPDATE lane SET until = 0 WHERE lane = $1 AND owner = $2";
        session.run(sql, &[self.number.into(), (&self.owner()).into()]).map(drop)
    }

    fn owner(&self) -> String {
        owner(&self.server, self.connection)
    }
}

pub(super) fn wait_until(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now()).clamp(WAIT[0], WAIT[1])
}

pub(super) fn limit_of_locks(wait: Duration) -> String {
    format!("SET LOCAL lock_timeout = {};", wait.as_millis())
}

fn owner(server: &str, connection: u64) -> String {
    format!("{server} {connection}")
}

fn add(session: &mut Session, owner: &str) -> Result<Option<i64>, StoreError> {
    let sql = format!(
        "INSERT INTO lane (lane, owner, until, last)
         SELECT coalesce(max(lane), 0) + 1, $1, {NOW} + {LEASE}, 0 FROM lane ON CONFLICT (lane) DO NOTHING
         RETURNING lane"
    );
    session.first(&sql, &[owner.into()])
}
