//! The bounds of requests to the verifier and of its responses.

use serde_json::json;
use tidings_tests::{command, run};

use super::{Behaviour, University, sign_in_up, signed_in};

#[test]
fn the_verifier_is_not_asked_about_malformed_ids() {
    let university = University::new(|_, _| {
        Behaviour::Json(json!({ "verified": true, "known": true, "name": "Kim", "major": "" }))
    });
    let server = university.server();
    let (long, longer) = ("x".repeat(129), "x".repeat(100_000));
    for id in
        ["", " ", "s1\r\nX: y", "s1\n", " s1", "s\u{200b}1", "\u{202e}s1", "s1\0", &long, &longer, "GUEST"]
    {
        assert_eq!(sign_in_up(&server, id, "secret").outcome(), "200 not school", "{id:.20?}");
    }
    assert!(university.asked.lock().unwrap().is_empty());
    assert_eq!(sign_in_up(&server, &"x".repeat(128), "secret").outcome(), "200 success");
}

#[test]
fn a_verified_name_is_kept_on_one_line_and_truncated() {
    let university = University::new(|id, _| match id {
        "s3" => Behaviour::Json(
            json!({ "verified": true, "known": true, "name": "x".repeat(64 << 10), "major": "" }),
        ),
        "s2" => {
            let name = format!(" Kim\r\n\0Ji-woo{}", "한".repeat(15_000));
            Behaviour::Json(
                json!({ "verified": true, "known": true, "name": name, "major": "Art\r\nand\u{7}more " }),
            )
        }
        _ => Behaviour::Json(
            json!({ "verified": true, "known": true, "name": "\u{202e}mik\u{200b}", "major": "Art" }),
        ),
    });
    let server = university.server();
    let (_, info) = signed_in(&server, "s2", "secret");
    assert_eq!(info.text("/user_name"), format!("Kim  Ji-woo{}", "한".repeat(89)));
    assert_eq!(info.text("/user_major"), "Art  andmore");
    assert_eq!(info.text("/nickname"), format!("Kim  Ji-woo{}", "한".repeat(19)));
    let (_, info) = signed_in(&server, "s1", "secret");
    assert_eq!((info.text("/user_name"), info.text("/nickname")), ("mik".into(), "mik".into()));
    assert_eq!(sign_in_up(&server, "s3", "secret").outcome(), "200 api error", "more than 64 KiB");
}

#[test]
fn passwords_are_sent_unencrypted_to_another_machine_only_if_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let config = |more: &[&str]| {
        let mut config = command();
        config.current_dir(&directory).args(["config", "--verifier", "http"]);
        config.args(["--verifier-url", "http://campus.example.org/verify"]).args(more);
        run(config, "")
    };
    let refused = config(&[]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("verifier-allow-plain-http"), "{refused:?}");
    let _ = config(&["--verifier-allow-plain-http"]).succeeded();
}
