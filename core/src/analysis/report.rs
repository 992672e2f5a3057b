//! The reports of analytics, computed from the counters.

use std::sync::Arc;

use serde::Serialize;

use super::counters::{Counter, Counts};
use super::local_time::day_of;
use super::trends::Current;
use crate::Tidings;
use crate::account::Caller;
use crate::answer::{self, Encoded};
use crate::clock::Timestamp;
use crate::config::StudentNumbers;
use crate::error::{Code, Error, Problem, Result};
use crate::scope::Scope;
use crate::store::{Topic, Tx, version_in};

mod cache;
mod types;

pub(super) use cache::ReportCache;
use cache::{OpenDays, Validity};
pub use types::{
    Analysis, Bursts, DAYS_MAX, Day, Days, Devices, HourVisitors, OneDay, Question, Realtime, StudentVisits,
    Summary,
};
use types::{read_devices, read_summary};
pub(super) use types::{read_students, sort};

const DATE_RULE: Problem = Problem::new(Code::InvalidValue, "there is no such date");

/// Returns the figures over all days.
///
/// # Errors
/// When the store fails.
pub fn summary(tidings: &Tidings) -> Result<Summary> {
    Ok(compute(tidings, |tx, open, _| read_summary(tx, open.today))?.0)
}

/// Returns the report of each day from `days` days ago to today.
///
/// Callers other than administrators see what the settings show of member ids.
///
/// # Errors
/// `bad request` when `days` is not from 0 to 366.
pub fn days_ago(tidings: &Tidings, caller: &Caller, days: i64) -> Result<Days> {
    let numbers = visible_numbers(tidings, caller)?;
    Ok(compute(tidings, |tx, open, reports| reports.days_ago(tx, days, open, numbers, |_| Ok(())))?.0)
}

/// Returns the report of one day; its figures are 0 if nothing was counted on it.
///
/// Callers other than administrators see what the settings show of member ids.
///
/// # Errors
/// `bad request` for a date that does not exist.
pub fn day(tidings: &Tidings, caller: &Caller, year: i64, month: i64, day: i64) -> Result<OneDay> {
    let (numbers, day) = (visible_numbers(tidings, caller)?, day_of(year, month, day));
    let day = || day.ok_or(Error::BadRequest(DATE_RULE));
    Ok(compute(tidings, |tx, open, reports| reports.one_day(tx, day()?, open, numbers))?.0)
}

/// Returns how often each kind of device was reported.
///
/// # Errors
/// When the store fails.
pub fn devices(tidings: &Tidings) -> Result<Devices> {
    Ok(compute(tidings, |tx, _, _| read_devices(tx))?.0)
}

/// Returns how many of all communications came from crawlers.
///
/// # Errors
/// When the store fails.
pub fn crawled(tidings: &Tidings) -> Result<i64> {
    Ok(compute(tidings, |tx, _, _| Ok(Counts::in_total(tx)?.of(Counter::Crawler)))?.0)
}

/// Returns the terms searched most in the last 24 hours, at most ten. Terms with the same count are ordered by their
/// last search, newest first.
///
/// # Errors
/// When the store fails.
pub fn realtime(tidings: &Tidings) -> Result<Realtime> {
    let analysis = tidings.analysis();
    let current = analysis.trends.ranking(tidings.store(), tidings.now())?;
    Ok(Realtime { search_realtime: current.list })
}

/// Returns the terms that visitors search more than usual, at most ten, the largest excess first. Searches of the last
/// second may be missing.
///
/// # Errors
/// When the store fails.
pub fn bursts(tidings: &Tidings) -> Result<Bursts> {
    let analysis = tidings.analysis();
    let current = analysis.trends.bursts(tidings.store(), tidings.now())?;
    Ok(Bursts { search_bursts: current.list })
}

/// Returns the complete JSON answer to a question.
///
/// # Errors
/// Those of the report's own function; `overloaded` if the answer is very large and another large answer is being made
/// or sent.
pub fn answer(tidings: &Tidings, caller: &Caller, question: Question) -> Result<Arc<Encoded>> {
    let analysis = tidings.analysis();
    let numbers =
        if question.shows_students() { visible_numbers(tidings, caller)? } else { StudentNumbers::Full };
    let key = (question, numbers);
    if let Some(cached) = analysis.cached(&key, tidings.now()) {
        return Ok(cached);
    }
    let mut permit = None;
    let (json, valid) = match question {
        Question::Realtime => {
            let Current { list, version, until } = analysis.trends.ranking(tidings.store(), tidings.now())?;
            (answer::success(&Realtime { search_realtime: list }), of_terms(version, until))
        }
        Question::Bursts => {
            let Current { list, version, until } = analysis.trends.bursts(tidings.store(), tidings.now())?;
            (answer::success(&Bursts { search_bursts: list }), of_terms(version, until))
        }
        Question::Summary => encoded(tidings, |tx, open, _| read_summary(tx, open.today))?,
        Question::Devices => encoded(tidings, |tx, _, _| read_devices(tx))?,
        Question::DaysAgo(days) => encoded(tidings, |tx, open, reports| {
            reports
                .days_ago(tx, days, open, numbers, |students| analysis.reports.admit(students, &mut permit))
        })?,
        Question::Day(year, month, day) => {
            let day = day_of(year, month, day).ok_or(Error::BadRequest(DATE_RULE))?;
            encoded(tidings, |tx, open, reports| reports.one_day(tx, day, open, numbers))?
        }
    };
    Ok(analysis.reports.insert(key, json, valid))
}

/// Returns the cached result of [`answer()`], or `None` if answering needs the database. Never blocks.
pub fn try_answer(tidings: &Tidings, caller: &Caller, question: Question) -> Option<Arc<Encoded>> {
    let numbers = match tidings.config().analysis.student_num_chars {
        _ if !question.shows_students() => StudentNumbers::Full,
        StudentNumbers::Full => StudentNumbers::Full,
        hidden if matches!(caller, Caller::Guest) => hidden,
        // Only the database knows whether the caller is an administrator.
        _ => return None,
    };
    tidings.analysis().cached(&(question, numbers), tidings.now())
}

fn of_terms(version: i64, until: Timestamp) -> Validity {
    Validity { topic: Topic::Terms, version, from: Timestamp::MIN, until }
}

/// Returns what the caller may see of member ids.
fn visible_numbers(tidings: &Tidings, caller: &Caller) -> Result<StudentNumbers> {
    let hidden = tidings.config().analysis.student_num_chars;
    if hidden == StudentNumbers::Full {
        return Ok(hidden);
    }
    let all = caller.identify(tidings).if_admin(tidings, Scope::AnalyticsRead, |_| ())?;
    Ok(if all.is_some() { StudentNumbers::Full } else { hidden })
}

/// Computes a report, and returns it with its validity.
fn compute<T>(
    tidings: &Tidings,
    mut make: impl FnMut(&mut dyn Tx, OpenDays, &ReportCache) -> Result<T>,
) -> Result<(T, Validity)> {
    let (analysis, now) = (tidings.analysis(), tidings.now());
    let seen = analysis.settle();
    let today = analysis.calendar.local_hour(now).day;
    let open = OpenDays { today, first_open: analysis.calendar.local_hour(now - super::LATE_MS).day };
    let local_time = analysis.calendar.local_time();
    let (from, until) = (local_time.day_start(today), local_time.day_start(today + 1));
    tidings.store().read_stale(None, seen, |tx| {
        let version = version_in(tx, Topic::Counts)?;
        Ok((make(tx, open, &analysis.reports)?, Validity { topic: Topic::Counts, version, from, until }))
    })
}

fn encoded<T: Serialize>(
    tidings: &Tidings,
    make: impl FnMut(&mut dyn Tx, OpenDays, &ReportCache) -> Result<T>,
) -> Result<(Vec<u8>, Validity)> {
    let (report, valid) = compute(tidings, make)?;
    Ok((answer::success(&report), valid))
}
