use tidings_core::account::Caller;
use tidings_core::analysis;

use crate::config::Config;
use crate::testing::{Service, by, header, json, outcome, post, request, service, with};

/// Returns the lines of the log so far, oldest first.
fn lines(service: &Service) -> Vec<String> {
    let log = analysis::GetLogDate { months: 0, days: 1, hours: 0, limit: 1_000 };
    let log = service.tidings.call(&Caller::Operator, log).unwrap().log;
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
    let app = crate::state::App::new(service.tidings.clone(), limited);
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
    let figures = json(&service.call(with(request("GET", "/get_analysis"), "user-agent", "app")).await);
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
            service.answer(config, with(visit, "user-agent", "app")).await;
        }
    }
    let figures = service.call(request("GET", "/get_analysis")).await;
    assert_eq!(json(&figures)["analysis"]["total_visitor"], 3);
}

#[tokio::test]
async fn a_prefetch_is_a_communication_but_neither_view_nor_visit() {
    let service = service();
    let (admin, ann) = (service.admin("boss").await, service.member("ann").await);
    let form = "application/x-www-form-urlencoded";
    let inserted = async |path: &str, fields: &'static str| {
        let answer = service.call(by(&admin, post(path, form, fields))).await;
        json(&answer)["_id"].as_str().unwrap().to_owned()
    };
    let viewed =
        format!("/post_view/{}", inserted("/insert_post", "title=A&url=https://example.org/a").await);
    let notice = format!("/get_notice/{}", inserted("/insert_notice", "title=A&post=B").await);
    let browser = |path: &str| with(request("GET", path), "user-agent", "Mozilla/5.0 Firefox/137.0");
    for (name, value) in [
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "Prefetch;prerender"),
        ("sec-purpose", "prefetch; anonymous-client-ip"),
        ("purpose", "prefetch"),
        ("x-purpose", "preview"),
        ("x-moz", "prefetch"),
    ] {
        for path in [&viewed, &notice] {
            assert_eq!(outcome(&service.call(with(browser(path), name, value)).await), "200 success");
            let by_member = with(by(&ann, browser(path)), name, value);
            assert_eq!(outcome(&service.call(by_member).await), "200 success");
        }
    }
    let unknown = format!("/post_view/{}", "0".repeat(24));
    let prefetch = with(browser(&unknown), "sec-purpose", "prefetch");
    assert_eq!(outcome(&service.call(prefetch).await), "404 Not found");
    let figures = json(&service.call(request("GET", "/get_analysis")).await)["analysis"].clone();
    let seen = ["total_view", "total_visitor", "communication_avg"].map(|name| figures[name].clone());
    // The members are visitors. Two requests signed them up, two inserted, and 25 were prefetches.
    assert_eq!(seen, [0, 2, 29], "{figures}");
    let read = json(&service.call(browser(&notice)).await);
    assert_eq!(read["notice_list"]["view"], 1);
    let _ = service.call(with(browser(&viewed), "sec-purpose", "navigate")).await;
    let figures = json(&service.call(request("GET", "/get_analysis")).await)["analysis"].clone();
    assert_eq!((&figures["total_view"], &figures["total_visitor"]), (&1.into(), &3.into()));
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
