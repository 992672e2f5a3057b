//! Rules for all operations over HTTP: paths, methods, bodies and headers.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, LINES, OPERATIONS, Operation, PASSWORD, Server, sample, wait_until};

mod caching;
mod coding;
mod cors;
mod docs;
mod head;
mod headers;
mod limits;
mod shares;
mod shutdown;
mod targets;
mod unread;

/// Returns a path that reaches the operation; its ids match no record.
fn path(operation: &Operation) -> String {
    operation.path_with(|_| "1".into())
}

#[test]
fn an_unknown_path_is_not_found_whatever_the_method() {
    let server = Server::start();
    let unknown = [
        "/nothing",
        "/sign_up/",
        "//sign_up",
        "/Sign_up",
        "/SIGN_UP",
        "/sign_up/x",
        "/get_notice",
        "/get_notice/",
        "/get_notice/a/b",
        "/priority_search",
        "/sign%5Fup/x",
        "/../sign_up",
        "/metrics",
        "/.env",
        "/%00",
        "/%FF",
    ];
    for unknown in unknown {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let answer = server.anyone().request(method, unknown).send();
            assert_eq!(answer.outcome(), "404 Not found", "{method} {unknown}");
            assert_eq!(answer.header("content-type"), "application/json; charset=utf-8");
            assert_eq!(answer.header("allow"), "");
        }
    }
}

#[test]
fn a_known_path_with_another_method_is_405_with_an_allow_header() {
    let server = Server::start();
    for operation in OPERATIONS.iter() {
        let same_path = OPERATIONS.iter().filter(|other| other.path == operation.path);
        let head = same_path.clone().filter(|other| other.only_reads).map(|_| "HEAD");
        // The way of a browser to the issuer is no operation.
        let browsers = (operation.path == "/sign_in_oidc").then_some("GET");
        let allowed: BTreeSet<_> =
            same_path.clone().map(|other| other.method).chain(head).chain(browsers).collect();
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"];
        for method in methods.into_iter().filter(|method| !allowed.contains(method)) {
            let answer = server.anyone().request(method, &path(operation)).send();
            assert_eq!(answer.outcome(), "405 method not allowed", "{method} {}", operation.path);
            let outcome: BTreeSet<_> = answer.header("allow").split(", ").collect();
            assert_eq!(outcome, allowed, "{method} {}", operation.path);
        }
    }
}

#[test]
fn the_method_is_checked_before_token_and_body() {
    let server = Server::start();
    let answer = server.anyone().request("PUT", "/insert_notice").body("text/plain", "x").send();
    assert_eq!(answer.outcome(), "405 method not allowed");
    let answer = server.anyone().with_token("x", "a.b.c").get("/update_main_info");
    assert_eq!(answer.outcome(), "405 method not allowed");
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

/// Returns the fields of a JSON body as a form has them, with lists as a repeated key or with commas.
fn as_form(body: &Value, commas: bool) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for (name, value) in body.as_object().unwrap() {
        match value {
            Value::String(text) => fields.push((name.clone(), text.clone())),
            Value::Array(list) => {
                let list: Vec<_> = list.iter().map(|one| one.as_str().unwrap().to_owned()).collect();
                let list = if commas { vec![list.join(",")] } else { list };
                fields.extend(list.into_iter().map(|one| (name.clone(), one)));
            }
            other => fields.push((name.clone(), other.to_string())),
        }
    }
    fields
}

fn send_form(caller: &Caller, path: &str, fields: &[(String, String)]) -> Answer {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    caller.form(path, &fields)
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
    let mut n = 0;
    let by_form = |operation: &&Operation| operation.takes_a_form();
    for operation in OPERATIONS.iter().filter(by_form) {
        let path = operation.path_with(|name| match name {
            "notice_obi" => notice.clone(),
            "post_obi" => post.clone(),
            "source_obi" => source.clone(),
            "user_id" => "signer".into(),
            _ => "10".into(),
        });
        for commas in [false, true] {
            n += 1;
            let answer = send_form(&caller, &path, &as_form(&operation.body_with(n).unwrap(), commas));
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
}

#[test]
fn a_form_is_read_like_json() {
    let server = Server::start();
    let admin = server.admin();
    let mut post = sample::post("A & B + C: 대학 100%");
    post["topic"] = json!(["news", "학사 공지"]);
    post["tag"] = json!(["x", "y"]);
    let read = |id: &str| {
        let mut post = server.anyone().get(&format!("/get_post/{id}")).succeeded().body["post"].take();
        for varies in ["_id", "url", "date"] {
            post[varies].take();
        }
        post
    };
    let by_json = read(&admin.post("/insert_post", post.clone()).succeeded().text("/_id"));
    assert_eq!(by_json["topic"], json!(["news", "학사 공지"]));
    for commas in [false, true] {
        post["url"] = json!(format!("https://news.example.org/form/{commas}"));
        let id = send_form(&admin, "/insert_post", &as_form(&post, commas)).succeeded().text("/_id");
        assert_eq!(read(&id), by_json);
    }
    let hidden = [("title", "Hidden"), ("post", "x"), ("activation", "0"), ("more[deep][]", "ignored")];
    let _ = admin.form("/insert_notice", &hidden).succeeded();
    assert_eq!(server.anyone().get("/get_all_notice").list("notice_list").len(), 0);
    assert_eq!(admin.get("/get_all_notice").column("notice_list", "activation"), ["0"]);
    for wrong in ["", "x", "2", "0x0", " 0"] {
        let fields = [("title", "x"), ("post", "x"), ("activation", wrong)];
        assert_eq!(admin.form("/insert_notice", &fields).outcome(), "400 bad request", "{wrong:?}");
    }
}

#[test]
fn content_types_are_recognised_in_any_case_and_with_parameters() {
    let server = Server::start();
    let _ = server.member("ann");
    let (json, form) = (json!({ "id": "ann", "pw": PASSWORD }).to_string(), "id=ann&pw=correct+horse");
    let sign_in = |content_type: &str, body: &str| {
        server.anyone().request("POST", "/sign_in").body(content_type, body).send().outcome()
    };
    for json_type in ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"]
    {
        assert_eq!(sign_in(json_type, &json), "200 success", "{json_type}");
    }
    for form_type in [
        "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded; charset=UTF-8",
        "APPLICATION/X-WWW-FORM-URLENCODED;charset=utf-8",
    ] {
        assert_eq!(sign_in(form_type, form), "200 success", "{form_type}");
    }
    for other in
        ["text/plain", "text/html", "application/xml", "multipart/form-data; boundary=x", "json", "*/*"]
    {
        assert_eq!(sign_in(other, &json), "415 unsupported media type", "{other}");
    }
    let anyone = server.anyone();
    let gzip = anyone.request("POST", "/sign_in").header("Content-Encoding", "gzip");
    let gzip = gzip.body("application/json", json);
    assert_eq!(gzip.send().outcome(), "415 unsupported media type");
}

#[test]
fn everything_is_served_under_the_base_path_and_nothing_outside_it() {
    for base in ["/api", "/api/"] {
        let server = Server::with(move |serve| {
            serve.args(["--base-path", base]);
        });
        let form = json!({ "id": "ann", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "Ann" });
        let anyone = server.anyone();
        assert_eq!(anyone.post("/sign_up", form.clone()).outcome(), "404 Not found");
        let token = anyone.post("/api/sign_up", form).succeeded().text("/access_token");
        let ann = anyone.with_token("ann", token);
        assert_eq!(ann.get("/api/get_userinfo").outcome(), "200 success");
        for path in ["/api/healthz", "/api/readyz", "/api/get_popularity_newsfeed"] {
            assert_eq!(anyone.get(path).outcome(), "200 success", "{path}");
        }
        assert_eq!(anyone.get("/api/openapi.json").status, 200);
        assert_eq!(anyone.get("/api/").header("content-type"), "text/html; charset=utf-8");
        for path in
            ["/", "/healthz", "/api", "/apihealthz", "/API/healthz", "/api/api/healthz", "/openapi.json"]
        {
            assert_eq!(anyone.get(path).outcome(), "404 Not found", "{path}");
        }
        assert_eq!(anyone.request("PUT", "/api/sign_up").send().header("allow"), "POST");
    }
}

#[test]
fn the_rate_limit_bounds_a_clients_requests_per_second() {
    let server = Server::with(|serve| {
        serve.args(["--rate-limit", "3", "--trust-proxy", "127.0.0.1"]);
    });
    let from = |address: &str| server.caller_at(address);
    let (here, there) = (from("203.0.113.7"), from("203.0.113.8"));
    let mut done = 0;
    wait_until("the limit is reached", || {
        let answer = here.get("/get_all_notice");
        if answer.status == 200 {
            done += 1;
            return false;
        }
        assert_eq!(answer.outcome(), "429 too many requests");
        assert_eq!(answer.header("retry-after"), "1");
        assert_eq!(answer.header("ratelimit"), "\"default\";r=0;t=1");
        true
    });
    assert!(done >= 3, "{done}");
    let answer = there.request("GET", "/get_all_notice").header("Origin", "https://app.example.org").send();
    assert_eq!(answer.outcome(), "200 success");
    assert_eq!(answer.header("ratelimit-policy"), "\"default\";q=3;w=1");
    assert_eq!(answer.header("ratelimit"), "\"default\";r=2;t=1");
    let exposed = answer.header("access-control-expose-headers");
    assert!(exposed.contains("ratelimit,ratelimit-policy"), "{exposed}");
    let unknown = there.get("/nothing");
    assert_eq!((unknown.status, unknown.header("ratelimit")), (404, "\"default\";r=1;t=1"));
    assert_eq!(here.get("/healthz").header("ratelimit"), "");
    assert_eq!(here.get("/healthz").outcome(), "200 success");
    wait_until("the next second has begun", || here.get("/get_all_notice").status == 200);
    let without = Server::start();
    for _ in 0..50 {
        let answer = without.anyone().get("/get_all_notice").succeeded();
        assert_eq!(answer.header("ratelimit-policy"), "");
    }
}
