//! The output of each command without a terminal: untruncated, without colour, and with its exit status.

use std::fmt::Write as _;

use tidings_tests::remote;

use super::fixture::{Fixture, LIBRARY, RELEASE, UNKNOWN, with_redactions};

/// Runs commands one after the other, and returns the output of each as a transcript.
///
/// A line that starts with `!` is from standard error, one that starts with `?` is an exit status other than 0.
pub(super) fn session(fixture: &Fixture, commands: &[&[&str]]) -> String {
    let mut text = String::new();
    for args in commands {
        let output = fixture.run(args);
        let shown: Vec<String> = args.iter().map(|arg| format!("{arg:?}")).collect();
        writeln!(text, "$ tidings {}", shown.join(" ").replace('"', "'")).unwrap();
        text.push_str(&output.stdout);
        for line in output.stderr.lines() {
            writeln!(text, "! {line}").unwrap();
        }
        if output.status != 0 {
            writeln!(text, "? {}", output.status).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn member_admin_and_blacklist_commands_print_results_and_refusals() {
    let fixture = Fixture::new();
    let text = session(
        &fixture,
        &[
            &["member", "list"],
            &["member", "list", "--search", "N"],
            &["member", "list", "--limit", "1", "--after", "ann"],
            &["member", "list", "--search", "nobody"],
            &["member", "list", "--limit", "0"],
            &["member", "show", "s2026001"],
            &["member", "show", "nobody"],
            &["member", "lists", "ANN"],
            &["member", "lists", "ann", "--type", "5"],
            &["member", "nickname", "ann", "Ann of the library"],
            &["member", "nickname", "ann", " "],
            &["member", "auto-login", "ann", "1"],
            &["member", "show", "ann"],
            &["member", "reset", "ann"],
            &["member", "lists", "ann", "--type", "2"],
            &["admin", "list"],
            &["admin", "check", "boss"],
            &["admin", "check", "ann"],
            &["admin", "grant", "ann"],
            &["admin", "revoke", "ann"],
            &["admin", "revoke", "boss"],
            &["admin", "grant", "nobody"],
            &["blacklist", "list"],
            &["blacklist", "add", "boss"],
            &["blacklist", "remove", "ben"],
            &["blacklist", "remove", "nobody"],
            &["blacklist", "list"],
            &["member", "remove", "ben"],
            &["member", "remove", "ben", "--yes"],
            &["member", "remove", "ben", "--yes"],
            &["member", "remove", "boss", "--yes"],
            &["roster", "list"],
        ],
    );
    with_redactions(|| insta::assert_snapshot!(text));
}

#[test]
fn a_new_password_replaces_the_old_one_and_refusals_are_named() {
    let fixture = Fixture::new();
    let with = |args: &[&str], input: &str| {
        let output = fixture.with_input(args, input);
        (output.status, output.stdout.trim().starts_with("eyJ"), output.stderr)
    };
    let sign_in = |pw: &str| with(&["member", "sign-in", "ann", "--password-stdin"], pw);
    assert_eq!(sign_in("correct horse"), (0, true, String::new()));
    let set = ["member", "password", "ann", "--password-stdin"];
    assert_eq!(with(&set, "short").0, 1);
    assert_eq!(with(&set, "battery staple\n"), (0, false, String::new()));
    assert_eq!(sign_in("battery staple\n"), (0, true, String::new()));
    let refusals: Vec<String> = [
        (&["member", "sign-in", "ann", "--password-stdin"][..], "correct horse"),
        (&["member", "sign-in", "nobody", "--password-stdin"], "correct horse"),
        (&["member", "sign-in", "ben", "--password-stdin"], "correct horse"),
        (&["member", "sign-in", "ann"], "battery staple"),
        (&["member", "sign-in", "ann", "--password-file", "nowhere"], ""),
        (&["member", "sign-in-up", "nobody", "--password-stdin"], "x"),
        (&["member", "sign-in-up", "s2026001", "--password-stdin"], "x"),
        (&["member", "password", "nobody", "--password-stdin"], "battery staple"),
        (&["member", "password", "ann", "--password-stdin"], "short"),
        (&["member", "sign-up", "ann", "--nickname", "A", "--password-stdin"], "battery staple"),
        (&["member", "sign-up", "a!", "--nickname", "A", "--password-stdin"], "battery staple"),
        (&["member", "sign-up", "cid", "--nickname", "C"], "battery staple"),
    ]
    .into_iter()
    .map(|(args, input)| {
        let (status, _, stderr) = with(args, input);
        format!("{status} {stderr}")
    })
    .collect();
    insta::assert_snapshot!(refusals.concat());
}

#[test]
fn notice_and_feedback_commands_print_results_and_refusals() {
    let fixture = Fixture::new();
    let (notice, hidden) = (fixture.notice.as_str(), fixture.hidden.as_str());
    std::fs::write(fixture.directory().join("text.txt"), "From a file.\n\n").unwrap();
    let text = session(
        &fixture,
        &[
            &["notice", "list"],
            &["notice", "list", "--all"],
            &["--as", "ann", "notice", "list", "--all"],
            &["notice", "show", notice],
            &["notice", "show", hidden],
            &["--as", "ann", "notice", "show", hidden],
            &["notice", "edit", hidden, "--title", "-5 % off", "--activation", "1"],
            &["notice", "edit", notice, "--post-file", "text.txt"],
            &["notice", "show", notice],
            &["notice", "edit", notice],
            &["notice", "edit", UNKNOWN, "--activation", "0"],
            &["notice", "edit", notice, "--title", ""],
            &["--as", "ann", "notice", "edit", notice, "--title", "Mine"],
            &["notice", "add", "--title", "Without a text"],
            &["notice", "add", "--title", "Both", "--post", "a", "--post-file", "text.txt"],
            &["notice", "add", "--title", "Nowhere", "--post-file", "nowhere.txt"],
            &["notice", "remove", notice],
            &["notice", "remove", notice, "--yes"],
            &["notice", "remove", notice, "--yes"],
            &["--as", "ann", "notice", "remove", hidden, "--yes"],
            &["notice", "list"],
            &["feedback", "list"],
            &["feedback", "send", "As nobody"],
            &["--as", "ann", "feedback", "send", "General"],
            &["--as", "ann", "feedback", "send", "--notice", notice, "On what is gone"],
            &["--as", "ann", "feedback", "send", ""],
            &["--as", "ann", "feedback", "list"],
            &["feedback", "done", UNKNOWN],
        ],
    );
    with_redactions(|| insta::assert_snapshot!(text));
}

#[test]
fn feedback_is_open_until_it_is_done() {
    let fixture = Fixture::new();
    let list: serde_json::Value =
        serde_json::from_str(&fixture.stdout(&["feedback", "list", "--json"])).unwrap();
    let id = list["feedback_list"][0]["_id"].as_str().unwrap().to_owned();
    let text = session(
        &fixture,
        &[
            &["feedback", "done", &id],
            &["feedback", "list"],
            &["feedback", "list", "--all"],
            &["feedback", "done", &id, "--undo"],
            &["feedback", "list"],
        ],
    );
    with_redactions(|| insta::assert_snapshot!(text));
}

#[test]
fn feed_commands_print_results_and_refusals() {
    // The feeds and trends of a server show changes after a moment, and it tells a blacklisted member nothing.
    if remote::is_chosen() {
        return;
    }
    let fixture = Fixture::new();
    let text = session(
        &fixture,
        &[
            &["post", "edit", RELEASE, "--title", "A release", "--topic", "", "--end-date", "2099-01-01"],
            &["post", "view", LIBRARY],
            &["--as", "ann", "post", "like", LIBRARY],
            &["--as", "ann", "post", "unlike", RELEASE],
            &["--as", "ben", "post", "like", RELEASE],
            &["feed", "popular"],
            &["feed", "popular", "--limit", "1"],
            &["feed", "topic", "Release"],
            &["feed", "topic", "none"],
            &["--as", "ann", "feed", "recommended", "--limit", "1"],
            &["feed", "recommended", "--limit", "301"],
            &["search", "log", "crabs"],
            &["search", "realtime"],
        ],
    );
    with_redactions(|| insta::assert_snapshot!(text));
}

#[test]
fn post_and_search_commands_print_results_and_refusals() {
    let fixture = Fixture::new();
    let text = session(
        &fixture,
        &[
            &["post", "list"],
            &["post", "list", "--topic", "캠퍼스"],
            &["post", "list", "--topic", "none"],
            &["post", "list", "--next", "nonsense"],
            &["post", "show", RELEASE],
            &["post", "show", UNKNOWN],
            &["post", "edit", RELEASE, "--title", "A release", "--topic", "", "--end-date", "2099-01-01"],
            &["post", "show", RELEASE],
            &["post", "edit", RELEASE],
            &["post", "edit", RELEASE, "--url", "ftp://example.org"],
            &["post", "add", "--title", "Again", "--url", "https://news.example.org/release"],
            &["post", "add", "--title", "No address"],
            &["post", "view", LIBRARY],
            &["post", "like", LIBRARY],
            &["--as", "ann", "post", "like", LIBRARY],
            &["--as", "ann", "post", "unlike", RELEASE],
            &["--as", "ann", "post", "hide", RELEASE],
            &["--as", "ann", "post", "hide", "--undo", RELEASE],
            &["--as", "ann", "post", "like", UNKNOWN],
            &["--as", "ann", "post", "edit", RELEASE, "--title", "Mine"],
            &["--as", "nobody", "feed", "popular"],
            &["post", "remove", RELEASE],
            &["search", "run", "release"],
            &["search", "run", "release", "--category", "캠퍼스"],
            &["search", "run", ""],
            &["search", "log", "crabs"],
            &["search", "bursts"],
            &["search", "similar", "crabs"],
            &["--as", "ann", "search", "recent"],
            &["search", "recent"],
            &["post", "remove", RELEASE, "--yes"],
            &["post", "remove", RELEASE, "--yes"],
        ],
    );
    with_redactions(|| insta::assert_snapshot!(text));
}

#[test]
fn analysis_commands_print_results_and_refusals() {
    // A server counts and logs the requests of the commands themselves.
    if remote::is_chosen() {
        return;
    }
    let fixture = Fixture::new();
    let _ = fixture.stdout(&["analysis", "device", "pc"]);
    let _ = fixture.stdout(&["analysis", "device", "pc"]);
    let _ = fixture.stdout(&["analysis", "device", "mobile"]);
    let text = session(
        &fixture,
        &[
            &["analysis", "summary"],
            &["analysis", "day", "2024-01-01"],
            &["analysis", "day", "2024-02-30"],
            &["analysis", "day", "yesterday"],
            &["analysis", "days", "1"],
            &["analysis", "days", "368"],
            &["analysis", "device"],
            &["analysis", "device", "phone"],
            &["analysis", "log"],
            &["analysis", "log", "--member", "nobody", "--hours", "1"],
            &["analysis", "log", "--days", "1", "--hours", "1"],
            &["--as", "ann", "analysis", "log"],
        ],
    );
    with_redactions(|| insta::assert_snapshot!(text));
}

#[test]
fn a_list_that_is_empty_because_of_what_was_asked_says_so() {
    let fixture = Fixture::new();
    let _ = fixture.stdout(&["notice", "edit", &fixture.notice, "--activation", "0"]);
    for (args, says) in [
        (&["audit", "list", "--actor", "zzz"][..], "No record matches."),
        (&["post", "list", "--topic", "zzz"], "No post has this topic."),
        (&["notice", "list"], "No notice is visible: --all also lists the others."),
    ] {
        let output = fixture.run(args);
        assert_eq!((output.status, output.stderr.trim_end()), (0, says), "{args:?}");
    }
}
