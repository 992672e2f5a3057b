//! Tests of operations through the service.

use std::num::NonZeroU32;

use tidings_core::account::Caller;
use tidings_core::analysis;

use crate::config::Config;
use crate::testing::{by, header, json, outcome, post, request, service, with};

#[tokio::test]
async fn requests_of_operations_are_in_the_log_unless_refused_for_their_rate() {
    let service = service();
    for (method, path, expected) in [
        ("GET", "/get_everyday_analysis_days_ago/x", 400),
        ("OPTIONS", "/get_userinfo", 405),
        ("POST", "/docs/", 405),
        ("BREW", "/.env/203.0.113.7", 404),
        ("HEAD", "/get_device", 200),
    ] {
        assert_eq!(service.call(request(method, path)).await.status(), expected, "{method} {path}");
    }
    service.call(post("/sign_in", "text/plain", "")).await;
    service.call(with(request("GET", "/nowhere"), "user-agent", "Googlebot/2.1")).await;
    let app = service.app(Config { rate_limit: NonZeroU32::new(1), ..Config::default() });
    for expected in [200, 429] {
        assert_eq!(service.answer_of(&app, request("GET", "/get_device")).await.status(), expected);
    }
    let log = analysis::GetLogDate { months: 0, days: 1, hours: 0, limit: 1_000 };
    let log = service.tidings.call(&Caller::Operator, log).unwrap().log;
    let lines = log.iter().rev().map(|e| format!("{} {} {} {}", e.user_id, e.method, e.path, e.status));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "guest GET /get_everyday_analysis_days_ago/x 400",
            "guest OPTIONS /get_userinfo 405",
            "guest other unknown path 404",
            "guest HEAD /get_device 200",
            "guest POST /sign_in 400",
            "guest GET unknown path 404",
            "guest GET /get_device 200",
        ]
    );
    assert_eq!(analysis::crawled(&service.tidings).unwrap(), 5, "unknown paths are not counted");
}

#[tokio::test]
async fn a_prefetch_is_a_communication_but_neither_view_nor_visit() {
    let service = service();
    let ann = service.member("ann").await;
    let viewed = format!("/post_view/{}", service.insert_post(1, "news"));
    let notice = format!("/get_notice/{}", service.insert_notice("A", "B"));
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
            for request in [browser(path), by(&ann, browser(path))] {
                assert_eq!(outcome(&service.call(with(request, name, value)).await), "200 success");
            }
        }
    }
    let unknown = browser(&format!("/post_view/{}", "0".repeat(24)));
    let unknown = service.call(with(unknown, "sec-purpose", "prefetch")).await;
    assert_eq!(outcome(&unknown), "404 Not found");
    let figures = async || {
        let figures = json(&service.get("/get_analysis").await)["analysis"].clone();
        ["total_view", "total_visitor", "communication_avg"].map(|name| figures[name].as_i64().unwrap())
    };
    // The member is a visitor. One request signed her up, and 25 were prefetches.
    assert_eq!(figures().await, [0, 1, 26]);
    assert_eq!(json(&service.call(browser(&notice)).await)["notice_list"]["view"], 1);
    service.call(with(browser(&viewed), "sec-purpose", "navigate")).await;
    assert_eq!(figures().await[..2], [1, 2]);
}

#[tokio::test]
async fn version_1_of_a_topic_feed_links_to_version_2_below_the_base_path() {
    let config = Config { base_path: "/api".parse().unwrap(), ..Config::default() };
    let first = service().answer(&config, request("GET", "/api/get_topic_newsfeed/%EB%8C%80%20x")).await;
    let link = r#"</api/get_newsfeed_of_topic/%EB%8C%80%20x>; rel="successor-version""#;
    assert_eq!((header(&first, "deprecation"), header(&first, "link")), ("@1795132800", link));
}
