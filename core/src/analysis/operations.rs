//! The operations on the figures of the traffic and the access log.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    Bursts, Days, Devices, Log, LogLines, OneDay, Period, PeriodReport, Question, Realtime, Summary, Window,
};
use crate::answer::Encoded;
use crate::error::Result;
use crate::operation::{Access, Failure, Operation, Spec, Work};
use crate::schema::Date;
use crate::schema::Device;
use crate::scope::Scope;
use crate::{Caller, Tidings};

const GROUP: &str = "analysis";
const ADMINS: Access = Access::Admins(Scope::AnalyticsRead);
const OWN: Access = Access::Own(Scope::AnalyticsRead);

/// Returns the answer to a guest if it is cached.
fn cached(tidings: &Tidings, question: Question) -> Option<Result<Arc<Encoded>>> {
    super::try_answer(tidings, &Caller::Guest, question).map(Ok)
}

/// Returns the most frequent searches
///
/// At most ten terms of the last 24 hours with their counts, most frequent first; of equally frequent terms, the most
/// recent first. For each term, a visitor counts once in a clock hour and at most five times, and the guests of one
/// network at most 100 times. Spellings that differ in the blanks between Hangul or in an English plural count
/// together; the most frequent one is shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetRealtime {}

impl Operation for GetRealtime {
    type Answer = Realtime;
    const SPEC: Spec = Spec::get(GROUP, "/get_search_realtime", Access::Open).public().works(Work::Store);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<Realtime> {
        super::realtime(tidings)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        cached(tidings, Question::Realtime)
    }
}

/// Returns the terms searched more than usual
///
/// At most ten terms that visitors searched in the current clock hour (UTC) and the two before far more than in the
/// other hours of the last 24, compared with all other terms. A burst has at least three visitors, twice the usual
/// level, and a score of 2; the highest score is first. `count` counts each visitor once an hour; `usual` is the number
/// that the earlier hours lead to expect; `score` is (count − usual) / √(usual + 1). Searches of the last second may be
/// missing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetBursts {}

impl Operation for GetBursts {
    type Answer = Bursts;
    const SPEC: Spec = Spec::get(GROUP, "/get_search_bursts", Access::Open).public().works(Work::Store);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<Bursts> {
        super::bursts(tidings)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        cached(tidings, Question::Bursts)
    }
}

/// Returns the access log of a period
///
/// Newest first. Exactly one of `months`, `days` and `hours` is above 0. For administrators, unless the settings make
/// the log public.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLogDate {
    /// Calendar months, or 0
    pub months: i64,
    /// Periods of 24 hours, or 0
    pub days: i64,
    /// Hours, or 0
    pub hours: i64,
    /// The maximum number of lines, at most {log-lines}
    pub limit: i64,
}

impl Operation for GetLogDate {
    type Answer = Log;
    const SPEC: Spec =
        Spec::get(GROUP, "/get_log_date/{months}/{days}/{hours}/{limit}", ADMINS).works(Work::Query);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Log> {
        let Self { months, days, hours, limit } = self;
        super::log_date(tidings, caller, Window { months, days, hours }, limit)
    }
}

/// Returns the access log of a member
///
/// Newest first. `guest` gives the lines of all guests, `removed` those of removed members. For administrators and
/// the member, unless the settings make the log public.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLogUser {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
    /// The maximum number of lines, at most {log-lines}
    pub limit: i64,
}

impl Operation for GetLogUser {
    type Answer = Log;
    const SPEC: Spec =
        Spec::get(GROUP, "/get_log_user/{user_id}/{limit}", OWN).works(Work::Query).or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Log> {
        super::log_user(tidings, caller, &self.user_id, self.limit)
    }
}

/// Returns the access log of a member in a period
///
/// Combines `/get_log_user/{user_id}/{limit}` and `/get_log_date/{months}/{days}/{hours}/{limit}`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLogUserDate {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
    /// Calendar months, or 0
    pub months: i64,
    /// Periods of 24 hours, or 0
    pub days: i64,
    /// Hours, or 0
    pub hours: i64,
    /// The maximum number of lines, at most {log-lines}
    pub limit: i64,
}

impl Operation for GetLogUserDate {
    type Answer = Log;
    const SPEC: Spec = Spec::get(GROUP, "/get_log_user_date/{user_id}/{months}/{days}/{hours}/{limit}", OWN)
        .works(Work::Query)
        .or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Log> {
        let Self { user_id, months, days, hours, limit } = self;
        super::log_user_date(tidings, caller, &user_id, Window { months, days, hours }, limit)
    }
}

/// Returns a page of the access log
///
/// Newest first. A page reads a bounded part of the log, so it can be empty although `next` names another page. For
/// administrators and for the member whose lines it asks for, unless the settings make the log public.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetLog {
    /// Lines of the member with this id, of `guest` or of `removed`.
    #[schema(max_length = 1_000, examples("ann"))]
    pub member: Option<String>,
    /// Lines whose `result` is this text, without regard to case; an underscore stands for a blank.
    #[schema(examples("incorrect_pw"))]
    pub result: Option<String>,
    /// Lines whose path contains this text.
    #[schema(examples("/sign_in"))]
    pub path: Option<String>,
    /// Lines with this status, such as `404`, or with one of a class, such as `4xx`.
    #[schema(pattern = "^([1-5][0-9]{2}|[1-5](xx|XX))$", examples("4xx"))]
    pub status: Option<String>,
    /// Lines at this time or later, RFC 3339.
    #[schema(max_length = 100, examples("2026-11-20T00:00:00Z"))]
    pub since: Option<String>,
    /// Lines before this time, RFC 3339.
    #[schema(max_length = 100, examples("2026-11-20T00:00:00Z"))]
    pub until: Option<String>,
    /// The `next` of the previous page, or the `place` of a line.
    #[schema(pattern = "^[0-9]{1,15}-[0-9]{1,5}$", examples("1795163760000-2"))]
    pub before: Option<String>,
    /// The maximum number of lines, 1 to 1,000; 100 by default.
    #[schema(minimum = 1, maximum = 1_000, examples(100))]
    pub limit: Option<i64>,
}

impl Operation for GetLog {
    type Answer = LogLines;
    const SPEC: Spec = Spec::get(GROUP, "/get_log", ADMINS).works(Work::Query).or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<LogLines> {
        super::log_page(tidings, caller, &self)
    }
}

/// Returns the figures of a period of at most 366 days: by day, hour, student number and device
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetPeriod {
    /// The first day, `YYYY-MM-DD`
    #[schema(value_type = Date)]
    pub first: String,
    /// The last day, `YYYY-MM-DD`
    #[schema(value_type = Date)]
    pub last: String,
}

impl Operation for GetPeriod {
    type Answer = Period;
    const SPEC: Spec = Spec::get(GROUP, "/get_analysis_of_days/{first}/{last}", ADMINS).works(Work::Query);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Period> {
        super::period(tidings, caller, &self.first, &self.last)
    }
}

/// Returns the totals of all days
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetSummary {}

impl Operation for GetSummary {
    type Answer = Summary;
    const SPEC: Spec = Spec::get(GROUP, "/get_analysis", Access::Open).public().works(Work::Store);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<Summary> {
        super::summary(tidings)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        cached(tidings, Question::Summary)
    }
}

/// Returns the figures of each day from a number of days ago until today, oldest first
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetDaysAgo {
    /// The number of days, {days-ago}
    pub days: i64,
}

impl From<GetDaysAgo> for Question {
    fn from(GetDaysAgo { days }: GetDaysAgo) -> Self {
        Self::DaysAgo(days)
    }
}

impl Operation for GetDaysAgo {
    type Answer = Days;
    const SPEC: Spec = Spec::get(GROUP, "/get_everyday_analysis_days_ago/{days}", Access::Anyone)
        .public()
        .works(Work::Store);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Days> {
        super::days_ago(tidings, caller, self.days)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        cached(tidings, (*self).into())
    }
}

/// Returns the figures of one day
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

impl From<GetDay> for Question {
    fn from(GetDay { year, month, day }: GetDay) -> Self {
        Self::Day(year, month, day)
    }
}

impl Operation for GetDay {
    type Answer = OneDay;
    const SPEC: Spec =
        Spec::get(GROUP, "/get_everyday_analysis_specific_days/{year}/{month}/{day}", Access::Anyone)
            .named("specific_days")
            .public()
            .works(Work::Store);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<OneDay> {
        super::day(tidings, caller, self.year, self.month, self.day)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        cached(tidings, (*self).into())
    }
}

/// Counts a device
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct InsertDevice {
    /// `pc`, `tablet` or `mobile`, also with the prefix `device_`
    #[schema(value_type = Device)]
    pub device: String,
}

impl Operation for InsertDevice {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/insert_device/{device}", Access::Open).writes();

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::insert_device_from(tidings, caller, &self.device).wait()
    }
}

/// Returns the number of counted devices of each type
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetDevices {}

impl Operation for GetDevices {
    type Answer = Devices;
    const SPEC: Spec = Spec::get(GROUP, "/get_device", Access::Open).public().works(Work::Store);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<Devices> {
        super::devices(tidings)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        cached(tidings, Question::Devices)
    }
}

/// Returns the report of a period of at most 366 days
///
/// Figures by day, visitors by weekday and hour, devices, and the topics and posts that were published in the period. Search
/// terms are those of the last 24 hours, and are missing if the period ends before today. Nothing in a report is about a
/// single visitor.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct GetReport {
    /// The first day, `YYYY-MM-DD`; by default, or if it is empty, 29 days before the last day.
    #[schema(max_length = 100, examples("2026-11-20"))]
    pub from: Option<String>,
    /// The last day, `YYYY-MM-DD`; by default, if it is empty, or after today, today.
    #[schema(max_length = 100, examples("2026-11-20"))]
    pub to: Option<String>,
}

impl Operation for GetReport {
    type Answer = PeriodReport;
    const SPEC: Spec = Spec::get(GROUP, "/get_report", Access::Open).public().works(Work::Query);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<PeriodReport> {
        super::period_report(tidings, self.from.as_deref(), self.to.as_deref())
    }
}
