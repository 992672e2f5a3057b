//! Signing up, signing in and out, and changing a password.

use serde_json::json;
use tidings_tests::{Caller, PASSWORD, Server};

mod roster;
mod slowing;
mod token;
mod university;

fn sign_up(server: &Server, id: &str, pw: &str, nickname: &str) -> String {
    let form = json!({ "id": id, "pw": pw, "pw_check": pw, "nickname": nickname });
    server.anyone().post("/sign_up", form).outcome()
}

fn sign_in(caller: &Caller, id: &str, pw: &str) -> String {
    caller.post("/sign_in", json!({ "id": id, "pw": pw })).outcome()
}

#[test]
fn a_member_signs_up_and_in_changes_the_password_and_signs_out_everywhere() {
    let server = Server::start();
    let (anyone, bob) = (server.anyone(), server.member("bob"));
    let pw = "pass&word+é";
    let form = [("id", "Ann.K"), ("pw", pw), ("pw_check", pw), ("nickname", "앤 🦀")];
    let mut devices = Vec::new();
    for answer in [
        anyone.form("/sign_up", &form),
        anyone.form("/sign_in", &form[..2]),
        anyone.post("/sign_in", json!({ "id": "aNN.k", "pw": pw })),
    ] {
        assert_eq!(answer.outcome(), "200 success");
        assert_eq!(answer.body.as_object().unwrap().len(), 2, "{answer:?}");
        assert_eq!(answer.header("cache-control"), "no-store");
        let device = anyone.with_token("Ann.K", answer.text("/access_token"));
        let info = device.get("/get_userinfo").succeeded();
        assert_eq!((info.text("/user_id"), info.text("/nickname")), ("Ann.K".into(), "앤 🦀".into()));
        devices.push(device);
    }
    let change = json!({ "pw": pw, "new_pw": PASSWORD, "new_pw_check": PASSWORD });
    let token = devices[0].post("/change_pw", change).succeeded().text("/access_token");
    let renewed = anyone.with_token("Ann.K", token);
    for device in &devices {
        assert_eq!(device.get("/get_userinfo").outcome(), "200 not found");
    }
    assert_eq!(sign_in(&anyone, "ann.k", pw), "200 incorrect pw");
    assert_eq!(sign_in(&anyone, "ann.k", PASSWORD), "200 success");
    assert_eq!(renewed.get("/sign_out_all").outcome(), "200 success");
    assert_eq!(renewed.get("/get_userinfo").outcome(), "200 not found");
    assert_eq!(bob.get("/get_userinfo").outcome(), "200 success");
}

#[test]
fn one_of_many_concurrent_sign_ups_with_one_id_succeeds() {
    let server = Server::start();
    let outcome: Vec<String> = std::thread::scope(|scope| {
        let attempts: Vec<_> =
            (0..6).map(|_| scope.spawn(|| sign_up(&server, "ann", PASSWORD, "x"))).collect();
        attempts.into_iter().map(|attempt| attempt.join().unwrap()).collect()
    });
    let (first, others): (Vec<_>, Vec<_>) = outcome.into_iter().partition(|outcome| outcome == "200 success");
    assert_eq!(first.len(), 1);
    assert!(others.iter().all(|outcome| outcome == "200 already id"), "{others:?}");
}

#[test]
fn passwords_and_tokens_appear_neither_in_the_log_nor_in_the_database() {
    let mut server = Server::with(|serve| {
        serve.args(["--log-auth-failures"]).env("RUST_LOG", "debug");
    });
    let ann = server.member("ann");
    assert_eq!(sign_in(&ann, "ann", "wrong horse"), "200 incorrect pw");
    let token = ann.token().to_owned();
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 success");
    let log = server.stop().log;
    let database = server.content();
    for secret in [PASSWORD, "wrong horse", &token] {
        assert!(!log.contains(secret), "{secret} in the log:\n{log}");
        assert!(!database.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
    }
}

#[test]
fn common_passwords_are_refused_for_administrators() {
    let mut server = Server::start();
    let refused = server.cli_with_input(["init", "--admin", "boss", "--password-stdin"], "iloveyou\n");
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.stderr.contains("10,000 most common"), "{refused:?}");
    // The member chose the password before becoming an administrator.
    assert_eq!(sign_up(&server, "ann", "ILoveYou", "x"), "200 success");
    let _ = server.cli(["admin", "grant", "ann"]).succeeded();
    assert_eq!(sign_in(&server.anyone(), "ann", "ILoveYou"), "200 success");
    let log = server.stop().log;
    assert_eq!(log.matches("tidings member password ann").count(), 1, "{log}");
    assert!(!log.contains("sign-up has no effect"), "{log}");
}
