//! Rules for all operations over HTTP: paths, methods, bodies and headers.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use tidings_tests::{LINES, OPERATIONS, Operation, PASSWORD, Server, sample, wait_until};

mod caching;
mod coding;
mod head;
mod headers;
mod limits;
mod shares;
mod shutdown;
mod targets;

/// Returns a path that reaches the operation; its ids match no record.
fn path(operation: &Operation) -> String {
    operation.path_with(|_| "1".into())
}

/// Sends requests on a new HTTP/2 connection, each a block of header fields, and returns the bodies of the responses.
fn http2(server: &Server, requests: &[&[u8]]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let frame = |kind: u8, flags: u8, stream: usize, payload: &[u8]| {
        let [length, stream] = [payload.len(), stream].map(|n| u8::try_from(n).unwrap());
        [&[0, 0, length, kind, flags, 0, 0, 0, stream][..], payload].concat()
    };
    let mut bytes = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, &[])].concat();
    for (n, request) in requests.iter().enumerate() {
        bytes.extend(frame(1, 5, 2 * n + 1, request));
    }
    stream.write_all(&bytes).unwrap();
    let (mut ended, mut bodies) = (0, Vec::new());
    while ended < requests.len() {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).unwrap();
        if head[3] == 0 {
            bodies.extend(payload);
            ended += usize::from(head[4] & 1);
        }
    }
    bodies
}

#[test]
fn a_known_path_with_another_method_is_405_whatever_token_and_body_with_an_allow_header() {
    let server = Server::start();
    let anyone = server.anyone().with_token("x", "a.b.c");
    for unknown in ["/sign_up/", "//sign_up", "/Sign_up", "/get_notice/a/b", "/../sign_up", "/%00", "/%FF"] {
        for method in ["GET", "POST", "PUT"] {
            let answer = anyone.request(method, unknown).send();
            assert_eq!(
                (&*answer.outcome(), answer.header("allow")),
                ("404 Not found", ""),
                "{method} {unknown}"
            );
        }
    }
    for operation in OPERATIONS.iter() {
        let same_path = OPERATIONS.iter().filter(|other| other.path == operation.path);
        let head = same_path.clone().filter(|other| other.only_reads).map(|_| "HEAD");
        // The way of a browser to the issuer is no operation.
        let browsers = (operation.path == "/sign_in_oidc").then_some("GET");
        let allowed: BTreeSet<_> =
            same_path.clone().map(|other| other.method).chain(head).chain(browsers).collect();
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"];
        for method in methods.into_iter().filter(|method| !allowed.contains(method)) {
            let request = anyone.request(method, &path(operation));
            let answer = if method == "PUT" { request.body("text/plain", "x") } else { request }.send();
            assert_eq!(answer.outcome(), "405 method not allowed", "{method} {}", operation.path);
            let outcome: BTreeSet<_> = answer.header("allow").split(", ").collect();
            assert_eq!(outcome, allowed, "{method} {}", operation.path);
        }
    }
}

#[test]
fn every_response_is_json_and_personal_or_changing_ones_are_not_cached() {
    let server = Server::start();
    let admin = server.admin();
    let cacheable = [
        "/get_all_notice",
        "/get_notices",
        "/get_main_info",
        "/get_post/{post_obi}",
        "/get_categories",
        "/get_posts",
        "/get_popularity_newsfeed",
        "/get_topic_newsfeed/{newsfeed_name}",
        "/get_newsfeed_of_topic/{category_name}",
        "/get_recommendation_newsfeed",
        "/get_search_realtime",
        "/get_search_bursts",
        "/get_analysis",
        "/get_everyday_analysis_days_ago/{days}",
        "/get_everyday_analysis_specific_days/{year}/{month}/{day}",
        "/get_device",
        "/get_report",
    ];
    for operation in OPERATIONS.iter().filter(|operation| operation.method == "GET") {
        for caller in [&server.anyone(), &admin] {
            let answer = caller.get(&path(operation));
            assert!(!answer.result().is_empty(), "{answer:?}");
            let is_download = operation.path.starts_with("/export_") && answer.status == 200;
            let media_type = if is_download { LINES } else { "application/json; charset=utf-8" };
            assert_eq!(answer.header("content-type"), media_type, "{}", operation.path);
            let may_be_cached = cacheable.contains(&operation.path) && caller.id().is_empty();
            if !may_be_cached {
                assert_eq!(
                    answer.header("cache-control"),
                    "no-store",
                    "{} by {:?}",
                    operation.path,
                    caller.id()
                );
            }
        }
    }
}

/// Returns the fields of a JSON body as a form has them.
fn as_form(body: &Value) -> Vec<(&str, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    let field = |value: &Value| match value {
        Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join(","),
        value => text(value),
    };
    body.as_object().unwrap().iter().map(|(name, value)| (name.as_str(), field(value))).collect()
}

#[test]
fn every_operation_with_a_body_takes_it_as_a_form_too() {
    let server = Server::with(|serve| {
        serve.args(["--sign-in-slowing", "off"]);
        serve.args(["--smtp-url", "smtp+plain://127.0.0.1:9", "--mail-from", "no-reply@campus.example"]);
        serve.args(["--passkey-domain", "app.example"]);
    });
    let admin = server.admin();
    let _ = server.member("signer");
    let _ = server
        .cli_with_input(["roster", "import", "-"], "id,name,major,password\ns2026001,Kim,Physics,secret\n");
    let notice = admin.post("/insert_notice", sample::notice("Notice")).succeeded().text("/_id");
    let post = admin.post("/insert_post", sample::post("Post")).succeeded().text("/_id");
    let source = json!({ "url": "https://source.invalid/feed" });
    let source = admin.post("/add_source", source).succeeded().text("/_id");
    let mut caller = admin;
    let by_form = |operation: &&Operation| operation.takes_a_form();
    for (n, operation) in (1..).zip(OPERATIONS.iter().filter(by_form)) {
        let path = operation.path_with(|name| match name {
            "notice_obi" => notice.clone(),
            "post_obi" => post.clone(),
            "source_obi" => source.clone(),
            "user_id" => "signer".into(),
            _ => "10".into(),
        });
        let body = operation.body_with(n).unwrap();
        let fields = as_form(&body);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = caller.form(&path, &fields);
        // Codes of an authenticator cannot be written into the table.
        let expected = match operation.path {
            "/enable_otp" => "200 incorrect otp",
            "/reset_pw" | "/confirm_email" | "/sign_up_invited" | "/sign_in_oidc" | "/link_oidc"
            | "/add_passkey" | "/sign_in_passkey" => "200 incorrect code",
            "/disable_otp" | "/renew_recovery_codes" => "400 bad request",
            _ => "200 success",
        };
        assert_eq!(answer.outcome(), expected, "{}", operation.name());
        if operation.path == "/change_pw" {
            caller = caller.with_token("admin", answer.text("/access_token"));
        }
    }
}

#[test]
fn everything_is_served_under_the_base_path_and_nothing_outside_it() {
    let server = Server::with(|serve| {
        serve.args(["--base-path", "/api"]);
    });
    let form = json!({ "id": "ann", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "Ann" });
    let anyone = server.anyone();
    assert_eq!(anyone.post("/sign_up", form.clone()).outcome(), "404 Not found");
    let token = anyone.post("/api/sign_up", form).succeeded().text("/access_token");
    let ann = anyone.with_token("ann", token);
    assert_eq!(ann.get("/api/get_userinfo").outcome(), "200 success");
    for path in ["/api/healthz", "/api/readyz", "/api/get_popularity_newsfeed", "/%61pi/get_all_notice"] {
        assert_eq!(anyone.get(path).outcome(), "200 success", "{path}");
    }
    assert_eq!(anyone.get("/api/openapi.json").body["servers"][0]["url"], "/api");
    assert_eq!(anyone.get("/api/").header("content-type"), "text/html; charset=utf-8");
    for path in ["/", "/healthz", "/api", "/apihealthz", "/API/healthz", "/api/api/healthz", "/openapi.json"]
    {
        assert_eq!(anyone.get(path).outcome(), "404 Not found", "{path}");
    }
    assert_eq!(anyone.request("PUT", "/api/sign_up").send().header("allow"), "POST");
}

#[test]
fn the_rate_limit_bounds_a_clients_requests_per_second() {
    let server = Server::with(|serve| {
        serve.args(["--rate-limit", "3", "--trust-proxy", "127.0.0.1"]);
    });
    let (here, there) = (server.caller_at("203.0.113.7"), server.caller_at("203.0.113.8"));
    let mut done = 0;
    wait_until("the limit is reached", || {
        let answer = here.get("/get_all_notice");
        if answer.status == 200 {
            done += 1;
            return false;
        }
        assert_eq!(answer.outcome(), "429 too many requests");
        headers::assert_headers(&answer, "*");
        assert_eq!((answer.header("retry-after"), answer.header("ratelimit")), ("1", "\"default\";r=0;t=1"));
        true
    });
    assert!(done >= 3, "{done}");
    let answer = there.get("/get_all_notice").succeeded();
    assert_eq!(answer.header("ratelimit-policy"), "\"default\";q=3;w=1");
    assert_eq!(answer.header("ratelimit"), "\"default\";r=2;t=1");
    let exposed = answer.header("access-control-expose-headers");
    assert!(exposed.contains("ratelimit,ratelimit-policy"), "{exposed}");
    let unknown = there.get("/nothing");
    assert_eq!((unknown.status, unknown.header("ratelimit")), (404, "\"default\";r=1;t=1"));
    let health = here.get("/healthz").succeeded();
    assert_eq!(health.header("ratelimit"), "");
    wait_until("the next second has begun", || here.get("/get_all_notice").status == 200);
}
