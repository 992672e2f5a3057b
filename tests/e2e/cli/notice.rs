//! The commands for planned notices, drafts and reads.

use serde_json::json;

use super::fixture::{Fixture, UNKNOWN, with_redactions};
use super::page::session;

#[test]
fn planned_notices_drafts_and_reads_are_printed() {
    let fixture = Fixture::new();
    let notice = fixture.notice.as_str();
    let add = |title: &str, more: &[&str]| {
        let id = fixture.stdout(&[&["notice", "add", "--title", title, "--post", "*Text*"], more].concat());
        id.trim().to_owned()
    };
    add("Later", &["--from", "2096-01-01"]);
    add("Ended", &["--until", "2026-01-01", "--pinned"]);
    let members = add("Members", &["--members-only", "--pinned"]);
    add("Sea", &["--topic", "Sea"]);
    let save = [
        "notice",
        "draft",
        "save",
        "--title",
        "Exams",
        "--until",
        "2096-01-01T09:00:00+09:00",
        "--topic",
        "Sea",
    ];
    let draft = fixture.stdout(&save).trim().to_owned();
    let change =
        fixture.stdout(&["notice", "draft", "save", "--notice", notice, "--unpinned"]).trim().to_owned();
    let text = session(
        &fixture,
        &[
            &["notice", "list"],
            &["notice", "list", "--all"],
            &["notice", "list", "--all", "--details"],
            &["notice", "list", "--topic", "Sea"],
            &["notice", "show", &members],
            &["notice", "show", &members, "--html"],
            &["notice", "edit", &members, "--from", "2096-02-01", "--until", "2096-03-01", "--for-everyone"],
            &["notice", "show", &members],
            &["notice", "edit", &members, "--until", "2096-01-31"],
            &["notice", "edit", &members, "--from", "soon"],
            &["notice", "edit", &members, "--from", "", "--until", "", "--unpinned", "--topic", "Land"],
            &["notice", "edit", &members, "--pinned", "--unpinned"],
            &["notice", "list", "--topic", "Land"],
            &["notice", "draft", "list"],
            &["notice", "draft", "show", &draft],
            &["notice", "draft", "publish", &draft],
            &["notice", "draft", "save", "--draft", &draft, "--title", "Exams", "--post", "In hall 1."],
            &["notice", "draft", "publish", &draft],
            &["notice", "draft", "publish", &draft],
            &["notice", "draft", "save"],
            &["notice", "draft", "remove", &change],
            &["notice", "draft", "remove", &change, "--yes"],
            &["notice", "draft", "show", &change],
            &["notice", "draft", "list"],
            &["--as", "ann", "notice", "draft", "list"],
            &["notice", "reads", notice, "--days", "0"],
            &["notice", "reads", UNKNOWN],
        ],
    );
    with_redactions(|| insta::assert_snapshot!(text));
    let reads = fixture.stdout(&["notice", "reads", &members, "--days", "2"]);
    assert_eq!(reads.lines().count(), 3, "{reads}");
}

#[test]
fn times_are_typed_and_shown_in_the_zone_of_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let tidings = |args: &[&str]| {
        let mut command = tidings_tests::command_in(directory.path());
        command.env("TIDINGS_TIMEZONE", "Asia/Seoul").env("TZ", "America/New_York").args(args);
        tidings_tests::run(command, "")
    };
    let _ = tidings(&["init"]).succeeded();
    let add = |title: &str, more: &[&str]| {
        let added =
            tidings(&[&["notice", "add", "--title", title, "--post", "x"], more].concat()).succeeded();
        (added.stdout.trim().to_owned(), added.stderr)
    };
    let (later, note) = add("Later", &["--from", "2096-12-05 09:00", "--until", "2096-12-24"]);
    assert_eq!(note, "Times are in Asia/Seoul.\n");
    let list = tidings(&["notice", "list", "--all", "--details", "--json"]).succeeded().json();
    let notice = &list["notice_list"][0];
    assert_eq!(
        (&notice["visible_from"], &notice["visible_until"]),
        (&json!("2096-12-05T00:00:00.000Z"), &json!("2096-12-23T15:00:00.000Z"))
    );
    let list = tidings(&["notice", "list", "--all", "--details"]).succeeded().stdout;
    assert_eq!(list.matches("Asia/Seoul").count(), 1, "{list}");
    assert!(list.contains("2096-12-05 09:00  2096-12-24 00:00"), "{list}");

    let (ended, note) = add("Past", &["--until", "2026-01-01T00:00:00Z"]);
    let is_ended = "The notice \"Past\" ended at 2026-01-01 09:00 (Asia/Seoul), so nobody sees it";
    assert!(note.starts_with(is_ended), "{note}");
    let edited = tidings(&["notice", "edit", &ended, "--post", "y"]).succeeded();
    assert!(edited.stderr.starts_with(is_ended), "{edited:?}");
    let draft = tidings(&["notice", "draft", "save", "--notice", &later, "--until", "2096-12-25 10:00"]);
    let shown = tidings(&["notice", "draft", "show", draft.succeeded().stdout.trim()]).succeeded().stdout;
    assert!(shown.contains("2096-12-25 10:00") && shown.matches("Asia/Seoul").count() == 1, "{shown}");
    let published = tidings(&["notice", "edit", &ended, "--until", "soon"]);
    assert!(published.stderr.contains("is written like"), "{published:?}");

    let post = ["post", "add", "--title", "P", "--url", "https://a.example/", "--date", "2026-01-01 09:00"];
    let added = tidings(&[&post[..], &["--end-date", "2026-01-02 00:00"]].concat()).succeeded();
    assert_eq!(added.stderr, "Times are in Asia/Seoul.\n");
    let post = tidings(&["post", "show", added.stdout.trim(), "--json"]).succeeded().json();
    assert_eq!(post["post"]["date"], "2026-01-01T00:00:00.000Z");
    let key = tidings(&["key", "add", "k", "--scope", "posts", "--expires", "2096-01-31 18:00"]).succeeded();
    assert!(key.stderr.ends_with("Times are in Asia/Seoul.\n"), "{key:?}");
    let keys = tidings(&["key", "list", "--json"]).succeeded().json();
    assert_eq!(keys["keys"][0]["expires"], "2096-01-31T09:00:00.000Z");
}
