//! Sign-in slowing delays clients that guess passwords, and no other clients.

use serde_json::json;
use tidings_tests::totp::code;
use tidings_tests::{Answer, Caller, PASSWORD, Server, wait_until};

use super::sign_in;

fn attempt(caller: &Caller, id: &str, pw: &str) -> Answer {
    caller.post("/sign_in", json!({ "id": id, "pw": pw }))
}

/// Fails to sign in six times, so that the next attempt must wait for a second.
fn fail_six_times(caller: &Caller, id: &str, outcome: &str) {
    for _ in 0..6 {
        assert_eq!(sign_in(caller, id, "wrong horse"), outcome);
    }
}

#[test]
fn after_six_wrong_passwords_the_next_attempt_waits_a_second_even_with_the_right_one() {
    let server = Server::start();
    let (ann, anyone) = (server.member("ann"), server.anyone());
    fail_six_times(&anyone, "ann", "200 incorrect pw");
    for pw in ["wrong horse", PASSWORD] {
        let answer = attempt(&anyone, "ann", pw);
        assert_eq!(answer.outcome(), "429 too many requests");
        assert_eq!(answer.header("retry-after"), "1");
    }
    assert_eq!(
        ann.get("/get_userinfo").outcome(),
        "200 success",
        "a member who is signed in is not affected"
    );
    wait_until("the wait is over", || sign_in(&anyone, "ann", PASSWORD) == "200 success");
    // The success has cleared the failures of this client and account.
    assert_eq!(sign_in(&anyone, "ann", "wrong horse"), "200 incorrect pw");
    assert_eq!(sign_in(&anyone, "ann", PASSWORD), "200 success");
}

#[test]
fn other_clients_and_other_accounts_are_not_slowed() {
    let server = Server::behind_a_proxy(&[]);
    let _ = (server.member("ann"), server.member("bob"));
    let (guesser, other) = (server.caller_at("203.0.113.7"), server.caller_at("203.0.113.8"));
    fail_six_times(&guesser, "ANN", "200 incorrect pw");
    assert_eq!(sign_in(&guesser, "ann", PASSWORD), "429 too many requests", "ids are case-insensitive");
    assert_eq!(sign_in(&guesser, "bob", PASSWORD), "200 success");
    assert_eq!(sign_in(&other, "ann", PASSWORD), "200 success");
}

#[test]
fn addresses_of_ipv6_are_one_client_by_64_bits() {
    let server = Server::behind_a_proxy(&[]);
    let _ = server.member("ann");
    fail_six_times(&server.caller_at("2001:db8::1"), "ann", "200 incorrect pw");
    assert_eq!(sign_in(&server.caller_at("2001:db8::ffff:2"), "ann", PASSWORD), "429 too many requests");
    assert_eq!(sign_in(&server.caller_at("2001:db8:0:1::1"), "ann", PASSWORD), "200 success");
}

#[test]
fn attempts_on_unknown_ids_count_as_failures() {
    let server = Server::start();
    fail_six_times(&server.anyone(), "nobody", "200 No member");
    assert_eq!(sign_in(&server.anyone(), "nobody", PASSWORD), "429 too many requests");
}

#[test]
fn a_client_with_50_failures_waits_15_minutes() {
    let server = Server::behind_a_proxy(&[]);
    let _ = server.member("ann");
    let (guesser, other) = (server.caller_at("203.0.113.7"), server.caller_at("203.0.113.8"));
    for n in 0..50 {
        assert_eq!(sign_in(&guesser, &format!("guess{n}"), PASSWORD), "200 No member");
    }
    let answer = attempt(&guesser, "ann", PASSWORD);
    assert_eq!(answer.outcome(), "429 too many requests");
    let wait: u64 = answer.header("retry-after").parse().unwrap();
    assert!((600..=900).contains(&wait), "{wait} s");
    assert_eq!(sign_in(&other, "ann", PASSWORD), "200 success");
}

#[test]
fn a_clients_own_forwarded_header_is_ignored() {
    let server = Server::start();
    let _ = server.member("ann");
    fail_six_times(&server.anyone(), "ann", "200 incorrect pw");
    assert_eq!(sign_in(&server.caller_at("203.0.113.9"), "ann", PASSWORD), "429 too many requests");
}

#[test]
fn behind_a_proxy_only_the_rightmost_address_is_trusted() {
    let server = Server::behind_a_proxy(&[]);
    let _ = server.member("ann");
    for n in 0..6 {
        let guesser = server.caller_at(&format!("198.51.100.{n}, 203.0.113.7"));
        assert_eq!(sign_in(&guesser, "ann", "wrong horse"), "200 incorrect pw");
    }
    assert_eq!(sign_in(&server.caller_at("10.0.0.1, 203.0.113.7"), "ann", PASSWORD), "429 too many requests");
    assert_eq!(sign_in(&server.caller_at("203.0.113.7, 10.0.0.1"), "ann", PASSWORD), "200 success");
}

#[test]
fn changing_a_password_and_the_university_are_slowed_too() {
    let server = Server::start();
    let ann = server.member("ann");
    let _ =
        server.cli_with_input(["roster", "import", "-"], "id,name,major,password\ns1,Kim,Physics,secret\n");
    let change = |pw: &str| {
        ann.post("/change_pw", json!({ "pw": pw, "new_pw": "new password", "new_pw_check": "new password" }))
    };
    let verify = |pw: &str| server.anyone().post("/sign_in_up", json!({ "id": "s1", "pw": pw }));
    let slows = |attempt: &dyn Fn(&str) -> Answer, right: &str, outcome: &str| {
        for _ in 0..6 {
            assert_eq!(attempt("wrong horse").outcome(), outcome);
        }
        let answer = attempt(right);
        assert_eq!(answer.outcome(), "429 too many requests");
        assert_eq!(answer.header("retry-after"), "1");
    };
    slows(&change, PASSWORD, "200 incorrect pw");
    slows(&verify, "secret", "200 pw incorrect");
}

#[test]
fn slowing_can_be_switched_off() {
    let server = Server::with(|serve| {
        serve.args(["--sign-in-slowing", "off"]);
    });
    let _ = server.member("ann");
    for _ in 0..8 {
        assert_eq!(sign_in(&server.anyone(), "ann", "wrong horse"), "200 incorrect pw");
    }
    assert_eq!(sign_in(&server.anyone(), "ann", PASSWORD), "200 success");
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

    let mut silent = Server::behind_a_proxy(&[]);
    assert_eq!(sign_in(&silent.caller_at("203.0.113.7"), "nobody", "wrong horse"), "200 No member");
    let log = silent.stop().log;
    assert!(!log.contains("203.0.113.7"), "{log}");
}

#[test]
fn more_passwords_than_the_queue_holds_are_refused_at_once_and_signing_in_works_again() {
    let server = Server::with(|serve| {
        serve.args(["--sign-in-slowing", "off"]);
    });
    let _ = server.member("ann");
    let burst = || -> Vec<Answer> {
        std::thread::scope(|scope| {
            let attempts: Vec<_> =
                (0..120).map(|_| scope.spawn(|| attempt(&server.anyone(), "ann", PASSWORD))).collect();
            attempts.into_iter().map(|attempt| attempt.join().unwrap()).collect()
        })
    };
    wait_until("the queue is full", || {
        let answers = burst();
        let (refused, done): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 503);
        assert!(done.iter().all(|answer| answer.outcome() == "200 success"), "{done:?}");
        for answer in &refused {
            assert_eq!(answer.outcome(), "503 overloaded");
            assert_ne!(answer.header("retry-after"), "");
        }
        !refused.is_empty()
    });
    assert_eq!(sign_in(&server.anyone(), "ann", PASSWORD), "200 success");
}

#[test]
fn a_locked_campus_lets_members_in_who_signed_in_there_before() {
    let server = Server::behind_a_proxy(&[]);
    let _ = (server.member("ann"), server.member("bob"));
    let (campus, other) = (server.caller_at("203.0.113.7"), server.caller_at("203.0.113.8"));
    assert_eq!(sign_in(&campus, "ann", PASSWORD), "200 success");
    assert_eq!(sign_in(&other, "bob", PASSWORD), "200 success");
    for n in 0..50 {
        assert_eq!(sign_in(&campus, &format!("guess{n}"), PASSWORD), "200 No member");
    }
    assert_eq!(sign_in(&campus, "ANN", PASSWORD), "200 success");
    // Other members are answered like unknown ids, whatever their password.
    for (id, pw) in [("bob", PASSWORD), ("bob", "wrong horse"), ("nobody", PASSWORD)] {
        assert_eq!(sign_in(&campus, id, pw), "429 too many requests", "{id}");
    }
    fail_six_times(&campus, "ann", "200 incorrect pw");
    assert_eq!(sign_in(&campus, "ann", PASSWORD), "429 too many requests", "her own failures count");
    let stored = server.sql().query("SELECT place FROM sign_in_place", &[]);
    assert!(!format!("{stored:?}").contains("203.0.113"), "{stored:?}");
}

#[test]
fn codes_are_not_guessed_from_many_networks_and_strangers_lock_nobody_out() {
    let server = Server::behind_a_proxy(&[]);
    let ann = server.member("ann");
    let secret = ann.post("/begin_otp", json!({ "pw": PASSWORD })).succeeded().text("/secret");
    let first = code(&secret, -1);
    let full_width: String = first.chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect();
    let enabled = ann.post("/enable_otp", json!({ "otp": full_width })).succeeded();
    let guess = |n: usize, pw: &str, otp: &str| {
        let form = json!({ "id": "ann", "pw": pw, "otp": otp });
        server.caller_at(&format!("198.51.{n}.1")).post("/sign_in", form).outcome()
    };
    for n in 0..20 {
        assert_eq!(guess(n, "wrong horse", "12345"), "200 incorrect pw");
    }
    let answers: Vec<String> = (20..60).map(|n| guess(n, PASSWORD, "12345")).collect();
    assert!(answers[..11].iter().all(|answer| answer == "200 incorrect otp"), "{answers:?}");
    assert!(answers[11..].iter().all(|answer| answer == "429 too many requests"), "{answers:?}");
    let recovery = enabled.text("/recovery_codes/0");
    assert_eq!(guess(61, PASSWORD, &recovery), "429 too many requests");
    assert_eq!(guess(62, PASSWORD, ""), "200 otp required");
    assert_eq!(guess(63, "wrong horse", ""), "200 incorrect pw");
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 success");
}
