//! Sign-in slowing delays clients that guess passwords, and no other clients.

use serde_json::json;
use tidings_tests::{PASSWORD, Server};

use super::sign_in;

#[test]
fn six_wrong_passwords_slow_the_rightmost_address_of_a_proxy_and_nobody_else() {
    let mut server = Server::behind_a_proxy(&[]);
    let (ann, _) = (server.member("ann"), server.member("bob"));
    for n in 0..6 {
        let guesser = server.caller_at(&format!("198.51.100.{n}, 203.0.113.7"));
        assert_eq!(sign_in(&guesser, "ANN", "wrong horse"), "200 incorrect pw");
    }
    let guesser = server.caller_at("10.0.0.1, 203.0.113.7");
    for pw in ["wrong horse", PASSWORD] {
        let answer = guesser.post("/sign_in", json!({ "id": "ann", "pw": pw }));
        assert_eq!(answer.outcome(), "429 too many requests");
        assert_eq!(answer.header("retry-after"), "1");
    }
    assert_eq!(sign_in(&guesser, "bob", PASSWORD), "200 success");
    assert_eq!(sign_in(&server.caller_at("203.0.113.7, 10.0.0.1"), "ann", PASSWORD), "200 success");
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 success", "a member who is signed in goes on");
    let log = server.stop().log;
    assert!(!log.contains("203.0.113.7"), "failures are logged only if the setting says so: {log}");
}

#[test]
fn a_clients_own_forwarded_header_is_ignored() {
    let server = Server::start();
    let _ = server.member("ann");
    for _ in 0..6 {
        assert_eq!(sign_in(&server.anyone(), "ann", "wrong horse"), "200 incorrect pw");
    }
    assert_eq!(sign_in(&server.caller_at("203.0.113.9"), "ann", PASSWORD), "429 too many requests");
}

#[test]
fn failed_sign_ins_are_logged_with_the_address_if_enabled() {
    let mut server = Server::with(|serve| {
        serve.args(["--trust-proxy", "127.0.0.1", "--log-auth-failures"]);
    });
    let _ = server.member("ann");
    let caller = server.caller_at("203.0.113.7");
    assert_eq!(sign_in(&caller, "ann", PASSWORD), "200 success");
    assert_eq!(sign_in(&caller, "ann", "wrong horse"), "200 incorrect pw");
    assert_eq!(sign_in(&caller, "nobody", "wrong horse"), "200 No member");
    let log = server.stop().log;
    assert_eq!(log.lines().filter(|line| line.contains("203.0.113.7")).count(), 2, "{log}");
}
