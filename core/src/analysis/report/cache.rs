//! A cache of reports. Encoded answers are cached until something in them changes; when reports are requested often, they are up
//! to a second old. Past days are also cached, so that a report of many days reads only the current day from the database. While
//! changes beyond the horizon are visible, no answer is valid and no day is cached.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use lru::LruCache;

use super::types::{DAYS_MAX, Day, Days, OneDay, read_day};
use crate::analysis::State;
use crate::base::clock::{Monotonic, SECOND_MS, Timestamp};
use crate::base::config::StudentNumbers;
use crate::base::lock::lock;
use crate::record::answer::{Encoded, Ready};
use crate::record::error::{Error, Problem, Result};
use crate::store::{StoreError, Topic, Tx, complete_version_in};

const ANSWERS: NonZeroUsize = NonZeroUsize::new(48).expect("not zero");
/// In bytes.
const ANSWER_MAX: usize = 2 * 1024 * 1024;
/// The maximum age of an answer that has changed.
const AGE_MS: i64 = SECOND_MS;
/// In student numbers.
const STUDENTS_MAX: usize = 200_000;
/// Apart from its student numbers, in student numbers.
const DAY_STUDENTS: usize = 32;

const DAYS_RULE: Problem = Problem::invalid("days", "days is a number from 0 to 366");

/// A report, and what it shows of member ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::analysis) enum Question {
    Summary,
    /// The number of days before today.
    DaysAgo(i64, StudentNumbers),
    Day(i64, StudentNumbers),
    Devices,
    Realtime,
    Bursts,
    Period(i64, i64),
}

#[derive(Clone, Copy)]
pub(super) struct OpenDays {
    pub(super) today: i64,
    /// The first day on which visits may still be counted: communications from just before midnight are written, and
    /// become visible, after it.
    pub(super) first_open: i64,
}

/// An answer is valid until a topic that it depends on changes, and within a period of time.
#[derive(Clone)]
pub(in crate::analysis) struct Validity {
    /// The topics, with their versions that the answer includes. Queued communications belong to [`Topic::Counts`].
    pub(in crate::analysis) versions: Vec<(Topic, i64)>,
    pub(in crate::analysis) from: Timestamp,
    pub(in crate::analysis) until: Timestamp,
}

#[derive(Clone)]
struct CachedAnswer {
    body: Arc<Encoded>,
    valid: Validity,
    began: Monotonic,
}

pub(in crate::analysis) struct ReportCache {
    answers: Mutex<LruCache<Question, CachedAnswer>>,
    finished: Mutex<FinishedDays>,
}

/// As of one version of [`Topic::History`].
struct FinishedDays {
    days: LruCache<i64, Arc<Day>>,
    version: i64,
    /// The value of [`OpenDays::first_open`] at the last access.
    first_open: i64,
    students: usize,
}

impl Default for ReportCache {
    fn default() -> Self {
        Self { answers: Mutex::new(LruCache::new(ANSWERS)), finished: Mutex::new(FinishedDays::new(0, 0)) }
    }
}

impl State {
    /// Returns the answer only if it includes all that happened before, or, when reports are requested often, if it is recent.
    /// Never blocks.
    pub(in crate::analysis) fn cached(&self, question: Question, now: Timestamp) -> Option<Arc<Encoded>> {
        let CachedAnswer { body, valid, began } = lock(&self.reports.answers).get(&question)?.clone();
        let is_current = |(topic, version): &(Topic, i64)| {
            self.store.version(*topic) <= *version && (*topic != Topic::Counts || !self.journal.must_settle())
        };
        let is_recent = (0..AGE_MS).contains(&(self.calendar.monotonic() - began));
        let is_valid = (valid.from..valid.until).contains(&now)
            && (valid.versions.iter().all(is_current) || (is_recent && !self.journal.may_be_exact()));
        is_valid.then_some(body)
    }

    /// Calls `make` if the cached answer is not valid.
    pub(in crate::analysis) fn report<T>(
        &self,
        question: Question,
        now: Timestamp,
        make: impl FnOnce() -> Result<(Vec<u8>, Validity)>,
    ) -> Result<Ready<T>> {
        if let Some(cached) = self.cached(question, now) {
            return Ok(Ready::new(cached));
        }
        let began = self.calendar.monotonic();
        let (json, valid) = make()?;
        let body = Arc::new(Encoded::new(json));
        if body.json().len() <= ANSWER_MAX {
            let body = Arc::clone(&body);
            lock(&self.reports.answers).put(question, CachedAnswer { body, valid, began });
        }
        Ok(Ready::new(body))
    }
}

impl ReportCache {
    /// The last `days` days and today.
    pub(super) fn days_ago(
        &self,
        tx: &mut dyn Tx,
        days: i64,
        open: OpenDays,
        numbers: StudentNumbers,
    ) -> Result<Days> {
        if !(0..=DAYS_MAX).contains(&days) {
            return Err(Error::BadRequest(DAYS_RULE));
        }
        let days = (open.today - days..=open.today).map(|day| self.day(tx, day, open, numbers));
        Ok(Days { analysis: days.collect::<Result<_, _>>()? })
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

    /// Nothing more is counted on such a day without a new version of [`Topic::History`].
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

/// In student numbers.
fn cost(day: &Day) -> usize {
    day.today_student_visitor.len() + DAY_STUDENTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Caller;
    use crate::analysis::GetDaysAgo;
    use crate::analysis::counters::Counter;
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
        let views =
            || service.call(&Caller::Guest, GetDaysAgo { days: 2 }).unwrap().fields().analysis[0].today_view;
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
}
