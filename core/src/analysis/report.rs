//! The reports: what was counted, as it is asked for.
//!
//! What many ask for is kept encoded until something is counted or the day turns. Days that are over are kept too,
//! so that a report of many days reads the present one alone.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use serde::Serialize;

use super::bucket::{self, day_of};
use super::counters::{self, Counter, Counts};
use super::{State, visitor};
use crate::Tidings;
use crate::account::{Caller, GUEST, REMOVED};
use crate::answer::{self, Encoded};
use crate::error::{Error, Result};
use crate::store::{StoreError, Topic, Tx, version_in};

/// The most days that a report reaches back.
pub const DAYS_MAX: i64 = 366;
/// Answers that are kept encoded …
const ANSWERS: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");
/// … of at most so many bytes each.
const ANSWER_MAX: usize = 2 * 1024 * 1024;
/// Days that are kept, as many as hold so many student numbers.
const STUDENTS_MAX: usize = 200_000;
/// What a day beside its student numbers takes of that.
const DAY_STUDENTS: usize = 32;

const DAYS_RULE: &str = "days is a number from 0 to 366";
const DATE_RULE: &str = "there is no such date";

/// The figures over all days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Analysis {
    /// Visitors a day, of the days since the first one with data, rounded down.
    pub day_avg_visitor: i64,
    /// The most visitors of a day.
    pub highest_day_visitor: i64,
    /// Posts that are there.
    pub posts_count: i64,
    /// All searches.
    pub search_count: i64,
    /// All communications; the name is the documented one.
    pub communication_avg: i64,
    /// Visitors today.
    pub today_visitor: i64,
    /// Likes given, less likes taken back.
    pub total_fav: i64,
    /// All views of posts.
    pub total_view: i64,
    /// Visitors of all days together.
    pub total_visitor: i64,
}

/// The answer of [`summary`].
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Summary {
    /// The figures.
    pub analysis: Analysis,
}

/// What happened on a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Day {
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// Visitors.
    pub today_visitor: i64,
    /// Visitors in each hour, 0 to 23.
    pub today_time_visitor: Vec<HourVisitors>,
    /// Views of posts.
    pub today_view: i64,
    /// Likes given.
    pub today_fav: i64,
    /// Visits by student number, most first.
    pub today_student_visitor: Vec<StudentVisits>,
}

/// The visitors of an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HourVisitors {
    /// The hour, 0 to 23.
    pub time: usize,
    /// Visitors in it.
    pub visitor: i64,
}

/// The visits of a student number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StudentVisits {
    /// The member's id, or how it begins; `guest` for all who were not signed in, `removed` for all who are gone.
    pub student_num: String,
    /// How many visits.
    pub count: i64,
}

/// The answer of [`days_ago`].
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Days {
    /// The days, oldest first.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Day>))]
    pub analysis: Vec<Arc<Day>>,
}

/// The answer of [`day`].
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OneDay {
    /// The day.
    #[cfg_attr(feature = "openapi", schema(value_type = Day))]
    pub analysis: Arc<Day>,
}

/// The answer of [`devices`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Devices {
    /// Reported as a computer.
    pub pc: i64,
    /// Reported as a tablet.
    pub tablet: i64,
    /// Reported as a phone.
    pub mobile: i64,
}

/// The answer of [`realtime`].
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Realtime {
    /// Terms with how often they were searched in the last 24 hours, most often first.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<serde_json::Value>>))]
    pub search_realtime: Vec<(String, i64)>,
}

/// The figures over all days.
///
/// # Errors
/// When the store fails.
pub fn summary(tidings: &Tidings) -> Result<Summary> {
    Ok(made(tidings, |tx, today, _| read_summary(tx, today))?.0)
}

/// Each day from `days` days ago to the present one.
///
/// To all but administrators, student numbers are cut as the settings say.
///
/// # Errors
/// `bad request` when `days` is not from 0 to 366.
pub fn days_ago(tidings: &Tidings, caller: &Caller, days: i64) -> Result<Days> {
    let cut = cut(tidings, caller)?;
    Ok(made(tidings, |tx, today, reports| reports.days_ago(tx, days, today, cut))?.0)
}

/// One day; zeros when nothing happened on it.
///
/// To all but administrators, student numbers are cut as the settings say.
///
/// # Errors
/// `bad request` for a date that no calendar has.
pub fn day(tidings: &Tidings, caller: &Caller, year: i64, month: i64, day: i64) -> Result<OneDay> {
    let (cut, day) = (cut(tidings, caller)?, day_of(year, month, day).ok_or(Error::BadRequest(DATE_RULE)));
    Ok(made(tidings, |tx, today, reports| reports.one_day(tx, day?, today, cut))?.0)
}

/// How many of each device were reported.
///
/// # Errors
/// When the store fails.
pub fn devices(tidings: &Tidings) -> Result<Devices> {
    Ok(made(tidings, |tx, _, _| read_devices(tx))?.0)
}

/// The terms that are searched most in the last 24 hours, at most ten; of the same number the one searched last
/// first.
///
/// # Errors
/// When the store fails.
pub fn realtime(tidings: &Tidings) -> Result<Realtime> {
    let analysis = tidings.analysis();
    let current = analysis.trends.current(tidings.store(), tidings.now())?;
    Ok(Realtime { search_realtime: current.ranking })
}

/// A report that many ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// [`summary`].
    Summary,
    /// [`days_ago`], so many.
    DaysAgo(i64),
    /// [`day`]: year, month and day.
    Day(i64, i64, i64),
    /// [`devices`].
    Devices,
    /// [`realtime`].
    Realtime,
}

impl Question {
    /// Whether its answer shows student numbers.
    const fn shows_students(self) -> bool {
        matches!(self, Self::DaysAgo(_) | Self::Day(..))
    }
}

/// The complete answer to a question, as it is sent.
///
/// # Errors
/// As the report's own function.
pub fn answer(tidings: &Tidings, caller: &Caller, question: Question) -> Result<Arc<Encoded>> {
    let analysis = tidings.analysis();
    let cut = if question.shows_students() { cut(tidings, caller)? } else { None };
    let key = (question, cut);
    if let Some(kept) = analysis.kept(&key, tidings.now()) {
        return Ok(kept);
    }
    let (json, valid) = match question {
        Question::Realtime => {
            let current = analysis.trends.current(tidings.store(), tidings.now())?;
            let json = answer::success(&Realtime { search_realtime: current.ranking });
            (
                json,
                Valid { topic: Topic::Terms, version: current.version, from: i64::MIN, until: current.until },
            )
        }
        Question::Summary => encoded(tidings, |tx, today, _| read_summary(tx, today))?,
        Question::Devices => encoded(tidings, |tx, _, _| read_devices(tx))?,
        Question::DaysAgo(days) => {
            encoded(tidings, |tx, today, reports| reports.days_ago(tx, days, today, cut))?
        }
        Question::Day(year, month, day) => {
            let day = day_of(year, month, day).ok_or(Error::BadRequest(DATE_RULE))?;
            encoded(tidings, |tx, today, reports| reports.one_day(tx, day, today, cut))?
        }
    };
    let body = Arc::new(Encoded::new(json));
    if body.json().len() <= ANSWER_MAX {
        lock(&analysis.reports.answers).put(key, Kept { body: Arc::clone(&body), valid });
    }
    Ok(body)
}

/// The answer to a question where it is known without asking the database.
pub fn answer_in_memory(tidings: &Tidings, caller: &Caller, question: Question) -> Option<Arc<Encoded>> {
    let cut = match tidings.config().analysis.student_num_chars {
        // Who is an administrator stands in the database.
        Some(_) if question.shows_students() && !matches!(caller, Caller::Nobody) => return None,
        chars => chars.filter(|_| question.shows_students()),
    };
    tidings.analysis().kept(&(question, cut), tidings.now())
}

/// How many characters of student numbers the caller may see; `None` for all.
fn cut(tidings: &Tidings, caller: &Caller) -> Result<Option<usize>> {
    let chars = tidings.config().analysis.student_num_chars;
    if chars.is_none() || caller.identify(tidings).is_admin(tidings)? { Ok(None) } else { Ok(chars) }
}

/// A report, made of what is counted, and until when it holds.
fn made<T>(
    tidings: &Tidings,
    make: impl FnOnce(&mut dyn Tx, i64, &Reports) -> Result<T>,
) -> Result<(T, Valid)> {
    let (analysis, now) = (tidings.analysis(), tidings.now());
    analysis.settle(now);
    let today = analysis.calendar.slot(now).day;
    let cutter = analysis.calendar.cutter();
    let (from, until) = (cutter.begins(today), cutter.begins(today + 1));
    tidings.store().read(|tx| {
        let version = version_in(tx, Topic::Counts)?;
        Ok((make(tx, today, &analysis.reports)?, Valid { topic: Topic::Counts, version, from, until }))
    })
}

fn encoded<T: Serialize>(
    tidings: &Tidings,
    make: impl FnOnce(&mut dyn Tx, i64, &Reports) -> Result<T>,
) -> Result<(Vec<u8>, Valid)> {
    let (report, valid) = made(tidings, make)?;
    Ok((answer::success(&report), valid))
}

/// How long a report holds: until something of its topic changes, and within a stretch of time.
#[derive(Clone, Copy)]
struct Valid {
    topic: Topic,
    version: i64,
    from: i64,
    until: i64,
}

struct Kept {
    body: Arc<Encoded>,
    valid: Valid,
}

/// What is kept of reports.
pub(super) struct Reports {
    answers: Mutex<LruCache<(Question, Option<usize>), Kept>>,
    past: Mutex<Past>,
}

/// Days that are over, as they stood at a version of the history.
struct Past {
    days: LruCache<i64, Arc<Day>>,
    version: i64,
    /// The day that it was when they were last looked at.
    today: i64,
    students: usize,
}

impl Default for Reports {
    fn default() -> Self {
        Self { answers: Mutex::new(LruCache::new(ANSWERS)), past: Mutex::new(Past::new(0, 0)) }
    }
}

impl State {
    /// The kept answer, where it holds now.
    fn kept(&self, key: &(Question, Option<usize>), now: i64) -> Option<Arc<Encoded>> {
        let mut answers = lock(&self.reports.answers);
        let Kept { body, valid } = answers.get(key)?;
        let holds =
            self.store.version(valid.topic) <= valid.version && (valid.from..valid.until).contains(&now);
        let body = holds.then(|| Arc::clone(body));
        drop(answers);
        body.filter(|_| key.0 == Question::Realtime || !self.journal.wants_settling(&self.store, now))
    }
}

impl Reports {
    fn days_ago(&self, tx: &mut dyn Tx, days: i64, today: i64, cut: Option<usize>) -> Result<Days> {
        if !(0..=DAYS_MAX).contains(&days) {
            return Err(Error::BadRequest(DAYS_RULE));
        }
        let days = (today - days..=today).map(|day| self.day(tx, day, today, cut));
        Ok(Days { analysis: days.collect::<Result<_, _>>()? })
    }

    fn one_day(&self, tx: &mut dyn Tx, day: i64, today: i64, cut: Option<usize>) -> Result<OneDay> {
        Ok(OneDay { analysis: self.day(tx, day, today, cut)? })
    }

    /// A day, with its student numbers cut.
    fn day(&self, tx: &mut dyn Tx, day: i64, today: i64, cut: Option<usize>) -> Result<Arc<Day>, StoreError> {
        let whole = if day < today { self.past_day(tx, day, today)? } else { Arc::new(read_day(tx, day)?) };
        Ok(match cut {
            Some(chars) => Arc::new(whole.cut(chars)),
            None => whole,
        })
    }

    /// A day that is over.
    fn past_day(&self, tx: &mut dyn Tx, day: i64, today: i64) -> Result<Arc<Day>, StoreError> {
        let version = version_in(tx, Topic::History)?;
        if let Some(kept) = lock(&self.past).find(day, version, today) {
            return Ok(kept);
        }
        let read = Arc::new(read_day(tx, day)?);
        lock(&self.past).keep(day, version, Arc::clone(&read));
        Ok(read)
    }
}

impl Past {
    fn new(version: i64, today: i64) -> Self {
        Self { days: LruCache::unbounded(), version, today, students: 0 }
    }

    /// A day as it stands at this version, or at a later one that is known already.
    fn find(&mut self, day: i64, version: i64, today: i64) -> Option<Arc<Day>> {
        // When clocks are put back, days that were over go on.
        if self.version < version || today < self.today {
            *self = Self::new(version, today);
        }
        self.today = today;
        self.days.get(&day).map(Arc::clone)
    }

    fn keep(&mut self, day: i64, version: i64, kept: Arc<Day>) {
        if version != self.version {
            return;
        }
        self.students += kept.students();
        if let Some(before) = self.days.put(day, kept) {
            self.students -= before.students();
        }
        while self.students > STUDENTS_MAX {
            let Some((_, oldest)) = self.days.pop_lru() else { break };
            self.students -= oldest.students();
        }
    }
}

fn read_summary(tx: &mut dyn Tx, today: i64) -> Result<Summary> {
    let total = Counts::in_total(tx)?;
    let (first, of_today) = (counters::first_day(tx)?, Counts::of_day(tx, today)?);
    // A clock that was put back may have days before the first.
    let days = first.map_or(1, |first| (today - first + 1).max(1));
    Ok(Summary {
        analysis: Analysis {
            day_avg_visitor: total.of(Counter::Visitor) / days,
            highest_day_visitor: counters::most_visitors(tx)?,
            posts_count: total.of(Counter::Posts),
            search_count: total.of(Counter::Search),
            communication_avg: total.of(Counter::Communication),
            today_visitor: of_today.of(Counter::Visitor),
            total_fav: total.of(Counter::Like) - total.of(Counter::Unlike),
            total_view: total.of(Counter::View),
            total_visitor: total.of(Counter::Visitor),
        },
    })
}

fn read_devices(tx: &mut dyn Tx) -> Result<Devices> {
    let total = Counts::in_total(tx)?;
    let [pc, tablet, mobile] = [Counter::Pc, Counter::Tablet, Counter::Mobile].map(|device| total.of(device));
    Ok(Devices { pc, tablet, mobile })
}

fn read_day(tx: &mut dyn Tx, day: i64) -> Result<Day, StoreError> {
    let counts = Counts::of_day(tx, day)?;
    let hours = counts.hours.iter().enumerate();
    Ok(Day {
        date: bucket::date_text(day),
        today_visitor: counts.of(Counter::Visitor),
        today_time_visitor: hours.map(|(time, visitor)| HourVisitors { time, visitor: *visitor }).collect(),
        today_view: counts.of(Counter::View),
        today_fav: counts.of(Counter::Like),
        today_student_visitor: read_students(tx, day, &counts)?,
    })
}

/// The visits of a day by student number, most first.
pub(super) fn read_students(
    tx: &mut dyn Tx,
    day: i64,
    counts: &Counts,
) -> Result<Vec<StudentVisits>, StoreError> {
    let mut removed = 0;
    let mut students = Vec::new();
    for (id, count) in visitor::members_visits(tx, day)? {
        match id {
            Some(student_num) => students.push(StudentVisits { student_num, count }),
            None => removed += count,
        }
    }
    for (many, count) in [(GUEST, counts.of(Counter::GuestVisit)), (REMOVED, removed)] {
        if count > 0 {
            students.push(StudentVisits { student_num: many.to_owned(), count });
        }
    }
    sort(&mut students);
    Ok(students)
}

/// Most visits first, then by student number.
pub(super) fn sort(students: &mut [StudentVisits]) {
    students.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.student_num.cmp(&b.student_num)));
}

impl Day {
    fn students(&self) -> usize {
        self.today_student_visitor.len() + DAY_STUDENTS
    }

    /// The day with the first `chars` characters of student numbers, added up; those that stand for many stay.
    fn cut(&self, chars: usize) -> Self {
        let mut sums: HashMap<(bool, &str), i64> = HashMap::new();
        for StudentVisits { student_num, count } in &self.today_student_visitor {
            let many = [GUEST, REMOVED].contains(&student_num.as_str());
            let end = student_num.char_indices().nth(chars).map_or(student_num.len(), |(end, _)| end);
            let shown = if many { student_num } else { &student_num[..end] };
            *sums.entry((many, shown)).or_insert(0) += count;
        }
        let cut = |((_, student_num), count): ((bool, &str), i64)| StudentVisits {
            student_num: student_num.to_owned(),
            count,
        };
        let mut students: Vec<_> = sums.into_iter().map(cut).collect();
        sort(&mut students);
        Self { today_student_visitor: students, ..self.clone() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
