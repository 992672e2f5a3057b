//! What is kept of reports.
//!
//! What many ask for is kept encoded until something is counted or the day turns. Days that are over are kept too,
//! so that a report of many days reads the present one alone. What is too large to be kept is made one at a time.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use bytes::Bytes;
use lru::LruCache;

use super::types::{DAYS_MAX, Day, Days, OneDay, Question, read_day};
use crate::analysis::State;
use crate::answer::Encoded;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::store::{StoreError, Topic, Tx, version_in};

/// Answers that are kept encoded …
const ANSWERS: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");
/// … of at most so many bytes each.
const ANSWER_MAX: usize = 2 * 1024 * 1024;
/// Bytes of answers that are not kept and that anybody may be waiting for, before another large one is made.
const UNCACHED_MAX: usize = 64 * 1024 * 1024;
/// Days that are kept, as many as hold so many student numbers.
const STUDENTS_MAX: usize = 200_000;
/// What a day beside its student numbers takes of that.
const DAY_STUDENTS: usize = 32;
/// Student numbers from which on a report is a large one.
const LARGE: usize = 50_000;

const DAYS_RULE: &str = "days is a number from 0 to 366";

/// The present, as reports see it.
#[derive(Clone, Copy)]
pub(super) struct OpenDays {
    /// The day that it is.
    pub(super) today: i64,
    /// The first day on which something may still be counted: what was answered just before midnight is written,
    /// and comes to be seen, behind it.
    pub(super) first_open: i64,
}

/// How long a report holds: until something of its topic changes, and within a stretch of time.
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

/// A question, and to how many characters the student numbers in its answer are cut.
pub(super) type Key = (Question, Option<usize>);

/// What is kept of reports.
pub(in crate::analysis) struct ReportCache {
    answers: Mutex<LruCache<Key, CachedAnswer>>,
    finished: Mutex<FinishedDays>,
    /// Held by whoever makes a large answer.
    large: Mutex<()>,
    /// Bytes of the answers that are not kept and not gone.
    uncached: Arc<AtomicUsize>,
}

/// Days that are over, as they stood at a version of the history.
struct FinishedDays {
    days: LruCache<i64, Arc<Day>>,
    version: i64,
    /// The first day that was still open when they were last looked at.
    first_open: i64,
    students: usize,
}

/// An answer that is not kept, as long as it is there.
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
    /// The kept answer, where it holds now.
    pub(super) fn cached(&self, key: &Key, now: Timestamp) -> Option<Arc<Encoded>> {
        let mut answers = lock(&self.reports.answers);
        let CachedAnswer { body, valid } = answers.get(key)?;
        let holds =
            self.store.version(valid.topic) <= valid.version && (valid.from..valid.until).contains(&now);
        let body = holds.then(|| Arc::clone(body));
        drop(answers);
        body.filter(|_| key.0 == Question::Realtime || !self.journal.must_settle(&self.store))
    }
}

impl ReportCache {
    /// Keeps an answer, unless it is a large one.
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

    /// Lets a report of so many student numbers be made; a large one in the `place` that there is for one.
    ///
    /// # Errors
    /// `overloaded` when that is taken, or large answers that were made before are still about.
    pub(super) fn admit<'r>(&'r self, students: usize, place: &mut Option<MutexGuard<'r, ()>>) -> Result<()> {
        if students <= LARGE || place.is_some() {
            return Ok(());
        }
        let free = match self.large.try_lock() {
            Ok(free) => free,
            Err(TryLockError::Poisoned(free)) => free.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Error::Overloaded),
        };
        if self.uncached.load(Ordering::Relaxed) > UNCACHED_MAX {
            return Err(Error::Overloaded);
        }
        *place = Some(free);
        Ok(())
    }

    /// The last days, as long as `admit` has nothing against so many student numbers together.
    pub(super) fn days_ago(
        &self,
        tx: &mut dyn Tx,
        days: i64,
        open: OpenDays,
        cut: Option<usize>,
        mut admit: impl FnMut(usize) -> Result<()>,
    ) -> Result<Days> {
        if !(0..=DAYS_MAX).contains(&days) {
            return Err(Error::BadRequest(DAYS_RULE));
        }
        let mut students = 0;
        let days = (open.today - days..=open.today).map(|day| {
            let day = self.day(tx, day, open, cut)?;
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
        cut: Option<usize>,
    ) -> Result<OneDay> {
        Ok(OneDay { analysis: self.day(tx, day, open, cut)? })
    }

    /// A day, with its student numbers cut.
    fn day(
        &self,
        tx: &mut dyn Tx,
        day: i64,
        open: OpenDays,
        cut: Option<usize>,
    ) -> Result<Arc<Day>, StoreError> {
        let whole = if day < open.first_open {
            self.finished_day(tx, day, open.first_open)?
        } else {
            Arc::new(read_day(tx, day)?)
        };
        Ok(match cut {
            Some(chars) => Arc::new(whole.cut(chars)),
            None => whole,
        })
    }

    /// A day on which nothing is counted any more but by whoever says so.
    fn finished_day(&self, tx: &mut dyn Tx, day: i64, first_open: i64) -> Result<Arc<Day>, StoreError> {
        let version = version_in(tx, Topic::History)?;
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

    /// A day as it stands at this version, or at a later one that is known already.
    fn get(&mut self, day: i64, version: i64, first_open: i64) -> Option<Arc<Day>> {
        // When clocks are put back, days that were over go on.
        if self.version < version || first_open < self.first_open {
            *self = Self::new(version, first_open);
        }
        self.first_open = first_open;
        self.days.get(&day).map(Arc::clone)
    }

    fn insert(&mut self, day: i64, version: i64, kept: Arc<Day>) {
        if version != self.version {
            return;
        }
        self.students += students(&kept);
        if let Some(before) = self.days.put(day, kept) {
            self.students -= students(&before);
        }
        while self.students > STUDENTS_MAX {
            let Some((_, oldest)) = self.days.pop_lru() else { break };
            self.students -= students(&oldest);
        }
    }
}

/// What a kept day takes, in student numbers.
fn students(day: &Day) -> usize {
    day.today_student_visitor.len() + DAY_STUDENTS
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Caller;
    use crate::analysis::answer;
    use crate::clock::DAY_MS;
    use crate::testing::{NOW, service};

    #[test]
    fn large_answers_are_made_one_at_a_time_and_only_so_many_are_about() {
        let service = service();
        // 200 members, each of whom came on 300 days.
        let today = NOW.as_millis() / DAY_MS;
        let members = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                       INSERT INTO member (id, folded, password, generation, nickname, date)
                       SELECT 20260000 + i, 20260000 + i, '', 0, '', 0 FROM n";
        let visits = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
                      INSERT INTO visitor (day, visitor, visits, hours, seen)
                      SELECT $1 - i, m.key, 1, 1, 0 FROM n, member m";
        let inserted = service.store().write(move |tx| {
            tx.run(members, &[])?;
            tx.run(visits, &[today.into()])
        });
        assert_eq!(inserted.unwrap(), 60_000);
        let reports = &service.analysis().reports;
        let ask = |days| answer(&service, &Caller::Nobody, Question::DaysAgo(days));
        let held = reports.large.lock().unwrap();
        assert!(matches!(ask(300), Err(Error::Overloaded)));
        assert!(ask(200).is_ok(), "it is no large one");
        drop(held);
        let first = ask(300).unwrap();
        assert_eq!(reports.uncached.load(Ordering::Relaxed), first.json().len());
        let body = first.json().clone();
        drop(first);
        assert_eq!(reports.uncached.load(Ordering::Relaxed), body.len(), "it is still being sent");
        reports.uncached.fetch_add(UNCACHED_MAX, Ordering::Relaxed);
        assert!(matches!(ask(300), Err(Error::Overloaded)));
        reports.uncached.fetch_sub(UNCACHED_MAX, Ordering::Relaxed);
        drop(body);
        assert_eq!(reports.uncached.load(Ordering::Relaxed), 0);
    }
}
