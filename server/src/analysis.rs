//! Analytics: counters, reports, and the access log.

use serde::Deserialize;
use tidings_core::Result;
use tidings_core::analysis::{
    self, Bursts, Days, Devices, Log, LogLines, LogQuery, OneDay, Period, Question, Realtime, Summary, Window,
};
use tidings_core::status::{self, Status};
use utoipa::IntoParams;

use crate::docs;
use crate::limit::Counted;
use crate::reply::{Answer, Reply};
use crate::request::{Call, number};
use crate::route::Route;

#[cfg(test)]
mod tests;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_search_realtime", get_search_realtime).public(),
        Route::get("/get_search_bursts", get_search_bursts).public(),
        Route::get("/get_log_date/{months}/{days}/{hours}/{limit}", get_log_date).reads(),
        Route::get("/get_log_user/{user_id}/{limit}", get_log_user).reads(),
        Route::get("/get_log_user_date/{user_id}/{months}/{days}/{hours}/{limit}", get_log_user_date).reads(),
        Route::get("/get_log", get_log).reads(),
        Route::get("/get_analysis_of_days/{first}/{last}", get_analysis_of_days).reads(),
        Route::get("/get_status", get_status).reads(),
        Route::get("/get_analysis", get_analysis).public(),
        Route::get("/get_everyday_analysis_days_ago/{days}", get_everyday_analysis_days_ago).public(),
        Route::get("/get_everyday_analysis_specific_days/{year}/{month}/{day}", specific_days).public(),
        Route::get("/insert_device/{device}", insert_device).counts_as(Counted::Write),
        Route::get("/get_device", get_device).public(),
    ]
}

/// Answers with a report, from memory if it is cached.
async fn report(call: Call, question: Question) -> Answer {
    if let Some(cached) = analysis::try_answer(call.tidings(), call.caller(), question) {
        return call.encoded(&cached).await;
    }
    call.shared_in(|lanes| &lanes.store, move |tidings, caller| analysis::answer(tidings, caller, question))
        .await
}

/// Returns the most frequent searches
///
/// At most ten terms of the last 24 hours with their counts, most frequent first; of equally frequent terms, the most
/// recent first. For each term, a visitor counts once in a clock hour and at most five times, and the guests of one
/// network at most 100 times. Spellings that differ in the blanks between Hangul or in an English plural count
/// together; the most frequent one is shown.
#[utoipa::path(
    get,
    path = "/get_search_realtime",
    tag = "analysis",
    responses((status = 200, body = docs::Success<Realtime>)),
)]
pub(crate) async fn get_search_realtime(call: Call) -> Answer {
    report(call, Question::Realtime).await
}

/// Returns the terms searched more than usual
///
/// At most ten terms that visitors searched in the current clock hour (UTC) and the two before far more than in the
/// other hours of the last 24, compared with all other terms. A burst has at least three visitors, twice the usual
/// level, and a score of 2; the highest score is first. `count` counts each visitor once an hour; `usual` is the number
/// that the earlier hours lead to expect; `score` is (count − usual) / √(usual + 1). Searches of the last second may be
/// missing.
#[utoipa::path(
    get,
    path = "/get_search_bursts",
    tag = "analysis",
    responses((status = 200, body = docs::Success<Bursts>)),
)]
pub(crate) async fn get_search_bursts(call: Call) -> Answer {
    report(call, Question::Bursts).await
}

/// Returns the access log of a period
///
/// Newest first. Exactly one of `months`, `days` and `hours` is above 0. For administrators, unless the settings make
/// the log public.
#[utoipa::path(
    get,
    path = "/get_log_date/{months}/{days}/{hours}/{limit}",
    tag = "analysis",
    security(("token" = [])),
    params(
        ("months" = i64, Path, description = "Calendar months, or 0"),
        ("days" = i64, Path, description = "Periods of 24 hours, or 0"),
        ("hours" = i64, Path, description = "Hours, or 0"),
        ("limit" = i64, Path, description = "The maximum number of lines, at most {log-lines}"),
    ),
    responses((status = 200, body = docs::Success<Log>), docs::Administrators),
)]
pub(crate) async fn get_log_date(mut call: Call) -> Answer {
    let [months, days, hours, limit] = call.segments()?;
    let (window, limit) = (window([months, days, hours])?, number("limit", &limit)?);
    call.query(move |tidings, caller| analysis::log_date(tidings, caller, window, limit)).await
}

/// Returns the access log of a member
///
/// Newest first. `guest` gives the lines of all guests, `removed` those of removed members. For administrators and
/// the member, unless the settings make the log public.
#[utoipa::path(
    get,
    path = "/get_log_user/{user_id}/{limit}",
    tag = "analysis",
    security(("token" = [])),
    params(
        ("user_id" = String, Path, description = "The id of the member"),
        ("limit" = i64, Path, description = "The maximum number of lines, at most {log-lines}"),
    ),
    responses((status = 200, body = docs::Success<Log>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn get_log_user(mut call: Call) -> Answer {
    let [user_id, limit] = call.ids();
    let limit = number("limit", &limit)?;
    call.query(move |tidings, caller| analysis::log_user(tidings, caller, &user_id, limit)).await
}

/// Returns the access log of a member in a period
///
/// Combines `/get_log_user/{user_id}/{limit}` and `/get_log_date/{months}/{days}/{hours}/{limit}`.
#[utoipa::path(
    get,
    path = "/get_log_user_date/{user_id}/{months}/{days}/{hours}/{limit}",
    tag = "analysis",
    security(("token" = [])),
    params(
        ("user_id" = String, Path, description = "The id of the member"),
        ("months" = i64, Path, description = "Calendar months, or 0"),
        ("days" = i64, Path, description = "Periods of 24 hours, or 0"),
        ("hours" = i64, Path, description = "Hours, or 0"),
        ("limit" = i64, Path, description = "The maximum number of lines, at most {log-lines}"),
    ),
    responses((status = 200, body = docs::Success<Log>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn get_log_user_date(mut call: Call) -> Answer {
    let [user_id, months, days, hours, limit] = call.ids();
    let (window, limit) = (window([months, days, hours])?, number("limit", &limit)?);
    call.query(move |tidings, caller| analysis::log_user_date(tidings, caller, &user_id, window, limit)).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogParameters {
    /// Lines of the member with this id, of `guest` or of `removed`.
    member: Option<String>,
    /// Lines whose `result` is this text, without regard to case; an underscore stands for a blank.
    result: Option<String>,
    /// Lines whose path contains this text.
    path: Option<String>,
    /// Lines with this status, such as `404`, or with one of a class, such as `4xx`.
    status: Option<String>,
    /// Lines at this time or later, RFC 3339.
    since: Option<String>,
    /// Lines before this time, RFC 3339.
    until: Option<String>,
    /// The `next` of the previous page, or the `place` of a line.
    before: Option<String>,
    /// The maximum number of lines, 1 to 1,000; 100 by default.
    limit: Option<i64>,
}

/// Returns a page of the access log
///
/// Newest first. A page reads a bounded part of the log, so it can be empty although `next` names another page. For
/// administrators and for the member whose lines it asks for, unless the settings make the log public.
#[utoipa::path(
    get,
    path = "/get_log",
    tag = "analysis",
    security(("token" = [])),
    params(LogParameters),
    responses((status = 200, body = docs::Success<LogLines>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn get_log(call: Call) -> Answer {
    let LogParameters { member, result, path, status, since, until, before, limit } = call.parameters()?;
    let query = LogQuery { member, result, path, status, since, until, before, limit };
    call.query(move |tidings, caller| analysis::log_page(tidings, caller, &query)).await
}

/// Returns the figures of a period of at most 366 days: by day, hour, student number and device
#[utoipa::path(
    get,
    path = "/get_analysis_of_days/{first}/{last}",
    tag = "analysis",
    security(("token" = [])),
    params(
        ("first" = String, Path, description = "The first day, `YYYY-MM-DD`"),
        ("last" = String, Path, description = "The last day, `YYYY-MM-DD`"),
    ),
    responses((status = 200, body = docs::Success<Period>), docs::Administrators),
)]
pub(crate) async fn get_analysis_of_days(mut call: Call) -> Answer {
    let [first, last] = call.ids();
    call.query(move |tidings, caller| analysis::period(tidings, caller, &first, &last)).await
}

/// Returns the state of the service: the figures of today, and of the program and its database
#[utoipa::path(
    get,
    path = "/get_status",
    tag = "analysis",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<Status>), docs::Administrators),
)]
pub(crate) async fn get_status(call: Call) -> Answer {
    call.answer(status::status).await
}

fn window([months, days, hours]: [String; 3]) -> Result<Window> {
    Ok(Window {
        months: number("months", &months)?,
        days: number("days", &days)?,
        hours: number("hours", &hours)?,
    })
}

/// Returns the totals of all days
#[utoipa::path(
    get,
    path = "/get_analysis",
    tag = "analysis",
    responses((status = 200, body = docs::Success<Summary>)),
)]
pub(crate) async fn get_analysis(call: Call) -> Answer {
    report(call, Question::Summary).await
}

/// Returns the figures of each day from a number of days ago until today, oldest first
#[utoipa::path(
    get,
    path = "/get_everyday_analysis_days_ago/{days}",
    tag = "analysis",
    security((), ("token" = [])),
    params(("days" = i64, Path, description = "The number of days, {days-ago}")),
    responses((status = 200, body = docs::Success<Days>)),
)]
pub(crate) async fn get_everyday_analysis_days_ago(mut call: Call) -> Answer {
    let days = call.number("days")?;
    report(call, Question::DaysAgo(days)).await
}

/// Returns the figures of one day
#[utoipa::path(
    get,
    path = "/get_everyday_analysis_specific_days/{year}/{month}/{day}",
    tag = "analysis",
    security((), ("token" = [])),
    params(
        ("year" = i64, Path, description = "The year"),
        ("month" = i64, Path, description = "The month, 1 to 12"),
        ("day" = i64, Path, description = "The day of the month"),
    ),
    responses((status = 200, body = docs::Success<OneDay>)),
)]
pub(crate) async fn specific_days(mut call: Call) -> Answer {
    let [year, month, day] = call.segments()?;
    report(call, Question::Day(number("year", &year)?, number("month", &month)?, number("day", &day)?)).await
}

/// Counts a device
#[utoipa::path(
    get,
    path = "/insert_device/{device}",
    tag = "analysis",
    params(("device" = String, Path, description = "`pc`, `tablet` or `mobile`, also with the prefix `device_`")),
    responses((status = 200, body = docs::Done)),
)]
pub(crate) async fn insert_device(mut call: Call) -> Answer {
    let [device] = call.segments()?;
    Reply::written(analysis::insert_device_from(call.tidings(), call.caller(), &device)).await
}

/// Returns the number of counted devices of each type
#[utoipa::path(
    get,
    path = "/get_device",
    tag = "analysis",
    responses((status = 200, body = docs::Success<Devices>)),
)]
pub(crate) async fn get_device(call: Call) -> Answer {
    report(call, Question::Devices).await
}
