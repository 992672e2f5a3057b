//! The headers of responses, and which pages of other origins may read them.

use serde_json::json;
use tidings_tests::{Answer, Caller, PASSWORD, Server};

const PAGE: &str = "https://app.example.org";
const JSON: &str = "application/json";

/// Asserts the headers of an answer with data; `readers` are the origins whose pages may read it.
#[track_caller]
pub(super) fn assert_headers(answer: &Answer, readers: &str) {
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("cross-origin-resource-policy", ""),
        ("access-control-allow-origin", readers),
    ] {
        assert_eq!(answer.header(name), value, "{name}: {answer:?}");
    }
}

fn preflight(caller: &Caller, path: &str, origin: &str) -> Answer {
    let request = caller.request("OPTIONS", path).header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", "POST");
    request.header("Access-Control-Request-Headers", "authorization,content-type").send()
}

#[test]
fn answers_refusals_and_preflights_have_the_headers_and_any_page_may_read_them() {
    let server = Server::start();
    let [anyone, ann] = [server.anyone(), server.member("ann")].map(|one| one.with_header("Origin", PAGE));
    let sign_in = |media_type: &str, body: Vec<u8>| anyone.request("POST", "/sign_in").body(media_type, body);
    let form = |id: &str| json!({ "id": id, "pw": PASSWORD }).to_string().into_bytes();
    for (outcome, answer) in [
        ("200 success", anyone.get("/get_popularity_newsfeed")),
        ("200 success", anyone.get("/healthz")),
        ("200 success", anyone.get("/readyz")),
        ("200 success", ann.get("/get_userinfo")),
        ("200 success", sign_in(JSON, form("ann")).send()),
        ("200 No member", sign_in(JSON, form("bob")).send()),
        ("400 bad request", sign_in(JSON, Vec::new()).send()),
        ("401 bad token", anyone.get("/sign_out_all")),
        ("403 Not admin", ann.get("/get_blacklist")),
        ("404 Not found", anyone.get("/nothing")),
        ("405 method not allowed", anyone.get("/sign_in")),
        ("413 payload too large", sign_in(JSON, vec![b' '; 2 << 20]).send()),
        ("415 unsupported media type", sign_in("text/plain", b"x".to_vec()).send()),
        ("415 unsupported media type", sign_in(JSON, form("ann")).header("Content-Encoding", "gzip").send()),
    ] {
        assert_eq!(answer.outcome(), outcome);
        assert_headers(&answer, "*");
        assert_eq!(answer.header("ratelimit-policy"), "", "without a general limit");
    }
    assert_headers(&anyone.get("/openapi.json"), "*");
    assert_headers(&anyone.get("/docs"), "*");
    for path in ["/sign_in", "/get_userinfo", "/insert_notice", "/remove_notice/x"] {
        let answer = preflight(&server.anyone(), path, PAGE);
        assert!(matches!(answer.status, 200 | 204), "{answer:?}");
        assert_headers(&answer, "*");
        assert_eq!(answer.header("access-control-allow-methods"), "GET,HEAD,POST");
        assert_eq!(answer.header("access-control-allow-headers"), "authorization,content-type");
        assert_eq!((answer.header("access-control-max-age"), answer.header("vary")), ("86400", ""));
    }
}

#[test]
fn only_configured_origins_may_read_responses() {
    let local = "http://localhost:3000";
    let server = Server::with(move |serve| {
        serve.args(["--cors-origin", PAGE, "--cors-origin", local]);
    });
    let anyone = server.anyone();
    for (origin, readers) in [
        (PAGE, PAGE),
        (local, local),
        ("https://evil.example.org", ""),
        ("http://app.example.org", ""),
        ("https://app.example.org.evil.com", ""),
        ("null", ""),
    ] {
        let get = |path: &str| anyone.request("GET", path).header("Origin", origin).send();
        for answer in [get("/get_categories"), get("/nothing"), preflight(&anyone, "/sign_in", origin)] {
            assert_headers(&answer, readers);
            assert!(answer.header("vary").ends_with("origin"), "{answer:?}");
        }
    }
    let answer = anyone.get("/get_categories");
    assert_eq!(answer.outcome(), "200 success", "clients other than browsers are not restricted");
}

#[test]
fn the_api_page_loads_only_its_own_files_cannot_be_framed_and_stores_no_token() {
    let server = Server::with(|serve| {
        serve.args(["--base-path", "/api"]);
    });
    let get = |file: &str| server.anyone().get(&format!("/api/docs/{file}").replace("docs/../", ""));
    for file in ["", "scalar.js", "start.js"] {
        let answer = get(file);
        assert_eq!(answer.status, 200, "{file}");
        let policy = answer.header("content-security-policy");
        for directive in
            ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]
        {
            assert!(policy.split("; ").any(|one| one == directive), "{file}: {policy}");
        }
        assert!(!policy.contains("unsafe-eval") && !policy.contains("http"), "{file}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), value, "{file}");
        }
    }
    let page = String::from_utf8(get("").bytes).unwrap();
    let scripts: Vec<_> = page.split("<script").skip(1).collect();
    assert!(!scripts.is_empty() && scripts.iter().all(|script| script.starts_with(" src=")), "{page}");
    for rest in ["src=\"", "href=\""].iter().flat_map(|attribute| page.split(attribute).skip(1)) {
        let file = rest.split('"').next().unwrap();
        assert!(file.starts_with("data:") || get(file).status == 200, "{file}");
    }
    let settings = String::from_utf8(get("start.js").bytes).unwrap();
    for setting in
        ["url: \"../openapi.json\"", "persistAuth: false", "localStorage.removeItem(\"authorized\")"]
    {
        assert!(settings.contains(setting), "{settings}");
    }
}
