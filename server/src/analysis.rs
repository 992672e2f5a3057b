//! Analytics: counters, reports, and the access log.

use tidings_core::Result;
use tidings_core::analysis::{self, Bursts, Days, Devices, Log, OneDay, Question, Realtime, Summary, Window};

use crate::docs;
use crate::limit::Counted;
use crate::reply::{Answer, Reply};
use crate::request::{Call, number};
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_search_realtime", get_search_realtime).public(),
        Route::get("/get_search_bursts", get_search_bursts).public(),
        Route::get("/get_log_date/{months}/{days}/{hours}/{limit}", get_log_date).reads(),
        Route::get("/get_log_user/{user_id}/{limit}", get_log_user).reads(),
        Route::get("/get_log_user_date/{user_id}/{months}/{days}/{hours}/{limit}", get_log_user_date).reads(),
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
        return call.encoded(cached).await;
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
    Reply::written(analysis::insert_device(call.tidings(), &device)).await
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

#[cfg(test)]
mod tests {
    use tidings_core::account::Caller;

    use super::*;
    use crate::config::Config;
    use crate::testing::{Service, by, header, json, outcome, post, request, service, with};

    /// Returns the lines of the log so far, oldest first.
    fn lines(service: &Service) -> Vec<String> {
        let window = Window { days: 1, ..Window::default() };
        let log = analysis::log_date(&service.tidings, &Caller::Operator, window, 1_000).unwrap().log;
        let lines = log.iter().rev();
        lines.map(|e| format!("{} {} {} {}", e.user_id, e.method, e.path, e.status)).collect()
    }

    #[tokio::test]
    async fn answered_requests_have_log_lines_and_unknown_paths_share_one() {
        let service = service();
        let token = service.member("Ann").await;
        let limited = Config { rate_limit: std::num::NonZeroU32::new(1), ..Config::default() };
        for (method, path, expected) in [
            ("GET", "/get_popularity_newsfeed?limit=3", 200),
            ("GET", "/get_userinfo", 200),
            ("GET", "/sign_out_all", 401),
            ("GET", "/get_post/6560c1a2ffeeddccbbaa0001", 404),
            ("GET", "/get_everyday_analysis_days_ago/x", 400),
            ("DELETE", "/get_userinfo", 405),
            ("OPTIONS", "/get_userinfo", 405),
            ("GET", "/healthz", 200),
            ("GET", "/readyz", 200),
            ("GET", "/openapi.json", 200),
            ("GET", "/docs/", 200),
            ("POST", "/docs/", 405),
            ("GET", "/nowhere", 404),
            ("BREW", "/.env/203.0.113.7", 404),
            ("HEAD", "/get_device", 200),
        ] {
            assert_eq!(service.call(request(method, path)).await.status(), expected, "{method} {path}");
        }
        service.call(by(&token, request("GET", "/get_userinfo"))).await;
        service.call(by("a.b.c", request("GET", "/get_userinfo"))).await;
        service.call(post("/sign_in", "text/plain", "")).await;
        let preflight = with(request("OPTIONS", "/sign_in"), "origin", "https://app.example.org");
        service.call(with(preflight, "access-control-request-method", "POST")).await;
        let app = crate::app::App::new(service.tidings.clone(), limited);
        for _ in 0..2 {
            service.answer_of(&app, request("GET", "/get_device")).await;
        }
        assert_eq!(
            lines(&service),
            [
                "guest POST /sign_up 200",
                "guest GET /get_popularity_newsfeed 200",
                "guest GET /get_userinfo 200",
                "guest GET /sign_out_all 401",
                "guest GET /get_post/6560c1a2ffeeddccbbaa0001 404",
                "guest GET /get_everyday_analysis_days_ago/x 400",
                "guest DELETE /get_userinfo 405",
                "guest OPTIONS /get_userinfo 405",
                "guest GET unknown path 404",
                "guest other unknown path 404",
                "guest HEAD /get_device 200",
                "Ann GET /get_userinfo 200",
                "guest GET /get_userinfo 200",
                "guest POST /sign_in 400",
                "guest GET /get_device 200",
            ]
        );
    }

    #[tokio::test]
    async fn requests_to_unknown_paths_are_not_counted() {
        let service = service();
        for _ in 0..3 {
            service.call(request("GET", "/nowhere")).await;
            service.call(with(request("GET", "/nowhere"), "user-agent", "Googlebot/2.1")).await;
        }
        let figures = json(&service.call(request("GET", "/get_analysis")).await);
        assert_eq!(
            [&figures["analysis"]["communication_avg"], &figures["analysis"]["total_visitor"]],
            [0, 0],
            "{figures}"
        );
        assert_eq!(analysis::crawled(&service.tidings).unwrap(), 0);
        assert_eq!(lines(&service).iter().filter(|line| *line == "guest GET unknown path 404").count(), 6);
    }

    #[tokio::test]
    async fn nothing_is_recorded_when_analytics_are_off() {
        let (service, config) = (service(), Config { analytics: false, ..Config::default() });
        service.answer(&config, request("GET", "/get_device")).await;
        service.answer(&config, request("GET", "/nowhere")).await;
        assert!(lines(&service).is_empty());
    }

    #[tokio::test]
    async fn visitors_are_counted_by_the_address_that_trusted_proxies_name() {
        let service = service();
        let proxied = Config { trust_proxy: vec!["127.0.0.0/8".parse().unwrap()], ..Config::default() };
        for config in [&Config::default(), &proxied] {
            for from in ["203.0.113.7", "203.0.113.8", "203.0.113.8"] {
                let visit = with(request("GET", "/get_device"), "x-forwarded-for", from);
                service.answer(config, visit).await;
            }
        }
        let figures = service.call(request("GET", "/get_analysis")).await;
        assert_eq!(json(&figures)["analysis"]["total_visitor"], 3);
    }

    #[tokio::test]
    async fn reports_have_their_documented_form_and_refusals() {
        let service = service();
        let token = service.member("ann").await;
        for (path, expected) in [
            ("/get_analysis", "200 success"),
            ("/get_device", "200 success"),
            ("/get_search_realtime", "200 success"),
            ("/get_search_bursts", "200 success"),
            ("/insert_device/pc", "200 success"),
            ("/insert_device/phone", "400 bad request"),
            ("/get_everyday_analysis_days_ago/366", "200 success"),
            ("/get_everyday_analysis_days_ago/367", "400 bad request"),
            ("/get_everyday_analysis_days_ago/-1", "400 bad request"),
            ("/get_everyday_analysis_days_ago/1.5", "400 bad request"),
            ("/get_everyday_analysis_specific_days/2026/2/28", "200 success"),
            ("/get_everyday_analysis_specific_days/2026/2/29", "400 bad request"),
            ("/get_everyday_analysis_specific_days/2026/x/1", "400 bad request"),
            ("/get_log_date/0/1/0/10", "401 bad token"),
            ("/get_log_user/ann/10", "401 bad token"),
            ("/get_log_user/ann/ten", "400 bad request"),
        ] {
            let answer = service.call(request("GET", path)).await;
            assert_eq!(outcome(&answer), expected, "{path}");
        }
        for (path, expected) in [
            ("/get_log_date/0/1/0/10", "403 Not admin"),
            ("/get_log_user/Ann/10", "200 success"),
            ("/get_log_user/guest/10", "403 Not admin"),
            ("/get_log_user_date/ann/0/0/1/10", "200 success"),
            ("/get_log_user_date/ann/1/0/1/10", "400 bad request"),
            ("/get_log_user_date/%FF/0/0/1/10", "403 Not admin"),
        ] {
            let answer = service.call(by(&token, request("GET", path))).await;
            assert_eq!(outcome(&answer), expected, "{path}");
            assert_eq!(header(&answer, "cache-control"), "no-store");
        }
        let days = json(&service.call(request("GET", "/get_everyday_analysis_days_ago/1")).await);
        assert_eq!(days["analysis"].as_array().unwrap().len(), 2);
        let day = json(&service.call(request("GET", "/get_everyday_analysis_specific_days/2026/2/28")).await);
        assert_eq!(day["analysis"]["date"], "2026-02-28");
        let devices = json(&service.call(request("GET", "/get_device")).await);
        assert_eq!(devices, serde_json::json!({ "result": "success", "pc": 1, "tablet": 0, "mobile": 0 }));
    }
}
