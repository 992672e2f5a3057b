//! The records that wait.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use super::Record;
use super::clients::Clients;
use crate::analysis::calendar::Calendar;
use crate::analysis::counters::Counter;
use crate::clock::{SECOND_MS, Timestamp};
use crate::store::{StoreError, Tx};

/// Records that may wait to be written; more have no line.
pub(super) const WAITING: usize = 32_768;
/// Records that are kept when they could not be written: as many as trying again costs the writer little time.
const KEPT: usize = 4_096;
/// Records that are taken at a time.
const TAKEN: usize = 1_024;
/// How often the program's log says that lines were lost.
const SAID_MS: i64 = 10 * SECOND_MS;

/// The records that wait.
pub(super) struct Queue {
    records: VecDeque<Record>,
    /// The communications that have no record.
    lineless: Lineless,
    clients: Clients,
    /// Whether a write is deferred that will see what waits now.
    is_deferred: bool,
    /// The revision of the commit that the last records were taken for.
    taken: i64,
    /// Records that were lost since the program's log has last said so, and when that was.
    lost: u64,
    said_at: Timestamp,
}

/// Communications that have no line, as the log had no room for them. They are counted all the same; of their
/// visitors nothing is known.
#[derive(Debug, Default)]
pub(super) struct Lineless {
    /// When the first of them was answered; all count on its day.
    at: Timestamp,
    communications: i64,
    crawlers: i64,
}

impl Lineless {
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
        let crawlers = i64::from(record.is_crawlers());
        self.add(&Self { at: record.at, communications: 1, crawlers });
    }

    /// Counts them; answers how many are crawlers'.
    pub(super) fn write(&self, tx: &mut dyn Tx, calendar: &Calendar) -> Result<u64, StoreError> {
        let day = calendar.slot(self.at).day;
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
            lineless: Lineless::default(),
            clients: Clients::new(lines_per_client),
            is_deferred: false,
            taken: 0,
            lost: 0,
            said_at: Timestamp::MIN,
        }
    }

    /// Adds a record of a client. False where it gets no line, for there is no room, or the client has had as many
    /// as it may.
    pub(super) fn push(&mut self, record: Record, client: u64) -> bool {
        let has_line = self.records.len() < WAITING && self.clients.take(client, record.at);
        if has_line {
            self.records.push_back(record);
        } else {
            self.lineless.add_record(&record);
            self.lose(1);
        }
        has_line
    }

    /// Whether a write must be deferred: none is, and from now on one is.
    pub(super) fn must_defer(&mut self) -> bool {
        !std::mem::replace(&mut self.is_deferred, true)
    }

    /// Notes that the deferred write was dropped.
    pub(super) fn deferred_is_gone(&mut self) {
        self.is_deferred = false;
    }

    /// Whether nothing is left for the deferred write: then it ends.
    pub(super) fn ends_deferred(&mut self) -> bool {
        self.is_deferred = self.has_any();
        !self.is_deferred
    }

    /// How many records wait.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is anything to write.
    pub(super) fn has_any(&self) -> bool {
        !self.records.is_empty() || !self.lineless.is_empty()
    }

    pub(super) fn taken(&self) -> i64 {
        self.taken
    }

    /// Takes the communications without a line, for a transaction with this revision.
    pub(super) fn take_lineless(&mut self, revision: i64) -> Lineless {
        if !self.lineless.is_empty() {
            self.taken = revision;
        }
        std::mem::take(&mut self.lineless)
    }

    /// Takes the records that have waited longest, for a transaction with this revision. Where there are none, the
    /// deferred write ends.
    pub(super) fn take(&mut self, revision: i64, records: &mut Vec<Record>) {
        let taken = self.records.len().min(TAKEN);
        if taken == 0 {
            self.is_deferred = false;
            return;
        }
        self.taken = revision;
        let now = self.records.front().map_or(self.said_at, |record| record.at);
        if self.lost > 0 && !(0..SAID_MS).contains(&(now - self.said_at)) {
            self.said_at = now;
            self.say();
        }
        records.extend(self.records.drain(..taken));
    }

    /// Has records wait again that were taken and not written yet: before the others.
    pub(super) fn give_back(&mut self, records: impl DoubleEndedIterator<Item = Record>) {
        records.rev().for_each(|record| self.records.push_front(record));
    }

    /// Has records wait that were taken and could not be written; answers how many of them are lost.
    pub(super) fn put_back(&mut self, mut records: Vec<Record>, lineless: &Lineless) -> u64 {
        let over = records.split_off(records.len().min(KEPT));
        self.give_back(records.into_iter());
        self.lineless.add(lineless);
        for record in &over {
            self.lineless.add_record(record);
        }
        self.lose(over.len() as u64);
        over.len() as u64
    }

    pub(super) fn lose(&mut self, records: u64) {
        self.lost += records;
    }

    /// Says that lines were lost since that was last said, if any were.
    pub(super) fn say(&mut self) {
        let lines = std::mem::take(&mut self.lost);
        if lines > 0 {
            tracing::warn!(
                lines,
                "log lines are lost: a client asked for too much, or too many waited to be written"
            );
        }
    }
}
