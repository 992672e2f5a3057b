//! Errors of values name the argument and the value, and all errors have the same form.

use std::fs;

use serde_json::json;
use tidings_tests::PASSWORD;

use super::fixture::{Fixture, RELEASE};
use super::without_database;

/// Returns whether a text is an error in the form of all errors.
fn has_the_form(text: &str) -> bool {
    let mut lines = text.lines();
    lines.next().is_some_and(|line| line.starts_with("error: "))
        && lines.all(|line| line.starts_with("hint: "))
}

#[test]
fn an_error_of_a_value_names_the_argument_and_the_value() {
    let fixture = Fixture::new();
    let notice = &fixture.notice;
    let long = "x".repeat(301);
    for (args, argument, value) in [
        (&["post", "list", "--limit", "1001"][..], "--limit", "1001"),
        (&["post", "list", "--limit", "many"], "--limit", "many"),
        (&["post", "list", "--next", "elsewhere"], "--next", "elsewhere"),
        (&["feed", "popular", "--limit", "301"], "--limit", "301"),
        (&["feed", "popular", "--next", "elsewhere"], "--next", "elsewhere"),
        (&["search", "run", "borrow", "--limit", "0"], "--limit", "0"),
        (&["search", "run", ""], "<TEXT>", "''"),
        (&["search", "log", ""], "<TEXT>", "''"),
        (&["member", "list", "--limit", "0"], "--limit", "0"),
        (&["post", "edit", RELEASE, "--url", "example.org"], "--url", "example.org"),
        (&["post", "edit", RELEASE, "--title", ""], "--title", "''"),
        (&["post", "edit", RELEASE, "--title", &long], "--title", "xxx…"),
        (&["post", "edit", RELEASE, "--date", "yesterday"], "--date", "yesterday"),
        (&["post", "edit", RELEASE, "--end-date", "tomorrow"], "--end-date", "tomorrow"),
        (&["post", "edit", RELEASE, "--img", "image.png"], "--img", "image.png"),
        (&["post", "edit", RELEASE, "--url", "https://news.example.org/crabs"], "--url", "/crabs"),
        (&["notice", "edit", notice, "--title", "a\nb"], "--title", "a\\nb"),
        (&["notice", "edit", notice, "--from", "soon"], "--from", "soon"),
        (&["notice", "edit", notice, "--until", "never"], "--until", "never"),
        (&["notice", "edit", notice, "--topic", "a\nb"], "--topic", "a\\nb"),
        (&["notice", "edit", notice, "--activation", "2"], "--activation", "2"),
        (&["notice", "reads", notice, "--days", "0"], "--days", "0"),
        (&["member", "nickname", "ann", ""], "<NICKNAME>", "''"),
        (&["member", "lists", "ann", "--type", "5"], "--type", "5"),
        (&["front", "set", "--second", &long], "--second", "xxx…"),
        (&["--as", "ann", "feedback", "send", "", "--type", "bug"], "<TEXT>", "''"),
        (&["--as", "ann", "feedback", "send", "text", "--type", ""], "--type", "''"),
        (&["analysis", "day", "2026-02-30"], "[YYYY-MM-DD]", "2026-02-30"),
        (&["analysis", "day", "yesterday"], "[YYYY-MM-DD]", "yesterday"),
        (&["analysis", "days", "0"], "[N]", "0"),
        (&["analysis", "days", "--from", "2026-02-02", "--to", "2026-02-01"], "--from", "2026-02-02"),
        (&["analysis", "report", "--from", "soon"], "--from", "soon"),
        (&["analysis", "report", "--from", "2026-02-02", "--to", "2026-02-01"], "--to", "2026-02-01"),
        (&["analysis", "log", "--status", "ok"], "--status", "ok"),
        (&["key", "add", "importer", "--scope", "all"], "--scope", "all"),
        (&["key", "add", "a\nb", "--scope", "posts"], "<NAME>", "a\\nb"),
        (&["key", "add", "importer", "--scope", "posts", "--expires", "soon"], "--expires", "soon"),
        (&["webhook", "add", "hook", "ftp://example.org"], "<URL>", "ftp://example.org"),
        (&["source", "add", "ftp://example.org"], "<URL>", "ftp://example.org"),
        (&["source", "add", "https://example.org/feed", "--every", "20000"], "--every", "20000"),
        (&["audit", "list", "--limit", "0"], "--limit", "0"),
        (&["audit", "list", "--action", "dance"], "--action", "dance"),
        (&["--color", "sometimes", "post", "list"], "--color", "sometimes"),
    ] {
        let refused = fixture.run(args);
        let said = &refused.stderr;
        assert!([1, 2].contains(&refused.status), "{args:?}: {refused:?}");
        assert!(said.contains(argument) && said.contains(value), "{args:?}: {said}");
        assert!(has_the_form(said), "{args:?}: {said}");
    }
    let refused =
        fixture.with_input(&["member", "sign-up", "a!", "--nickname", "A", "--password-stdin"], PASSWORD);
    assert!(refused.stderr.contains("invalid value 'a!' for '<ID>'"), "{refused:?}");
    let refused =
        fixture.with_input(&["member", "sign-up", "ann", "--nickname", "A", "--password-stdin"], PASSWORD);
    assert!(refused.stderr.contains("cannot use 'ann' for '<ID>'"), "{refused:?}");
    // A password is never shown.
    let refused =
        fixture.with_input(&["member", "sign-up", "eva", "--nickname", "E", "--password-stdin"], "secret");
    assert!(refused.status == 1 && !refused.stderr.contains("secret"), "{refused:?}");
}

#[test]
fn a_setting_is_named_with_its_place_and_its_value() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("tidings.toml"), "log-days = 3\npw-min = 0\n").unwrap();
    let file = without_database(directory.path(), &["config"]);
    assert!(
        file.stderr.starts_with("error: invalid value '0' for tidings.toml, line 2, pw-min: "),
        "{file:?}"
    );
    fs::write(directory.path().join("tidings.toml"), "").unwrap();
    let flag = without_database(directory.path(), &["config", "--pw-min", "200"]);
    assert!(flag.stderr.starts_with("error: invalid value '200' for --pw-min: "), "{flag:?}");
}

#[test]
fn all_errors_have_the_same_form() {
    let fixture = Fixture::new();
    for args in [
        &["post", "lst"][..],
        &["post", "add"],
        &["post", "show"],
        &["post", "list", "--lmit", "3"],
        &["post", "show", "650000000000000000000009"],
        &["--db", "none.db", "post", "list"],
        &["--db", "a.db", "--server", "http://127.0.0.1:1", "post", "list"],
        &["notice", "add", "--title", "Library", "--post-file", "none.txt"],
        &["post", "remove", RELEASE],
        &["analysis", "log", "--days", "1", "--hours", "1"],
    ] {
        let refused = fixture.run(args);
        assert!((1..=3).contains(&refused.status) && has_the_form(&refused.stderr), "{args:?}: {refused:?}");
        let json = fixture.run(&[&["--json"], args].concat());
        assert!(json.json()["message"].is_string(), "{json:?}");
    }
}

#[test]
fn signing_up_prints_a_token_only_if_asked() {
    let fixture = Fixture::new();
    let sign_up = |id: &str, more: &[&str]| {
        let args = [&["member", "sign-up", id, "--nickname", "N", "--password-stdin"], more].concat();
        fixture.with_input(&args, PASSWORD).succeeded()
    };
    assert_eq!(sign_up("eva", &[]).stdout, "eva is signed up.\n");
    assert!(sign_up("fred", &["--token"]).stdout.starts_with("eyJ"));
    // As over HTTP.
    assert!(sign_up("gil", &["--json"]).json()["access_token"].is_string());
}

#[test]
fn an_import_that_takes_nothing_fails_and_a_strict_one_at_any_error() {
    let fixture = Fixture::new();
    let post = r#"{"title": "One", "url": "https://example.org/one"}"#;
    let member = r#"{"id": "eva", "nickname": "Eva", "password_hash": "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0$dGhpcyBpcyBub3QgYSByZWFsIGhhc2ggYXQgYWxs"}"#;
    let act = r#"{"id": "ann", "type": "search", "search": "crabs", "date": "2024-03-01T09:00:00Z"}"#;
    let roster = "id,name,major,password\ns2026002,B,P,secret password";
    for (import, good, bad) in [
        (["post", "import"], post.to_owned(), "{}".to_owned()),
        (["member", "import"], member.to_owned(), "{}".to_owned()),
        (["act", "import"], act.to_owned(), "{}".to_owned()),
        (["roster", "import"], roster.to_owned(), "s2026003,,,".to_owned()),
    ] {
        let head = if import[0] == "roster" { "id,name,major,password\n" } else { "" };
        let imported = |text: &str, more: &[&str]| {
            fixture.with_input(&[&import[..], &["-"], more].concat(), &format!("{text}\n"))
        };
        let nothing = imported(&format!("{head}{bad}"), &[]);
        assert_eq!(nothing.status, 1, "{import:?}: {nothing:?}");
        assert!(nothing.stderr.contains("error: nothing was imported"), "{nothing:?}");
        let empty = imported(head, &["--strict"]);
        assert_eq!(empty.status, 0, "{import:?}: {empty:?}");
        let some = format!("{good}\n{bad}");
        assert_eq!(imported(&some, &[]).status, 0, "{import:?}");
        // The good line is already the same, which is not nothing.
        assert_eq!(imported(&some, &[]).status, 0, "{import:?}");
        let strict = imported(&some, &["--strict"]);
        assert_eq!(strict.status, 1, "{import:?}: {strict:?}");
        assert!(strict.stderr.contains("error: --strict: 1 of the"), "{strict:?}");
        assert_eq!(imported(&good, &["--strict"]).status, 0, "{import:?}");
        // The object is that of HTTP.
        let json = imported(&some, &["--strict", "--json"]);
        assert_eq!((json.status, &json.json()["skipped"]), (1, &json!(1)), "{import:?}");
    }
}

#[test]
fn why_prints_each_post_once() {
    let fixture = Fixture::new();
    for feed in
        [&["feed", "popular"][..], &["feed", "topic", "Rust"], &["--as", "ann", "feed", "recommended"]]
    {
        let printed = fixture.stdout(&[feed, &["--why"]].concat());
        for line in fixture.stdout(&[feed, &["--ndjson"]].concat()).lines() {
            let post: serde_json::Value = serde_json::from_str(line).unwrap();
            let times = |field: &str| printed.matches(post[field].as_str().unwrap()).count();
            assert_eq!((times("title"), times("_id"), times("url")), (1, 1, 1), "{feed:?}:\n{printed}");
        }
    }
}
