//! Clients do not affect each other: fair queues, and limits per client.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tidings_tests::{Answer, Caller, PASSWORD, Server};

/// More than the passwords that may wait to be hashed.
const FLOOD: usize = 100;

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
                    let answer = flood(client, n);
                    if answer.status == 503 {
                        refused.store(true, Ordering::Relaxed);
                        assert_eq!(answer.outcome(), "503 overloaded");
                        assert_ne!(answer.header("retry-after"), "");
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
    let server = Server::behind_a_proxy(&["--client-limits", "off"]);
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
fn the_sign_up_limit_counts_each_client_separately() {
    let server = Server::behind_a_proxy(&[]);
    // A sign-up that is refused counts too. One more is allowed in each second.
    let invalid = || sign_up(&server.caller_at("203.0.113.7"), "a");
    let refused = (0..600).map(|_| invalid()).find(|answer| answer.status == 429);
    assert_too_many(&refused.expect("a limit"));
    assert_eq!(sign_up(&server.caller_at("203.0.113.8"), "bob").outcome(), "200 success");
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
