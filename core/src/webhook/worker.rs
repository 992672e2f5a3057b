//! The thread that announces notices whose time has come, and sends deliveries.
//!
//! Of several servers of a database one sends, by lease. A delivery is removed after its receiver has accepted it, so one whose
//! outcome a crash has lost is sent again. Other threads wait for the network, without a connection to the database.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::send::{Outgoing, Transport};
use super::sql::{self, Due};
use super::turns::Turns;
use crate::base::clock::{Clock, SECOND_MS, Timestamp};
use crate::base::random::random;
use crate::record::background::{Stop, log_failure};
use crate::record::error::{Error, Result};
use crate::record::lease::Lease;
use crate::store::{Isolation, Store, StoreError, Topic};
use crate::webhook::outbox;
use crate::{feedback, notice};

/// From one failed attempt to the next, in seconds. After the last one the delivery is given up.
pub(super) const DELAYS: [i64; 7] = [10, 60, 5 * 60, 30 * 60, 2 * 60 * 60, 6 * 60 * 60, 24 * 60 * 60];
/// Until the next look if nothing happens.
const INTERVAL: Duration = Duration::from_secs(60);
/// Until the next look while another server has the lease, and while a delivery is being sent, so that the lease is renewed.
const SHORT_INTERVAL: Duration = Duration::from_secs(1);
const FAILURE_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum time between two counts of the deliveries.
const COUNT_INTERVAL: Duration = Duration::from_secs(5);
/// A service that stops waits for receivers for this time.
const STOP_TIME: Duration = Duration::from_secs(1);

#[derive(Clone)]
struct Outcome {
    webhook: String,
    name: String,
    /// The id of the delivery. Its key may belong to another delivery by now, because SQLite gives the key of a removed row
    /// again.
    delivery: String,
    /// Before this one.
    attempts: i64,
    sent: Result<(), String>,
}

enum Change {
    Delivered,
    Again { next: Timestamp, error: String },
    GiveUp { error: String },
}

struct Work {
    announcement: Option<Timestamp>,
    /// Each with the time of its next attempt.
    attempts: Vec<(String, Option<Timestamp>)>,
    totals: Option<(i64, i64)>,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) pending: AtomicI64,
    pub(super) dead: AtomicI64,
}

pub(super) struct Worker {
    store: Arc<Store>,
    clock: Clock,
    lease: Lease,
    transport: Arc<dyn Transport>,
    counters: Arc<Counters>,
    turns: Turns,
    /// Not stored yet.
    outcomes: Vec<Outcome>,
    ended: (mpsc::Sender<Outcome>, mpsc::Receiver<Outcome>),
    /// The number of outcomes in the channel.
    waiting: Arc<AtomicUsize>,
    counted: Option<Instant>,
}

impl Worker {
    pub(super) fn new(
        store: &Arc<Store>,
        clock: &Clock,
        transport: Arc<dyn Transport>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            store: Arc::clone(store),
            clock: clock.clone(),
            lease: Lease::reaching_out(Arc::clone(store), clock.clone(), "webhooks"),
            transport,
            counters,
            turns: Turns::default(),
            outcomes: Vec::new(),
            ended: mpsc::channel(),
            waiting: Arc::default(),
            counted: None,
        }
    }

    pub(super) fn run(mut self, stop: &Stop) {
        let versions = self.store.versions();
        while !stop.is_set() {
            let version = self.store.version(Topic::Webhooks);
            let pause = self.pass().unwrap_or_else(|error| {
                log_failure(&error, "webhooks cannot be sent yet");
                FAILURE_INTERVAL
            });
            let has_outcome = || self.waiting.load(Ordering::Acquire) > 0;
            versions.wait_for(Topic::Webhooks, version, pause, || stop.is_set() || has_outcome());
        }
        self.finish();
    }

    /// Waits a moment for the receivers, so that deliveries that they accept are not sent again after a restart.
    fn finish(&mut self) {
        let end = Instant::now() + STOP_TIME;
        while !self.turns.is_idle()
            && let Ok(outcome) = self.ended.1.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            self.outcomes.push(outcome);
            if self.record().is_err() {
                break;
            }
        }
        if let Err(error) = self.lease.release() {
            tracing::debug!(%error, "the lease of sending webhooks ends later");
        }
    }

    /// Returns the time until the next pass, unless something changes before.
    pub(super) fn pass(&mut self) -> Result<Duration> {
        self.collect();
        self.record()?;
        let now = self.clock.now();
        let mut work = self.look(now)?;
        let is_due = |time: Option<Timestamp>| time.is_some_and(|time| time <= now);
        let has_due = work.attempts.iter().any(|(_, next)| is_due(*next)) || is_due(work.announcement);
        if !has_due && self.turns.is_idle() {
            self.lease.release()?;
            return Ok(self.pause(&work, now));
        }
        if !self.lease.hold()? {
            return Ok(SHORT_INTERVAL);
        }
        if is_due(work.announcement) {
            self.store.write(Isolation::Alone, move |tx| notice::announce(tx, now))?;
            work = self.look(now)?;
        }
        let due = work.attempts.iter().filter(|(_, next)| is_due(*next));
        let due: Vec<String> = due.map(|(webhook, _)| webhook.clone()).collect();
        while let Some(webhook) = self.turns.take(&due) {
            let begun = self.begin(&webhook, now);
            if !matches!(begun, Ok(true)) {
                self.turns.cancel(&webhook);
                return begun.map(|_| Duration::ZERO);
            }
        }
        Ok(self.pause(&work, now))
    }

    fn pause(&self, work: &Work, now: Timestamp) -> Duration {
        let attempts = work.attempts.iter().filter(|(webhook, _)| !self.turns.is_running(webhook));
        let next = attempts.filter_map(|(_, next)| *next).chain(work.announcement).min();
        let until = next
            .map_or(INTERVAL, |next| Duration::from_millis(u64::try_from(next - now).unwrap_or_default()));
        let longest = match (self.turns.is_idle(), work.totals) {
            (false, _) => SHORT_INTERVAL,
            (true, None) => COUNT_INTERVAL,
            (true, Some(_)) => INTERVAL,
        };
        // A due delivery without a turn waits for the end of another delivery.
        if until.is_zero() { SHORT_INTERVAL } else { until.min(longest) }
    }

    fn look(&mut self, now: Timestamp) -> Result<Work> {
        let counts = self.counted.is_none_or(|counted| counted.elapsed() >= COUNT_INTERVAL);
        let work = self.store.read(|tx| {
            let attempts = sql::next_attempts(tx)?;
            let announcement = if attempts.is_empty() { None } else { notice::next_announcement(tx, now)? };
            let totals = if counts { Some(sql::totals(tx)?) } else { None };
            Ok::<_, StoreError>(Work { announcement, attempts, totals })
        })?;
        if let Some((pending, dead)) = work.totals {
            self.counters.pending.store(pending, Ordering::Relaxed);
            self.counters.dead.store(dead, Ordering::Relaxed);
            self.counted = Some(Instant::now());
        }
        self.turns.retain(|webhook| work.attempts.iter().any(|(id, _)| id == webhook));
        Ok(work)
    }

    /// Returns false if no delivery is due after all, or it has no content any more.
    fn begin(&self, webhook: &str, now: Timestamp) -> Result<bool> {
        let found = self.store.read(|tx| {
            let Some(mut due) = sql::due(tx, webhook, now)? else { return Ok(None) };
            if due.body.is_none()
                && let Some(feedback) = feedback::get(tx, &due.subject)?
            {
                due.body = Some(outbox::body(&due.event, due.date, &feedback)?);
            }
            Ok::<_, StoreError>(Some(due))
        })?;
        let Some(Due { id, name, body, attempts, url, secrets, .. }) = found else { return Ok(false) };
        let Some(body) = body else {
            self.store.write(Isolation::Alone, move |tx| sql::delivered(tx, &id))?;
            return Ok(false);
        };
        let delivery = id.clone();
        let outgoing = Outgoing { id, url, secrets, body, at: now };
        let (transport, ended) = (Arc::clone(&self.transport), self.ended.0.clone());
        let (waiting, versions) = (Arc::clone(&self.waiting), self.store.versions());
        let mut outcome = Outcome { webhook: webhook.to_owned(), name, delivery, attempts, sent: Ok(()) };
        let send = move || {
            let sent = catch_unwind(AssertUnwindSafe(|| transport.send(&outgoing)));
            outcome.sent = sent.unwrap_or_else(|_| Err("the request failed".to_owned()));
            // Before `send`, because the number is subtracted as soon as the outcome is taken.
            waiting.fetch_add(1, Ordering::AcqRel);
            // Nobody receives it if the service has stopped.
            let _ = ended.send(outcome);
            versions.wake();
        };
        let thread = std::thread::Builder::new().name("tidings-hook".into()).spawn(send);
        thread.map(|_| true).map_err(|error| Error::Internal(error.into()))
    }

    fn collect(&mut self) {
        while let Ok(outcome) = self.ended.1.try_recv() {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            self.outcomes.push(outcome);
        }
    }

    /// The webhooks of these outcomes have no other turn before this succeeds, so that nothing is sent twice.
    fn record(&mut self) -> Result<(), StoreError> {
        if self.outcomes.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let changes = self.outcomes.iter().map(|outcome| (outcome.clone(), change(outcome, now)));
        let changes: Arc<[(Outcome, Change)]> = changes.collect();
        let written = Arc::clone(&changes);
        self.store.write(Isolation::Alone, move |tx| {
            for (Outcome { webhook, delivery, attempts, .. }, change) in &*written {
                match change {
                    Change::Delivered => sql::delivered(tx, delivery)?,
                    Change::Again { next, error } => sql::failed(tx, delivery, attempts + 1, *next, error)?,
                    Change::GiveUp { error } => {
                        sql::failed(tx, delivery, attempts + 1, now, error)?;
                        outbox::give_up(tx, webhook, delivery, error, now)?;
                    }
                }
            }
            Ok::<_, StoreError>(())
        })?;
        self.outcomes.clear();
        for (Outcome { webhook, name, .. }, change) in &*changes {
            self.turns.end(webhook, matches!(change, Change::Delivered));
            match change {
                Change::Delivered => {}
                Change::Again { error, .. } => {
                    tracing::info!(
                        webhook = name,
                        error,
                        "a delivery to a webhook failed and is tried again"
                    );
                }
                Change::GiveUp { error } => {
                    tracing::warn!(webhook = name, error, "a delivery to a webhook was given up");
                }
            }
        }
        Ok(())
    }
}

fn change(outcome: &Outcome, now: Timestamp) -> Change {
    let Err(error) = &outcome.sent else { return Change::Delivered };
    let error = error.clone();
    match usize::try_from(outcome.attempts).ok().and_then(|attempts| DELAYS.get(attempts)) {
        Some(seconds) => Change::Again { next: now + delay_ms(*seconds), error },
        None => Change::GiveUp { error },
    }
}

/// Adds up to a fifth, so that deliveries that failed together are not sent together again.
fn delay_ms(seconds: i64) -> i64 {
    let ms = seconds * SECOND_MS;
    ms + ms / 5 * i64::from(random::<1>()[0]) / 255
}

#[cfg(test)]
impl Worker {
    /// Does all that can be done now, and waits for it.
    pub(super) fn settle(&mut self) {
        loop {
            self.pass().unwrap();
            if self.turns.is_idle() {
                return;
            }
            self.receive();
        }
    }

    /// Waits for the end of an attempt, whose outcome the next pass records.
    pub(super) fn receive(&mut self) {
        let outcome = self.ended.1.recv_timeout(Duration::from_secs(30)).unwrap();
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        self.outcomes.push(outcome);
    }

    pub(super) fn release(&self) {
        self.lease.release().unwrap();
    }
}
