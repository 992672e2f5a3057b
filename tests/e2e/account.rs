//! Signing up, signing in and out, and changing a password.

use serde_json::{Value, json};
use tidings_tests::{Caller, PASSWORD, Server};

mod roster;
mod slowing;
mod token;
mod university;

fn form(id: &str, pw: &str, pw_check: &str, nickname: &str) -> Value {
    json!({ "id": id, "pw": pw, "pw_check": pw_check, "nickname": nickname })
}

fn sign_up(server: &Server, id: &str, pw: &str, nickname: &str) -> String {
    server.anyone().post("/sign_up", form(id, pw, pw, nickname)).outcome()
}

fn sign_in(caller: &Caller, id: &str, pw: &str) -> String {
    caller.post("/sign_in", json!({ "id": id, "pw": pw })).outcome()
}

#[test]
fn sign_up_signs_in_and_the_member_can_sign_in_again() {
    let server = Server::start();
    let anyone = server.anyone();
    let answer = anyone.post("/sign_up", form("ann", "correct horse", "correct horse", "Ann"));
    assert_eq!(answer.outcome(), "200 success");
    assert_eq!(answer.body.as_object().unwrap().len(), 2, "{answer:?}");
    assert_eq!(answer.header("cache-control"), "no-store");
    let first = answer.text("/access_token");
    let answer = anyone.post("/sign_in", json!({ "id": "ann", "pw": "correct horse" }));
    assert_eq!(answer.outcome(), "200 success");
    assert_eq!(answer.body.as_object().unwrap().len(), 2, "{answer:?}");
    assert_eq!(answer.header("cache-control"), "no-store");
    for token in [first, answer.text("/access_token")] {
        let info = anyone.with_token("ann", token).get("/get_userinfo").succeeded();
        assert_eq!((info.text("/user_id"), info.text("/nickname")), ("ann".into(), "Ann".into()));
    }
}

#[test]
fn a_form_signs_up_and_in_as_json_does() {
    let server = Server::start();
    let fields = [("id", "ann"), ("pw", "pass&word+é"), ("pw_check", "pass&word+é"), ("nickname", "앤 🦀")];
    let answer = server.anyone().form("/sign_up", &fields).succeeded();
    let info = server.anyone().with_token("ann", answer.text("/access_token")).get("/get_userinfo");
    assert_eq!(info.text("/nickname"), "앤 🦀");
    let answer = server.anyone().form("/sign_in", &fields[..2]);
    assert_eq!(answer.outcome(), "200 success");
    assert_eq!(sign_in(&server.anyone(), "ann", "pass&word+é"), "200 success");
}

#[test]
fn an_id_has_3_to_30_plain_characters_and_begins_with_a_letter_or_digit() {
    let server = Server::start();
    let longest = "a".repeat(30);
    for good in ["abc", "007", "a_-.", "9lives", &longest] {
        assert_eq!(sign_up(&server, good, PASSWORD, "x"), "200 success", "{good}");
    }
    let long = "a".repeat(31);
    let wrong = [
        "",
        "ab",
        &long,
        "_abc",
        "-abc",
        ".abc",
        "a b",
        " abc",
        "abc ",
        "a/b",
        "a@b.c",
        "a+b",
        "앤앤앤",
        "ábc",
        "abc\0",
        "abc\n",
        "🦀🦀🦀",
        "ａｂｃ",
    ];
    for wrong in wrong {
        assert_eq!(sign_up(&server, wrong, PASSWORD, "x"), "200 wrong user info", "{wrong:?}");
    }
}

#[test]
fn guest_and_removed_cannot_be_registered() {
    let server = Server::start();
    for reserved in ["guest", "removed", "Guest", "REMOVED"] {
        assert_eq!(sign_up(&server, reserved, PASSWORD, "x"), "200 wrong user info", "{reserved}");
        assert_eq!(sign_in(&server.anyone(), reserved, PASSWORD), "200 No member", "{reserved}");
    }
    assert_eq!(sign_up(&server, "guest1", PASSWORD, "x"), "200 success");
}

#[test]
fn a_password_has_8_to_128_characters_of_any_kind_and_none_is_trimmed() {
    let server = Server::start();
    let (hangul, crabs) = ("비밀번호여덟글자", "🦀".repeat(128));
    for (n, good) in ["8 charac", " \t\n\0 \u{7f}  ", hangul, &crabs].into_iter().enumerate() {
        let id = format!("good{n}");
        assert_eq!(sign_up(&server, &id, good, "x"), "200 success", "{good:?}");
        assert_eq!(sign_in(&server.anyone(), &id, good), "200 success", "{good:?}");
    }
    assert_eq!(sign_in(&server.anyone(), "good0", "8 charac "), "200 incorrect pw");
    assert_eq!(sign_in(&server.anyone(), "good0", "8 Charac"), "200 incorrect pw");
    let long = "a".repeat(129);
    for wrong in ["", "7 chara", "일곱글자비번", "🦀🦀🦀🦀🦀🦀🦀", &long] {
        assert_eq!(sign_up(&server, "wrong", wrong, "x"), "200 wrong user info", "{wrong:?}");
    }
}

#[test]
fn a_nickname_has_1_to_30_characters_without_control_characters_and_not_only_spaces() {
    let server = Server::start();
    let longest = "한".repeat(30);
    for (n, good) in ["x", "Ann O'Neil <b>", "🦀", " a ", &longest].into_iter().enumerate() {
        assert_eq!(sign_up(&server, &format!("good{n}"), PASSWORD, good), "200 success", "{good:?}");
    }
    let long = "한".repeat(31);
    for wrong in ["", " ", " \u{3000}\u{a0}", "a\nb", "a\0", "\u{1b}[31mred", "a\u{7f}", "a\u{85}", &long] {
        assert_eq!(sign_up(&server, "wrong", PASSWORD, wrong), "200 wrong user info", "{wrong:?}");
    }
}

#[test]
fn lengths_are_counted_after_composition_and_composed_texts_are_the_same() {
    let server = Server::start();
    // Composition shortens ann's nickname from 60 to 30 characters, and bob's password from 8 to 4.
    assert_eq!(sign_up(&server, "ann", "cafe\u{301} cafe\u{301}", &"e\u{301}".repeat(30)), "200 success");
    assert_eq!(sign_up(&server, "bob", &"e\u{301}".repeat(4), "x"), "200 wrong user info");
    assert_eq!(sign_up(&server, "bob", PASSWORD, &"e\u{301}".repeat(31)), "200 wrong user info");
    let answer = server.anyone().post("/sign_in", json!({ "id": "ann", "pw": "café café" })).succeeded();
    let info = server.anyone().with_token("ann", answer.text("/access_token")).get("/get_userinfo");
    assert_eq!(info.text("/nickname"), "é".repeat(30));
}

#[test]
fn sign_up_checks_lengths_then_the_repetition_then_the_id() {
    let server = Server::start();
    let anyone = server.anyone();
    let _ = server.member("ann");
    for (form, outcome) in [
        (form("ann", "short", "other", "x"), "200 wrong user info"),
        (form("ann", PASSWORD, "other horse", ""), "200 wrong user info"),
        (form("an", PASSWORD, "other horse", "x"), "200 wrong user info"),
        (form("ann", PASSWORD, "other horse", "x"), "200 check pw"),
        (form("ann", PASSWORD, "", "x"), "200 check pw"),
        (form("ann", PASSWORD, PASSWORD, "x"), "200 already id"),
    ] {
        let answer = anyone.post("/sign_up", form.clone());
        assert_eq!(answer.outcome(), outcome, "{form}");
        assert!(answer.body.get("access_token").is_none(), "{answer:?}");
    }
}

#[test]
fn an_id_is_the_same_in_any_case_and_shown_as_registered() {
    let server = Server::start();
    let ann = server.member("Ann.K");
    assert_eq!(sign_up(&server, "ann.k", PASSWORD, "x"), "200 already id");
    assert_eq!(sign_up(&server, "ANN.K", PASSWORD, "x"), "200 already id");
    let answer = server.anyone().post("/sign_in", json!({ "id": "aNN.k", "pw": PASSWORD })).succeeded();
    let again = server.anyone().with_token("Ann.K", answer.text("/access_token"));
    for caller in [ann, again] {
        assert_eq!(caller.get("/get_userinfo").text("/user_id"), "Ann.K");
    }
    let admin = server.admin();
    assert_eq!(admin.get("/admin_remove_user/ANN.k").outcome(), "200 success");
    assert_eq!(sign_in(&server.anyone(), "Ann.K", PASSWORD), "200 No member");
}

#[test]
fn sign_in_checks_the_member_then_the_password_then_the_blacklist() {
    let server = Server::start();
    let (admin, anyone) = (server.admin(), server.anyone());
    let _ = server.member("ann");
    let _ = admin.get("/push_blacklist/ann").succeeded();
    assert_eq!(sign_in(&anyone, "nobody", PASSWORD), "200 No member");
    assert_eq!(sign_in(&anyone, "", ""), "200 No member");
    assert_eq!(sign_in(&anyone, "ann", "wrong horse"), "200 incorrect pw");
    assert_eq!(sign_in(&anyone, "ann", PASSWORD), "200 blacklist user");
    let _ = admin.get("/pop_blacklist/ann").succeeded();
    assert_eq!(sign_in(&anyone, "ann", PASSWORD), "200 success");
}

#[test]
fn the_least_length_of_a_password_is_a_setting() {
    let server = Server::with(|serve| {
        serve.args(["--pw-min", "4"]);
    });
    assert_eq!(sign_up(&server, "abcde", "1234", "ab"), "200 success");
    assert_eq!(sign_up(&server, "fghij", "123", "ab"), "200 wrong user info");
    assert_eq!(sign_up(&server, "fghij", &"1".repeat(129), "ab"), "200 wrong user info");
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

fn change_pw(caller: &Caller, pw: &str, new_pw: &str, new_pw_check: &str) -> tidings_tests::Answer {
    caller.post("/change_pw", json!({ "pw": pw, "new_pw": new_pw, "new_pw_check": new_pw_check }))
}

#[test]
fn changing_the_password_replaces_it_and_revokes_older_tokens() {
    let server = Server::start();
    let ann = server.member("ann");
    let answer = change_pw(&ann, PASSWORD, "battery staple", "battery staple").succeeded();
    let renewed = ann.with_token("ann", answer.text("/access_token"));
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found");
    assert_eq!(renewed.get("/get_userinfo").outcome(), "200 success");
    assert_eq!(sign_in(&ann, "ann", PASSWORD), "200 incorrect pw");
    assert_eq!(sign_in(&ann, "ann", "battery staple"), "200 success");
}

#[test]
fn a_password_that_cannot_be_changed_stays_and_so_do_the_tokens() {
    let server = Server::start();
    let ann = server.member("ann");
    let other = "battery staple";
    for (pw, new_pw, new_pw_check, outcome) in [
        ("wrong horse", "short", "other", "200 incorrect pw"),
        ("", other, other, "200 incorrect pw"),
        (PASSWORD, "short", "short", "200 wrong user info"),
        (PASSWORD, "", "", "200 wrong user info"),
        (PASSWORD, other, "battery stable", "200 check pw"),
    ] {
        assert_eq!(
            change_pw(&ann, pw, new_pw, new_pw_check).outcome(),
            outcome,
            "{pw} {new_pw} {new_pw_check}"
        );
    }
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 success");
    assert_eq!(sign_in(&ann, "ann", PASSWORD), "200 success");
    let refused = change_pw(&server.anyone(), PASSWORD, other, other);
    assert_eq!(refused.outcome(), "401 bad token");
    assert_eq!(refused.header("www-authenticate"), "Bearer");
}

#[test]
fn signing_out_everywhere_revokes_all_tokens_of_that_member_only() {
    let server = Server::start();
    let (ann, bob) = (server.member("ann"), server.member("bob"));
    let token = ann.post("/sign_in", json!({ "id": "ann", "pw": PASSWORD })).text("/access_token");
    let tablet = ann.with_token("ann", token);
    assert_eq!(ann.get("/sign_out_all").outcome(), "200 success");
    for caller in [&ann, &tablet] {
        assert_eq!(caller.get("/get_userinfo").outcome(), "200 not found");
    }
    assert_eq!(ann.get("/sign_out_all").outcome(), "401 bad token");
    assert_eq!(bob.get("/get_userinfo").outcome(), "200 success");
    assert_eq!(sign_in(&ann, "ann", PASSWORD), "200 success");
}

#[test]
fn members_survive_a_restart_and_a_crash() {
    let mut server = Server::start();
    let ann = server.member("ann");
    let stopped = server.stop();
    assert!(stopped.status.success(), "{stopped:?}");
    server.restart();
    assert_eq!(ann.get("/get_userinfo").text("/user_id"), "ann");
    let bob = server.member("bob");
    server.kill();
    server.restart();
    for caller in [ann, bob] {
        assert_eq!(caller.get("/get_userinfo").text("/user_id"), caller.id());
        assert_eq!(sign_in(&caller, caller.id(), PASSWORD), "200 success");
    }
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
fn a_nickname_with_invisible_characters_is_refused_and_any_script_is_accepted() {
    let server = Server::start();
    let ann = server.member("ann");
    let change = |nickname: &str| ann.post("/change_nickname", json!({ "new_nickname": nickname })).outcome();
    for nickname in [
        "ad\u{200b}min",
        "\u{202e}nimda",
        "\u{2066}admin",
        "admin\u{feff}",
        "\u{3164}",
        "\u{301}",
        "\u{2800}",
    ] {
        assert_eq!(change(nickname), "200 rewrite_nickname", "{nickname:?}");
        assert_eq!(sign_up(&server, "bob", PASSWORD, nickname), "200 wrong user info", "{nickname:?}");
    }
    for nickname in ["홍길동", "می\u{200c}خواهم", "क्\u{200d}ष", "👨\u{200d}👩\u{200d}👧", "❤\u{fe0f}"]
    {
        assert_eq!(change(nickname), "200 success", "{nickname:?}");
    }
}

#[test]
fn common_passwords_are_refused_for_administrators_and_by_setting_for_all() {
    let mut server = Server::start();
    let common = "iloveyou\n";
    let init = || server.cli_with_input(["init", "--admin", "boss", "--password-stdin"], common);
    let refused = init();
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.stderr.contains("10,000 most common"), "{refused:?}");
    assert_eq!(sign_up(&server, "ann", "ILoveYou", "x"), "200 success");
    let _ = server.cli(["admin", "grant", "ann"]).succeeded();
    let given = server.cli_with_input(["member", "password", "ann", "--password-stdin"], common);
    assert_eq!(given.status, 1, "{given:?}");
    // The member chose the password before becoming an administrator.
    let answer = server.anyone().post("/sign_in", json!({ "id": "ann", "pw": "ILoveYou" })).succeeded();
    let ann = server.anyone().with_token("ann", answer.text("/access_token"));
    let change = |new: &str| {
        ann.post("/change_pw", json!({ "pw": "ILoveYou", "new_pw": new, "new_pw_check": new })).outcome()
    };
    assert_eq!(change("Password1"), "200 wrong user info");
    assert_eq!(change("a new horse"), "200 success");
    let log = server.stop().log;
    assert_eq!(log.matches("tidings member password ann").count(), 1, "{log}");

    let strict = Server::with(|serve| {
        serve.arg("--refuse-common-passwords");
    });
    assert_eq!(sign_up(&strict, "ann", "ILoveYou", "x"), "200 wrong user info");
    assert_eq!(sign_up(&strict, "ann", PASSWORD, "x"), "200 success");
}
