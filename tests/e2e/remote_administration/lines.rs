//! Imports and exports.

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, LINES};

use super::World;

fn import(caller: &Caller, path: &str, content_type: &str, body: &str) -> Answer {
    caller.request("POST", path).body(content_type, body).send()
}

/// Returns the numbers of an import: inserted, updated, skipped, and errors.
fn counts(answer: &Answer) -> [i64; 4] {
    let count = |name: &str| answer.body[name].as_i64().unwrap_or_default();
    [
        count("inserted"),
        count("updated"),
        count("skipped"),
        i64::try_from(answer.list("errors").len()).unwrap(),
    ]
}

#[test]
fn members_and_acts_are_imported_and_existing_ones_do_not_change() {
    let world = World::new();
    let World { boss, ann, key, .. } = &world;
    let before = boss.get("/get_member/admin").succeeded().body;
    // The hash is of "another password", for no existing member.
    let lines = "{\"id\": \"Moved\", \"nickname\": \"M\"}\n{\"id\": \"ADMIN\", \"nickname\": \"Mallory\"}\nno member\n";
    let report = import(key, "/import_members", LINES, lines).succeeded();
    assert_eq!((counts(&report), &report.body["errors"][0]["line"]), ([1, 0, 1, 1], &json!(3)));
    assert_eq!(world.latest(), "key key http member.import inserted 1, updated 0, skipped 1");
    assert_eq!(boss.get("/get_member/admin").succeeded().body, before);
    assert_eq!(boss.get("/get_member/moved").succeeded().text("/nickname"), "M");
    let array = r#"[{"id": "Moved"}, {"id": "other"}]"#;
    let report = import(boss, "/import_members", "application/json", array).succeeded();
    assert_eq!(counts(&report), [1, 0, 1, 0]);
    assert_eq!(world.latest(), "member admin http member.import inserted 1, updated 0, skipped 1");
    let lines =
        "{\"id\": \"ann\", \"type\": \"search\", \"search\": \"lake\", \"date\": \"2026-01-02\"}\nno act\n";
    assert_eq!(counts(&import(key, "/import_acts", LINES, lines).succeeded()), [1, 0, 0, 1]);
    assert_eq!(world.latest(), "key key http act.import inserted 1, updated 0, skipped 0");
    assert_eq!(counts(&import(boss, "/import_acts", LINES, lines).succeeded()), [0, 0, 1, 1]);
    assert_eq!(ann.get("/get_specific_userinfo/3").text("/search_list/0/original"), "lake");
}

#[test]
fn a_roster_is_imported_and_a_key_does_not_change_a_members_entry() {
    let world = World::new();
    let World { server, boss, key, .. } = &world;
    let roster = |caller: &Caller, lines: &str| {
        import(caller, "/import_roster", "text/csv", &format!("id,name,major,password\n{lines}"))
    };
    assert_eq!(counts(&roster(key, "s1,Lee,Law,one\ns2,Kim,,one\ns3,,x,y\n").succeeded()), [2, 0, 0, 1]);
    assert_eq!(world.latest(), "key key http roster.import inserted 2, updated 0, skipped 0");
    let page = key.get("/get_roster?limit=1").succeeded();
    assert_eq!(page.body["roster"], json!([{ "id": "s1", "name": "Lee", "major": "Law" }]));
    let page = boss.get(&format!("/get_roster?after={}", page.text("/next"))).succeeded();
    assert_eq!((page.column("roster", "id"), &page.body["next"]), (vec!["s2".into()], &json!(null)));
    assert_eq!(boss.get("/get_roster?limit=0").body["field"], "limit");

    let sign_in = |pw: &str| server.anyone().post("/sign_in_up", json!({ "id": "s1", "pw": pw })).outcome();
    assert_eq!(sign_in("one"), "200 success");
    let report = roster(key, "S1,Lee,Law,two\ns2,Kim,,two\n").succeeded();
    assert_eq!((counts(&report), &report.body["errors"][0]["line"]), ([0, 1, 0, 1], &json!(2)));
    assert_eq!((sign_in("two"), sign_in("one")), ("200 pw incorrect".into(), "200 success".into()));
    // The answers to a wrong and to a right guess are the same.
    assert_eq!(boss.get("/grant_admin/s1").outcome(), "200 success");
    let guess = |pw: &str| {
        let mut answer = roster(key, &format!("s1,Lee,Law,{pw}\ns2,Kim,,{pw}\n")).succeeded().body;
        answer["errors"][0]["reason"].take().as_str().unwrap().to_owned() + &answer.to_string()
    };
    assert_eq!(guess("one"), guess("other"));
    assert_eq!(sign_in("one"), "200 success");
    // A sign-up member has no entry until a person imports one.
    assert_eq!(counts(&roster(key, "ann,Ann,Law,three\n").succeeded()), [0, 0, 0, 1]);
    assert_eq!(counts(&roster(boss, "s1,Lee,Law,two\n").succeeded()), [0, 1, 0, 0]);
    assert_eq!(sign_in("two"), "200 success");
    assert_eq!(import(boss, "/import_roster", "text/csv", "").body["code"], "malformed_body");
    assert_eq!(import(boss, "/import_roster", LINES, "{}").outcome(), "415 unsupported media type");
}

#[test]
fn posts_and_the_audit_trail_are_downloaded_as_on_the_command_line() {
    let world = World::new();
    let World { server, boss, key, .. } = &world;
    let empty = key.get("/export_posts");
    assert_eq!((empty.status, empty.header("content-type"), empty.bytes.len()), (200, LINES, 0));
    // More than one page.
    let lines: Vec<String> = (0..250)
        .map(|n| json!({ "title": format!("Post {n}"), "url": format!("https://a.example/{n}") }).to_string())
        .collect();
    let _ = import(boss, "/import_posts", LINES, &lines.join("\n")).succeeded();
    for (path, command, name) in [
        ("/export_posts", ["post", "export", "-"], "posts.jsonl"),
        ("/export_audit", ["audit", "export", "-"], "audit.jsonl"),
    ] {
        let sent = key.get(path);
        assert_eq!((sent.status, sent.header("content-type")), (200, LINES));
        assert_eq!(sent.header("content-disposition"), format!("attachment; filename=\"{name}\""));
        assert_eq!(sent.header("tidings-result"), "success");
        let written = server.cli(command).succeeded().stdout;
        let sent = String::from_utf8(sent.bytes).unwrap();
        // An export of the trail is recorded, after the last record of its own.
        let recorded = written.strip_prefix(&sent).unwrap_or_else(|| panic!("{path}: {sent} {written}"));
        assert_eq!(recorded.lines().count(), usize::from(path == "/export_audit"), "{recorded}");
        let first: Value = serde_json::from_str(written.lines().next().unwrap()).unwrap();
        assert!(first["_id"].is_string() || first["seq"] == 1, "{first}");
    }
}
