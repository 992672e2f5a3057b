//! The commands for planned notices, drafts and reads.

use serde_json::json;

use super::compare::{Fixture as Records, compare, get, post};
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
fn commands_for_drafts_and_reads_answer_like_http() {
    let Records { server, admin, ann, notices, .. } = Records::new();
    let anyone = server.anyone();
    let notice = notices[1].as_str();
    let edit = ["notice", "edit", notice, "--from=2026-01-01", "--pinned", "--members-only", "--topic=Sea"];
    let edited = json!({ "visible_from": "2026-01-01", "pinned": 1, "members_only": 1, "topic": "Sea" });
    let drafts: Vec<String> = (0..6)
        .map(|n| {
            admin
                .post("/save_notice_draft", json!({ "title": "T", "post": n.to_string() }))
                .succeeded()
                .text("/_id")
        })
        .collect();
    let publish = |n: usize| format!("/publish_notice_draft/{}", drafts[n]);
    let remove = |n: usize| format!("/remove_notice_draft/{}", drafts[n]);
    let fields = json!({ "title": "T", "visible_until": "2096-01-01" });
    let save = ["notice", "draft", "save", "--title=T", "--until=2096-01-01"];
    compare(
        &server,
        &[
            post(&edit, &admin, format!("/update_notice/{notice}"), edited),
            get(&["notice", "list", "--details"], &anyone, "/get_notices"),
            get(&["notice", "list", "--all", "--details"], &admin, "/get_notices"),
            get(&["notice", "list", "--all", "--details", "--as=ann"], &ann, "/get_notices"),
            get(&["notice", "list", "--topic=Sea"], &anyone, "/get_notices?topic=Sea"),
            get(&["notice", "list", "--all", "--topic=Sea"], &admin, "/get_notices?topic=Sea"),
            get(&["notice", "list", "--all"], &admin, "/get_all_notice"),
            get(&["notice", "list"], &anyone, "/get_all_notice"),
            get(&["notice", "show", notice, "--html"], &admin, format!("/get_notice/{notice}?html=1")),
            post(
                &["notice", "edit", notice, "--until=2025-01-01"],
                &admin,
                format!("/update_notice/{notice}"),
                json!({ "visible_until": "2025-01-01" }),
            ),
            get(&["notice", "draft", "list"], &admin, "/get_notice_drafts"),
            get(&["notice", "draft", "list", "--as=ann"], &ann, "/get_notice_drafts"),
            post(&save, &admin, "/save_notice_draft", fields.clone()),
            post(&["notice", "draft", "save"], &admin, "/save_notice_draft", json!({})),
            post(&[&save[..], &["--as=ann"]].concat(), &ann, "/save_notice_draft", fields),
            get(&["notice", "draft", "publish", &drafts[0]], &admin, publish(1)),
            get(&["notice", "draft", "publish", &drafts[0]], &admin, publish(1)),
            get(&["notice", "draft", "remove", &drafts[2], "--yes"], &admin, remove(3)),
            get(&["notice", "draft", "remove", &drafts[2], "--yes"], &admin, remove(3)),
            get(
                &["notice", "reads", notices[2].as_str(), "--days=5"],
                &admin,
                format!("/get_notice_reads/{}?days=5", notices[2]),
            ),
            get(
                &["notice", "reads", notices[2].as_str(), "--days=0"],
                &admin,
                format!("/get_notice_reads/{}?days=0", notices[2]),
            ),
            get(&["notice", "reads", UNKNOWN], &admin, format!("/get_notice_reads/{UNKNOWN}")),
            get(
                &["--as=ann", "notice", "reads", notices[2].as_str()],
                &ann,
                format!("/get_notice_reads/{}", notices[2]),
            ),
        ],
    );
}
