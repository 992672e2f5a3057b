//! What is on its way to the log and the counters: gathered in memory, written along with other commits.
//!
//! Whoever answers a request leaves a small record here and goes on. The first record after a while asks for a
//! ride with the next commit, which takes along everything that has gathered by then: lines in one pass, and of
//! each visitor and counter one change however many records there are.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::calendar::Calendar;
use super::counters::Counter;
use super::log::{self, Entry, GONE, GUEST, Operation, Requests};
use super::visitor::{Guest, Visits};
use crate::account::Seen;
use crate::error::Result;
use crate::store::{Store, StoreError, Topic, Tx};

/// Records that may wait to be written; more are lost.
const WAITING: usize = 32_768;
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
    scribe: Mutex<Requests>,
    calendar: Arc<Calendar>,
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
    lost: u64,
}

impl Journal {
    pub(super) fn new(calendar: Arc<Calendar>) -> Self {
        Self { waiting: Mutex::default(), scribe: Mutex::default(), calendar, exact_until: AtomicI64::new(0) }
    }

    /// Leaves a record.
    pub(super) fn push(self: &Arc<Self>, store: &Store, record: Record) {
        let mut waiting = self.waiting();
        if waiting.records.len() < WAITING {
            waiting.records.push(record);
        } else {
            waiting.lost += 1;
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
        let rider = Rider(Some(Arc::clone(self)));
        store.ride(move |tx| rider.write(tx));
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

    fn write(&self, tx: &mut dyn Tx) -> Result<()> {
        // Asked first, so that nothing is taken for a commit that cannot be.
        tx.one("SELECT n FROM revision", &[])?;
        let waiting = {
            let mut waiting = self.waiting();
            // About as many will gather again.
            let records = Vec::with_capacity(waiting.records.len());
            let taken = if waiting.records.is_empty() { waiting.taken } else { tx.revision() };
            let Waiting { riding, .. } = *waiting;
            std::mem::replace(&mut *waiting, Waiting { records, riding, taken, lost: 0 })
        };
        if waiting.lost > 0 {
            tracing::warn!(lines = waiting.lost, "log lines are lost: too many wait to be written");
        }
        let mut records = waiting.records;
        records.sort_by_key(|record| record.at);
        let mut requests = self.scribe.lock().unwrap_or_else(PoisonError::into_inner);
        let written = write(tx, &self.calendar, &mut requests, &records);
        if written.is_err() {
            // What was found on the way is undone.
            *requests = Requests::default();
        }
        written
    }
}

/// Writes records, which are in the order of time.
pub(super) fn write(
    tx: &mut dyn Tx,
    calendar: &Calendar,
    requests: &mut Requests,
    records: &[Record],
) -> Result<()> {
    let (mut people, mut visits) = (People::default(), Visits::default());
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
            (None, None) => *days.entry((slot.day, Counter::Crawler)).or_insert(0) += 1,
        }
    }
    log::append(tx, &lines)?;
    for ((day, counter), n) in days {
        calendar.add(tx, counter as i64, day, n)?;
    }
    visits.write(tx, calendar)
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
struct Rider(Option<Arc<Journal>>);

impl Rider {
    fn write(mut self, tx: &mut dyn Tx) -> Result<()> {
        let Some(journal) = self.0.take() else { return Ok(()) };
        // Before it looks at the records: whoever leaves one later sends another rider.
        journal.waiting().riding = false;
        journal.write(tx)
    }
}

impl Drop for Rider {
    /// A rider that found no place, because too much was waiting, leaves its records to the next.
    fn drop(&mut self) {
        if let Some(journal) = &self.0 {
            journal.waiting().riding = false;
        }
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
