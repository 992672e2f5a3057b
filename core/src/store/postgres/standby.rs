//! Reads on standbys, for data that may be slightly stale.
//!
//! A standby is behind by the time since the latest moment of which it has everything. To find it, the watching thread
//! reads the primary's position in the write-ahead log: all commits that this process knew of before it asked are before
//! this position. A standby that has replayed up to the position has everything of the moment of the question. No clocks
//! are compared, and a standby without anything to replay is not behind, while one that is paused is.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

use super::super::pool::{Pool, WaitLimits};
use super::super::{CommitTime, ReadStandby, StoreError, Tx};
use super::server::Server;
use super::session::Session;
use super::tx::{ReadTx, lease};

/// The most by which a standby that answers reads is behind.
const BEHIND_MAX: Duration = Duration::from_millis(500);
/// The interval between two looks at a standby, and at a host that is none.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Maximum time for the answer of a standby to a look. Then its running reads are repeated on the primary.
const LOOK_MAX: Duration = Duration::from_millis(800);
/// How reads wait for a connection. Those beyond the limits go to the primary.
const WAIT: WaitLimits = WaitLimits { time: Duration::from_secs(1), reads: 1_024 };

/// The standbys among the hosts of a URL.
pub(super) struct Standbys {
    hosts: Vec<Arc<Standby>>,
    /// The standby of the next read.
    next: AtomicUsize,
    threads: Vec<JoinHandle<()>>,
}

/// A host, whose server may be a standby.
struct Standby {
    host: usize,
    name: String,
    pool: Pool<Session>,
    state: Mutex<State>,
    /// Wakes the thread when it must stop.
    stopping: Condvar,
    /// The generation of connections: grows when all of them count as lost.
    generation: watch::Sender<u64>,
    /// The number of reads that it has answered.
    reads: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The latest moment of which it has everything; `None` if it is no standby, or does not answer.
    shown: Option<CommitTime>,
    is_stopped: bool,
}

impl Standbys {
    /// Starts a thread for each host that looks how far it is behind.
    pub(super) fn start(server: &Arc<Server>, connections: usize) -> Result<Self, StoreError> {
        let mut all = Self { hosts: Vec::new(), next: AtomicUsize::new(0), threads: Vec::new() };
        for (host, name) in server.standby_hosts().into_iter().enumerate() {
            let standby = Arc::new(Standby {
                host,
                name,
                pool: Pool::new(connections, WAIT),
                state: Mutex::default(),
                stopping: Condvar::new(),
                generation: watch::Sender::new(0),
                reads: AtomicU64::new(0),
            });
            let (server, watched) = (Arc::clone(server), Arc::clone(&standby));
            let thread = std::thread::Builder::new().name("tidings-standby".into());
            all.hosts.push(standby);
            all.threads.push(thread.spawn(move || watched.watch(&server)).map_err(StoreError::other)?);
        }
        Ok(all)
    }

    /// Returns whether a standby sees the moment `seen` and is close behind the primary.
    pub(super) fn has(&self, seen: CommitTime) -> bool {
        self.hosts.iter().any(|standby| standby.shows(seen))
    }

    /// Runs `work` on such a standby. Returns false if there is none, or `work` has failed because of the standby.
    pub(super) fn read(
        &self,
        server: &Server,
        limit: Option<Duration>,
        seen: CommitTime,
        work: &mut dyn FnMut(&mut dyn Tx),
    ) -> bool {
        let count = self.hosts.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let mut in_turn = (0..count).map(|n| &self.hosts[first.wrapping_add(n) % count]);
        let Some(standby) = in_turn.find(|standby| standby.shows(seen)) else { return false };
        let is_read = standby.read(server, limit, work);
        if is_read {
            standby.reads.fetch_add(1, Ordering::Relaxed);
        }
        is_read
    }

    /// Returns the number of reads that standbys have answered.
    pub(super) fn reads(&self) -> u64 {
        self.hosts.iter().map(|standby| standby.reads.load(Ordering::Relaxed)).sum()
    }

    /// Returns all hosts, and how far their servers are behind.
    pub(super) fn gauges(&self) -> Vec<ReadStandby> {
        let gauge = |standby: &Arc<Standby>| {
            let behind = standby.lock().shown.map(CommitTime::elapsed);
            let behind_ms = behind.map(|behind| u64::try_from(behind.as_millis()).unwrap_or(u64::MAX));
            ReadStandby { host: standby.name.clone(), behind_ms }
        };
        self.hosts.iter().map(gauge).collect()
    }
}

impl Drop for Standbys {
    fn drop(&mut self) {
        for standby in &self.hosts {
            standby.lock().is_stopped = true;
            standby.stopping.notify_all();
            standby.abandon();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Standby {
    fn shows(&self, seen: CommitTime) -> bool {
        let shown = self.lock().shown;
        shown.is_some_and(|shown| shown >= seen && shown.elapsed() <= BEHIND_MAX)
    }

    fn read(&self, server: &Server, limit: Option<Duration>, work: &mut dyn FnMut(&mut dyn Tx)) -> bool {
        let Ok(_long) = limit.map(|_| self.pool.begin_long()).transpose() else { return false };
        let connect = || server.connect_to(self.host, &self.generation);
        let Ok(mut lease) = lease(&self.pool, &connect) else { return false };
        let mut tx = ReadTx::begin_on_standby(lease.connection(), limit);
        work(&mut tx);
        // A statement is also cancelled when it would hold back the replay for too long.
        let is_sound = tx.is_sound();
        tx.end();
        if lease.connection().lost().is_some() {
            lease.close();
        }
        is_sound
    }

    /// Looks at the standby until the store closes.
    fn watch(&self, server: &Server) {
        let mut session = None;
        loop {
            let shown = self.look(server, &mut session);
            let pause = if matches!(shown, Ok(Some(_))) { LOOK_EVERY } else { LOOK_AGAIN };
            if shown.is_err() {
                // Its connections may wait for answers that never come.
                self.abandon();
                session = None;
            }
            let mut state = self.lock();
            self.report(state.shown.is_some(), &shown);
            state.shown = shown.unwrap_or_default();
            let stopped = self.stopping.wait_timeout_while(state, pause, |state| !state.is_stopped);
            if stopped.unwrap_or_else(PoisonError::into_inner).0.is_stopped {
                return;
            }
        }
    }

    fn report(&self, was_usable: bool, shown: &Result<Option<CommitTime>, StoreError>) {
        match shown {
            Ok(Some(_)) if !was_usable => tracing::info!(host = self.name, "a standby answers reads"),
            Err(error) if was_usable => {
                tracing::warn!(host = self.name, %error, "a standby does not answer, so the primary does");
            }
            Err(error) => tracing::debug!(host = self.name, %error, "a host does not answer"),
            Ok(_) => {}
        }
    }

    /// Returns the latest moment of which the standby has everything; `None` if it is none.
    fn look(&self, server: &Server, session: &mut Option<Session>) -> Result<Option<CommitTime>, StoreError> {
        let session = match session {
            Some(session) => session,
            None => session.insert(server.connect_to(self.host, &self.generation)?),
        };
        session.limit(LOOK_MAX);
        // A standby of another primary has the timeline of that one: servers write theirs with their first connection.
        let sql = "SELECT CAST(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') AS bigint),
                          (SELECT timeline FROM revision_base), pg_is_in_recovery()";
        let mut found: (Option<i64>, Option<i64>, bool) = (None, None, false);
        session.for_each(sql, &[], &mut |row| {
            found = (row.take(0)?, row.take(1)?, row.take(2)?);
            Ok(())
        })?;
        Ok(match found {
            (Some(position), Some(timeline), true) => server.positions().shown(timeline, position),
            _ => None,
        })
    }

    /// Gives up all connections. Statements that wait for an answer fail.
    fn abandon(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
