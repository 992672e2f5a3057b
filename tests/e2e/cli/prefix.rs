//! Ids given by their beginning, and the smaller commands: the front page, sites, categories, days and own passwords.

use serde_json::json;
use tidings_tests::{PASSWORD, Server};

use super::fixture::{Fixture, LIBRARY, RELEASE};

#[test]
fn a_unique_beginning_of_an_id_is_enough() {
    let fixture = Fixture::new();
    // The three posts differ in their last digit only.
    let refused = fixture.run(&["post", "show", "6500", "--json"]);
    assert_eq!((refused.status, &refused.json()["code"]), (2, &json!("invalid_value")));
    assert!(refused.stderr.contains("6500 begins the id of more than one post"), "{refused:?}");
    assert!(refused.stderr.contains(RELEASE) && refused.stderr.contains(LIBRARY), "{refused:?}");
    for last in [RELEASE, "650000000000000000000003"] {
        let _ = fixture.stdout(&["post", "remove", last, "--yes"]);
    }
    let shown = fixture.stdout(&["post", "show", "6500", "--json"]);
    assert!(shown.contains(LIBRARY), "{shown}");
    assert!(fixture.stdout(&["--as", "ann", "post", "like", "650000"]).contains("liked"));
}

#[test]
fn notices_feedback_drafts_and_sessions_are_found_by_the_beginning_of_their_ids() {
    let fixture = Fixture::new();
    let draft = fixture.stdout(&["notice", "draft", "save", "--title", "Draft", "--post", "Text"]);
    let draft = draft.trim();
    let list = fixture.run(&["feedback", "list", "--json"]).succeeded().json();
    let feedback = list["feedback_list"][0]["_id"].as_str().unwrap();
    let shown = fixture.stdout(&["notice", "show", &fixture.notice[..23], "--json"]);
    let others = [&fixture.notice, &fixture.hidden].map(|id| id[..23].to_owned());
    if others[0] != others[1] {
        assert!(shown.contains(&fixture.notice), "{shown}");
    }
    assert!(fixture.stdout(&["notice", "draft", "show", &draft[..20]]).contains("Draft"));
    assert!(fixture.stdout(&["feedback", "done", &feedback[..20]]).contains("done"));
    let unknown = fixture.run(&["notice", "show", "0123"]);
    assert_eq!(unknown.status, 1, "{unknown:?}");
    let other = fixture.run(&["notice", "show", "012"]);
    assert_eq!(other.status, 1, "{other:?}");
}

#[test]
fn the_front_page_sites_and_categories_are_shown() {
    let fixture = Fixture::new();
    let empty = fixture.run(&["front", "show"]).succeeded();
    assert_eq!((&*empty.stdout, empty.stderr.contains("no lines")), ("", true));
    assert_eq!(fixture.run(&["front", "set"]).status, 2);
    let _ = fixture.stdout(&["front", "set", "--first", "Open until ten", "--second", "-5 % off"]);
    let _ = fixture.stdout(&["front", "set", "--first", ""]);
    assert_eq!(fixture.stdout(&["front", "show"]), "-5 % off\n");
    let object = fixture.run(&["front", "show", "--json"]).succeeded().json();
    assert_eq!(object, json!({ "result": "success", "main_info": ["", "-5 % off"] }));
    assert_eq!(fixture.run(&["--as", "ann", "front", "set", "--first", "Mine"]).status, 1);
    let categories = fixture.stdout(&["post", "categories", "--ndjson"]);
    assert_eq!(categories.lines().count(), 3, "{categories}");
    let sites = fixture.run(&["search", "sites", "release", "--json"]).succeeded().json();
    assert_eq!(sites["search_result"][0]["title"], "news.example.org");
    assert!(fixture.stdout(&["search", "sites", "release"]).contains("https://news.example.org"));
}

#[test]
fn the_last_days_and_the_days_of_a_period_are_shown() {
    let fixture = Fixture::new();
    let count = |args: &[&str]| {
        fixture.stdout(&[&["analysis", "days"], args, &["--ndjson"]].concat()).lines().count()
    };
    assert_eq!((count(&[]), count(&["7"]), count(&["1"])), (7, 7, 1));
    assert_eq!(count(&["--from", "2026-11-01", "--to", "2026-11-20"]), 20);
    assert_eq!(count(&["--to", "2026-11-20"]), 7);
    let object = fixture.run(&["analysis", "days", "--to", "2026-11-20", "--json"]).succeeded().json();
    assert_eq!(object["days"][0]["date"], "2026-11-14");
    for wrong in [
        &["--from", "2026-11-20", "--to", "2026-11-01"][..],
        &["--from", "2024-01-01", "--to", "2026-11-01"],
        &["--from", "yesterday"],
        &["7", "--to", "2026-11-01"],
    ] {
        assert_eq!(fixture.run(&[&["analysis", "days"], wrong].concat()).status, 2, "{wrong:?}");
    }
    assert_eq!(fixture.run(&["analysis", "days", "0"]).status, 1);
}

#[test]
fn members_change_their_own_password_with_the_current_one() {
    let fixture = Fixture::new();
    let change = ["--as", "ann", "member", "password", "ann", "--password-stdin"];
    let wrong = fixture.with_input(&change, "wrong password\nbattery staple\n");
    assert!(wrong.status == 1 && wrong.stderr.contains("incorrect pw"), "{wrong:?}");
    assert_eq!(fixture.with_input(&change, PASSWORD).status, 2, "there is no second line");
    let short = fixture.with_input(&change, &format!("{PASSWORD}\nshort\n"));
    assert!(short.status == 1 && short.stderr.contains("8 to 128"), "{short:?}");
    let changed = fixture.with_input(&change, &format!("{PASSWORD}\nbattery staple\n"));
    assert!(changed.status == 0 && changed.stdout.contains("everywhere else"), "{changed:?}");
    let sign_in = ["member", "sign-in", "ann", "--password-stdin"];
    assert_eq!(fixture.with_input(&sign_in, PASSWORD).status, 1);
    let _ = fixture.with_input(&sign_in, "battery staple").succeeded();
    let other = ["--as", "ann", "member", "password", "boss", "--password-stdin"];
    assert_eq!(fixture.with_input(&other, &format!("{PASSWORD}\nbattery staple\n")).status, 1);
}

#[test]
fn the_look_up_of_ids_over_http_answers_callers_what_they_see() {
    let server = Server::start();
    let admin = server.admin();
    let post = tidings_tests::sample::post("One");
    let id = admin.post("/insert_post", post).succeeded().text("/_id");
    let found = server.anyone().get(&format!("/find_ids/post/{}", &id[..20])).succeeded();
    assert_eq!(found.body["ids"], json!([{ "_id": id, "title": "One" }]));
    assert_eq!(server.anyone().get("/find_ids/feedback/6560").outcome(), "401 bad token");
    assert_eq!(admin.get("/find_ids/post/656").outcome(), "400 bad request");
    assert_eq!(admin.get("/get_log?status=999").outcome(), "400 bad request");
}
