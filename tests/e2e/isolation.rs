//! Clients do not affect each other: fair queues, and limits per client.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tidings_tests::{Answer, Caller, PASSWORD, Server};

const FLOOD: usize = 12;

fn sign_up(caller: &Caller, id: &str) -> Answer {
    caller.post("/sign_up", json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id }))
}

fn sign_in(caller: &Caller, id: &str, pw: &str) -> Answer {
    caller.post("/sign_in", json!({ "id": id, "pw": pw }))
}

/// Asserts that the request was refused by a limit, with a `Retry-After` of at most 61 seconds.
#[track_caller]
fn assert_too_many(answer: &Answer) {
    assert_eq!(answer.outcome(), "429 too many requests");
    let wait: u64 = answer.header("retry-after").parse().unwrap();
    assert!((1..=61).contains(&wait), "{wait}");
}

/// Runs `work` while many connections repeat `flood`; starts it once the server has refused a flood request.
fn during(flood: impl Fn(usize, usize) -> Answer + Sync, work: impl FnOnce()) {
    let (ended, refused) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|threads| {
        for client in 0..FLOOD {
            let (flood, ended, refused) = (&flood, &ended, &refused);
            threads.spawn(move || {
                for n in 0.. {
                    if ended.load(Ordering::Relaxed) {
                        break;
                    }
                    if flood(client, n).status == 503 {
                        refused.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
        while !refused.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        work();
        ended.store(true, Ordering::Relaxed);
    });
}

#[test]
fn sign_ins_of_others_succeed_while_one_network_floods_sign_ups() {
    let server = Server::behind_a_proxy(&["--hash-queue", "2", "--sign-up-limit", "off"]);
    let _ = server.member("ann");
    let flooder = |client: usize| server.caller_at(&format!("203.0.113.{client}"));
    let flood = |client: usize, n: usize| sign_up(&flooder(client), &format!("flood-{client}-{n}"));
    during(flood, || {
        for n in 0..8 {
            let answer = sign_in(&server.caller_at(&format!("198.51.{n}.1")), "ann", PASSWORD);
            assert_eq!(answer.outcome(), "200 success");
        }
    });
}

#[test]
fn sign_ins_of_others_succeed_while_one_network_floods_failing_sign_ins() {
    let server = Server::behind_a_proxy(&["--hash-queue", "2", "--sign-in-slowing", "off"]);
    let _ = server.member("ann");
    let flooder = |client: usize| server.caller_at(&format!("2001:db8:1:{client}::1"));
    let flood = |client: usize, n: usize| sign_in(&flooder(client), &format!("nobody-{n}"), PASSWORD);
    during(flood, || {
        for n in 0..8 {
            let answer = sign_in(&server.caller_at(&format!("2001:db8:2:{n}::1")), "ann", PASSWORD);
            assert_eq!(answer.outcome(), "200 success");
        }
        assert_eq!(sign_up(&server.caller_at("198.51.100.1"), "bob").outcome(), "200 success");
    });
}

#[test]
fn the_sign_up_limit_counts_each_client_separately() {
    let server = Server::behind_a_proxy(&["--sign-up-limit", "1", "--sign-up-burst", "2"]);
    let here = server.caller_at("203.0.113.7");
    assert_eq!(sign_up(&here, "ann").outcome(), "200 success");
    assert_eq!(sign_up(&here, "ann").outcome(), "200 already id");
    assert_too_many(&sign_up(&here, "bob"));
    assert_eq!(sign_up(&server.caller_at("203.0.113.8"), "bob").outcome(), "200 success");
    assert_eq!(sign_in(&here, "ann", PASSWORD).outcome(), "200 success");

    let without = Server::with(|serve| {
        serve.args(["--sign-up-limit", "0", "--sign-up-burst", "1"]);
    });
    for id in ["ann", "bob", "cat"] {
        assert_eq!(sign_up(&without.anyone(), id).outcome(), "200 success");
    }
}

#[test]
fn the_search_limit_covers_every_kind_of_search() {
    let server = Server::behind_a_proxy(&["--search-limit", "4", "--guest-write-limit", "off"]);
    let ann = server.member("ann").with_header("X-Forwarded-For", "203.0.113.7");
    let search = json!({ "search": "rust" });
    for path in ["/priority_search/1", "/category_search/a/1", "/domain_search", "/get_similarity_words"] {
        assert_eq!(ann.post(path, search.clone()).outcome(), "200 success", "{path}");
    }
    for path in ["/priority_search/1", "/category_search/a/1", "/domain_search", "/get_similarity_words"] {
        assert_too_many(&ann.post(path, search.clone()));
    }
    assert_eq!(ann.post("/search_logging", search.clone()).outcome(), "200 success");
    assert_eq!(server.caller_at("203.0.113.8").post("/domain_search", search).outcome(), "200 success");
}

#[test]
fn the_guest_write_limit_counts_only_requests_without_a_token() {
    let server = Server::behind_a_proxy(&["--guest-write-limit", "3"]);
    let here = server.caller_at("203.0.113.7");
    let ann = server.member("ann").with_header("X-Forwarded-For", "203.0.113.7");
    let forged = here.with_token("ann", "a.b.c");
    assert_eq!(here.get("/insert_device/pc").outcome(), "200 success");
    assert_eq!(here.get("/post_view/0123456789abcdef01234567").outcome(), "404 Not found");
    assert_eq!(forged.post("/search_logging", json!({ "search": "rust" })).outcome(), "200 success");
    assert_too_many(&here.get("/insert_device/pc"));
    assert_too_many(&forged.get("/post_like/0123456789abcdef01234567"));
    assert_eq!(here.get("/get_device").outcome(), "200 success", "reads do not count");
    assert_eq!(ann.get("/insert_device/pc").outcome(), "200 success");
    assert_eq!(server.caller_at("203.0.113.8").get("/insert_device/pc").outcome(), "200 success");
}

#[test]
fn a_revoked_token_counts_as_none_for_the_guest_write_limit() {
    let server = Server::behind_a_proxy(&["--guest-write-limit", "3"]);
    for (number, ask) in [
        |caller: &Caller| caller.get("/insert_device/pc"),
        |caller: &Caller| caller.get("/post_view/0123456789abcdef01234567"),
        |caller: &Caller| caller.post("/search_logging", json!({ "search": "rust" })),
        |caller: &Caller| caller.get("/post_like/0123456789abcdef01234567"),
        |caller: &Caller| caller.post("/send_feedback", json!({ "post": "text" })),
    ]
    .into_iter()
    .enumerate()
    {
        let address = format!("203.0.113.{number}");
        let ann = server.member(&format!("ann{number}")).with_header("X-Forwarded-For", &address);
        for _ in 0..5 {
            assert_ne!(ask(&ann).status, 429, "a member is not limited");
        }
        assert_eq!(ann.get("/sign_out_all").outcome(), "200 success");
        for _ in 0..3 {
            assert_ne!(ask(&ann).status, 429);
        }
        assert_too_many(&ask(&ann));
        assert_too_many(&server.caller_at(&address).get("/insert_device/pc"));
    }
}

#[test]
fn feedback_is_limited_for_each_member_and_each_address() {
    let server = Server::behind_a_proxy(&["--feedback-limit", "3", "--feedback-limit-per-address", "5"]);
    let member = |id: &str, address: &str| server.member(id).with_header("X-Forwarded-For", address);
    let send = |caller: &Caller| caller.post("/send_feedback", json!({ "post": "text" }));
    let (ann, ben) = (member("ann", "203.0.113.7"), member("ben", "203.0.113.7"));
    for _ in 0..3 {
        assert_eq!(send(&ann).outcome(), "200 success");
    }
    let refused = send(&ann);
    assert_eq!(refused.outcome(), "429 too many requests");
    assert!((3_000..=3_601).contains(&refused.header("retry-after").parse::<u64>().unwrap()));
    assert_eq!(send(&ben).outcome(), "200 success");
    assert_too_many(&send(&ben));
    assert_eq!(send(&member("cid", "203.0.113.8")).outcome(), "200 success");
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 success", "other requests go on");
}

#[test]
fn unknown_paths_and_wrong_methods_are_rate_limited() {
    let server = Server::behind_a_proxy(&["--rate-limit", "1"]);
    let refused = |caller: &Caller, method: &str, path: &str| {
        // The limit is one per second: one of three requests in a row is refused, unless two seconds pass.
        (0..100).map(|_| caller.request(method, path).send()).find(|answer| answer.status == 429)
    };
    for (n, (method, path)) in
        [("GET", "/nowhere"), ("POST", "/get_userinfo"), ("GET", "/get_userinfo")].into_iter().enumerate()
    {
        let caller = server.caller_at(&format!("203.0.113.{n}"));
        let refused = refused(&caller, method, path).unwrap_or_else(|| panic!("{method} {path}"));
        assert_eq!(
            (refused.outcome().as_str(), refused.header("retry-after")),
            ("429 too many requests", "1")
        );
    }
    let caller = server.caller_at("203.0.113.66");
    for path in ["/healthz", "/readyz"].repeat(10) {
        assert_eq!(caller.get(path).outcome(), "200 success", "{path}");
    }
}

#[test]
fn a_large_body_is_read_like_a_small_one() {
    let server = Server::start();
    let admin = server.admin();
    for (n, length) in [(0, 10), (1, 15_000), (2, 17_000), (3, 100_000)] {
        let (text, url) = ("x".repeat(length), format!("https://a.example/{n}"));
        let more = "y".repeat(length);
        let fields = json!({ "title": "Long", "url": url, "post": text, "more": [more] });
        assert_eq!(admin.post("/insert_post", fields).outcome(), "200 success", "{length}");
        let (title, more) = ("Form", "y".repeat(length));
        let form = [("title", title), ("url", &format!("{url}/form")), ("post", &text), ("more", &more)];
        assert_eq!(admin.form("/insert_post", &form).outcome(), "200 success", "{length}");
    }
    let deep = format!(r#"{{"id":"ann","pw":"x","more":{}{}}}"#, "[".repeat(20_000), "]".repeat(20_000));
    let answer = server.anyone().request("POST", "/sign_in").body("application/json", deep).send();
    assert_eq!(answer.outcome(), "400 bad request");
    let answer = server.anyone().request("POST", "/sign_in").body("text/plain", "x".repeat(20_000)).send();
    assert_eq!(answer.outcome(), "415 unsupported media type");
}
