//! The deliveries that are due, and notices whose time has come. A delivery is removed after its receiver has accepted it, so one
//! whose outcome a crash has lost is sent again.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::send::{Http, Outgoing};
use super::sql::{self, Due};
use crate::base::clock::Timestamp;
use crate::record::error::Result;
use crate::record::jobs::{self, Attempt, Sent, Transport, Work};
use crate::store::{Isolation, Store, StoreError, Topic, Tx};
use crate::webhook::outbox::{self, DELIVERIES};
use crate::{Tidings, feedback, notice};

/// Minimum time between two counts of the deliveries, in milliseconds.
const COUNT_MS: i64 = 5_000;

/// The numbers of deliveries, for monitoring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Deliveries that wait, as counted a few seconds ago.
    pub pending: i64,
    /// Deliveries that were given up, as counted a few seconds ago.
    pub dead: i64,
}

#[derive(Default)]
pub(crate) struct Counters {
    pending: AtomicI64,
    dead: AtomicI64,
}

impl Counters {
    pub(crate) fn figures(&self) -> Figures {
        let Self { pending, dead } = self;
        Figures { pending: pending.load(Ordering::Relaxed), dead: dead.load(Ordering::Relaxed) }
    }
}

pub(super) struct Queue {
    transport: Arc<dyn Transport<Outgoing>>,
    counters: Arc<Counters>,
    counted: Option<Timestamp>,
}

pub(crate) fn start(tidings: &Tidings) -> Result<()> {
    tidings.jobs().start(|| {
        let config = tidings.config();
        let http = Http::new(config.private_addresses, config.extra_ca.as_deref())?;
        Ok(Queue::new(Arc::new(http), &tidings.0.webhook_counters))
    })
}

impl Queue {
    pub(super) fn new(transport: Arc<dyn Transport<Outgoing>>, counters: &Arc<Counters>) -> Self {
        Self { transport, counters: Arc::clone(counters), counted: None }
    }
}

impl jobs::Queue for Queue {
    /// The id of a webhook; `None` for announcing notices to all.
    type Job = Option<String>;
    type Outcome = Sent;

    const LEASE: &'static str = "webhooks";
    const TOPIC: Topic = Topic::Webhooks;
    const THREADS: [&'static str; 2] = ["tidings-hooks", "tidings-hook"];
    const AT_ONCE: usize = 4;
    const PER_RECEIVER: usize = 1;
    const FAILURE: &'static str = "webhooks cannot be sent yet";

    fn look(&mut self, tx: &mut dyn Tx, now: Timestamp) -> Result<jobs::Due<Self::Job>, StoreError> {
        let webhooks = sql::next_attempts(tx)?;
        let announcement = if webhooks.is_empty() { None } else { notice::next_announcement(tx, now)? };
        let recount = self.counted.map(|counted| counted + COUNT_MS);
        let recount = recount.filter(|at| (1..=COUNT_MS).contains(&(*at - now)));
        if recount.is_none() {
            let (pending, dead) = sql::totals(tx)?;
            self.counters.pending.store(pending, Ordering::Relaxed);
            self.counters.dead.store(dead, Ordering::Relaxed);
            self.counted = Some(now);
        }
        let attempts = webhooks.into_iter().filter_map(|(webhook, next)| Some((Some(webhook), next?)));
        let times = announcement.map(|at| (None, at)).into_iter().chain(attempts);
        let (due, later): (Vec<_>, Vec<_>) = times.partition(|(_, at)| *at <= now);
        let jobs = due.into_iter().map(|(job, _)| (job.clone(), job.unwrap_or_default()));
        Ok(jobs::Due { jobs: jobs.collect(), next: later.iter().map(|(_, at)| *at).chain(recount).min() })
    }

    fn begin(&self, store: &Store, job: &Self::Job, now: Timestamp) -> Result<Option<Work<Sent>>> {
        let Some(webhook) = job else {
            store.write(Isolation::Alone, move |tx| notice::announce(tx, now))?;
            return Ok(None);
        };
        let found = store.read(|tx| {
            let Some(mut due) = sql::due(tx, webhook, now)? else { return Ok(None) };
            if due.body.is_none()
                && let Some(feedback) = feedback::get(tx, &due.subject)?
            {
                due.body = Some(outbox::body(&due.event, due.date, &feedback)?);
            }
            Ok::<_, StoreError>(Some(due))
        })?;
        let Some(Due { id, name, body, attempts, url, secrets, .. }) = found else { return Ok(None) };
        let Some(body) = body else {
            store.write(Isolation::Alone, move |tx| DELIVERIES.remove(tx, &id))?;
            return Ok(None);
        };
        let attempt = Attempt { id: id.clone(), name, attempts, until: None };
        Ok(Some(attempt.work(&self.transport, Outgoing { id, url, secrets, body, at: now })))
    }

    fn end(&mut self, store: &Store, outcomes: &mut Vec<Sent>, now: Timestamp) -> Result<()> {
        DELIVERIES.end(store, outcomes, now)
    }

    fn has_failed((_, sent): &Sent) -> bool {
        sent.is_err()
    }
}
