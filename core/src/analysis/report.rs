//! The reports: what was counted, as it is asked for.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::bucket::{self, day_of};
use super::counters::{self, Counter, Counts};
use super::kept::{Present, Reports, Valid};
use super::{tidy, visitor};
use crate::Tidings;
use crate::account::{Caller, GUEST, REMOVED, RESERVED_IDS, fold};
use crate::answer::{self, Encoded};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::store::{StoreError, Topic, Tx, version_in};

/// The most days that a report reaches back.
pub const DAYS_MAX: i64 = 366;

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
    Ok(made(tidings, |tx, now, _| read_summary(tx, now.today))?.0)
}

/// Each day from `days` days ago to the present one.
///
/// To all but administrators, student numbers are cut as the settings say.
///
/// # Errors
/// `bad request` when `days` is not from 0 to 366.
pub fn days_ago(tidings: &Tidings, caller: &Caller, days: i64) -> Result<Days> {
    let cut = cut(tidings, caller)?;
    Ok(made(tidings, |tx, now, reports| reports.days_ago(tx, days, now, cut, |_| Ok(())))?.0)
}

/// One day; zeros when nothing happened on it.
///
/// To all but administrators, student numbers are cut as the settings say.
///
/// # Errors
/// `bad request` for a date that no calendar has.
pub fn day(tidings: &Tidings, caller: &Caller, year: i64, month: i64, day: i64) -> Result<OneDay> {
    let (cut, day) = (cut(tidings, caller)?, day_of(year, month, day).ok_or(Error::BadRequest(DATE_RULE)));
    Ok(made(tidings, |tx, now, reports| reports.one_day(tx, day?, now, cut))?.0)
}

/// How many of each device were reported.
///
/// # Errors
/// When the store fails.
pub fn devices(tidings: &Tidings) -> Result<Devices> {
    Ok(made(tidings, |tx, _, _| read_devices(tx))?.0)
}

/// How many of all communications were crawlers'.
///
/// # Errors
/// When the store fails.
pub fn crawled(tidings: &Tidings) -> Result<i64> {
    Ok(made(tidings, |tx, _, _| Ok(Counts::in_total(tx)?.of(Counter::Crawler)))?.0)
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
/// As the report's own function; `overloaded` where it is a very large one, and others like it are being made or sent.
pub fn answer(tidings: &Tidings, caller: &Caller, question: Question) -> Result<Arc<Encoded>> {
    let analysis = tidings.analysis();
    let cut = if question.shows_students() { cut(tidings, caller)? } else { None };
    let key = (question, cut);
    if let Some(kept) = analysis.kept(&key, tidings.now()) {
        return Ok(kept);
    }
    let mut place = None;
    let (json, valid) = match question {
        Question::Realtime => {
            let current = analysis.trends.current(tidings.store(), tidings.now())?;
            let json = answer::success(&Realtime { search_realtime: current.ranking });
            (
                json,
                Valid {
                    topic: Topic::Terms,
                    version: current.version,
                    from: Timestamp::MIN,
                    until: current.until,
                },
            )
        }
        Question::Summary => encoded(tidings, |tx, now, _| read_summary(tx, now.today))?,
        Question::Devices => encoded(tidings, |tx, _, _| read_devices(tx))?,
        Question::DaysAgo(days) => encoded(tidings, |tx, now, reports| {
            reports.days_ago(tx, days, now, cut, |students| analysis.reports.admit(students, &mut place))
        })?,
        Question::Day(year, month, day) => {
            let day = day_of(year, month, day).ok_or(Error::BadRequest(DATE_RULE))?;
            encoded(tidings, |tx, now, reports| reports.one_day(tx, day, now, cut))?
        }
    };
    Ok(analysis.reports.keep(key, json, valid))
}

/// Returns what [`answer()`] answers, or `None` when only the database knows it. Never blocks.
pub fn try_answer(tidings: &Tidings, caller: &Caller, question: Question) -> Option<Arc<Encoded>> {
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
    let Some(_) = chars else { return Ok(None) };
    let all = caller.identify(tidings).if_admin(tidings, |_| ())?;
    Ok(if all.is_some() { None } else { chars })
}

/// A report, made of what is counted, and until when it holds.
fn made<T>(
    tidings: &Tidings,
    make: impl FnOnce(&mut dyn Tx, Present, &Reports) -> Result<T>,
) -> Result<(T, Valid)> {
    let (analysis, now) = (tidings.analysis(), tidings.now());
    analysis.settle();
    let today = analysis.calendar.slot(now).day;
    let present = Present { today, open: analysis.calendar.slot(now - tidy::LATE_MS).day };
    let cutter = analysis.calendar.cutter();
    let (from, until) = (cutter.begins(today), cutter.begins(today + 1));
    tidings.store().read(|tx| {
        let version = version_in(tx, Topic::Counts)?;
        Ok((make(tx, present, &analysis.reports)?, Valid { topic: Topic::Counts, version, from, until }))
    })
}

fn encoded<T: Serialize>(
    tidings: &Tidings,
    make: impl FnOnce(&mut dyn Tx, Present, &Reports) -> Result<T>,
) -> Result<(Vec<u8>, Valid)> {
    let (report, valid) = made(tidings, make)?;
    Ok((answer::success(&report), valid))
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

pub(super) fn read_day(tx: &mut dyn Tx, day: i64) -> Result<Day, StoreError> {
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
    /// The day with the first `chars` characters of student numbers, added up; those that stand for many stay.
    pub(super) fn cut(&self, chars: usize) -> Self {
        let mut sums: HashMap<&str, i64> = HashMap::new();
        for StudentVisits { student_num, count } in &self.today_student_visitor {
            let shown = if is_many(student_num) { student_num } else { first_chars(student_num, chars) };
            *sums.entry(shown).or_insert(0) += count;
        }
        let students =
            sums.into_iter().map(|(num, count)| StudentVisits { student_num: num.to_owned(), count });
        let mut students: Vec<_> = students.collect();
        sort(&mut students);
        Self { today_student_visitor: students, ..self.clone() }
    }
}

/// Whether a student number stands for many.
fn is_many(student_num: &str) -> bool {
    RESERVED_IDS.contains(&fold(student_num).as_str())
}

/// The first characters of an id, which is ASCII; one less where they would be taken for those who are many.
fn first_chars(id: &str, chars: usize) -> &str {
    let cut = id.get(..chars).unwrap_or(id);
    if is_many(cut) { id.get(..chars - 1).unwrap_or(id) } else { cut }
}
