//! The reports of analytics, computed from the counters.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::counters::{Counter, Counts};
use super::local_time::day_of;
use super::trends::Current;
use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::Timestamp;
use crate::base::config::StudentNumbers;
use crate::record::answer::{self, Encoded};
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::operation::{Access, Operation, Spec, Work};
use crate::record::scope::Scope;
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

/// Get the overall totals
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetSummary {}

impl Operation for GetSummary {
    type Answer = Summary;
    const SPEC: Spec = Spec::get("analysis", "/get_analysis", Access::Open).public().works(Work::Store);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<Summary> {
        Ok(compute(tidings, |tx, open, _| read_summary(tx, open.today))?.0)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        try_answer(tidings, &Caller::Guest, Question::Summary).map(Ok)
    }
}

/// List daily figures, oldest first
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetDaysAgo {
    /// The number of days, {days-ago}
    pub days: i64,
}

impl From<GetDay> for Question {
    fn from(GetDay { year, month, day }: GetDay) -> Self {
        Self::Day(year, month, day)
    }
}

impl From<GetDaysAgo> for Question {
    fn from(GetDaysAgo { days }: GetDaysAgo) -> Self {
        Self::DaysAgo(days)
    }
}

impl Operation for GetDaysAgo {
    type Answer = Days;
    const SPEC: Spec = Spec::get("analysis", "/get_everyday_analysis_days_ago/{days}", Access::Anyone)
        .public()
        .works(Work::Store);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Days> {
        let numbers = visible_numbers(tidings, caller)?;
        Ok(compute(tidings, |tx, open, reports| reports.days_ago(tx, self.days, open, numbers, |_| Ok(())))?
            .0)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        try_answer(tidings, &Caller::Guest, (*self).into()).map(Ok)
    }
}

/// Get one day's figures
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetDay {
    /// The year
    #[schema(minimum = 1, maximum = 9_999, examples(2026))]
    pub year: i64,
    /// The month, 1 to 12
    #[schema(minimum = 1, maximum = 12, examples(11))]
    pub month: i64,
    /// The day of the month
    #[schema(minimum = 1, maximum = 31, examples(20))]
    pub day: i64,
}

impl Operation for GetDay {
    type Answer = OneDay;
    const SPEC: Spec =
        Spec::get("analysis", "/get_everyday_analysis_specific_days/{year}/{month}/{day}", Access::Anyone)
            .named("specific_days")
            .public()
            .works(Work::Store);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<OneDay> {
        let (numbers, day) = (visible_numbers(tidings, caller)?, day_of(self.year, self.month, self.day));
        let day = || day.ok_or(Error::BadRequest(DATE_RULE));
        Ok(compute(tidings, |tx, open, reports| reports.one_day(tx, day()?, open, numbers))?.0)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        try_answer(tidings, &Caller::Guest, (*self).into()).map(Ok)
    }
}

/// Get the device counts
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetDevices {}

impl Operation for GetDevices {
    type Answer = Devices;
    const SPEC: Spec = Spec::get("analysis", "/get_device", Access::Open).public().works(Work::Store);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<Devices> {
        Ok(compute(tidings, |tx, _, _| read_devices(tx))?.0)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        try_answer(tidings, &Caller::Guest, Question::Devices).map(Ok)
    }
}

/// Returns how many of all communications came from crawlers.
///
/// # Errors
/// When the store fails.
pub fn crawled(tidings: &Tidings) -> Result<i64> {
    Ok(compute(tidings, |tx, _, _| Ok(Counts::in_total(tx)?.of(Counter::Crawler)))?.0)
}

/// Get the most frequent searches
///
/// At most ten terms of the last 24 hours with their counts, most frequent first; of equally frequent terms, the most
/// recent first. For each term, a visitor counts once in a clock hour and at most five times, and the guests of one
/// network at most 100 times. Spellings that differ in the blanks between Hangul or in an English plural count
/// together; the most frequent one is shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetRealtime {}

impl Operation for GetRealtime {
    type Answer = Realtime;
    const SPEC: Spec =
        Spec::get("analysis", "/get_search_realtime", Access::Open).public().works(Work::Store);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<Realtime> {
        let analysis = tidings.analysis();
        let current = analysis.trends.ranking(tidings.store(), tidings.now())?;
        Ok(Realtime { search_realtime: current.list })
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        try_answer(tidings, &Caller::Guest, Question::Realtime).map(Ok)
    }
}

/// List bursts of searches
///
/// A burst is a term that visitors search more than usual. At most ten terms that visitors searched in the current clock hour (UTC)
/// and the two before far more than in the other hours of the last 24, compared with all other terms. A burst has at least three
/// visitors, twice the usual level, and a score of 2; the highest score is first. `count` counts each visitor once an hour; `usual`
/// is the number that the earlier hours lead to expect; `score` is (count − usual) / √(usual + 1). Searches of the last second may
/// be missing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetBursts {}

impl Operation for GetBursts {
    type Answer = Bursts;
    const SPEC: Spec = Spec::get("analysis", "/get_search_bursts", Access::Open).public().works(Work::Store);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<Bursts> {
        let analysis = tidings.analysis();
        let current = analysis.trends.bursts(tidings.store(), tidings.now())?;
        Ok(Bursts { search_bursts: current.list })
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        try_answer(tidings, &Caller::Guest, Question::Bursts).map(Ok)
    }
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
    analysis.settle();
    let today = analysis.calendar.local_hour(now).day;
    let open = OpenDays { today, first_open: analysis.calendar.local_hour(now - super::LATE_MS).day };
    let local_time = analysis.calendar.local_time();
    let (from, until) = (local_time.day_start(today), local_time.day_start(today + 1));
    tidings.store().read(|tx| {
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
