//! Notices: administrators insert, update and remove them, and anyone reads those that are shown.

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, Server, run, sample, wait_until};

use crate::form::{is_date, is_id};

mod planned;

const UNKNOWN: &str = "0123456789abcdef01234567";
/// Malformed ids, as they appear in a path.
const MALFORMED: [&str; 4] = ["1", "0123456789abcdef0123456", "0123456789abcdef0123456z", "%EA%B0%80"];

fn insert(admin: &Caller, notice: Value) -> String {
    admin.post("/insert_notice", notice).succeeded().text("/_id")
}

fn titles(reader: &Caller) -> Vec<String> {
    reader.get("/get_all_notice").succeeded().column("notice_list", "title")
}

fn get(reader: &Caller, id: &str) -> Answer {
    reader.get(&format!("/get_notice/{id}"))
}

/// Returns all notices with all fields, without counting a view.
fn all(admin: &Caller) -> Value {
    admin.get("/get_all_notice").succeeded().body
}

#[test]
fn anybody_reads_an_inserted_notice() {
    let server = Server::start();
    let admin = server.admin();
    assert_eq!(
        server.anyone().get("/get_all_notice").body,
        json!({ "result": "success", "notice_list": [] })
    );
    let inserted =
        admin.post("/insert_notice", json!({ "title": "개강", "post": "3월 2일\n\t<b>수요일</b> 🎓" }));
    let id = inserted.text("/_id");
    assert_eq!(inserted.body, json!({ "result": "success", "_id": id }));
    assert!(is_id(&id), "{id}");

    let list = server.anyone().get("/get_all_notice").succeeded();
    let date = list.text("/notice_list/0/date");
    assert!(is_date(&date), "{date}");
    let notice = |view: i64| {
        json!({
            "_id": id, "title": "개강", "post": "3월 2일\n\t<b>수요일</b> 🎓", "view": view, "date": date,
            "activation": 1,
        })
    };
    assert_eq!(list.body, json!({ "result": "success", "notice_list": [notice(0)] }));
    let expected = json!({ "result": "success", "notice_list": notice(1) });
    assert_eq!(get(&server.anyone(), &id).body, expected);
}

#[test]
fn the_newest_notice_comes_first() {
    let server = Server::start();
    let admin = server.admin();
    let names: Vec<String> = (0..20).map(|n| format!("notice {n}")).collect();
    for name in &names {
        insert(&admin, sample::notice(name));
    }
    assert!(titles(&server.anyone()).iter().eq(names.iter().rev()));
}

#[test]
fn titles_have_1_to_200_characters_and_texts_1_to_20000() {
    let server = Server::start();
    let admin = server.admin();
    let mut expected = Vec::new();
    // Limits are in characters; in UTF-8 a Hangul syllable has three bytes, a crab emoji four.
    for letter in ["a", "가", "🦀"] {
        let longest = json!({ "title": letter.repeat(200), "post": letter.repeat(20_000) });
        let id = insert(&admin, longest.clone());
        assert_eq!(get(&admin, &id).body["notice_list"]["post"], longest["post"]);
        expected.insert(0, letter.repeat(200));
        for refused in [
            json!({ "title": letter.repeat(201), "post": letter }),
            json!({ "title": letter, "post": letter.repeat(20_001) }),
        ] {
            assert_eq!(admin.post("/insert_notice", refused).outcome(), "400 bad request");
            assert_eq!(titles(&admin), expected);
        }
    }
    insert(&admin, json!({ "title": "a", "post": "b" }));
    let before = all(&admin);
    for refused in [
        json!({}),
        json!({ "title": "no text" }),
        json!({ "post": "no title" }),
        json!({ "title": "", "post": "empty" }),
        json!({ "title": "empty", "post": "" }),
        json!({ "title": 1, "post": "a number" }),
        json!({ "title": "a list", "post": ["a", "b"] }),
    ] {
        let answer = admin.post("/insert_notice", refused.clone());
        assert_eq!(answer.outcome(), "400 bad request", "{refused}");
    }
    assert_eq!(all(&admin), before);
}

#[test]
fn activation_is_0_or_1_and_1_when_it_is_not_given() {
    let server = Server::start();
    let admin = server.admin();
    for (given, stored) in [(json!(0), 0), (json!(1), 1)] {
        let id = insert(&admin, json!({ "title": "t", "post": "p", "activation": given }));
        assert_eq!(get(&admin, &id).body["notice_list"]["activation"], stored);
    }
    let id = insert(&admin, json!({ "title": "t", "post": "p" }));
    assert_eq!(get(&admin, &id).body["notice_list"]["activation"], 1);
    let before = all(&admin);
    for activation in [json!(2), json!(-1), json!(0.5), json!("on"), json!([1]), json!(true)] {
        let notice = json!({ "title": "t", "post": "p", "activation": activation });
        assert_eq!(admin.post("/insert_notice", notice.clone()).outcome(), "400 bad request", "{activation}");
        let update = admin.post(&format!("/update_notice/{id}"), notice);
        assert_eq!(update.outcome(), "400 bad request", "{activation}");
    }
    assert_eq!(all(&admin), before);
}

#[test]
fn forms_are_read_like_json() {
    let server = Server::start();
    let admin = server.admin();
    let fields =
        [("title", "도서관 & 열람실"), ("post", "열 시까지 = 22:00"), ("activation", "0"), ("more[x]", "1")];
    let id = admin.form("/insert_notice", &fields).succeeded().text("/_id");
    let notice = get(&admin, &id).body["notice_list"].clone();
    assert_eq!(notice["title"], "도서관 & 열람실");
    assert_eq!(notice["post"], "열 시까지 = 22:00");
    assert_eq!(notice["activation"], 0);
    let update = admin
        .request("POST", &format!("/update_notice/{id}"))
        .body("application/x-www-form-urlencoded; charset=UTF-8", "activation=1&title=Library+hours");
    let _ = update.send().succeeded();
    assert_eq!(titles(&server.anyone()), ["Library hours"]);
    for refused in [[("title", "t"), ("activation", "0")], [("title", "t"), ("activation", "yes")]] {
        assert_eq!(admin.form("/insert_notice", &refused).outcome(), "400 bad request", "{refused:?}");
    }
    assert_eq!(titles(&admin), ["Library hours"]);
}

#[test]
fn a_hidden_notice_exists_for_administrators_only() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    insert(&admin, sample::notice("shown"));
    let hidden = insert(&admin, json!({ "title": "hidden", "post": "soon", "activation": 0 }));
    let readers = [server.anyone(), ann.clone(), ann.with_token("x", "no.such.token")];
    for reader in &readers {
        assert_eq!(titles(reader), ["shown"]);
        assert_eq!(get(reader, &hidden).outcome(), "404 Not found");
    }
    assert_eq!(titles(&admin), ["hidden", "shown"]);
    assert_eq!(
        get(&admin, &hidden).succeeded().body["notice_list"]["view"],
        1,
        "a refused reader counts no view"
    );

    let _ = admin.post(&format!("/update_notice/{hidden}"), json!({ "activation": 1 })).succeeded();
    for reader in &readers {
        assert_eq!(titles(reader), ["hidden", "shown"]);
        let _ = get(reader, &hidden).succeeded();
    }
    let _ = admin.post(&format!("/update_notice/{hidden}"), json!({ "activation": 0 })).succeeded();
    for reader in &readers {
        assert_eq!(titles(reader), ["shown"]);
        assert_eq!(get(reader, &hidden).outcome(), "404 Not found");
    }
    assert_eq!(get(&admin, &hidden).body["notice_list"]["view"], 5);

    // A former administrator sees only the notices that are shown.
    let _ = server.cli(["admin", "grant", "ann"]).succeeded();
    assert_eq!(titles(&ann), ["hidden", "shown"]);
    let _ = server.cli(["admin", "revoke", "ann"]).succeeded();
    assert_eq!(titles(&ann), ["shown"]);
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let server = Server::start();
    let admin = server.admin();
    let (first, other) = (insert(&admin, sample::notice("first")), insert(&admin, sample::notice("other")));
    let _ = get(&admin, &first).succeeded();
    let mut expected = all(&admin);
    for (field, value) in [("title", json!("새 제목")), ("post", json!("new text")), ("activation", json!(0))]
    {
        let update = admin.post(&format!("/update_notice/{first}"), json!({ field: value, "unknown": 1 }));
        assert_eq!(update.succeeded().body, json!({ "result": "success" }));
        // The newest notice is first; an update does not change the order.
        expected["notice_list"][1][field] = value;
        assert_eq!(all(&admin), expected);
    }
    for refused in [
        json!({}),
        json!({ "unknown": "field" }),
        json!({ "title": "" }),
        json!({ "post": "" }),
        json!({ "title": "가".repeat(201) }),
        json!({ "post": "가".repeat(20_001) }),
        json!({ "title": "good", "post": "" }),
        json!({ "title": ["list"] }),
    ] {
        let update = admin.post(&format!("/update_notice/{other}"), refused.clone());
        assert_eq!(update.outcome(), "400 bad request", "{refused}");
    }
    assert_eq!(all(&admin), expected);
}

#[test]
fn a_removed_notice_is_gone() {
    let server = Server::start();
    let admin = server.admin();
    let (one, two) = (insert(&admin, sample::notice("one")), insert(&admin, sample::notice("two")));
    let removed = admin.get(&format!("/remove_notice/{one}")).succeeded();
    assert_eq!(removed.body, json!({ "result": "success" }));
    assert_eq!(titles(&server.anyone()), ["two"]);
    assert_eq!(get(&admin, &one).outcome(), "404 Not found");
    assert_eq!(
        admin.post(&format!("/update_notice/{one}"), json!({ "title": "t" })).outcome(),
        "404 Not found"
    );
    assert_eq!(admin.get(&format!("/remove_notice/{one}")).outcome(), "200 Not found");
    assert_eq!(titles(&server.anyone()), ["two"]);
    let _ = get(&server.anyone(), &two).succeeded();
}

#[test]
fn a_malformed_id_is_not_found() {
    let server = Server::start();
    let admin = server.admin();
    insert(&admin, sample::notice("only"));
    let before = all(&admin);
    for id in MALFORMED.into_iter().chain([UNKNOWN]) {
        assert_eq!(get(&admin, id).outcome(), "404 Not found", "{id}");
        assert_eq!(get(&server.anyone(), id).outcome(), "404 Not found", "{id}");
        let update = admin.post(&format!("/update_notice/{id}"), json!({ "title": "t" }));
        assert_eq!(update.outcome(), "404 Not found", "{id}");
        assert_eq!(admin.get(&format!("/remove_notice/{id}")).outcome(), "200 Not found", "{id}");
    }
    assert_eq!(all(&admin), before);
}

#[test]
fn only_administrators_change_notices() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let id = insert(&admin, sample::notice("only"));
    let before = all(&admin);
    for caller in [server.anyone(), ann.clone(), ann.with_token("ann", "forged"), ann.with_token("ann", "")] {
        assert_eq!(caller.post("/insert_notice", sample::notice("mine")).outcome(), "200 Not admin");
        // The answer does not reveal whether the notice exists.
        for id in [&id, UNKNOWN] {
            let update = caller.post(&format!("/update_notice/{id}"), json!({ "title": "mine" }));
            assert_eq!(update.outcome(), "200 Not admin");
            assert_eq!(caller.get(&format!("/remove_notice/{id}")).outcome(), "200 Not admin");
        }
    }
    assert_eq!(all(&admin), before);
}

#[test]
fn each_read_of_a_notice_counts_one_view_that_survives_a_restart() {
    let mut server = Server::start();
    let admin = server.admin();
    let (read, unread) = (insert(&admin, sample::notice("read")), insert(&admin, sample::notice("unread")));
    for view in 1..=7 {
        assert_eq!(get(&server.anyone(), &read).body["notice_list"]["view"], view);
        assert_eq!(
            server.anyone().get("/get_all_notice").column("notice_list", "view"),
            ["0", &view.to_string()]
        );
    }
    // Neither a list nor an update counts as a view, and a changed notice keeps its views.
    let _ = admin.post(&format!("/update_notice/{read}"), json!({ "title": "read on" })).succeeded();
    insert(&admin, sample::notice("third"));
    assert_eq!(server.anyone().get("/get_all_notice").column("notice_list", "view"), ["0", "0", "7"]);
    server.restart();
    assert_eq!(server.anyone().get("/get_all_notice").column("notice_list", "view"), ["0", "0", "7"]);
    assert_eq!(get(&server.anyone(), &read).body["notice_list"]["view"], 8);
    assert_eq!(get(&server.anyone(), &unread).body["notice_list"]["view"], 1);
}

#[test]
fn views_by_a_command_appear_on_the_server() {
    let server = Server::start();
    let id = insert(&server.admin(), sample::notice("read elsewhere"));
    let list = || server.anyone().get("/get_all_notice").succeeded();
    let view = |list: &Answer| list.list("notice_list")[0]["view"].as_i64();
    assert_eq!(get(&server.anyone(), &id).body["notice_list"]["view"], 1);
    let before = list();
    for _ in 0..3 {
        let mut command = server.command();
        command.args(["notice", "show", &id]);
        assert_eq!(run(command, "").status, 0);
    }
    wait_until("the views of the command are shown", || view(&list()) == Some(4));
    assert_ne!(list().header("etag"), before.header("etag"));
    assert_eq!(get(&server.anyone(), &id).body["notice_list"]["view"], 5);
}

#[test]
fn a_clean_stop_loses_none_of_many_concurrent_views() {
    const READERS: i64 = 8;
    const VIEWS: i64 = 100;
    let mut server = Server::start();
    let admin = server.admin();
    let id = insert(&admin, sample::notice("much read"));
    let read = || {
        let reader = server.anyone();
        let view = |_| get(&reader, &id).succeeded().body["notice_list"]["view"].as_i64().unwrap();
        (0..VIEWS).map(view).collect::<Vec<_>>()
    };
    let mut views: Vec<i64> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        // Notices change at the same time, so that views are counted while the cached list is rebuilt.
        for n in 0..10 {
            insert(&admin, sample::notice(&format!("beside {n}")));
        }
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect()
    });
    views.sort_unstable();
    assert!(views.into_iter().eq(1..=READERS * VIEWS), "every view returns a different number");
    assert!(server.stop().status.success());
    server.restart();
    let all = server.anyone().get("/get_all_notice").succeeded();
    assert_eq!(all.list("notice_list").last().unwrap()["view"], READERS * VIEWS);
}
