//! The headers of every answer, and those for caches.

use serde_json::json;
use tidings_tests::{Answer, Caller, PASSWORD, Server, sample, wait_until};

const DATA: &str = "default-src 'none'; frame-ancestors 'none'";

/// Asserts the headers of an answer with data, which include a content security policy.
fn assert_headers(answer: &Answer) {
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{answer:?}");
    assert_eq!(answer.header("referrer-policy"), "no-referrer", "{answer:?}");
    assert_eq!(answer.header("content-security-policy"), DATA, "{answer:?}");
    assert_eq!(
        answer.header("cross-origin-resource-policy"),
        "",
        "pages of any origin may read it: {answer:?}"
    );
}

#[test]
fn answers_and_refusals_of_every_kind_have_the_headers() {
    let server = Server::start();
    let (anyone, ann) = (server.anyone(), server.member("ann"));
    let sign_in =
        |body: Vec<u8>, media_type: &str| anyone.request("POST", "/sign_in").body(media_type, body).send();
    for (outcome, answer) in [
        ("200 success", anyone.get("/get_popularity_newsfeed")),
        ("200 success", anyone.get("/healthz")),
        ("200 success", ann.get("/get_userinfo")),
        ("200 No member", anyone.post("/sign_in", json!({ "id": "bob", "pw": PASSWORD }))),
        ("400 bad request", sign_in(Vec::new(), "application/json")),
        ("401 bad token", anyone.get("/sign_out_all")),
        ("403 Not admin", ann.get("/get_blacklist")),
        ("404 Not found", anyone.get("/nothing")),
        ("405 method not allowed", anyone.get("/sign_in")),
        ("405 method not allowed", anyone.request("OPTIONS", "/sign_in").send()),
        ("413 payload too large", sign_in(vec![b' '; 2 << 20], "application/json")),
        ("415 unsupported media type", sign_in(b"x".to_vec(), "text/plain")),
    ] {
        assert_eq!(answer.outcome(), outcome);
        assert_headers(&answer);
    }
    assert_headers(&anyone.get("/openapi.json"));
    assert_headers(&anyone.get("/docs"));
    let limited = Server::with(|serve| {
        serve.args(["--rate-limit", "1"]);
    });
    wait_until("the limit is reached", || {
        let answer = limited.anyone().get("/get_categories");
        assert_headers(&answer);
        answer.outcome() == "429 too many requests"
    });
}

fn preflight(caller: &Caller) -> Answer {
    let request = caller.request("OPTIONS", "/sign_in").header("Origin", "https://app.example.org");
    request.header("Access-Control-Request-Method", "POST").send()
}

#[test]
fn preflights_have_the_headers_too() {
    let answer = preflight(&Server::start().anyone());
    assert_headers(&answer);
    assert_eq!(answer.header("vary"), "");
    let server = Server::with(|serve| {
        serve.args(["--cors-origin", "https://app.example.org"]);
    });
    let answer = preflight(&server.anyone());
    assert_headers(&answer);
    assert_eq!(answer.header("vary"), "origin");
}

#[test]
fn cacheable_responses_vary_with_the_token() {
    for (origins, vary) in [
        ([].as_slice(), "accept-encoding, authorization"),
        (&["--cors-origin", "https://app.example.org"], "accept-encoding, authorization, origin"),
    ] {
        let server = Server::with(move |serve| {
            serve.args(origins);
        });
        let (anyone, ann, admin) = (server.anyone(), server.member("ann"), server.admin());
        let id = admin.post("/insert_post", sample::post("Post")).text("/_id");
        // Feed readers ask for other formats with `Accept`.
        let with_formats = format!("accept, {vary}");
        for (path, vary) in [
            ("/", &*with_formats),
            ("/get_recommendation_newsfeed", vary),
            ("/get_popularity_newsfeed", &with_formats),
            ("/get_newsfeed_of_topic/nothing", &with_formats),
            ("/get_all_notice", &with_formats),
            ("/get_categories", vary),
            ("/get_analysis", vary),
            ("/get_search_realtime", vary),
            ("/get_report", vary),
            ("/reports", vary),
            ("/reports/days.csv", vary),
            ("/openapi.json", vary),
            (&format!("/get_post/{id}"), vary),
        ] {
            let public = match path {
                "/" | "/openapi.json" => "public, max-age=300",
                _ => "public, max-age=0, s-maxage=5, must-revalidate",
            };
            for (caller, cache_control) in [(&anyone, public), (&ann, "no-store")] {
                for coding in ["gzip", "identity"] {
                    let answer = caller.request("GET", path).header("Accept-Encoding", coding).send();
                    let lines: Vec<_> = answer.headers.get_all("vary").iter().collect();
                    assert_eq!(lines, [vary], "{path}");
                    assert_eq!(answer.header("cache-control"), cache_control, "{path}");
                }
            }
        }
    }
}

#[test]
fn the_api_page_runs_no_foreign_script_cannot_be_framed_and_stores_no_token() {
    let anyone = Server::start();
    let anyone = anyone.anyone();
    for file in ["", "scalar.js", "start.js"] {
        let answer = anyone.get(&format!("/docs/{file}"));
        assert_eq!(answer.status, 200, "{file}");
        let policy = answer.header("content-security-policy");
        for directive in
            ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]
        {
            assert!(policy.split("; ").any(|one| one == directive), "{file}: {policy}");
        }
        assert!(!policy.contains("unsafe-eval") && !policy.contains("http"), "{file}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
    }
    let page = String::from_utf8(anyone.get("/docs/").bytes).unwrap();
    let scripts: Vec<_> = page.split("<script").skip(1).collect();
    assert!(!scripts.is_empty() && scripts.iter().all(|script| script.starts_with(" src=")), "{page}");
    let settings = String::from_utf8(anyone.get("/docs/start.js").bytes).unwrap();
    for setting in
        ["url: \"../openapi.json\"", "persistAuth: false", "localStorage.removeItem(\"authorized\")"]
    {
        assert!(settings.contains(setting), "{settings}");
    }
}
