//! Errors, the summaries of imports, and what is printed once or not at all.

use serde_json::json;
use tidings_tests::PASSWORD;

use super::fixture::Fixture;

#[test]
fn signing_up_prints_a_token_only_if_asked_and_no_password() {
    let fixture = Fixture::new();
    let sign_up = |id: &str, password: &str, more: &[&str]| {
        let args = [&["member", "sign-up", id, "--nickname", "N", "--password-stdin"], more].concat();
        fixture.with_input(&args, password)
    };
    assert_eq!(sign_up("eva", PASSWORD, &[]).succeeded().stdout, "eva is signed up.\n");
    assert!(sign_up("fred", PASSWORD, &["--token"]).succeeded().stdout.starts_with("eyJ"));
    // As over HTTP.
    assert!(sign_up("gil", PASSWORD, &["--json"]).succeeded().json()["access_token"].is_string());
    let refused = sign_up("hal", "secret", &[]);
    assert!(refused.status == 1 && !refused.stderr.contains("secret"), "{refused:?}");
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
        assert!(nothing.status == 1 && nothing.stderr.contains("error: nothing was imported"), "{nothing:?}");
        let empty = imported(head, &["--strict"]);
        assert_eq!(empty.status, 0, "{import:?}: {empty:?}");
        let some = format!("{good}\n{bad}");
        assert_eq!(imported(&some, &[]).status, 0, "{import:?}");
        // The good line is already the same, which is not nothing.
        assert_eq!(imported(&some, &[]).status, 0, "{import:?}");
        let strict = imported(&some, &["--strict"]);
        assert!(strict.status == 1 && strict.stderr.contains("error: --strict: 1 of the"), "{strict:?}");
        assert_eq!(imported(&good, &["--strict"]).status, 0, "{import:?}");
        // The object is that of HTTP.
        let json = imported(&some, &["--strict", "--json"]);
        assert_eq!((json.status, &json.json()["skipped"]), (1, &json!(1)), "{import:?}");
    }
}
