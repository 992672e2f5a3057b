//! Jobs for other systems. Of several servers, the one that holds the [`Lease`] of a [`Queue`] looks for jobs that are due, and
//! begins each on a thread that waits for the network without a connection to the database. A job whose outcome a crash has lost
//! is done once more. A slow or failing receiver does not delay others ([`Turns`]); after some waits a job is given up.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::base::clock::{Clock, DAY_MS, SECOND_MS, Timestamp};
use crate::base::lock::lock;
use crate::base::random::random;
use crate::record::background::{Background, Stop, log_failure};
use crate::record::error::{Error, Result};
use crate::record::lease::Lease;
use crate::store::{Isolation, Store, StoreError, Topic, Tx};

/// From one failed attempt to the next, in seconds. After the last one the job is given up.
pub(crate) const DELAYS: [i64; 7] = [10, 60, 5 * 60, 30 * 60, 2 * 60 * 60, 6 * 60 * 60, 24 * 60 * 60];
const INTERVAL: Duration = Duration::from_secs(60);
/// Until the next look while another server has the lease, and while jobs run, so that the lease is renewed.
const SHORT_INTERVAL: Duration = Duration::from_secs(1);
const FAILURE_INTERVAL: Duration = Duration::from_secs(5);
const DEAD_MS: i64 = 30 * DAY_MS;

pub(crate) trait Queue: Send + 'static {
    type Job: Clone + PartialEq + Send + 'static;
    type Outcome: Send + 'static;

    const LEASE: &'static str;
    /// Changes when there is a new job.
    const TOPIC: Topic;
    /// The names of the thread that looks, and of those that do a job.
    const THREADS: [&'static str; 2];
    const AT_ONCE: usize;
    /// Jobs at once for one receiver.
    const PER_RECEIVER: usize;
    /// For the log.
    const FAILURE: &'static str;
    /// A service that stops waits for running jobs for this time, so that what a receiver has accepted is not sent again.
    const STOP_TIME: Duration = Duration::from_secs(1);

    fn look(&mut self, tx: &mut dyn Tx, now: Timestamp) -> Result<Due<Self::Job>, StoreError>;

    /// Returns what another thread does. `None` if that is nothing; then the job is no longer due.
    fn begin(&self, store: &Store, job: &Self::Job, now: Timestamp) -> Result<Option<Work<Self::Outcome>>>;

    /// Removes the outcomes that it has stored.
    fn end(&mut self, store: &Store, outcomes: &mut Vec<Self::Outcome>, now: Timestamp) -> Result<()>;

    /// Whether the other jobs of the receiver are likely to fail, too.
    fn has_failed(_: &Self::Outcome) -> bool {
        false
    }
}

pub(crate) type Work<O> = Box<dyn FnOnce() -> O + Send>;

pub(crate) struct Due<J> {
    /// Each with its receiver, in the order in which they became due.
    pub(crate) jobs: Vec<(J, String)>,
    pub(crate) next: Option<Timestamp>,
}

pub(crate) struct Jobs {
    store: Arc<Store>,
    clock: Clock,
    stop: Stop,
    threads: Background,
}

impl Jobs {
    pub(crate) fn new(store: &Arc<Store>, clock: &Clock) -> Self {
        let stop = Stop::default();
        let threads = Background::new(Arc::clone(store), stop.clone());
        Self { store: Arc::clone(store), clock: clock.clone(), stop, threads }
    }

    pub(crate) fn start<Q: Queue>(&self, queue: impl FnOnce() -> Result<Q>) -> Result<()> {
        self.threads.start(Q::THREADS[0], || {
            let worker = Worker::new(&self.store, &self.clock, queue()?);
            let stop = self.stop.clone();
            Ok(move || worker.run(&stop))
        })
    }
}

type Arrived<Q> = Mutex<Vec<(<Q as Queue>::Job, <Q as Queue>::Outcome)>>;

pub(crate) struct Worker<Q: Queue> {
    queue: Q,
    store: Arc<Store>,
    clock: Clock,
    lease: Lease,
    turns: Turns<Q::Job>,
    outcomes: Vec<Q::Outcome>,
    /// Their jobs, and whether these have failed.
    ended: Vec<(Q::Job, bool)>,
    /// The outcomes of threads that have ended since the latest pass.
    arrived: Arc<Arrived<Q>>,
}

impl<Q: Queue> Worker<Q> {
    pub(crate) fn new(store: &Arc<Store>, clock: &Clock, queue: Q) -> Self {
        Self {
            queue,
            store: Arc::clone(store),
            clock: clock.clone(),
            lease: Lease::reaching_out(Arc::clone(store), clock.clone(), Q::LEASE),
            turns: Turns::new(Q::AT_ONCE, Q::PER_RECEIVER),
            outcomes: Vec::new(),
            ended: Vec::new(),
            arrived: Arc::default(),
        }
    }

    fn run(mut self, stop: &Stop) {
        let versions = self.store.versions();
        while !stop.is_set() {
            let version = self.store.version(Q::TOPIC);
            let pause = self.pass().unwrap_or_else(|error| {
                log_failure(&error, Q::FAILURE);
                FAILURE_INTERVAL
            });
            versions.wait_for(Q::TOPIC, version, pause, || stop.is_set() || self.have_arrived(1));
        }
        let running = self.turns.running.len() - self.ended.len();
        versions.sleep(Q::STOP_TIME, || self.have_arrived(running));
        if let Err(error) = self.end().and_then(|()| Ok(self.lease.release()?)) {
            tracing::debug!(cause = error.detail(), lease = Q::LEASE, "a lease ends later");
        }
    }

    /// Stores outcomes and begins jobs. Returns the time until the next pass, unless something changes before.
    pub(crate) fn pass(&mut self) -> Result<Duration> {
        self.end()?;
        let now = self.clock.now();
        let Due { jobs, next } = self.store.read(|tx| self.queue.look(tx, now))?;
        let until = next.map(|next| Duration::from_millis(u64::try_from(next - now).unwrap_or_default()));
        if jobs.is_empty() && self.turns.running.is_empty() {
            self.turns.last.clear();
            self.lease.release()?;
            return Ok(until.unwrap_or(INTERVAL).min(INTERVAL));
        }
        if !self.lease.hold()? {
            return Ok(SHORT_INTERVAL);
        }
        while let Some(job) = self.turns.take(&jobs) {
            let begun = self.begin(&job, now);
            if !matches!(begun, Ok(true)) {
                self.turns.cancel(&job);
                return begun.map(|_| Duration::ZERO);
            }
        }
        Ok(until.unwrap_or(INTERVAL).min(SHORT_INTERVAL))
    }

    fn begin(&mut self, job: &Q::Job, now: Timestamp) -> Result<bool> {
        let Some(work) = self.queue.begin(&self.store, job, now)? else { return Ok(false) };
        let (arrived, versions, job) = (Arc::clone(&self.arrived), self.store.versions(), job.clone());
        let run = move || {
            let outcome = work();
            lock(&arrived).push((job, outcome));
            versions.wake();
        };
        let thread = std::thread::Builder::new().name(Q::THREADS[1].into()).spawn(run);
        thread.map(|_| true).map_err(|error| Error::Internal(error.into()))
    }

    fn have_arrived(&self, outcomes: usize) -> bool {
        lock(&self.arrived).len() >= outcomes
    }

    /// The jobs of outcomes that cannot be stored have no other turn, so that nothing is sent twice.
    fn end(&mut self) -> Result<()> {
        for (job, outcome) in std::mem::take(&mut *lock(&self.arrived)) {
            self.ended.push((job, Q::has_failed(&outcome)));
            self.outcomes.push(outcome);
        }
        if !self.outcomes.is_empty() {
            self.queue.end(&self.store, &mut self.outcomes, self.clock.now())?;
        }
        self.ended.drain(..).for_each(|(job, has_failed)| self.turns.end(&job, has_failed));
        Ok(())
    }
}

/// The order in which receivers are asked: those that have waited the longest come first, and those that do not answer take at
/// most half of the threads.
struct Turns<J> {
    at_once: usize,
    per_receiver: usize,
    /// Each with its receiver.
    running: Vec<(J, String)>,
    failing: HashSet<String>,
    last: HashMap<String, u64>,
    turn: u64,
}

impl<J: Clone + PartialEq> Turns<J> {
    fn new(at_once: usize, per_receiver: usize) -> Self {
        let (failing, last) = (HashSet::new(), HashMap::new());
        Self { at_once, per_receiver, running: Vec::new(), failing, last, turn: 0 }
    }

    /// Returns `None` if none of the jobs that are due has a turn now.
    fn take(&mut self, due: &[(J, String)]) -> Option<J> {
        if self.running.len() >= self.at_once {
            return None;
        }
        let is_failing = |receiver: &String| self.failing.contains(receiver);
        let failing = self.running.iter().filter(|(_, receiver)| is_failing(receiver)).count();
        let may_run = |(job, receiver): &&(J, String)| {
            let of_receiver = self.running.iter().filter(|(_, other)| other == receiver).count();
            of_receiver < self.per_receiver
                && (failing < self.at_once / 2 || !is_failing(receiver))
                && self.running.iter().all(|(other, _)| other != job)
        };
        let next = due.iter().filter(may_run).min_by_key(|(_, receiver)| {
            (is_failing(receiver), self.last.get(receiver).copied().unwrap_or_default())
        })?;
        self.turn += 1;
        self.last.insert(next.1.clone(), self.turn);
        self.running.push(next.clone());
        Some(next.0.clone())
    }

    fn cancel(&mut self, job: &J) {
        self.running.retain(|(other, _)| other != job);
    }

    fn end(&mut self, job: &J, has_failed: bool) {
        let Some(at) = self.running.iter().position(|(other, _)| other == job) else { return };
        let (_, receiver) = self.running.swap_remove(at);
        if has_failed {
            self.failing.insert(receiver);
        } else {
            self.failing.remove(&receiver);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    /// In a few words, without addresses and texts of the receiver, which may contain secrets.
    pub(crate) reason: String,
    pub(crate) is_permanent: bool,
}

impl<S: Into<String>> From<S> for Failed {
    fn from(reason: S) -> Self {
        Self { reason: reason.into(), is_permanent: false }
    }
}

/// Tests use a transport without a network.
pub(crate) trait Transport<O>: Send + Sync {
    /// Blocks.
    fn send(&self, outgoing: &O) -> Result<(), Failed>;
}

pub(crate) struct Attempt {
    /// Not its key, which may belong to another job by now: SQLite gives the key of a removed row again.
    pub(crate) id: String,
    /// For the log.
    pub(crate) name: String,
    pub(crate) attempts: i64,
    /// Another attempt after this time has no use.
    pub(crate) until: Option<Timestamp>,
}

pub(crate) type Sent = (Attempt, Result<(), Failed>);

impl Attempt {
    pub(crate) fn work<O: Send + 'static>(
        self,
        transport: &Arc<dyn Transport<O>>,
        outgoing: O,
    ) -> Work<Sent> {
        let transport = Arc::clone(transport);
        Box::new(move || {
            let sent = catch_unwind(AssertUnwindSafe(|| transport.send(&outgoing)));
            (self, sent.unwrap_or_else(|_| Err("sending it failed, for a cause that is in the log".into())))
        })
    }
}

/// A table of jobs with the columns `key`, `id`, `attempts`, `next_attempt`, `last_error` and `dead`.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The column of the receiver, or an expression that is the same for all.
    pub(crate) receiver: &'static str,
    /// Jobs of a receiver that were given up; beyond, the oldest are removed.
    pub(crate) dead_max: i64,
    /// Whether waits grow by up to a fifth, so that jobs that failed together are not repeated together.
    pub(crate) spreads: bool,
    /// For the log.
    pub(crate) job: &'static str,
}

impl Table {
    /// Stores the outcomes, and removes them.
    pub(crate) fn end(&'static self, store: &Store, outcomes: &mut Vec<Sent>, now: Timestamp) -> Result<()> {
        let change = |(attempt, sent): &Sent| {
            let failed = sent.as_ref().err();
            let failed = failed.map(|failed| (failed.reason.clone(), self.next(attempt, failed, now)));
            (attempt.id.clone(), failed)
        };
        let changes: Arc<[_]> = outcomes.iter().map(change).collect();
        let stored = Arc::clone(&changes);
        store.write(Isolation::Alone, move |tx| {
            stored.iter().try_for_each(|(id, failed)| match failed {
                None => self.remove(tx, id),
                Some((reason, next)) => self.failed(tx, id, *next, reason, now),
            })
        })?;
        for ((Attempt { name, .. }, _), (_, failed)) in outcomes.drain(..).zip(&*changes) {
            match failed {
                None => {}
                Some((error, Some(_))) => {
                    tracing::info!(name, error, "{} failed and is tried again", self.job);
                }
                Some((error, None)) => tracing::warn!(name, error, "{} was given up", self.job),
            }
        }
        Ok(())
    }

    fn next(&self, attempt: &Attempt, failed: &Failed, now: Timestamp) -> Option<Timestamp> {
        let ms = usize::try_from(attempt.attempts).ok().and_then(|n| DELAYS.get(n))? * SECOND_MS;
        let more = if self.spreads { ms / 5 * i64::from(random::<1>()[0]) / 255 } else { 0 };
        let next = now + (ms + more);
        let is_late = attempt.until.is_some_and(|until| next > until);
        (!failed.is_permanent && !is_late).then_some(next)
    }

    pub(crate) fn remove(&self, tx: &mut dyn Tx, id: &str) -> Result<(), StoreError> {
        tx.run(&format!("DELETE FROM {} WHERE id = $1", self.name), &[id.into()]).map(drop)
    }

    /// Without a `next` attempt the job is given up.
    pub(crate) fn failed(
        &self,
        tx: &mut dyn Tx,
        id: &str,
        next: Option<Timestamp>,
        error: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "UPDATE {} SET attempts = attempts + 1, next_attempt = $2, last_error = $3 WHERE id = $1",
            self.name
        );
        tx.run(&sql, &[id.into(), next.unwrap_or(now).into(), error.into()])?;
        if next.is_none() { self.give_up(tx, id, error, now) } else { Ok(()) }
    }

    pub(crate) fn give_up(
        &self,
        tx: &mut dyn Tx,
        id: &str,
        error: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Self { name, receiver, dead_max, .. } = self;
        let sql = format!("UPDATE {name} SET dead = $2, last_error = $3 WHERE id = $1");
        tx.run(&sql, &[id.into(), now.into(), error.into()])?;
        let sql = format!(
            "DELETE FROM {name} WHERE key IN (SELECT key FROM {name} WHERE dead IS NOT NULL
                 AND {receiver} = (SELECT {receiver} FROM {name} WHERE id = $1)
             ORDER BY key DESC LIMIT 1000 OFFSET $2)"
        );
        tx.run(&sql, &[id.into(), (*dead_max).into()]).map(drop)
    }

    /// With all its attempts; returns false if no job has this id.
    pub(crate) fn retry(&self, tx: &mut dyn Tx, id: &str, now: Timestamp) -> Result<bool, StoreError> {
        let sql =
            format!("UPDATE {} SET dead = NULL, attempts = 0, next_attempt = $2 WHERE id = $1", self.name);
        Ok(tx.run(&sql, &[id.into(), now.into()])? > 0)
    }

    /// Removes at most `limit` jobs that were given up long ago. Returns whether there may be more.
    pub(crate) fn prune(&self, tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
        let name = self.name;
        let sql =
            format!("DELETE FROM {name} WHERE key IN (SELECT key FROM {name} WHERE dead <= $1 LIMIT $2)");
        Ok(tx.run(&sql, &[(now - DEAD_MS).into(), limit.cast_signed().into()])? == limit)
    }
}

#[cfg(test)]
impl<Q: Queue> Worker<Q> {
    /// Does all that can be done now, and waits for it.
    pub(crate) fn settle(&mut self) {
        while self.pass().unwrap().is_zero() || self.is_running() {
            if self.is_running() {
                self.receive();
            }
        }
    }

    /// Waits for the end of an attempt, whose outcome the next pass stores.
    pub(crate) fn receive(&self) {
        self.store.versions().sleep(Duration::from_secs(30), || self.have_arrived(1));
        assert!(self.have_arrived(1));
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running() > 0
    }

    pub(crate) fn running(&self) -> usize {
        self.turns.running.len()
    }

    pub(crate) fn release(&self) {
        self.lease.release().unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(names: &[&str]) -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect()
    }

    #[test]
    fn each_receiver_has_one_job_at_a_time_and_all_take_turns() {
        let (mut turns, all) = (Turns::new(4, 1), due(&["a", "b", "c", "d", "e", "f"]));
        let first: Vec<_> = (0..6).filter_map(|_| turns.take(&all)).collect();
        assert_eq!(first, ["a", "b", "c", "d"]);
        turns.end(&"b".into(), false);
        assert_eq!(turns.take(&all).as_deref(), Some("e"), "b had a turn before");
        turns.end(&"a".into(), false);
        assert_eq!(turns.take(&all).as_deref(), Some("f"));
        turns.end(&"c".into(), false);
        assert_eq!(turns.take(&all).as_deref(), Some("a"));
        assert_eq!(turns.take(&due(&["a", "d"])), None);
    }

    #[test]
    fn receivers_that_fail_leave_half_of_the_turns_to_the_others() {
        let mut turns = Turns::new(4, 1);
        for receiver in ["a", "b", "c"] {
            assert_eq!(turns.take(&due(&[receiver])).as_deref(), Some(receiver));
            turns.end(&receiver.into(), true);
        }
        let all = due(&["a", "b", "c", "z"]);
        assert_eq!(turns.take(&all).as_deref(), Some("z"));
        assert_eq!(turns.take(&all).as_deref(), Some("a"));
        assert_eq!(turns.take(&all).as_deref(), Some("b"));
        assert_eq!(turns.take(&all), None, "two fail at once at most");
        turns.end(&"z".into(), false);
        assert_eq!(turns.take(&all).as_deref(), Some("z"));
        turns.end(&"b".into(), false);
        assert_eq!(turns.take(&all).as_deref(), Some("b"), "it has recovered");
        assert_eq!(turns.take(&all).as_deref(), Some("c"));
    }
}
