//! The queue of records that wait to be written.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use super::Record;
use super::client_limit::ClientLimits;
use crate::analysis::calendar::Calendar;
use crate::analysis::counters::Counter;
use crate::clock::{SECOND_MS, Timestamp};
use crate::store::{StoreError, Tx};

/// The capacity of the queue; further communications get no line.
const QUEUE_MAX: usize = 32_768;
/// The number of lines that one client may have at once: three quarters of the queue, so that other clients have room.
#[expect(clippy::cast_possible_wrap, reason = "tens of thousands fit")]
const CLIENT_BURST: i64 = (QUEUE_MAX / 4 * 3) as i64;
/// The number of records that return to the queue after a failed write. Writing them again takes little time.
const RETRY_MAX: usize = 4_096;
/// The number of records that a write takes at a time.
const BATCH: usize = 1_024;
/// The minimum interval between two warnings about lost lines.
const REPORT_MS: i64 = 10 * SECOND_MS;

/// The queue of records that wait to be written.
pub(super) struct Queue {
    records: VecDeque<Record>,
    /// The communications without a line.
    unlogged: UnloggedCounts,
    limits: ClientLimits,
    /// Whether a deferred write exists that will take the queued records.
    is_deferred: bool,
    /// The revision of the transaction that took the last records.
    taken: i64,
    /// The number of lines lost since the last warning, and the time of that warning.
    lost: u64,
    reported_at: Timestamp,
}

/// Communications without a line, because the log had no room for them. They are counted, but their visitors are not.
#[derive(Debug, Default)]
pub(super) struct UnloggedCounts {
    /// When the first of them was answered; all count on this day.
    at: Timestamp,
    communications: i64,
    crawlers: i64,
}

impl UnloggedCounts {
    fn is_empty(&self) -> bool {
        self.communications == 0
    }

    fn add(&mut self, other: &Self) {
        if self.is_empty() {
            self.at = other.at;
        }
        self.communications += other.communications;
        self.crawlers += other.crawlers;
    }

    fn add_record(&mut self, record: &Record) {
        let crawlers = i64::from(record.is_of_crawler());
        self.add(&Self { at: record.at, communications: 1, crawlers });
    }

    /// Counts the communications. Returns how many of them came from crawlers.
    pub(super) fn write(&self, tx: &mut dyn Tx, calendar: &Calendar) -> Result<u64, StoreError> {
        let day = calendar.local_hour(self.at).day;
        for (counter, n) in [(Counter::Communication, self.communications), (Counter::Crawler, self.crawlers)]
        {
            if n > 0 {
                calendar.add(tx, counter as i64, day, n)?;
            }
        }
        Ok(self.crawlers.unsigned_abs())
    }
}

impl Queue {
    pub(super) fn new(lines_per_client: Option<NonZeroU32>) -> Self {
        Self {
            records: VecDeque::new(),
            unlogged: UnloggedCounts::default(),
            limits: ClientLimits::new(CLIENT_BURST, lines_per_client),
            is_deferred: false,
            taken: 0,
            lost: 0,
            reported_at: Timestamp::MIN,
        }
    }

    /// Adds a record. Returns false if it gets no line, because the queue is full or the client has reached its limit.
    pub(super) fn push(&mut self, record: Record, client: u64) -> bool {
        let has_line = self.records.len() < QUEUE_MAX && self.limits.take(client, record.at);
        if has_line {
            self.records.push_back(record);
        } else {
            self.unlogged.add_record(&record);
            self.lose(1);
        }
        has_line
    }

    /// Returns whether the caller must defer a write because none is deferred, and notes that one is from now on.
    pub(super) fn must_defer(&mut self) -> bool {
        !std::mem::replace(&mut self.is_deferred, true)
    }

    /// Notes that the deferred write was dropped.
    pub(super) fn deferred_dropped(&mut self) {
        self.is_deferred = false;
    }

    /// Returns whether the queue is empty, so that the deferred write ends.
    pub(super) fn ends_deferred(&mut self) -> bool {
        self.is_deferred = self.has_pending();
        !self.is_deferred
    }

    /// Returns the number of records in the queue.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns whether anything waits to be written.
    pub(super) fn has_pending(&self) -> bool {
        !self.records.is_empty() || !self.unlogged.is_empty()
    }

    pub(super) fn taken(&self) -> i64 {
        self.taken
    }

    /// Takes the communications without a line, for the transaction with this revision.
    pub(super) fn take_unlogged(&mut self, revision: i64) -> UnloggedCounts {
        if !self.unlogged.is_empty() {
            self.taken = revision;
        }
        std::mem::take(&mut self.unlogged)
    }

    /// Takes the oldest records, for the transaction with this revision. If there are none, the deferred write ends.
    pub(super) fn take(&mut self, revision: i64, records: &mut Vec<Record>) {
        let taken = self.records.len().min(BATCH);
        if taken == 0 {
            self.is_deferred = false;
            return;
        }
        self.taken = revision;
        let now = self.records.front().map_or(self.reported_at, |record| record.at);
        if self.lost > 0 && !(0..REPORT_MS).contains(&(now - self.reported_at)) {
            self.reported_at = now;
            self.report_lost();
        }
        records.extend(self.records.drain(..taken));
    }

    /// Returns records that were taken but not written to the front of the queue.
    pub(super) fn give_back(&mut self, records: impl DoubleEndedIterator<Item = Record>) {
        records.rev().for_each(|record| self.records.push_front(record));
    }

    /// Returns records to the queue after a failed write. Returns how many of them are lost.
    pub(super) fn put_back(&mut self, mut records: Vec<Record>, unlogged: &UnloggedCounts) -> u64 {
        let over = records.split_off(records.len().min(RETRY_MAX));
        self.give_back(records.into_iter());
        self.unlogged.add(unlogged);
        for record in &over {
            self.unlogged.add_record(record);
        }
        self.lose(over.len() as u64);
        over.len() as u64
    }

    pub(super) fn lose(&mut self, records: u64) {
        self.lost += records;
    }

    /// Logs a warning if lines were lost since the last warning.
    pub(super) fn report_lost(&mut self) {
        let lines = std::mem::take(&mut self.lost);
        if lines > 0 {
            tracing::warn!(lines, "log lines are lost: a client exceeded its limit, or the queue was full");
        }
    }
}
