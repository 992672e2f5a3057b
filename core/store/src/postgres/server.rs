//! The database server: connections to it, and whether it takes writes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;
use tokio_postgres::error::Severity;

use super::super::{Follower, ServerError, StoreError};
use super::connect::{Connector, OnNotice, Purpose};
use super::session::Session;
use super::time::PrimaryTime;
use super::wait::{ANSWER_MAX, Driver, Lifetime};
use crate::cancel::CancelFlag;

const CONNECT_MAX: Duration = Duration::from_secs(15);

const SETUP_MAX: Duration = Duration::from_secs(5);
/// Two connections are compared this often to recognise a pooler.
const POOLER_PROBES: usize = 3;
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Limits the time for which a suspended server, or one whose network failed, keeps the locks of its transaction, and the time
/// that a transaction waits for them. Compiling a statement that takes milliseconds can take seconds.
const SETTINGS: &str = "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '10s';
    SET default_transaction_isolation = 'read committed'; SET client_min_messages = 'warning';
    SET jit = off; SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 5";

pub(super) struct Server {
    connector: Connector,
    state: Mutex<State>,
    failures: AtomicU64,
    /// Grows when all connections count as lost.
    generation: watch::Sender<u64>,
    /// In bytes, when it was last measured.
    bytes: AtomicU64,
    time: PrimaryTime,
}

/// Interrupts the statements of a connection until it is dropped.
pub(super) struct Interrupts(#[expect(dead_code, reason = "the thread ends with it")] mpsc::Sender<()>);

#[derive(Default)]
struct State {
    unreachable: Option<StoreError>,
    failing: Option<StoreError>,
    /// Grows when a standby is promoted; 0 before the first connection.
    timeline: u32,
    lanes: u64,
    followers: Vec<Follower>,
}

impl Server {
    pub(super) fn new(connector: Connector) -> Arc<Self> {
        Arc::new(Self {
            connector,
            state: Mutex::default(),
            failures: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            time: PrimaryTime::default(),
            generation: watch::Sender::new(0),
        })
    }

    pub(super) fn connect(&self) -> Result<Session, StoreError> {
        self.connect_for(Purpose::Write)
    }

    /// Makes sure that no pooler gives the connection of the server to others: then neither the settings of a connection nor its
    /// locks would be its own.
    pub(super) fn first_connection(&self) -> Result<Session, StoreError> {
        let (mut session, mut other) = (self.connect()?, self.connect()?);
        for _ in 0..POOLER_PROBES {
            // A pooler gives the next transaction the connection that was used last, unless others take it.
            if session.backend()? == other.backend()? {
                return Err(ServerError::SharedConnections.into());
            }
        }
        Ok(session)
    }

    pub(super) fn connect_for(&self, purpose: Purpose) -> Result<Session, StoreError> {
        let (driver, (on_notice, warned)) = (Driver::start()?, warnings());
        let connected = driver.wait(CONNECT_MAX, self.connector.connect(purpose, &on_notice));
        let connected =
            connected.ok_or_else(|| StoreError::Disconnected("no host answers in time".into()))??;
        self.follow(self.connector.timeline());
        set_up(Session::new(connected, driver, Lifetime::begin(self.generation.subscribe()), warned))
    }

    pub(super) fn timeline(&self) -> u32 {
        self.state().timeline
    }

    /// Gives up all connections if a standby was promoted since the latest one: an earlier primary that comes back would answer
    /// with old data.
    fn follow(&self, timeline: u32) {
        let before = {
            let mut state = self.state();
            let after = state.timeline.max(timeline);
            std::mem::replace(&mut state.timeline, after)
        };
        if before != 0 && timeline > before {
            tracing::warn!(timeline, "there is a new primary");
            self.abandon();
        }
    }

    /// Statements that wait for an answer fail.
    pub(super) fn abandon(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Fails at once while the watching thread finds no primary.
    pub(super) fn connect_if_reachable(&self) -> Result<Session, StoreError> {
        let unreachable = self.state().unreachable.clone();
        unreachable.map_or_else(|| self.connect(), Err)
    }

    /// Interrupts the statements of `session` from the time when `stop` is requested.
    pub(super) fn interrupts(&self, session: &Session, stop: &CancelFlag) -> Result<Interrupts, StoreError> {
        let (connector, stop, token) = (self.connector.clone(), stop.clone(), session.cancel_token());
        let (driver, (sender, ended)) = (Driver::start()?, mpsc::channel());
        let interrupt = move || {
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if stop.is_set() {
                    // Between two statements a request has no effect, so it is repeated.
                    driver.wait(CONNECT_MAX, connector.cancel(&token));
                }
            }
        };
        thread::Builder::new().name("tidings-stop".into()).spawn(interrupt).map_err(StoreError::other)?;
        Ok(Interrupts(sender))
    }

    pub(super) fn looked(&self, result: Result<(), &StoreError>) {
        let mut state = self.state();
        match (result, &state.unreachable) {
            (Err(error), None) => tracing::error!("there is no primary to write to: {error}"),
            (Ok(()), Some(_)) => tracing::warn!("the primary can be reached again"),
            _ => {}
        }
        state.unreachable = result.err().cloned();
    }

    pub(super) fn committed(&self, result: Result<(), &StoreError>) {
        let mut state = self.state();
        match (result, &state.failing) {
            (Err(error), None) | (Err(error @ StoreError::OutcomeUnknown(_)), _) => {
                tracing::error!("writes fail: {error}");
            }
            // A commit that needs no more room succeeds on a full disk, too. Only a trial tells whether there is room.
            (Ok(()), Some(StoreError::Full)) => return,
            (Ok(()), Some(_)) => tracing::warn!("writes succeed again"),
            _ => {}
        }
        if result.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        // Other errors are those of a statement, and say nothing of the server.
        state.failing =
            result.err().filter(|error| error.is_unavailable() || matches!(error, StoreError::Full)).cloned();
    }

    pub(super) fn found_full(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        if self.state().failing.replace(StoreError::Full).is_none() {
            tracing::error!("writes fail: {}", StoreError::Full);
        }
    }

    pub(super) fn recovered(&self) {
        if self.state().failing.take().is_some() {
            tracing::warn!("writes succeed again");
        }
    }

    /// A trial write tells whether the next write would fail too.
    pub(super) fn failing(&self) -> Option<StoreError> {
        self.state().failing.clone()
    }

    pub(super) fn writable(&self) -> Result<(), StoreError> {
        let state = self.state();
        let failed = state.unreachable.as_ref().or(state.failing.as_ref());
        failed.map_or_else(|| self.time.check(), |error| Err(error.clone()))
    }

    pub(super) fn time(&self) -> &PrimaryTime {
        &self.time
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    pub(super) fn measured(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn counted(&self, lanes: u64, followers: Vec<Follower>) {
        let mut state = self.state();
        state.lanes = lanes;
        state.followers = followers;
    }

    pub(super) fn lanes(&self) -> u64 {
        self.state().lanes
    }

    pub(super) fn followers(&self) -> Vec<Follower> {
        self.state().followers.clone()
    }

    /// 0 before the first measurement.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The flag is set by each warning of the connection.
fn warnings() -> (OnNotice, Arc<AtomicBool>) {
    let warned = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&warned);
    let on_notice: OnNotice = Arc::new(move |notice| {
        if notice.parsed_severity() == Some(Severity::Warning) {
            tracing::warn!("the database server warns: {}", notice.message());
            flag.store(true, Ordering::Release);
        }
    });
    (on_notice, warned)
}

fn set_up(mut session: Session) -> Result<Session, StoreError> {
    session.limit(SETUP_MAX);
    session.control(SETTINGS)?;
    session.limit(ANSWER_MAX);
    Ok(session)
}
