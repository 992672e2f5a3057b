//! Records of requests on their way to the log and the counters: gathered in memory and written by a deferred write.
//!
//! A request that was answered leaves a small record here. The first record that waits hands a deferred write to the
//! store, and the next commit writes what has gathered by then: lines in one pass, and one change for each visitor and
//! counter, however many records there are. What one commit has no time for is written with the next.
//!
//! Under a flood not every communication has a line ([`Queue::push`]); all of them are counted.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::calendar::Calendar;
use super::log::{Operation, RequestKeys};
use super::visitor::Guest;
use crate::account::Seen;
use crate::clock::{Monotonic, Timestamp};
use crate::store::{Deferred, Store, StoreError, TimeSlice, Topic, Tx};

mod client_limit;
mod queue;
mod write;

use queue::{Queue, UnloggedCounts};
pub(super) use write::write;

/// Records that ask for a commit of their own, rather than wait for the next.
const FLUSH_AT: usize = 4_096;
/// Reports that see everything that was answered before them, one after the other …
const EXACT_BURST: i64 = 16;
/// … and how long until one more does.
const EXACT_INTERVAL_MS: i64 = 100;

/// A communication to be written.
pub(super) struct Record {
    pub(super) at: Timestamp,
    pub(super) operation: Operation,
    pub(super) path: Option<Box<str>>,
    pub(super) status: u16,
    pub(super) seen: Seen,
    /// Who it is if nobody is signed in.
    pub(super) guest: Guest,
}

impl Record {
    /// Whether it is of a declared crawler, who is no visitor.
    fn is_of_crawler(&self) -> bool {
        matches!(self.seen, Seen::Guest) && self.guest.is_crawler()
    }
}

/// The records that wait, and what it takes to write them.
pub(crate) struct Journal {
    queue: Mutex<Queue>,
    /// The keys of known requests; empty while a deferred write has them.
    request_keys: Mutex<RequestKeys>,
    calendar: Arc<Calendar>,
    /// Records that were lost since the process began …
    lost: AtomicU64,
    /// … and those that were written and are crawlers'.
    crawled: AtomicU64,
    /// How many reports were exact, as the time (monotonic) until which they have used up what they
    /// may.
    exact_until: AtomicI64,
}

impl Journal {
    /// A journal of at most so many lines a second for each client, but for bursts.
    pub(super) fn new(calendar: Arc<Calendar>, lines_per_client: Option<NonZeroU32>) -> Self {
        Self {
            queue: Mutex::new(Queue::new(lines_per_client)),
            request_keys: Mutex::default(),
            calendar,
            lost: AtomicU64::new(0),
            crawled: AtomicU64::new(0),
            exact_until: AtomicI64::new(0),
        }
    }

    /// Leaves a record of a client, told by its hash.
    pub(super) fn push(self: &Arc<Self>, store: &Store, record: Record, client: u64) {
        let mut queue = self.queue();
        let has_line = queue.push(record, client);
        let must_flush = has_line && queue.len() == FLUSH_AT;
        let must_defer = queue.must_defer();
        drop(queue);
        if !has_line {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        if must_defer {
            self.defer(store);
        }
        if must_flush {
            // A commit of its own, for which nothing waits.
            drop(store.flush());
        }
    }

    /// Sends off what waits, if nobody is on the way to fetch it.
    pub(super) fn flush(self: &Arc<Self>, store: &Store) {
        let mut queue = self.queue();
        if queue.has_pending() && queue.must_defer() {
            drop(queue);
            self.defer(store);
        }
    }

    fn defer(self: &Arc<Self>, store: &Store) {
        // One that is dropped tells the queue.
        let _ = store.defer(DeferredRecords::of(self));
    }

    /// Whether a report should first have what waits written: it shows what was just done then. While reports
    /// are asked for often, only some do, and the others are up to 200 ms behind.
    pub(super) fn must_settle(&self, store: &Store) -> bool {
        if self.used(self.calendar.monotonic()) + EXACT_INTERVAL_MS > EXACT_BURST * EXACT_INTERVAL_MS {
            return false;
        }
        let queue = self.queue();
        // What was taken is counted, and its commit says so.
        queue.has_pending() || queue.taken() > store.version(Topic::Counts)
    }

    /// How much of what exact reports may cost is used up, as the time in which it will be there again.
    fn used(&self, now: Monotonic) -> i64 {
        (self.exact_until.load(Ordering::Relaxed) - now.as_millis()).clamp(0, EXACT_BURST * EXACT_INTERVAL_MS)
    }

    /// Has what waits written, as far as one commit has time for it: thousands of records.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) fn settle(self: &Arc<Self>, store: &Store) -> Result<(), StoreError> {
        let now = self.calendar.monotonic();
        // That two at once may count as one does no harm.
        let until = now + self.used(now) + EXACT_INTERVAL_MS;
        self.exact_until.store(until.as_millis(), Ordering::Relaxed);
        self.flush(store);
        store.flush().wait()
    }

    /// How many records wait.
    pub(super) fn len(&self) -> usize {
        self.queue().len()
    }

    /// Whether anything waits.
    #[cfg(test)]
    pub(super) fn has_pending(&self) -> bool {
        self.queue().has_pending()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request_keys(&self) -> MutexGuard<'_, RequestKeys> {
        self.request_keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many records were lost since the process began: communications without a line.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// How many records were crawlers', of those written since the process began.
    pub(super) fn crawled(&self) -> u64 {
        self.crawled.load(Ordering::Relaxed)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let mut queue = self.queue();
        queue.report_lost();
        if queue.len() > 0 {
            tracing::error!(
                lines = queue.len(),
                "log lines are lost: they could not be written before the end"
            );
        }
    }
}

/// The deferred write of the records that wait. There is one at a time.
struct DeferredRecords {
    journal: Arc<Journal>,
    /// Whether it will write the records that wait: the journal defers no other meanwhile.
    is_expected: bool,
    /// The records that it took …
    batch: Vec<Record>,
    /// … and the communications without a line …
    unlogged: UnloggedCounts,
    /// … of all of which so many are crawlers' …
    crawled: u64,
    /// … and the keys that it found for them: they are known to others once they are on disk.
    requests: Option<RequestKeys>,
}

impl DeferredRecords {
    fn of(journal: &Arc<Journal>) -> Self {
        Self {
            journal: Arc::clone(journal),
            is_expected: true,
            batch: Vec::new(),
            unlogged: UnloggedCounts::default(),
            crawled: 0,
            requests: None,
        }
    }
}

impl Deferred for DeferredRecords {
    fn write(&mut self, tx: &mut dyn Tx, time: TimeSlice) -> Result<(), StoreError> {
        // LoggedRequest first, so that nothing is taken for a commit that cannot be.
        tx.one("SELECT n FROM revision", &[])?;
        let Self { journal, batch, .. } = self;
        self.unlogged = journal.queue().take_unlogged(tx.revision());
        self.crawled = self.unlogged.write(tx, &journal.calendar)?;
        let requests = self.requests.insert(std::mem::take(&mut *journal.request_keys()));
        loop {
            let from = batch.len();
            journal.queue().take(tx.revision(), batch);
            if batch.len() == from {
                // The next record defers another write.
                self.is_expected = false;
                return Ok(());
            }
            batch[from..].sort_by_key(|record| record.at);
            let written = write(tx, &journal.calendar, requests, &batch[from..], time)?;
            self.crawled += written.crawled;
            journal.queue().give_back(batch.drain(from + written.records..));
            if time.is_over() {
                self.is_expected = !journal.queue().ends_deferred();
                return Ok(());
            }
        }
    }

    fn done(&mut self, written: Result<(), StoreError>) -> ControlFlow<()> {
        let records = std::mem::take(&mut self.batch);
        let requests = self.requests.take();
        match written {
            Ok(()) => {
                if let Some(requests) = requests {
                    *self.journal.request_keys() = requests;
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
                if let Some(mut requests) = requests {
                    requests.forget();
                    *self.journal.request_keys() = requests;
                }
                let unlogged = std::mem::take(&mut self.unlogged);
                let lost = self.journal.queue().put_back(records, &unlogged);
                self.journal.lost.fetch_add(lost, Ordering::Relaxed);
                // The next record defers another write.
                ControlFlow::Break(())
            }
        }
    }
}

impl Drop for DeferredRecords {
    /// One that was dropped because too much was waiting, or that could not write, leaves its records to the
    /// next. What one had that panicked is lost, or it would fail the next one, too.
    fn drop(&mut self) {
        let mut queue = self.journal.queue();
        if self.is_expected {
            queue.deferred_dropped();
        }
        queue.lose(self.batch.len() as u64);
        self.journal.lost.fetch_add(self.batch.len() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
