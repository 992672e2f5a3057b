//! The reports of analytics, computed from the counters.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::counters::{Counter, Counts};
use super::local_time::day_of;
use super::trends::Current;
use crate::Tidings;
use crate::account::{Call, Caller};
use crate::base::clock::Timestamp;
use crate::base::config::StudentNumbers;
use crate::record::answer::{self, Encoded, Ready};
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::operation::{Access, Operation, Spec, Work};
use crate::record::scope::Scope;
use crate::store::{Topic, Tx, version_in};

mod cache;
mod types;

use cache::OpenDays;
pub(super) use cache::{Question, ReportCache, Validity};
pub use types::{
    Analysis, Bursts, DAYS_MAX, Day, Days, Devices, HourVisitors, OneDay, Realtime, StudentVisits, Summary,
};
use types::{read_devices, read_summary};
pub(super) use types::{read_students, sort};

const DATE_RULE: Problem = Problem::new(Code::InvalidValue, "there is no such date");

/// Get the overall totals
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetSummary {}

impl Operation for GetSummary {
    type Answer = Ready<Summary>;
    const SPEC: Spec = Spec::get("analysis", "/get_analysis", Access::Open).public().works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Ready<Summary>> {
        of_counters(call.tidings(), Question::Summary, |tx, open, _| read_summary(tx, open.today))
    }

    fn shared(answer: &Ready<Summary>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        remembered(tidings, Question::Summary)
    }
}

/// List daily figures, oldest first
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetDaysAgo {
    /// The number of days, {days-ago}
    pub days: i64,
}

impl Operation for GetDaysAgo {
    type Answer = Ready<Days>;
    const SPEC: Spec = Spec::get("analysis", "/get_everyday_analysis_days_ago/{days}", Access::Anyone)
        .public()
        .works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Ready<Days>> {
        let (days, numbers) = (self.days, visible_numbers(call.tidings(), call.caller())?);
        of_counters(call.tidings(), Question::DaysAgo(days, numbers), |tx, open, reports| {
            reports.days_ago(tx, days, open, numbers)
        })
    }

    fn shared(answer: &Ready<Days>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        remembered(tidings, Question::DaysAgo(self.days, numbers_for_guests(tidings)))
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

impl GetDay {
    /// `None` if there is no such date.
    fn number(&self) -> Option<i64> {
        day_of(self.year, self.month, self.day)
    }
}

impl Operation for GetDay {
    type Answer = Ready<OneDay>;
    const SPEC: Spec =
        Spec::get("analysis", "/get_everyday_analysis_specific_days/{year}/{month}/{day}", Access::Anyone)
            .named("specific_days")
            .public()
            .works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Ready<OneDay>> {
        let numbers = visible_numbers(call.tidings(), call.caller())?;
        let day = self.number().ok_or(Error::BadRequest(DATE_RULE))?;
        of_counters(call.tidings(), Question::Day(day, numbers), |tx, open, reports| {
            reports.one_day(tx, day, open, numbers)
        })
    }

    fn shared(answer: &Ready<OneDay>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        remembered(tidings, Question::Day(self.number()?, numbers_for_guests(tidings)))
    }
}

/// Get the device counts
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetDevices {}

impl Operation for GetDevices {
    type Answer = Ready<Devices>;
    const SPEC: Spec = Spec::get("analysis", "/get_device", Access::Open).public().works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Ready<Devices>> {
        of_counters(call.tidings(), Question::Devices, |tx, _, _| read_devices(tx))
    }

    fn shared(answer: &Ready<Devices>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        remembered(tidings, Question::Devices)
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
    type Answer = Ready<Realtime>;
    const SPEC: Spec =
        Spec::get("analysis", "/get_search_realtime", Access::Open).public().works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Ready<Realtime>> {
        let (analysis, now) = (call.tidings().analysis(), call.now());
        analysis.report(Question::Realtime, now, || {
            let Current { list, version, until } = analysis.trends.ranking(call.store(), now)?;
            Ok((answer::success(&Realtime { search_realtime: list }), of_terms(version, until)))
        })
    }

    fn shared(answer: &Ready<Realtime>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        remembered(tidings, Question::Realtime)
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
    type Answer = Ready<Bursts>;
    const SPEC: Spec = Spec::get("analysis", "/get_search_bursts", Access::Open).public().works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Ready<Bursts>> {
        let (analysis, now) = (call.tidings().analysis(), call.now());
        analysis.report(Question::Bursts, now, || {
            let Current { list, version, until } = analysis.trends.bursts(call.store(), now)?;
            Ok((answer::success(&Bursts { search_bursts: list }), of_terms(version, until)))
        })
    }

    fn shared(answer: &Ready<Bursts>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        remembered(tidings, Question::Bursts)
    }
}

/// The answer to a guest, if it is in memory and up to date.
fn remembered(tidings: &Tidings, question: Question) -> Option<Result<Arc<Encoded>>> {
    tidings.analysis().cached(question, tidings.now()).map(Ok)
}

fn of_terms(version: i64, until: Timestamp) -> Validity {
    Validity { versions: vec![(Topic::Terms, version)], from: Timestamp::MIN, until }
}

fn numbers_for_guests(tidings: &Tidings) -> StudentNumbers {
    tidings.config().analysis.student_num_chars
}

fn visible_numbers(tidings: &Tidings, caller: &Caller) -> Result<StudentNumbers> {
    let hidden = numbers_for_guests(tidings);
    if hidden == StudentNumbers::Full {
        return Ok(hidden);
    }
    let all = caller.identify(tidings).if_admin(tidings, Scope::AnalyticsRead, |_| ())?;
    Ok(if all.is_some() { StudentNumbers::Full } else { hidden })
}

fn compute<T>(
    tidings: &Tidings,
    make: impl FnOnce(&mut dyn Tx, OpenDays, &ReportCache) -> Result<T>,
) -> Result<(T, Validity)> {
    let (analysis, now) = (tidings.analysis(), tidings.now());
    analysis.settle();
    let today = analysis.calendar.local_hour(now).day;
    let open = OpenDays { today, first_open: analysis.calendar.local_hour(now - super::LATE_MS).day };
    let local_time = analysis.calendar.local_time();
    let (from, until) = (local_time.day_start(today), local_time.day_start(today + 1));
    tidings.store().read(|tx| {
        let versions = vec![(Topic::Counts, version_in(tx, Topic::Counts)?)];
        Ok((make(tx, open, &analysis.reports)?, Validity { versions, from, until }))
    })
}

fn of_counters<T: Serialize>(
    tidings: &Tidings,
    question: Question,
    make: impl FnOnce(&mut dyn Tx, OpenDays, &ReportCache) -> Result<T>,
) -> Result<Ready<T>> {
    tidings.analysis().report(question, tidings.now(), || {
        let (report, valid) = compute(tidings, make)?;
        Ok((answer::success(&report), valid))
    })
}
