//! What is on its way to the log and the counters: gathered in memory, written along with other commits.
//!
//! Whoever answers a request leaves a small record here and goes on. The first record after a while asks for a
//! ride with the next commit, which takes along everything that has gathered by then: lines in one pass, and of
//! each visitor and counter one change however many records there are.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::calendar::Calendar;
use super::counters::Counter;
use super::log::{self, Entry, GONE, GUEST, Operation, Requests};
use super::visitor::{Guest, Visits};
use crate::account::Seen;
use crate::error::Result;
use crate::store::{self, Store, StoreError, Topic, Tx};

/// Records that may wait to be written; more are lost.
const WAITING: usize = 32_768;
/// Records that are kept when they could not be written: as many as trying again costs the writer little time.
const KEPT: usize = 4_096;
/// Records that ask for a commit of their own, rather than wait for the next.
const HASTE: usize = 4_096;
/// Reports that see everything that was answered before them, one after the other …
const EXACT: i64 = 16;
/// … and how long until one more does.
const EXACT_AGAIN_MS: i64 = 100;

/// A communication to be written.
pub(super) struct Record {
    pub(super) at: i64,
    pub(super) operation: Operation,
    pub(super) path: Option<Box<str>>,
    pub(super) status: u16,
    pub(super) seen: Seen,
    /// Who it is if nobody is signed in.
    pub(super) guest: Guest,
}

/// The records that wait, and what it takes to write them.
pub(crate) struct Journal {
    waiting: Mutex<Waiting>,
    /// The keys that are known, but while a rider has them.
    scribe: Mutex<Requests>,
    calendar: Arc<Calendar>,
    /// Records that were lost since the process began …
    lost: AtomicU64,
    /// … and those that were written and are crawlers'.
    crawled: AtomicU64,
    /// How many reports were exact, as the time until which they have used up what they may.
    exact_until: AtomicI64,
}

#[derive(Default)]
struct Waiting {
    records: Vec<Record>,
    /// Whether a rider goes that will see what waits now.
    riding: bool,
    /// The revision of the commit that the last records were taken for.
    taken: i64,
    /// Records that were lost since the log has last said so.
    lost: u64,
}

impl Journal {
    pub(super) fn new(calendar: Arc<Calendar>) -> Self {
        Self {
            waiting: Mutex::default(),
            scribe: Mutex::default(),
            calendar,
            lost: AtomicU64::new(0),
            crawled: AtomicU64::new(0),
            exact_until: AtomicI64::new(0),
        }
    }

    /// Leaves a record.
    pub(super) fn push(self: &Arc<Self>, store: &Store, record: Record) {
        let mut waiting = self.waiting();
        if waiting.records.len() < WAITING {
            waiting.records.push(record);
        } else {
            self.lose(&mut waiting, 1);
        }
        let in_haste = waiting.records.len() == HASTE;
        let rides = !std::mem::replace(&mut waiting.riding, true);
        drop(waiting);
        if rides {
            self.ride(store);
        }
        if in_haste {
            // Any write takes the riders along. Nobody waits for this one.
            drop(store.submit(|_| Ok(())));
        }
    }

    /// Sends off what waits, if nobody is on the way to fetch it.
    pub(super) fn flush(self: &Arc<Self>, store: &Store) {
        let mut waiting = self.waiting();
        if !waiting.records.is_empty() && !std::mem::replace(&mut waiting.riding, true) {
            drop(waiting);
            self.ride(store);
        }
    }

    fn ride(self: &Arc<Self>, store: &Store) {
        store.ride(Rider {
            journal: Arc::clone(self),
            waits: true,
            aboard: Vec::new(),
            crawled: 0,
            requests: None,
        });
    }

    /// Whether a report should first have what waits written: it shows what was just done then. While reports
    /// are asked for often, only some do, and the others are up to 200 ms behind.
    pub(super) fn wants_settling(&self, store: &Store, now: i64) -> bool {
        if self.used(now) + EXACT_AGAIN_MS > EXACT * EXACT_AGAIN_MS {
            return false;
        }
        let waiting = self.waiting();
        // What was taken is counted, and its commit says so.
        !waiting.records.is_empty() || waiting.taken > store.version(Topic::Counts)
    }

    /// How much of what exact reports may cost is used up, as the time in which it will be there again.
    fn used(&self, now: i64) -> i64 {
        (self.exact_until.load(Ordering::Relaxed) - now).clamp(0, EXACT * EXACT_AGAIN_MS)
    }

    /// Has everything written that waits.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) fn settle(self: &Arc<Self>, store: &Store, now: i64) -> Result<()> {
        // That two at once may count as one does no harm.
        self.exact_until.store(now + self.used(now) + EXACT_AGAIN_MS, Ordering::Relaxed);
        self.flush(store);
        // It stands behind the rider in the queue and takes it along.
        store.write(|_| Ok(()))
    }

    /// How many records wait.
    pub(super) fn len(&self) -> usize {
        self.waiting().records.len()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn scribe(&self) -> MutexGuard<'_, Requests> {
        self.scribe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many records were lost since the process began.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// How many records were crawlers', of those written since the process began.
    pub(super) fn crawled(&self) -> u64 {
        self.crawled.load(Ordering::Relaxed)
    }

    fn lose(&self, waiting: &mut Waiting, records: usize) {
        waiting.lost += records as u64;
        self.lost.fetch_add(records as u64, Ordering::Relaxed);
    }

    /// Takes what waits, in the order of time, for a transaction with this revision.
    fn take(&self, revision: i64) -> Vec<Record> {
        let mut waiting = self.waiting();
        // About as many will gather again.
        let fresh = Vec::with_capacity(waiting.records.len());
        let mut records = std::mem::replace(&mut waiting.records, fresh);
        if !records.is_empty() {
            waiting.taken = revision;
        }
        let lost = std::mem::take(&mut waiting.lost);
        drop(waiting);
        if lost > 0 {
            tracing::warn!(lines = lost, "log lines are lost: too many waited to be written");
        }
        records.sort_by_key(|record| record.at);
        records
    }

    /// Has records wait that were taken and could not be written.
    fn put_back(&self, mut records: Vec<Record>) {
        let mut waiting = self.waiting();
        let over = records.len().saturating_sub(KEPT);
        records.truncate(KEPT);
        records.append(&mut waiting.records);
        waiting.records = records;
        self.lose(&mut waiting, over);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let waiting = self.waiting();
        let lost = waiting.lost + waiting.records.len() as u64;
        if lost > 0 {
            tracing::error!(lines = lost, "log lines are lost: they could not be written before the end");
        }
    }
}

/// Writes records, which are in the order of time; answers how many are crawlers'.
pub(super) fn write(
    tx: &mut dyn Tx,
    calendar: &Calendar,
    requests: &mut Requests,
    records: &[Record],
) -> Result<u64> {
    let (mut people, mut visits, mut crawled) = (People::default(), Visits::default(), 0);
    let (mut lines, mut days) = (Vec::with_capacity(records.len()), FxHashMap::default());
    let today = calendar.today();
    for record in records {
        let Record { at, operation, path, status, seen, guest } = record;
        let slot = calendar.slot(*at);
        let member = people.key(tx, seen)?;
        let request = requests.key(tx, *operation, path.as_deref(), *status, slot.day.max(today))?;
        lines.push(Entry { at: *at, member: member.shown, request });
        *days.entry((slot.day, Counter::Communication)).or_insert(0) += 1;
        match (member.key, guest.0) {
            (Some(key), _) => visits.add(key, *at, slot),
            (None, Some(number)) => visits.add(number, *at, slot),
            (None, None) => {
                crawled += 1;
                *days.entry((slot.day, Counter::Crawler)).or_insert(0) += 1;
            }
        }
    }
    log::append(tx, &lines)?;
    for ((day, counter), n) in days {
        calendar.add(tx, counter as i64, day, n)?;
    }
    visits.write(tx, calendar)?;
    Ok(crawled)
}

/// Who the records are of, each asked for once.
#[derive(Default)]
struct People {
    /// By key: whether they are still members.
    members: FxHashMap<i64, bool>,
    /// By id: key and generation.
    ids: FxHashMap<Box<str>, Option<(i64, i64)>>,
}

/// A member as a record shows them.
struct Person {
    /// Their key, if it is anybody's.
    key: Option<i64>,
    /// What the line has in its place.
    shown: i64,
}

impl People {
    fn key(&mut self, tx: &mut dyn Tx, seen: &Seen) -> Result<Person, StoreError> {
        let guest = Person { key: None, shown: GUEST };
        match seen {
            Seen::Guest => Ok(guest),
            Seen::Member(key) => {
                let there = match self.members.get(key) {
                    Some(there) => *there,
                    None => *self.members.entry(*key).or_insert(sql::is_member(tx, *key)?),
                };
                Ok(Person { key: Some(*key), shown: if there { *key } else { GONE } })
            }
            Seen::Named { folded, generation } => {
                let found = match self.ids.get(folded) {
                    Some(found) => *found,
                    None => *self.ids.entry(folded.clone()).or_insert(sql::by_id(tx, folded)?),
                };
                let key = found.filter(|(_, current)| current == generation).map(|(key, _)| key);
                Ok(key.map_or(guest, |key| Person { key: Some(key), shown: key }))
            }
        }
    }
}

/// What a commit takes along: the records that wait when it comes to it.
struct Rider {
    journal: Arc<Journal>,
    /// Whether it has yet to look at the records.
    waits: bool,
    /// The records that it took …
    aboard: Vec<Record>,
    /// … of which so many are crawlers' …
    crawled: u64,
    /// … and the keys that it found for them: they are known to others once they are on disk.
    requests: Option<Requests>,
}

impl store::Rider for Rider {
    fn write(&mut self, tx: &mut dyn Tx) -> Result<()> {
        // Before it looks at the records: whoever leaves one later sends another rider.
        self.waits = false;
        self.journal.waiting().riding = false;
        // Asked first, so that nothing is taken for a commit that cannot be.
        tx.one("SELECT n FROM revision", &[])?;
        self.aboard = self.journal.take(tx.revision());
        let requests = self.requests.insert(std::mem::take(&mut *self.journal.scribe()));
        self.crawled = write(tx, &self.journal.calendar, requests, &self.aboard)?;
        Ok(())
    }

    fn arrive(mut self, written: Result<()>) {
        let records = std::mem::take(&mut self.aboard);
        match written {
            Ok(()) => {
                if let Some(requests) = self.requests.take() {
                    *self.journal.scribe() = requests;
                }
                self.journal.crawled.fetch_add(self.crawled, Ordering::Relaxed);
            }
            Err(error) => {
                tracing::warn!(
                    lines = records.len(),
                    cause = error.detail(),
                    "log lines could not be written yet"
                );
                self.journal.put_back(records);
            }
        }
    }
}

impl Drop for Rider {
    /// A rider that found no place, because too much was waiting, leaves its records to the next. What one had
    /// that panicked is lost, or it would fail the next one, too.
    fn drop(&mut self) {
        let mut waiting = self.journal.waiting();
        if self.waits {
            waiting.riding = false;
        }
        self.journal.lose(&mut waiting, self.aboard.len());
    }
}

mod sql {
    use super::{StoreError, Tx};

    pub(super) fn is_member(tx: &mut dyn Tx, key: i64) -> Result<bool, StoreError> {
        Ok(tx.row("SELECT 1 FROM member WHERE key = $1", &[key.into()])?.is_some())
    }

    /// Key and generation of a member who may act.
    pub(super) fn by_id(tx: &mut dyn Tx, folded: &str) -> Result<Option<(i64, i64)>, StoreError> {
        let sql = "SELECT key, generation FROM member WHERE folded = $1 AND blacklisted IS NULL";
        let row = tx.row(sql, &[folded.into()])?;
        row.map(|mut row| Ok((row.take(0)?, row.take(1)?))).transpose()
    }
}
