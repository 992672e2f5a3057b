use tidings_core::account::Caller;
use tidings_core::operation::Method;
use tidings_core::{notice, post};

use super::*;
use crate::config::Config;
use crate::testing::{Service, by, header, outcome, request, service, with};

#[test]
fn a_condition_is_met_by_each_form_of_the_tag() {
    let tag = br#"W/"12ab""#;
    for line in [
        r#"W/"12ab""#,
        r#""12ab""#,
        "*",
        " * ",
        r#""x", W/"12ab""#,
        r#"W/"a,b",W/"12ab" ,"c""#,
        r#","12ab","#,
    ] {
        assert!(has_tag(line.as_bytes(), tag), "{line}");
    }
    for line in [
        "",
        "12ab",
        r#"W/"12AB""#,
        r#"w/"12ab""#,
        r#"W/ "12ab""#,
        r#""12ab"#,
        r#""x,12ab,y""#,
        r#""12ab-gzip""#,
        r#""*""#,
        "*, *",
    ] {
        assert!(!has_tag(line.as_bytes(), tag), "{line}");
    }
}

const DATA: &str = "public, max-age=0, s-maxage=5, must-revalidate";
const DOCUMENT: &str = "public, max-age=300";

/// Returns a service with a post and a notice, and the paths of all public operations, each with its `Cache-Control`.
fn filled() -> (Service, Vec<(String, &'static str)>) {
    let service = service();
    let draft = post::Draft {
        title: Some("Post".into()),
        url: Some("https://example.org/".into()),
        topic: Some(vec!["news".into()]),
        ..post::Draft::default()
    };
    let id = service.tidings.call(&Caller::Operator, post::Insert { draft }).unwrap().id;
    let draft =
        notice::Draft { title: Some("Title".into()), post: Some("Text".into()), ..notice::Draft::default() };
    service.tidings.call(&Caller::Operator, notice::Insert { draft: draft.clone() }).unwrap();
    let data = [
        "/get_popularity_newsfeed",
        "/get_recommendation_newsfeed",
        "/get_newsfeed_of_topic/news",
        "/get_topic_newsfeed/news",
        "/get_popularity_newsfeed?limit=2",
        "/get_all_notice",
        "/get_main_info",
        "/get_categories",
        "/get_search_realtime",
        "/get_search_bursts",
        "/get_device",
        "/get_everyday_analysis_specific_days/2026/1/1",
        &format!("/get_post/{id}"),
    ]
    .map(|path| (path.to_owned(), DATA));
    let documents = ["/openapi.json", "/docs/", "/docs/start.js"].map(|path| (path.to_owned(), DOCUMENT));
    (service, data.into_iter().chain(documents).collect())
}

#[tokio::test]
async fn a_guest_who_has_a_public_response_gets_304_with_the_headers_that_caches_need_and_no_body() {
    let (service, paths) = filled();
    for (path, cache_control) in &paths {
        for coding in ["identity", "gzip"] {
            let get = || with(request("GET", path), "accept-encoding", coding);
            let full = service.call(get()).await;
            let tag = header(&full, "etag");
            assert!(tag.starts_with("W/\"") && !full.body().is_empty(), "{path}: {full:?}");
            assert_eq!(header(&full, "cache-control"), *cache_control, "{path}");
            for known in [tag, &tag[2..], "*", &format!("\"x\", {tag}")] {
                let unchanged = service.call(with(get(), "if-none-match", known)).await;
                assert_eq!((unchanged.status().as_u16(), unchanged.body().len()), (304, 0), "{path}");
                let mut expected = full.headers().clone();
                for of_content in [
                    "content-type",
                    "content-encoding",
                    "content-security-policy",
                    "referrer-policy",
                    "x-content-type-options",
                    "cross-origin-opener-policy",
                    "cross-origin-resource-policy",
                ] {
                    expected.remove(of_content);
                }
                assert_eq!(*unchanged.headers(), expected, "{path}");
            }
            let other = service.call(with(get(), "if-none-match", "\"x\"")).await;
            assert_eq!((other.status(), other.body()), (full.status(), full.body()), "{path}");
            let lines = with(with(get(), "if-none-match", "\"x\""), "if-none-match", tag);
            assert_eq!(service.call(lines).await.status(), 304, "{path}");
        }
    }
}

#[tokio::test]
async fn a_304_names_the_origin_where_only_certain_origins_may_read() {
    let service = service();
    let unchanged =
        |origin| with(with(request("GET", "/get_all_notice"), "if-none-match", "*"), "origin", origin);
    let [friend, stranger] = ["https://app.example.org", "https://evil.example.org"];
    let narrow = Config { cors_origins: vec![friend.parse().unwrap()], ..Config::default() };
    let (for_all, for_some) =
        ("accept, accept-encoding, authorization", "accept, accept-encoding, authorization, origin");
    for (config, origin, allowed, vary) in [
        (&Config::default(), stranger, "*", for_all),
        (&narrow, friend, friend, for_some),
        (&narrow, stranger, "", for_some),
        (&Config::default(), friend, "*", for_all),
    ] {
        let answer = service.answer(config, unchanged(origin)).await;
        assert_eq!(answer.status(), 304);
        let headers = (header(&answer, "access-control-allow-origin"), header(&answer, "vary"));
        assert_eq!(headers, (allowed, vary), "{origin}");
    }
}

#[tokio::test]
async fn an_app_that_keeps_a_member_s_information_and_lists_gets_304_until_they_change() {
    let (service, _) = filled();
    let token = service.member("ann").await;
    let paths = ["/get_userinfo", "/get_specific_userinfo/0", "/get_user_lately_search/5"];
    for coding in ["identity", "gzip"] {
        for path in paths {
            let get = || by(&token, with(request("GET", path), "accept-encoding", coding));
            let full = service.call(get()).await;
            let tag = header(&full, "etag");
            assert!(
                tag.starts_with("W/\"") && header(&full, "cache-control") == "no-store",
                "{path}: {full:?}"
            );
            let unchanged = service.call(with(get(), "if-none-match", tag)).await;
            assert_eq!((unchanged.status().as_u16(), unchanged.body().len()), (304, 0), "{path}");
            assert_eq!((header(&unchanged, "etag"), header(&unchanged, "cache-control")), (tag, "no-store"));
            tidings_core::search::log(&service.tidings, &Caller::token(&token), None, "sea").wait().unwrap();
            tidings_core::search::log(&service.tidings, &Caller::token(&token), None, "sea").wait().unwrap();
            let again = service.call(with(get(), "if-none-match", tag)).await;
            assert_eq!(again.status() == 304, path == "/get_userinfo", "{path}: it has no searches");
            let refused = by("forged", with(request("GET", path), "if-none-match", "*"));
            let refused = service.call(refused).await;
            assert_eq!((header(&refused, "etag"), refused.status() == 304), ("", false), "{path}");
        }
    }
}

#[tokio::test]
async fn members_and_refusals_never_get_a_tag_or_304() {
    let (service, paths) = filled();
    let token = service.member("ann").await;
    for token in [&token, "forged"] {
        for (path, _) in &paths {
            let answer = service.call(by(token, with(request("GET", path), "if-none-match", "*"))).await;
            assert_eq!(
                (answer.status().as_u16(), header(&answer, "etag"), header(&answer, "cache-control")),
                (200, "", "no-store"),
                "{path}"
            );
        }
    }
    for (path, expected) in [
        ("/get_post/1", "404 Not found"),
        ("/get_popularity_newsfeed?limit=0", "400 bad request"),
        ("/get_userinfo", "200 not found"),
        ("/healthz", "200 success"),
        ("/nothing", "404 Not found"),
    ] {
        let answer = service.call(with(request("GET", path), "if-none-match", "*")).await;
        assert_eq!(
            (outcome(&answer).as_str(), header(&answer, "etag"), header(&answer, "cache-control")),
            (expected, "", "no-store"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_changed_response_has_another_tag() {
    let (service, _) = filled();
    let tag = async || header(&service.call(request("GET", "/get_all_notice")).await, "etag").to_owned();
    let before = tag().await;
    assert_eq!(before, tag().await);
    let draft =
        notice::Draft { title: Some("News".into()), post: Some("Text".into()), ..notice::Draft::default() };
    service.tidings.call(&Caller::Operator, notice::Insert { draft: draft.clone() }).unwrap();
    let again = with(request("GET", "/get_all_notice"), "if-none-match", &before);
    assert_eq!(outcome(&service.call(again).await), "200 success");
    assert_ne!(before, tag().await);
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let (service, paths) = filled();
    let token = service.admin("boss").await;
    let others = ["/get_userinfo", "/check_admin", "/get_log_user/boss/1", "/healthz", "/docs", "/nothing"];
    for path in paths.iter().map(|(path, _)| path.as_str()).chain(others) {
        for of_member in [false, true] {
            let send = async |method| {
                let request = with(request(method, path), "accept-encoding", "gzip");
                let request = if of_member { by(&token, request) } else { request };
                service.call(request).await
            };
            // The first request may change what the log shows.
            send("GET").await;
            let (full, head) = (send("GET").await, send("HEAD").await);
            let mut expected = full.headers().clone();
            expected.insert("content-length", full.body().len().into());
            assert_eq!((head.status(), head.headers()), (full.status(), &expected), "{path}");
            assert!(head.body().is_empty(), "{path}");
        }
    }
    let known = with(request("HEAD", "/get_main_info"), "if-none-match", "*");
    let unchanged = service.call(known).await;
    assert_eq!((unchanged.status().as_u16(), header(&unchanged, "content-length")), (304, ""));
}

#[tokio::test]
async fn head_is_refused_where_get_changes_something() {
    let service = service();
    for route in crate::routes::all(service.tidings.config(), &Config::default()) {
        let path = route.spec.path.replace(['{', '}'], "");
        let answer = service.call(request("HEAD", &path)).await;
        let allow = header(&answer, "allow");
        // Each of the two leaves something: a view, or a record in the audit trail.
        let leaves = ["/get_notice/", "/get_member_data/"].iter().any(|begin| path.starts_with(begin));
        let reads =
            path == "/check_admin" || path.starts_with("/export_") || (path.starts_with("/get_") && !leaves);
        let reads = reads
            || [
                "/",
                "/events",
                "/healthz",
                "/readyz",
                "/openapi.json",
                "/verify_audit",
                "/begin_passkey_sign_in",
            ]
            .contains(&&*path)
            || path.starts_with("/docs")
            || path.starts_with("/account/")
            || path.starts_with("/reports");
        let changes = route.spec.method == Method::Post || !reads;
        assert_eq!(answer.status() == 405, changes, "{path}: {answer:?}");
        assert!(answer.body().is_empty() && !allow.contains("HEAD"), "{path}: {allow}");
    }
}
