//! Watching a database on a server: commits of other servers, and whether the primary takes writes.

use std::sync::Arc;
use std::time::Duration;

use super::super::watch::{TRY_EVERY, Versions, Watch, publish};
use super::super::{Follower, ServerError, StoreError, Tx as _};
use super::migrate::refuse_newer;
use super::server::Server;
use super::session::Session;
use super::tx::ReadTx;

/// Looks between two deletions of outdated versions: one minute.
const PRUNE_EVERY: u32 = 300;

/// For the answer to a look, which takes milliseconds. A slower server counts as lost: it may be suspended, and its other
/// connections would wait for their answers for minutes.
const LOOK_MAX: Duration = Duration::from_secs(5);
/// Looks between two measurements of the database's size: one minute.
const MEASURE_EVERY: u32 = 300;

/// Looks between two counts of lanes and standbys, for the metrics: one second.
const COUNT_EVERY: u32 = 5;

pub(super) struct ServerWatch {
    server: Arc<Server>,
    /// `None` if it was lost.
    session: Option<Session>,
    looks: u32,
}

impl ServerWatch {
    pub(super) fn new(server: Arc<Server>, versions: &Versions) -> Result<Self, StoreError> {
        let mut watch = Self { session: None, server, looks: 0 };
        watch.look_for_commits(versions)?;
        if let Some(session) = &mut watch.session {
            watch.server.measured(size(session)?);
        }
        Ok(watch)
    }

    fn look_for_commits(&mut self, versions: &Versions) -> Result<(), StoreError> {
        let mut idle = self.session.take().filter(|session| session.lost().is_none());
        loop {
            let was_idle = idle.is_some();
            let mut session = match idle.take() {
                Some(session) => session,
                None => self.server.connect()?,
            };
            session.limit(LOOK_MAX);
            let looked = refuse_newer(&mut session)
                .and_then(|()| look(&mut session, versions))
                .and_then(|()| self.server.time().look(&mut session));
            if session.is_silent() {
                self.server.abandon();
            } else if was_idle && matches!(looked, Err(StoreError::Disconnected(_))) {
                // It may have been ended while it was idle, which tells nothing of the primary.
                continue;
            }
            looked?;
            self.session = Some(session);
            return Ok(());
        }
    }

    fn maintain(&mut self) -> Result<(), StoreError> {
        let Some(mut session) = self.session.take() else { return Ok(()) };
        if self.looks.is_multiple_of(PRUNE_EVERY) {
            prune(&mut session)?;
        }
        if self.looks.is_multiple_of(MEASURE_EVERY) {
            self.server.measured(size(&mut session)?);
        }
        if self.looks.is_multiple_of(COUNT_EVERY) {
            self.server.counted(lanes(&mut session)?, followers(&mut session)?);
        }
        if self.looks.is_multiple_of(TRY_EVERY)
            && let Some(failing) = self.server.failing()
        {
            if matches!(failing, StoreError::Full) {
                try_for_room(&mut session)?;
            }
            try_to_write(&mut session)?;
            self.server.recovered();
        }
        self.session = Some(session);
        Ok(())
    }
}

impl Watch for ServerWatch {
    fn look(&mut self, versions: &Versions) {
        self.looks = self.looks.wrapping_add(1);
        let looked = self.look_for_commits(versions);
        self.server.looked(looked.as_ref().map(drop));
        if let Err(error) = self.maintain() {
            tracing::debug!(%error, "the watching thread cannot write");
        }
    }
}

fn look(session: &mut Session, versions: &Versions) -> Result<(), StoreError> {
    let mut tx = ReadTx::begin(session, None);
    // Behind a proxy, the connection may be one to a standby.
    let is_standby: bool = tx.one("SELECT pg_is_in_recovery()", &[])?.take(0)?;
    if is_standby {
        return Err(ServerError::NoPrimary { hosts: String::from("the server became a standby") }.into());
    }
    publish(&mut tx, versions)?;
    tx.end();
    Ok(())
}

fn size(session: &mut Session) -> Result<u64, StoreError> {
    number(session, "SELECT pg_database_size(current_database())")
}

fn lanes(session: &mut Session) -> Result<u64, StoreError> {
    number(session, "SELECT count(*) FROM lane WHERE until > extract(epoch FROM clock_timestamp()) * 1000")
}

fn number(session: &mut Session, sql: &str) -> Result<u64, StoreError> {
    Ok(session.first::<i64>(sql, &[])?.unwrap_or_default().unsigned_abs())
}

fn followers(session: &mut Session) -> Result<Vec<Follower>, StoreError> {
    // Without a recent commit there is no lag.
    let sql = "SELECT coalesce(application_name, ''), coalesce(sync_state, ''),
                      CAST(coalesce(extract(epoch FROM replay_lag), 0) * 1000 AS bigint)
               FROM pg_stat_replication WHERE state IS NULL OR state IN ('streaming', 'catchup')
               ORDER BY application_name LIMIT 16";
    let mut followers: Vec<Follower> = Vec::new();
    session.for_each(sql, &[], &mut |row| {
        followers.push(Follower { name: row.take(0)?, state: row.take(1)?, lag_ms: row.take(2)? });
        Ok(())
    })?;
    Ok(followers)
}

/// Other servers do the same at the same time. Rows that they have locked are left to them, because they may delete them in
/// another order.
fn prune(session: &mut Session) -> Result<(), StoreError> {
    let sql = "DELETE FROM touched WHERE ctid = ANY (ARRAY (
                   SELECT t.ctid FROM touched t
                   WHERE t.revision < (SELECT max(l.revision) FROM touched l WHERE l.topic = t.topic)
                   FOR UPDATE SKIP LOCKED))";
    session.run(sql, &[]).map(drop)
}

/// Writes a table of about 200 kB and rolls it back. A small change needs no room, because it fits into a page that exists.
fn try_for_room(session: &mut Session) -> Result<(), StoreError> {
    let tried = session
        .control("BEGIN; CREATE UNLOGGED TABLE trial_of_room AS SELECT generate_series(1, 5000) AS number");
    session.control("ROLLBACK")?;
    match tried {
        Err(error @ (StoreError::Full | StoreError::Disconnected(_))) => Err(error),
        // A right may be missing, which the next write reports.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Commits a change of nothing, to find out whether writes succeed again while no caller writes.
fn try_to_write(session: &mut Session) -> Result<(), StoreError> {
    session.control("BEGIN; UPDATE revision_base SET base = base")?;
    if session.commit()? {
        Ok(())
    } else {
        Err(StoreError::Conflict("a commit did not wait for its standby".into()))
    }
}
