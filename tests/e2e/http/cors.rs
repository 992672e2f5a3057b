//! Pages of other origins may call the service and read its answers.

use serde_json::json;
use tidings_tests::{Answer, Caller, PASSWORD, Server, wait_until};

const PAGE: &str = "https://app.example.org";

fn preflight(caller: &Caller, path: &str, origin: &str) -> Answer {
    let request = caller.request("OPTIONS", path).header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", "POST");
    request.header("Access-Control-Request-Headers", "authorization,content-type").send()
}

/// Returns whether a page of `origin` may read the answer.
fn may_read(answer: &Answer, origin: &str) -> bool {
    ["*", origin].contains(&answer.header("access-control-allow-origin"))
}

#[test]
fn any_origin_is_allowed_by_default_and_may_cache_the_preflight() {
    let server = Server::start();
    for path in ["/sign_in", "/get_userinfo", "/insert_notice", "/remove_notice/x"] {
        let answer = preflight(&server.anyone(), path, PAGE);
        assert!(matches!(answer.status, 200 | 204), "{answer:?}");
        assert!(may_read(&answer, PAGE), "{answer:?}");
        let allowed = |name: &str| answer.header(name).to_ascii_lowercase();
        let (methods, headers) =
            (allowed("access-control-allow-methods"), allowed("access-control-allow-headers"));
        for method in ["get", "head", "post"] {
            assert!(methods.split(',').any(|one| one.trim() == method), "{methods}");
        }
        for header in ["authorization", "content-type"] {
            assert!(headers.split(',').any(|one| one.trim() == header), "{headers}");
        }
        let max_age: u64 = answer.header("access-control-max-age").parse().unwrap();
        assert!(max_age >= 600, "{max_age}");
    }
}

#[test]
fn a_page_reads_answers_and_refusals_alike() {
    let server = Server::start();
    let (ann, anyone) = (server.member("ann"), server.anyone());
    let send = |caller: &Caller, method: &str, path: &str, body: Option<(&str, Vec<u8>)>| {
        let mut request = caller.request(method, path).header("Origin", PAGE);
        if let Some((content_type, body)) = body {
            request = request.body(content_type, body);
        }
        request.send()
    };
    let json = |body: serde_json::Value| Some(("application/json", body.to_string().into_bytes()));
    let answers = [
        ("200 success", send(&ann, "GET", "/get_userinfo", None)),
        ("200 success", send(&anyone, "POST", "/sign_in", json(json!({ "id": "ann", "pw": PASSWORD })))),
        ("200 No member", send(&anyone, "POST", "/sign_in", json(json!({ "id": "bob", "pw": PASSWORD })))),
        ("400 bad request", send(&anyone, "POST", "/sign_in", None)),
        ("401 bad token", send(&anyone, "GET", "/sign_out_all", None)),
        ("403 Not admin", send(&ann, "GET", "/get_blacklist", None)),
        ("404 Not found", send(&anyone, "GET", "/nothing", None)),
        ("405 method not allowed", send(&anyone, "GET", "/sign_in", None)),
        (
            "413 payload too large",
            send(&anyone, "POST", "/sign_in", Some(("application/json", vec![b' '; 2 << 20]))),
        ),
        (
            "415 unsupported media type",
            send(&anyone, "POST", "/sign_in", Some(("text/plain", b"x".to_vec()))),
        ),
    ];
    for (outcome, answer) in answers {
        assert_eq!(answer.outcome(), outcome);
        assert!(may_read(&answer, PAGE), "{answer:?}");
    }
    let limited = Server::with(|serve| {
        serve.args(["--rate-limit", "1"]);
    });
    wait_until("the limit is reached", || {
        let answer = send(&limited.anyone(), "GET", "/get_categories", None);
        assert!(may_read(&answer, PAGE), "{answer:?}");
        answer.outcome() == "429 too many requests"
    });
}

#[test]
fn only_configured_origins_may_read_responses() {
    let server = Server::with(|serve| {
        serve.args(["--cors-origin", PAGE, "--cors-origin", "http://localhost:3000"]);
    });
    let anyone = server.anyone();
    let get = |origin: &str, path: &str| anyone.request("GET", path).header("Origin", origin).send();
    for origin in [PAGE, "http://localhost:3000"] {
        for answer in
            [get(origin, "/get_categories"), get(origin, "/nothing"), preflight(&anyone, "/sign_in", origin)]
        {
            assert_eq!(answer.header("access-control-allow-origin"), origin);
            let vary: Vec<_> =
                answer.headers.get_all("vary").iter().map(|one| one.to_str().unwrap()).collect();
            assert!(vary.join(",").to_ascii_lowercase().contains("origin"), "{answer:?}");
        }
    }
    let others =
        ["https://evil.example.org", "http://app.example.org", "https://app.example.org.evil.com", "null"];
    for origin in others {
        for answer in
            [get(origin, "/get_categories"), get(origin, "/nothing"), preflight(&anyone, "/sign_in", origin)]
        {
            assert!(!may_read(&answer, origin), "{origin}: {answer:?}");
        }
    }
    assert_eq!(
        anyone.get("/get_categories").outcome(),
        "200 success",
        "clients other than browsers are not restricted"
    );
}

#[test]
fn options_without_a_preflight_is_a_method_like_any_other() {
    let server = Server::start();
    let answer = server.anyone().request("OPTIONS", "/sign_in").send();
    assert_eq!((answer.outcome().as_str(), answer.header("allow")), ("405 method not allowed", "POST"));
}

#[test]
fn an_invalid_origin_is_refused_at_startup() {
    for wrong in ["app.example.org", "https://app.example.org/page", "*", ""] {
        let mut serve = tidings_tests::command();
        let directory = tempfile::tempdir().unwrap();
        serve.current_dir(directory.path()).args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--cors-origin",
            wrong,
        ]);
        let output = tidings_tests::run(serve, "");
        assert_eq!(output.status, 2, "{wrong:?}: {output:?}");
    }
}

#[test]
fn the_default_port_of_an_origin_is_left_out_as_browsers_do() {
    let server = Server::with(|serve| {
        serve.args(["--cors-origin", "https://app.example:443", "--cors-origin", "http://app.example:80/"]);
    });
    for (origin, allowed) in [
        ("https://app.example", "https://app.example"),
        ("http://app.example", "http://app.example"),
        ("https://app.example:8443", ""),
    ] {
        let answer = server.anyone().with_header("Origin", origin).get("/get_all_notice");
        assert_eq!(answer.header("access-control-allow-origin"), allowed, "{origin}");
    }
}
