use http::Response;
use tidings_core::account::{Caller, oidc};
use tidings_core::source::websub;

use super::*;
use crate::config::Config;
use crate::testing::{Service, by, header, outcome, post, request, service, with};

#[test]
fn a_condition_is_met_by_each_form_of_the_tag() {
    let tag = br#"W/"12ab""#;
    for line in [r#""12ab""#, "*", " * ", r#""x", W/"12ab""#, r#"W/"a,b",W/"12ab" ,"c""#, r#","12ab","#] {
        assert!(has_tag(line.as_bytes(), tag), "{line}");
    }
    for line in ["", "12ab", r#"W/"12AB""#, r#"w/"12ab""#, r#"W/ "12ab""#, r#""12ab"#, r#""*""#, "*, *"] {
        assert!(!has_tag(line.as_bytes(), tag), "{line}");
    }
    assert!(!has_tag(br#""x,12ab,y", "12ab-gzip""#, tag));
}

const DATA: &str = "public, max-age=0, s-maxage=5, must-revalidate";
const DOCUMENT: &str = "public, max-age=300";
const VARY: &str = "accept-encoding, authorization";
/// Feed readers ask for other formats with `Accept`.
const VARY_FORMATS: &str = "accept, accept-encoding, authorization";

/// Returns a service with a post and a notice, and the paths of public operations, each with its `Cache-Control` and `Vary`.
fn filled() -> (Service, Vec<(String, &'static str, &'static str)>) {
    let service = service();
    let post = format!("/get_post/{}", service.insert_post(1, "news"));
    service.insert_notice("Title", "Text");
    let paths = [
        ("/", DOCUMENT, VARY_FORMATS),
        ("/openapi.json", DOCUMENT, VARY),
        ("/docs/", DOCUMENT, VARY),
        ("/docs/start.js", DOCUMENT, VARY),
        ("/get_popularity_newsfeed", DATA, VARY_FORMATS),
        ("/get_popularity_newsfeed?limit=2", DATA, VARY_FORMATS),
        ("/get_recommendation_newsfeed", DATA, VARY),
        ("/get_newsfeed_of_topic/news", DATA, VARY_FORMATS),
        ("/get_topic_newsfeed/news", DATA, VARY_FORMATS),
        ("/get_all_notice", DATA, VARY_FORMATS),
        ("/get_all_notice?x", DATA, VARY_FORMATS),
        ("/get_main_info", DATA, VARY),
        ("/get_categories", DATA, VARY),
        ("/get_search_realtime", DATA, VARY),
        ("/get_search_bursts", DATA, VARY),
        ("/get_device", DATA, VARY),
        ("/get_everyday_analysis_specific_days/2026/1/1", DATA, VARY),
        (&post, DATA, VARY),
    ];
    let paths = paths.map(|(path, cache_control, vary)| (path.to_owned(), cache_control, vary)).into();
    (service, paths)
}

fn cached(answer: &Response<bytes::Bytes>) -> (u16, &str, &str) {
    (answer.status().as_u16(), header(answer, "etag"), header(answer, "cache-control"))
}

#[tokio::test]
async fn a_guest_who_has_a_public_response_gets_304_with_the_headers_that_caches_need_and_no_body() {
    let (service, paths) = filled();
    for (path, cache_control, vary) in &paths {
        for coding in ["identity", "gzip"] {
            let get = || with(request("GET", path), "accept-encoding", coding);
            let full = service.call(get()).await;
            let tag = header(&full, "etag");
            assert!(tag.starts_with("W/\"") && !full.body().is_empty(), "{path}: {full:?}");
            let shown = (header(&full, "cache-control"), header(&full, "vary"));
            assert_eq!(shown, (*cache_control, *vary), "{path}");
            let mut expected = full.headers().clone();
            let of_content = "content-type content-encoding content-security-policy referrer-policy x-content-type-options \
                              cross-origin-opener-policy cross-origin-resource-policy";
            for name in of_content.split(' ') {
                expected.remove(name);
            }
            for known in [tag, &tag[2..], "*", &format!("\"x\", {tag}")] {
                let unchanged = service.call(with(get(), "if-none-match", known)).await;
                assert_eq!((unchanged.status().as_u16(), unchanged.body().len()), (304, 0), "{path}");
                assert_eq!(*unchanged.headers(), expected, "{path}");
            }
            let other = service.call(with(get(), "if-none-match", "W/\"x\", \"\"")).await;
            assert_eq!((other.status(), other.body()), (full.status(), full.body()), "{path}");
            let lines = with(with(get(), "if-none-match", "\"x\""), "if-none-match", tag);
            assert_eq!(service.call(lines).await.status(), 304, "{path}");
        }
    }
}

#[tokio::test]
async fn a_304_names_the_origin_where_only_certain_origins_may_read() {
    let service = service();
    let [friend, stranger] = ["https://app.example.org", "https://evil.example.org"];
    let narrow = Config { cors_origins: vec![friend.parse().unwrap()], ..Config::default() };
    let for_some = format!("{VARY_FORMATS}, origin");
    for (config, origin, allowed, vary) in [
        (&Config::default(), stranger, "*", VARY_FORMATS),
        (&narrow, friend, friend, &for_some),
        (&narrow, stranger, "", &for_some),
    ] {
        let asked = with(with(request("GET", "/get_all_notice"), "if-none-match", "*"), "origin", origin);
        let answer = service.answer(config, asked).await;
        let headers = (header(&answer, "access-control-allow-origin"), header(&answer, "vary"));
        assert_eq!((answer.status().as_u16(), headers), (304, (allowed, vary)), "{origin}");
    }
}

#[tokio::test]
async fn an_app_that_keeps_a_member_s_information_and_lists_gets_304_until_they_change() {
    let service = service();
    let token = service.member("ann").await;
    for coding in ["identity", "gzip"] {
        for path in ["/get_userinfo", "/get_specific_userinfo/0", "/get_user_lately_search/5"] {
            let get = || by(&token, with(request("GET", path), "accept-encoding", coding));
            let full = service.call(get()).await;
            let (_, tag, cache_control) = cached(&full);
            assert!(tag.starts_with("W/\"") && cache_control == "no-store", "{path}: {full:?}");
            let unchanged = service.call(with(get(), "if-none-match", tag)).await;
            assert_eq!((cached(&unchanged), unchanged.body().len()), ((304, tag, "no-store"), 0), "{path}");
            for _ in 0..2 {
                let log = tidings_core::search::log(&service.tidings, &Caller::token(&token), None, "sea");
                log.wait().unwrap();
            }
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
        for (path, _, vary) in &paths {
            let answer = service.call(by(token, with(request("GET", path), "if-none-match", "*"))).await;
            assert_eq!((cached(&answer), header(&answer, "vary")), ((200, "", "no-store"), *vary), "{path}");
        }
    }
    let get = |path: &str| with(request("GET", path), "if-none-match", "*");
    for (request, expected) in [
        (get("/get_post/1"), "404 Not found"),
        (get("/get_popularity_newsfeed?limit=0"), "400 bad request"),
        (get("/get_userinfo"), "200 not found"),
        (get("/sign_out_all"), "401 bad token"),
        (get("/healthz"), "200 success"),
        (get("/nothing"), "404 Not found"),
        (by(&token, request("GET", "/update_auto_login/1")), "200 success"),
        (post("/sign_in", "application/json", r#"{"id":"ann","pw":"password"}"#), "200 success"),
    ] {
        let path = request.uri().clone();
        let answer = service.call(request).await;
        assert_eq!(outcome(&answer), expected, "{path}");
        assert_eq!((header(&answer, "etag"), header(&answer, "cache-control")), ("", "no-store"), "{path}");
    }
}

#[tokio::test]
async fn head_of_pages_is_answered_and_of_callbacks_refused() {
    let service = service();
    for (path, status) in [
        ("/events", 200),
        ("/account/password", 200),
        ("/reports/days.csv", 200),
        ("/docs/start.js", 200),
        ("/docs", 308),
        (websub::PATH, 405),
        (oidc::PATH, 405),
        (oidc::RETURN_PATH, 405),
    ] {
        let answer = service.call(request("HEAD", &path.replace(['{', '}'], ""))).await;
        assert_eq!((answer.status().as_u16(), answer.body().len()), (status, 0), "{path}");
        assert!(!header(&answer, "allow").contains("HEAD"), "{path}");
    }
    let known = service.call(with(request("HEAD", "/get_main_info"), "if-none-match", "*")).await;
    assert_eq!((known.status().as_u16(), header(&known, "content-length")), (304, ""));
}
