//! Gathers records of answered requests in memory. The first one in the queue defers a write, and the next commit writes all
//! records queued by then, or as many as it has time for. During a flood some communications get no line ([`Queue::push`]); all
//! are counted.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::calendar::Calendar;
use super::log::{LoggedAnswer, Operation, RequestKeys};
use super::visitor::Guest;
use crate::account::ResolvedCaller;
use crate::base::clock::{Clock, SECOND_MS, Timestamp};
use crate::base::lock::lock;
use crate::store::{Deferred, Isolation, Store, StoreError, TimeSlice, Tx};

mod client_limit;
mod queue;
mod write;

pub(super) use queue::UnloggedCounts;
use queue::{QUEUE_MAX, Queue};
use write::MIN_RECORDS;
pub(super) use write::write;

/// Requests a commit at once from this length of the queue on.
const FLUSH_AT: usize = 4_096;
/// Reports in a second that include all communications answered before them.
const EXACT_MAX: u32 = 32;

pub(super) struct Record {
    pub(super) at: Timestamp,
    pub(super) operation: Operation,
    pub(super) path: Option<Box<str>>,
    pub(super) answer: LoggedAnswer,
    pub(super) seen: ResolvedCaller,
    pub(super) guest: Guest,
}

impl Record {
    fn is_of_crawler(&self) -> bool {
        matches!(self.seen, ResolvedCaller::Guest | ResolvedCaller::Key(_)) && self.guest.is_crawler()
    }
}

pub(crate) struct Journal {
    queue: Queue,
    /// Empty while a deferred write uses them.
    request_keys: Mutex<RequestKeys>,
    calendar: Arc<Calendar>,
    /// Written communications of crawlers since the process started.
    crawled: AtomicU64,
    /// The last second with reports, and their number.
    reports: Mutex<(i64, u32)>,
}

impl Journal {
    /// Accepts at most `lines_per_client` lines a second from each client, apart from bursts.
    pub(super) fn new(calendar: Arc<Calendar>, lines_per_client: Option<NonZeroU32>, clock: &Clock) -> Self {
        Self {
            queue: Queue::new(lines_per_client, clock),
            request_keys: Mutex::default(),
            calendar,
            crawled: AtomicU64::new(0),
            reports: Mutex::default(),
        }
    }

    /// `client` is the hash of the client. A communication whose record is not queued is counted as `unlogged`.
    pub(super) fn push(
        self: &Arc<Self>,
        store: &Store,
        client: u64,
        record: impl FnOnce() -> Record,
        unlogged: &UnloggedCounts,
    ) {
        let queued = self.queue.push(client, record, unlogged);
        if self.queue.must_defer() {
            self.defer(store);
        }
        if queued == Some(FLUSH_AT) {
            // No caller waits for this commit.
            drop(store.flush());
        }
    }

    pub(super) fn flush(self: &Arc<Self>, store: &Store) {
        if self.queue.has_pending() && self.queue.must_defer() {
            self.defer(store);
        }
    }

    fn defer(self: &Arc<Self>, store: &Store) {
        // A dropped write notifies the queue.
        let _ = store.defer(DeferredRecords::of(self));
    }

    /// Returns whether a report should first wait for a commit of the queued records, so that it includes the latest
    /// communications. If reports are made often, only some of them wait; the others are up to 200 ms behind.
    pub(super) fn must_settle(&self) -> bool {
        // No revision tells this, because another process may commit a greater one before.
        self.may_be_exact() && self.queue.is_unsettled()
    }

    /// A report is exact if few others were made in the same second.
    pub(super) fn may_be_exact(&self) -> bool {
        let (second, reports) = *lock(&self.reports);
        second != self.second() || reports < EXACT_MAX
    }

    /// Begins a report: waits for a commit of the queued records if necessary; of a very long queue, only of the first few
    /// thousand.
    pub(super) fn settle(self: &Arc<Self>, store: &Store) -> Result<(), StoreError> {
        let must_settle = self.must_settle();
        let second = self.second();
        let mut reports = lock(&self.reports);
        *reports = (second, if reports.0 == second { reports.1 + 1 } else { 1 });
        drop(reports);
        if !must_settle {
            return Ok(());
        }
        self.flush(store);
        store.flush().wait()
    }

    /// Makes the next report exact, as if no other had been made in this second.
    #[cfg(test)]
    pub(super) fn forget_reports(&self) {
        *lock(&self.reports) = (0, 0);
    }

    fn second(&self) -> i64 {
        self.calendar.monotonic().as_millis() / SECOND_MS
    }

    /// Waits for commits of all records that are queued now. Records that are queued meanwhile may delay it.
    pub(super) fn settle_all(self: &Arc<Self>, store: &Store) -> Result<(), StoreError> {
        // Limited, because others may be queued all the time. The length of the queue is no limit: a running write may give back
        // what it has taken.
        for _ in 0..=QUEUE_MAX / MIN_RECORDS {
            if !self.queue.is_unsettled() {
                break;
            }
            self.flush(store);
            store.flush().wait()?;
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    #[cfg(test)]
    pub(super) fn has_pending(&self) -> bool {
        self.queue.has_pending()
    }

    /// Since the process started.
    pub(crate) fn lost(&self) -> u64 {
        self.queue.lost()
    }

    /// Since the process started.
    pub(crate) fn crawled(&self) -> u64 {
        self.crawled.load(Ordering::Relaxed)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.queue.report_lost();
        if self.len() > 0 {
            tracing::error!(
                lines = self.len(),
                "log lines are lost: they could not be written before the process stopped"
            );
        }
    }
}

/// At most one at a time is expected to take the queued records.
struct DeferredRecords {
    journal: Arc<Journal>,
    /// Whether this write will take the queued records. While it is true, the journal defers no other write.
    is_expected: bool,
    /// Whether the queue counts this write as one whose outcome is not known.
    is_committing: bool,
    batch: Vec<Record>,
    unlogged: UnloggedCounts,
    /// The communications of crawlers among `batch` and `unlogged`.
    crawled: u64,
    /// The request keys, with those of rows that this transaction inserted. Other writes may use them after the commit.
    requests: Option<RequestKeys>,
}

impl DeferredRecords {
    fn of(journal: &Arc<Journal>) -> Self {
        Self {
            journal: Arc::clone(journal),
            is_expected: true,
            is_committing: false,
            batch: Vec::new(),
            unlogged: UnloggedCounts::default(),
            crawled: 0,
            requests: None,
        }
    }

    /// Gives back what an earlier call of [`Deferred::write`] took, whose transaction was rolled back.
    fn give_back(&mut self) {
        self.requests = None;
        self.journal.queue.give_back(self.batch.drain(..));
        self.journal.queue.unlogged.add(&std::mem::take(&mut self.unlogged));
        // If that call ended this deferred write, a new record may have deferred another one.
        self.is_expected = self.is_expected || self.journal.queue.must_defer();
    }

    fn end_write(&mut self) {
        if std::mem::take(&mut self.is_committing) {
            self.journal.queue.end_write();
        }
    }

    fn end(&mut self) {
        self.is_expected = self.is_expected && !self.journal.queue.ends_deferred();
    }
}

impl Deferred for DeferredRecords {
    /// Servers write their records at the same time. They lock the row from which the keys of lines come, and the visitors by day
    /// and number, each before they read it. Two of them may insert the same request, which then has two rows.
    fn isolation(&self) -> Isolation {
        Isolation::Locking
    }

    fn write(&mut self, tx: &mut dyn Tx, time: TimeSlice) -> Result<(), StoreError> {
        // Fails early if the transaction cannot be used, before any record is taken. A transaction that does not run alone knows
        // no horizon.
        let runs_alone = tx.horizon()? > 0;
        if !std::mem::replace(&mut self.is_committing, true) {
            self.journal.queue.begin_write();
        }
        self.give_back();
        let Self { journal, batch, .. } = self;
        self.unlogged = journal.queue.unlogged.take();
        self.crawled = self.unlogged.write(tx, &journal.calendar)?;
        let requests = self.requests.get_or_insert_with(|| std::mem::take(&mut *lock(&journal.request_keys)));
        loop {
            let from = batch.len();
            journal.queue.take(batch);
            if batch.len() == from {
                self.end();
                return Ok(());
            }
            batch[from..].sort_by_key(|record| record.at);
            let written = write(tx, &journal.calendar, requests, &batch[from..], time)?;
            self.crawled += written.crawled;
            journal.queue.give_back(batch.drain(from + written.records..));
            // Another round would lock visitors after later ones, for which another server may wait.
            if time.is_over() || !runs_alone {
                self.end();
                return Ok(());
            }
        }
    }

    fn done(&mut self, written: Result<(), StoreError>) -> ControlFlow<()> {
        let records = std::mem::take(&mut self.batch);
        let (requests, unlogged) = (self.requests.take(), std::mem::take(&mut self.unlogged));
        match written {
            Ok(()) => {
                self.end_write();
                if let Some(requests) = requests {
                    *lock(&self.journal.request_keys) = requests;
                }
                self.journal.crawled.fetch_add(self.crawled, Ordering::Relaxed);
                if self.is_expected { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            }
            Err(error) => {
                tracing::warn!(
                    lines = records.len(),
                    cause = error.to_string(),
                    "log lines could not be written yet"
                );
                // Records that may already be stored would be counted twice.
                if !matches!(error, StoreError::OutcomeUnknown(_)) {
                    self.journal.queue.put_back(records, &unlogged);
                }
                self.end_write();
                // The next record defers another write.
                ControlFlow::Break(())
            }
        }
    }
}

impl Drop for DeferredRecords {
    /// Leaves the queued records to the next write if this write is dropped because the store is overloaded or the write has
    /// failed. The records that a panicking write had taken are lost, because they could also make the next write panic.
    fn drop(&mut self) {
        if self.is_expected {
            self.journal.queue.deferred_dropped();
        }
        self.journal.queue.lose(self.batch.len() as u64);
        self.end_write();
    }
}

#[cfg(test)]
mod tests;
