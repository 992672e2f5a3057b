use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize};

use crossbeam_channel::{Receiver, Sender};

use super::Record;
use super::client_limit::ClientLimits;
use crate::analysis::calendar::Calendar;
use crate::analysis::counters::Counter;
use crate::analysis::log::Operation;
use crate::base::clock::{Clock, SECOND_MS, Timestamp};
use crate::base::lock::lock;
use crate::store::{StoreError, Tx};

/// Further communications get no line.
pub(super) const QUEUE_MAX: usize = 32_768;
/// At once; three quarters of the queue, so that other clients have room.
#[expect(clippy::cast_possible_truncation, reason = "tens of thousands fit")]
const CLIENT_BURST: NonZeroU32 = NonZeroU32::new(QUEUE_MAX as u32 / 4 * 3).expect("not zero");
/// The number of records that return to the queue after a failed write. Writing them again takes little time.
const RETRY_MAX: usize = 4_096;
const BATCH: usize = 1_024;
const REPORT_MS: i64 = 10 * SECOND_MS;

/// Adding a record takes no lock.
pub(super) struct Queue {
    sender: Sender<Record>,
    receiver: Receiver<Record>,
    /// Includes records that are being added.
    len: AtomicUsize,
    pub(super) unlogged: PendingCounts,
    limits: ClientLimits,
    /// Whether a deferred write exists that will take the queued records.
    is_deferred: AtomicBool,
    /// The number of deferred writes that may have taken records and do not know the outcome of their commit yet.
    committing: AtomicUsize,
    lost: AtomicU64,
    writing: Mutex<Writing>,
}

struct Writing {
    /// Records that were taken but not written. They come before the new ones.
    returned: VecDeque<Record>,
    reported: u64,
    reported_at: Timestamp,
}

/// Communications without a line that are not yet taken.
#[derive(Default)]
pub(super) struct PendingCounts {
    communications: AtomicI64,
    crawlers: AtomicI64,
    /// When one of the latest of them was answered, in milliseconds.
    at: AtomicI64,
}

/// Communications without a line, because the log had no room for them. They are counted, but their visitors are not.
#[derive(Debug, Default)]
pub(in crate::analysis) struct UnloggedCounts {
    /// When one of the latest of them was answered; all count on this day.
    at: Timestamp,
    communications: i64,
    crawlers: i64,
}

impl PendingCounts {
    fn is_empty(&self) -> bool {
        self.communications.load(SeqCst) == 0
    }

    pub(super) fn add(&self, counts: &UnloggedCounts) {
        if counts.communications == 0 {
            return;
        }
        self.at.store(counts.at.as_millis(), Relaxed);
        if counts.crawlers > 0 {
            self.crawlers.fetch_add(counts.crawlers, Relaxed);
        }
        self.communications.fetch_add(counts.communications, SeqCst);
    }

    pub(super) fn take(&self) -> UnloggedCounts {
        let communications = self.communications.swap(0, SeqCst);
        UnloggedCounts {
            at: Timestamp::from_millis(self.at.load(Relaxed)),
            communications,
            crawlers: self.crawlers.swap(0, Relaxed),
        }
    }
}

impl UnloggedCounts {
    /// Counts nothing if the operation is not counted.
    pub(in crate::analysis) fn of_one(at: Timestamp, operation: Operation, is_of_crawler: bool) -> Self {
        let is_counted = operation.is_counted();
        Self { at, communications: i64::from(is_counted), crawlers: i64::from(is_counted && is_of_crawler) }
    }

    /// Returns those of crawlers.
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
    pub(super) fn new(lines_per_client: Option<NonZeroU32>, clock: &Clock) -> Self {
        let (sender, receiver) = crossbeam_channel::unbounded();
        Self {
            sender,
            receiver,
            len: AtomicUsize::new(0),
            unlogged: PendingCounts::default(),
            limits: ClientLimits::new(CLIENT_BURST, lines_per_client, clock),
            is_deferred: AtomicBool::new(false),
            committing: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            writing: Mutex::new(Writing {
                returned: VecDeque::new(),
                reported: 0,
                reported_at: Timestamp::MIN,
            }),
        }
    }

    /// Returns the length of the queue with the new record; `None` if the communication gets no line, because the queue is full
    /// or the client has reached its limit. It is then counted as `unlogged`. A record is made only if it is added, because
    /// hashing its visitor takes half of the time.
    pub(super) fn push(
        &self,
        client: u64,
        record: impl FnOnce() -> Record,
        unlogged: &UnloggedCounts,
    ) -> Option<usize> {
        // The place is counted before the limit, and returned if the client has reached it.
        let len = self.len.fetch_add(1, SeqCst) + 1;
        if len <= QUEUE_MAX && self.limits.take(client) {
            self.sender.send(record()).expect("the queue keeps the receiver");
            return Some(len);
        }
        self.len.fetch_sub(1, SeqCst);
        self.unlogged.add(unlogged);
        self.lose(1);
        None
    }

    /// Returns whether the caller must defer a write because none is deferred, and notes that one is from now on. It is called
    /// after something was added. A deferred write that ends looks at the queue after it has noted its end, so one of the two
    /// notices the other.
    pub(super) fn must_defer(&self) -> bool {
        !self.is_deferred.load(SeqCst) && !self.is_deferred.swap(true, SeqCst)
    }

    pub(super) fn deferred_dropped(&self) {
        self.is_deferred.store(false, SeqCst);
    }

    /// Returns whether it has ended.
    pub(super) fn ends_deferred(&self) -> bool {
        self.is_deferred.store(false, SeqCst);
        !self.has_pending() || !self.must_defer()
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(SeqCst)
    }

    pub(super) fn has_pending(&self) -> bool {
        self.len() > 0 || !self.unlogged.is_empty()
    }

    /// Returns whether anything waits to be written, or may have been taken for a commit whose outcome is not known.
    pub(super) fn is_unsettled(&self) -> bool {
        // Read in this order, because records leave the queue only after their write has begun.
        self.has_pending() || self.committing.load(SeqCst) > 0
    }

    pub(super) fn begin_write(&self) {
        self.committing.fetch_add(1, SeqCst);
    }

    pub(super) fn end_write(&self) {
        self.committing.fetch_sub(1, SeqCst);
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    pub(super) fn take(&self, records: &mut Vec<Record>) {
        let from = records.len();
        let mut writing = lock(&self.writing);
        let returned = writing.returned.len().min(BATCH);
        records.extend(writing.returned.drain(..returned));
        records.extend(self.receiver.try_iter().take(BATCH - returned));
        self.len.fetch_sub(records.len() - from, SeqCst);
        if let Some(first) = records.get(from)
            && !(0..REPORT_MS).contains(&(first.at - writing.reported_at))
            && self.lost() > writing.reported
        {
            writing.reported_at = first.at;
            self.report(&mut writing);
        }
    }

    /// Returns records that were taken but not written to the front of the queue.
    pub(super) fn give_back(&self, records: impl DoubleEndedIterator<Item = Record> + ExactSizeIterator) {
        self.len.fetch_add(records.len(), SeqCst);
        let mut writing = lock(&self.writing);
        records.rev().for_each(|record| writing.returned.push_front(record));
    }

    /// Returns records to the queue after a failed write, except those beyond the first few thousand, which are lost.
    pub(super) fn put_back(&self, mut records: Vec<Record>, unlogged: &UnloggedCounts) {
        let over = records.split_off(records.len().min(RETRY_MAX));
        self.give_back(records.into_iter());
        self.unlogged.add(unlogged);
        for record in &over {
            self.unlogged.add(&UnloggedCounts::of_one(record.at, record.operation, record.is_of_crawler()));
        }
        self.lose(over.len() as u64);
    }

    pub(super) fn lose(&self, records: u64) {
        self.lost.fetch_add(records, Relaxed);
    }

    pub(super) fn report_lost(&self) {
        self.report(&mut lock(&self.writing));
    }

    fn report(&self, writing: &mut Writing) {
        let lost = self.lost();
        let lines = lost - std::mem::replace(&mut writing.reported, lost);
        if lines > 0 {
            tracing::warn!(lines, "log lines are lost: a client exceeded its limit, or the queue was full");
        }
    }
}
