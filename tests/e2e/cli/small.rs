//! Parts of ids, and the smaller commands: the front page, sites, categories, days and own passwords.

use serde_json::json;
use tidings_tests::PASSWORD;

use super::fixture::Fixture;

#[test]
fn a_part_of_an_id_is_refused_and_the_front_page_sites_and_categories_are_shown() {
    let fixture = Fixture::new();
    for (kind, verb) in [("post", "show"), ("notice", "show"), ("feedback", "done"), ("invitation", "remove")]
    {
        let refused = fixture.run(&[kind, verb, "6500"]);
        assert!(refused.status == 1 && refused.stderr.contains("a whole id has 24 digits"), "{refused:?}");
    }
    let refused = fixture.run(&["post", "show", "650000000000000000000099"]);
    assert!(refused.status == 1 && !refused.stderr.contains("24 digits"), "{refused:?}");

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
