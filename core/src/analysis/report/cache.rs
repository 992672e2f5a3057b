//! A cache of reports.
//!
//! Encoded answers are cached until something is counted or the day changes. Past days are also cached, so that a
//! report of many days reads only the current day from the database. Answers that are too large for the cache are made
//! one at a time.
//!
//! Each answer and each day is read as a whole. While changes beyond the horizon are visible, no answer is valid and no
//! day is cached.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use bytes::Bytes;
use lru::LruCache;

use super::types::{DAYS_MAX, Day, Days, OneDay, Question, read_day};
use crate::analysis::State;
use crate::base::clock::Timestamp;
use crate::base::config::StudentNumbers;
use crate::record::answer::Encoded;
use crate::record::error::{Error, Problem, Result};
use crate::store::{StoreError, Topic, Tx, complete_version_in};

/// The maximum number of cached answers …
const ANSWERS: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");
/// … and the maximum size of each, in bytes.
const ANSWER_MAX: usize = 2 * 1024 * 1024;
/// The maximum total size of uncached answers in memory, in bytes, before another large one may be made.
const UNCACHED_MAX: usize = 64 * 1024 * 1024;
/// The capacity of the cache of days, in student numbers.
const STUDENTS_MAX: usize = 200_000;
/// The cost of a day apart from its student numbers, in student numbers.
const DAY_STUDENTS: usize = 32;
/// The number of student numbers above which a report counts as large.
const LARGE: usize = 50_000;

const DAYS_RULE: Problem = Problem::invalid("days", "days is a number from 0 to 366");

/// The days on which visits may still be counted.
#[derive(Clone, Copy)]
pub(super) struct OpenDays {
    /// The current day.
    pub(super) today: i64,
    /// The first day on which visits may still be counted: communications from just before midnight are written, and
    /// become visible, after it.
    pub(super) first_open: i64,
}

/// The validity of a report: until its topic changes, and within a period of time.
#[derive(Clone, Copy)]
pub(super) struct Validity {
    pub(super) topic: Topic,
    pub(super) version: i64,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
}

struct CachedAnswer {
    body: Arc<Encoded>,
    valid: Validity,
}

/// A question, and what its answer shows of member ids.
pub(super) type Key = (Question, StudentNumbers);

/// A cache of reports.
pub(in crate::analysis) struct ReportCache {
    answers: Mutex<LruCache<Key, CachedAnswer>>,
    finished: Mutex<FinishedDays>,
    /// Held while a large answer is being made.
    large: Mutex<()>,
    /// The total size in bytes of the uncached answers that are still in memory.
    uncached: Arc<AtomicUsize>,
}

/// Days that are over, as of one version of the topic `History`.
struct FinishedDays {
    days: LruCache<i64, Arc<Day>>,
    version: i64,
    /// The value of [`OpenDays::first_open`] at the last access.
    first_open: i64,
    students: usize,
}

/// An uncached answer. Dropping it subtracts its size from the total.
struct Uncached {
    json: Vec<u8>,
    bytes: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Uncached {
    fn as_ref(&self) -> &[u8] {
        &self.json
    }
}

impl Drop for Uncached {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.json.len(), Ordering::Relaxed);
    }
}

impl Default for ReportCache {
    fn default() -> Self {
        Self {
            answers: Mutex::new(LruCache::new(ANSWERS)),
            finished: Mutex::new(FinishedDays::new(0, 0)),
            large: Mutex::default(),
            uncached: Arc::default(),
        }
    }
}

impl State {
    /// Returns the cached answer if it is still valid.
    pub(super) fn cached(&self, key: &Key, now: Timestamp) -> Option<Arc<Encoded>> {
        let mut answers = lock(&self.reports.answers);
        let CachedAnswer { body, valid } = answers.get(key)?;
        let is_valid =
            self.store.version(valid.topic) <= valid.version && (valid.from..valid.until).contains(&now);
        let body = is_valid.then(|| Arc::clone(body));
        drop(answers);
        body.filter(|_| key.0.is_of_terms() || !self.journal.must_settle())
    }
}

impl ReportCache {
    /// Encodes an answer and caches it, unless it is too large.
    pub(super) fn insert(&self, key: Key, json: Vec<u8>, valid: Validity) -> Arc<Encoded> {
        if json.len() > ANSWER_MAX {
            self.uncached.fetch_add(json.len(), Ordering::Relaxed);
            let uncached = Uncached { json, bytes: Arc::clone(&self.uncached) };
            return Arc::new(Encoded::new(Bytes::from_owner(uncached)));
        }
        let body = Arc::new(Encoded::new(json));
        lock(&self.answers).put(key, CachedAnswer { body: Arc::clone(&body), valid });
        body
    }

    /// Admits a report with this number of student numbers. A large report gets the only permit for large reports,
    /// which is stored in `permit`.
    ///
    /// # Errors
    /// `overloaded` if another report has the permit, or if earlier large answers still use too much memory.
    pub(super) fn admit<'r>(
        &'r self,
        students: usize,
        permit: &mut Option<MutexGuard<'r, ()>>,
    ) -> Result<()> {
        if students <= LARGE || permit.is_some() {
            return Ok(());
        }
        let guard = match self.large.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Error::Overloaded),
        };
        if self.uncached.load(Ordering::Relaxed) > UNCACHED_MAX {
            return Err(Error::Overloaded);
        }
        *permit = Some(guard);
        Ok(())
    }

    /// Returns the last `days` days and today. `admit` is called with the number of student numbers so far and can stop
    /// the report.
    pub(super) fn days_ago(
        &self,
        tx: &mut dyn Tx,
        days: i64,
        open: OpenDays,
        numbers: StudentNumbers,
        mut admit: impl FnMut(usize) -> Result<()>,
    ) -> Result<Days> {
        if !(0..=DAYS_MAX).contains(&days) {
            return Err(Error::BadRequest(DAYS_RULE));
        }
        let mut students = 0;
        let days = (open.today - days..=open.today).map(|day| {
            let day = self.day(tx, day, open, numbers)?;
            students += day.today_student_visitor.len();
            admit(students)?;
            Ok(day)
        });
        Ok(Days { analysis: days.collect::<Result<_>>()? })
    }

    pub(super) fn one_day(
        &self,
        tx: &mut dyn Tx,
        day: i64,
        open: OpenDays,
        numbers: StudentNumbers,
    ) -> Result<OneDay> {
        Ok(OneDay { analysis: self.day(tx, day, open, numbers)? })
    }

    /// Returns a day with what `numbers` shows of member ids.
    fn day(
        &self,
        tx: &mut dyn Tx,
        day: i64,
        open: OpenDays,
        numbers: StudentNumbers,
    ) -> Result<Arc<Day>, StoreError> {
        let whole = if day < open.first_open {
            self.finished_day(tx, day, open.first_open)?
        } else {
            Arc::new(read_day(tx, day)?)
        };
        Ok(match numbers {
            StudentNumbers::Full => whole,
            hidden => Arc::new(whole.hide_ids(hidden)),
        })
    }

    /// Returns a day on which nothing is counted anymore, except with a new version of the topic `History`.
    fn finished_day(&self, tx: &mut dyn Tx, day: i64, first_open: i64) -> Result<Arc<Day>, StoreError> {
        // Two transactions that see changes beyond their horizons may see different ones.
        let Some(version) = complete_version_in(tx, Topic::History)? else {
            return Ok(Arc::new(read_day(tx, day)?));
        };
        if let Some(cached) = lock(&self.finished).get(day, version, first_open) {
            return Ok(cached);
        }
        let read = Arc::new(read_day(tx, day)?);
        lock(&self.finished).insert(day, version, Arc::clone(&read));
        Ok(read)
    }
}

impl FinishedDays {
    fn new(version: i64, first_open: i64) -> Self {
        Self { days: LruCache::unbounded(), version, first_open, students: 0 }
    }

    /// Returns a cached day, unless the cache is older than this version.
    fn get(&mut self, day: i64, version: i64, first_open: i64) -> Option<Arc<Day>> {
        // If the clock was set back, past days can be open again.
        if self.version < version || first_open < self.first_open {
            *self = Self::new(version, first_open);
        }
        self.first_open = first_open;
        self.days.get(&day).map(Arc::clone)
    }

    fn insert(&mut self, day: i64, version: i64, new: Arc<Day>) {
        if version != self.version {
            return;
        }
        self.students += cost(&new);
        if let Some(replaced) = self.days.put(day, new) {
            self.students -= cost(&replaced);
        }
        while self.students > STUDENTS_MAX {
            let Some((_, oldest)) = self.days.pop_lru() else { break };
            self.students -= cost(&oldest);
        }
    }
}

/// Returns the cost of a cached day, in student numbers.
fn cost(day: &Day) -> usize {
    day.today_student_visitor.len() + DAY_STUDENTS
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Caller;
    use crate::analysis::counters::Counter;
    use crate::analysis::{GetDaysAgo, answer};
    use crate::base::clock::DAY_MS;
    use crate::store::Isolation;
    use crate::testing::{NOW, service};

    #[test]
    fn a_past_day_that_changes_late_is_read_again() {
        let service = service();
        let past = NOW.as_millis() / DAY_MS - 2;
        let count = || {
            let counted = service.store().write(Isolation::Alone, move |tx| {
                tx.touch(Topic::History);
                tx.count(Counter::View as i64, Some(past), 1);
                Ok::<_, StoreError>(())
            });
            counted.unwrap();
        };
        let views = || service.call(&Caller::Guest, GetDaysAgo { days: 2 }).unwrap().analysis[0].today_view;
        count();
        assert_eq!(views(), 1);
        let late = service.store().hold_horizon();
        count();
        assert_eq!(views(), 2);
        service.store().write_late(late, count);
        assert_eq!(views(), 3);
        service.store().release_horizon();
        assert_eq!(views(), 3);
        count();
        assert_eq!(views(), 4);
    }

    #[test]
    fn large_answers_are_made_one_at_a_time_within_a_memory_limit() {
        let service = service();
        // 200 members, each with visits on 300 days.
        let today = NOW.as_millis() / DAY_MS;
        let members = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                       INSERT INTO member (id, folded, password, generation, nickname, date)
                       SELECT 20260000 + i, 20260000 + i, '', 0, '', 0 FROM n";
        let visits = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
                      INSERT INTO visitor (day, visitor, visits, hours, seen)
                      SELECT $1 - i, m.key, 1, 1, 0 FROM n, member m";
        let inserted = service.store().write(Isolation::Alone, move |tx| {
            tx.run(members, &[])?;
            tx.run(visits, &[today.into()])
        });
        assert_eq!(inserted.unwrap(), 60_000);
        let reports = &service.analysis().reports;
        let ask = |days| answer(&service, &Caller::Operator, Question::DaysAgo(days));
        let held = reports.large.lock().unwrap();
        assert!(matches!(ask(300), Err(Error::Overloaded)));
        assert!(ask(200).is_ok(), "the report is not large");
        drop(held);
        let first = ask(300).unwrap();
        assert_eq!(reports.uncached.load(Ordering::Relaxed), first.json().len());
        let body = first.json().clone();
        drop(first);
        assert_eq!(reports.uncached.load(Ordering::Relaxed), body.len(), "the answer is still being sent");
        reports.uncached.fetch_add(UNCACHED_MAX, Ordering::Relaxed);
        assert!(matches!(ask(300), Err(Error::Overloaded)));
        reports.uncached.fetch_sub(UNCACHED_MAX, Ordering::Relaxed);
        drop(body);
        assert_eq!(reports.uncached.load(Ordering::Relaxed), 0);
    }
}
