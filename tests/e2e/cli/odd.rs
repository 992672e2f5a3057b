//! Unusual input: names that look like flags, control characters, commands without permission, and the JSON that
//! programs get for them.

use serde_json::{Value, json};
use tidings_tests::{PASSWORD, remote, wait_until};

use super::fixture::{Fixture, LIBRARY, UNKNOWN};

#[test]
fn untrusted_text_cannot_control_the_terminal() {
    let fixture = Fixture::new();
    let bell = "Title \u{7}\u{1b}[2J";
    let refused = fixture.run(&["notice", "add", "--title", bell, "--post", "x"]);
    assert_eq!(refused.status, 1, "{refused:?}");
    let hidden = "a\u{202e}b \"quoted\" 'too'";
    let refused = fixture.run(&["member", "nickname", "ann", hidden]);
    assert_eq!(refused.status, 1, "{refused:?}");
    let roster = "id,name,major,password\ns1,\"\u{1b}[31mred\u{7}\nline\",\t,secret\n";
    let _ = fixture.with_input(&["roster", "import", "-"], roster).succeeded();
    let list = fixture.stdout(&["roster", "list"]);
    assert!(list.contains("[31mred line") && !list.contains('\u{1b}'), "{list}");
    // Names with control characters that an earlier version accepted are still in the database.
    let mut database = fixture.sql();
    database.execute("UPDATE member SET nickname = $1 WHERE id = 'ann'", &[hidden.into()]);
    database.execute("UPDATE roster SET name = $1 WHERE id = 's1'", &["\u{1b}[31mred\u{7}\nline".into()]);
    drop(database);
    let list = fixture.stdout(&["member", "list"]);
    assert!(list.contains("a\\u{202e}b \"quoted\" 'too'"), "{list}");
    let list = fixture.stdout(&["roster", "list"]);
    assert!(list.contains("\\u{1b}[31mred\\u{7}\\nline") && !list.contains('\u{1b}'), "{list}");
    for unknown in ["\u{1b}[31m", "a\nb", "a b", "\"", "'; DROP TABLE member; --", "\u{202e}"] {
        let output = fixture.run(&["member", "show", unknown]);
        assert_eq!((output.status, output.stdout.as_str()), (1, ""), "{output:?}");
        assert!(!output.stderr.trim_end().contains(['\u{1b}', '\u{202e}', '\n']), "{output:?}");
        assert_eq!(fixture.run(&["member", "show", unknown, "--json"]).json()["result"], "Not found");
    }
    // What is refused before it is read.
    let odd = "\u{1b}]0;pwn\u{7}\u{1b}[31mred\u{202e}\nerror: \u{9b}2J";
    let flag = format!("--{odd}");
    let setting = format!("TIDINGS_DB={odd}");
    for args in [
        &["analysis", "device", odd][..],
        &["analysis", odd],
        &[odd],
        &["notice", "list", &flag],
        &["notice", "list", odd],
        &["notice", "list", "--color", odd],
        &["analysis", "days", odd],
        &["notice", "show", odd],
        &["--as", odd, "notice", "list"],
        &["--db", odd, "notice", "list"],
        &["notice", "list", "--all", &setting],
    ] {
        for form in [&[][..], &["--color=always"]] {
            let output = fixture.run(&[form, args].concat());
            assert_ne!(output.status, 0, "{output:?}");
            let text = output.stderr.replace("\u{1b}[1m\u{1b}[31m", "").replace("\u{1b}[0m", "");
            let unsafe_char = text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}');
            assert!(!unsafe_char, "{args:?}: {output:?}");
        }
    }

    // A name that looks like a flag is a name.
    let id = fixture.stdout(&["notice", "add", "--title", "--hidden", "--post", "-5 %\t\"off\""]);
    let shown = fixture.stdout(&["notice", "list"]);
    assert!(shown.contains("--hidden"), "{shown}");
    assert!(fixture.stdout(&["notice", "show", id.trim()]).ends_with("-5 %\\t\"off\"\n"));
    let _ = fixture.stdout(&["member", "nickname", "ann", "--", "--json"]);
    assert!(fixture.stdout(&["member", "list"]).contains("--json"));
    let unknown = fixture.run(&["member", "show", "--", "--json"]);
    assert_eq!((unknown.status, unknown.stdout.as_str()), (1, ""), "{unknown:?}");
    let _ = fixture.stdout(&["--as", "ann", "feedback", "send", "--type", "-", "--", "--type"]);
    let list = fixture.stdout(&["feedback", "list", "--json"]);
    assert!(list.contains(r#""type":"-","post":"--type""#), "{list}");
}

#[test]
fn commands_with_as_have_the_rights_of_that_member() {
    let fixture = Fixture::new();
    for (args, result) in [
        (&["member", "show", "ben"][..], "Not admin"),
        (&["member", "show", "nobody"], "Not admin"),
        (&["member", "remove", "ben", "--yes"], "Not admin"),
        (&["serve"], "Not admin"),
        (&["post", "import", "/dev/null"], "Not admin"),
        (&["post", "add", "--title", "T", "--url", "https://example.org/"], "Not admin"),
        (&["member", "show", "ann"], "success"),
        (&["post", "like", LIBRARY], "success"),
        (&["feed", "topic", "Rust"], "success"),
    ] {
        let output = fixture.run(&[&["--as", "ANN", "--json"], args].concat());
        assert_eq!(output.json()["result"], result, "{args:?}: {output:?}");
        assert_eq!(output.status, i32::from(result != "success"), "{args:?}: {output:?}");
    }
    let lists: Value = serde_json::from_str(&fixture.stdout(&["member", "lists", "ann", "--json"])).unwrap();
    assert_eq!(lists["fav_list"][0]["_id"], LIBRARY);
    assert_eq!(lists["newsfeed_list"].as_array().unwrap().len(), 2);
    // To a server a blacklisted member is a guest.
    let blacklisted = [("ben", "blacklist user")].into_iter().filter(|_| !remote::is_chosen());
    for (id, result) in [("nobody", "Not found"), ("", "Not found")].into_iter().chain(blacklisted) {
        let output = fixture.run(&["feed", "popular", "--json", "--as", id]);
        assert_eq!((output.status, &output.json()["result"]), (1, &json!(result)), "{output:?}");
    }
    // What is for the operator is refused to administrators, and what is for administrators to members.
    for (id, only, args) in [
        ("boss", "the operator", &["init", "--admin", "ann"][..]),
        ("boss", "the operator", &["words", "load", "-"]),
        ("boss", "the operator", &["restore", "copy.db", "--yes"]),
        ("boss", "the operator", &["check", "--repair", "--yes"]),
        ("ann", "an administrator", &["member", "list", "--ndjson"]),
        ("ann", "an administrator", &["roster", "import", "-"]),
        ("ann", "an administrator", &["admin", "revoke", "boss"]),
    ] {
        let output = fixture.with_input(&[&["--as", id], args].concat(), "id,name,password\n");
        let is_explained = output.stderr.starts_with(&format!("error: Not admin: only {only}"))
            && output.stderr.contains("leave --as out");
        assert!(output.status == 1 && is_explained, "{args:?}: {output:?}");
    }
    for args in [&["member", "list"][..], &["admin", "grant", "s2026001"], &["admin", "revoke", "s2026001"]] {
        let _ = fixture.stdout(&[&["--as", "boss"], args].concat());
    }
}

#[test]
fn a_refused_removal_asks_for_no_confirmation() {
    let fixture = Fixture::new();
    for (args, result) in [
        (&["member", "remove", "nobody"][..], "Not found"),
        (&["--as", "ann", "member", "remove", "boss"], "Not admin"),
        (&["--as", "ann", "member", "remove", "nobody"], "Not admin"),
        (&["notice", "remove", UNKNOWN], "Not found"),
        (&["--as", "ann", "notice", "remove", &fixture.notice], "Not admin"),
        (&["--as", "ann", "notice", "remove", &fixture.hidden], "Not admin"),
        (&["post", "remove", UNKNOWN], "Not found"),
        (&["--as", "ann", "post", "remove", LIBRARY], "Not admin"),
        (&["--as", "ann", "post", "remove", UNKNOWN], "Not admin"),
    ] {
        let output = fixture.run(&[args, &["--json"]].concat());
        assert_eq!((output.status, &output.json()["result"]), (1, &json!(result)), "{args:?}");
    }
    for args in [
        &["--as", "boss", "member", "remove", "s2026001"][..],
        &["--as", "ann", "member", "remove", "ANN"],
        &["--as", "boss", "notice", "remove", &fixture.hidden],
        &["--as", "boss", "post", "remove", LIBRARY],
        &["member", "remove", "ben"],
    ] {
        let output = fixture.run(args);
        assert!(output.status == 2 && output.stderr.contains("confirm with --yes"), "{args:?}: {output:?}");
        let _ = fixture.stdout(&[args, &["--yes"]].concat());
    }
}

#[test]
fn members_are_named_as_they_signed_up() {
    let fixture = Fixture::new();
    for args in [
        &["admin", "grant", "ANN"][..],
        &["admin", "check", "ANN"],
        &["init", "--admin", "ANN"],
        &["admin", "revoke", "ANN"],
        &["member", "auto-login", "ANN", "1"],
        &["member", "nickname", "ANN", "N"],
        &["member", "reset", "ANN"],
        &["member", "remove", "ANN", "--yes"],
    ] {
        let printed = fixture.stdout(args);
        assert!(printed.contains("ann") && !printed.contains("ANN"), "{args:?}: {printed}");
    }
    let refused = fixture.run(&["--as", "s2026001", "member", "show", "ben"]);
    assert!(
        refused
            .stderr
            .contains("only \"ben\" does this, or an administrator: sign in as one, or leave --as out"),
        "{refused:?}"
    );
    // A blacklisted administrator is listed as both.
    let _ = fixture.stdout(&["admin", "grant", "ben"]);
    assert!(fixture.stdout(&["member", "list"]).contains("admin, blacklisted"));
    assert!(fixture.stdout(&["admin", "list"]).contains("blacklisted"));
}

#[test]
fn a_failure_prints_one_json_document_and_keeps_its_exit_status() {
    let fixture = Fixture::new();
    let (bad, failed) = (("bad request", "invalid_value"), ("internal error", "internal_error"));
    for (args, status, (result, code), message) in [
        (&["notice", "show", "x"][..], 1, ("Not found", "not_found"), "it does not exist"),
        (&["notice", "edit", &fixture.notice], 2, bad, "say what to change"),
        (&["notice", "remove", &fixture.notice], 2, bad, "--yes"),
        (&["notice", "show"], 2, bad, "the following required arguments were not provided: <ID>"),
        (&["notice"], 2, bad, "command"),
        (&["post", "lst"], 2, bad, "unrecognized subcommand 'lst'"),
        (&["post", "list", "--lmit", "3"], 2, bad, "unexpected argument '--lmit'"),
        (&["member", "sign-in", "ann"], 2, bad, "there is no terminal to ask"),
        (&["post", "import", "nowhere.jsonl"], 3, failed, "nowhere.jsonl"),
        (
            &["--db", "nowhere/tidings.db", "notice", "list"],
            3,
            failed,
            "there is no database nowhere/tidings.db",
        ),
        (&["--config", "nowhere.toml", "notice", "list"], 2, bad, "nowhere.toml"),
    ] {
        let output = fixture.with_input(&[&["--json"], args].concat(), PASSWORD);
        let json = output.json();
        assert_eq!((output.status, &json["result"], &json["code"]), (status, &json!(result), &json!(code)));
        let said = json["message"].as_str().unwrap();
        assert!(said.contains(message) && !said.contains('\n'), "{output:?}");
        assert!(output.stderr.starts_with("error: "), "{output:?}");
    }
    let both = fixture.run(&["notice", "list", "--json", "--ndjson"]);
    assert_eq!(both.status, 2, "{both:?}");
}

#[test]
fn long_lists_are_printed_one_element_per_line() {
    let fixture = Fixture::new();
    let lines = |args: &[&str]| {
        let text = fixture.stdout(&[args, &["--ndjson"]].concat());
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let object = |args: &[&str], list: &str| {
        let text = fixture.stdout(&[args, &["--json"]].concat());
        serde_json::from_str::<Value>(&text).unwrap()[list].as_array().unwrap().clone()
    };
    for (args, list) in [
        (&["member", "list"][..], "members"),
        (&["blacklist", "list"], "blacklist"),
        (&["notice", "list", "--all"], "notice_list"),
        (&["feedback", "list"], "feedback_list"),
        (&["post", "list"], "posts"),
        (&["feed", "popular"], "newsfeed"),
        (&["search", "run", "release"], "search_result"),
        (&["search", "realtime"], "search_realtime"),
        (&["--as", "ann", "search", "recent"], "lately_search_list"),
        (&["analysis", "days", "3"], "analysis"),
        (&["analysis", "log"], "log"),
        (&["roster", "list"], "roster"),
    ] {
        // The log of a server has the requests of these commands.
        if remote::is_chosen() && args == ["analysis", "log"] {
            continue;
        }
        assert_eq!(lines(args), object(args, list), "{args:?}");
    }
    assert_eq!(
        lines(&["member", "show", "ann"])[0]["result"],
        "success",
        "an answer without a list is one line"
    );
    // A limit beyond the size of a page, and pages that continue with `--next`.
    let post = |n: u32| {
        let url = format!("https://example.org/many/{n}");
        json!({ "title": format!("Post {n}"), "url": url, "date": "2023-01-01T00:00:00Z" }).to_string()
    };
    let posts: Vec<String> = (0..1_250).map(post).collect();
    let _ = fixture.with_input(&["post", "import", "-"], &posts.join("\n")).succeeded();
    let all = lines(&["post", "list"]);
    assert_eq!(all.len(), 1_253);
    assert_eq!(lines(&["post", "list", "--limit", "1100"]), all[..1_100]);
    wait_until("the feed has all posts but the one past its end date", || {
        lines(&["feed", "popular"]).len() == 1_252
    });
    assert_eq!(lines(&["feed", "popular", "--limit", "310"]).len(), 310);
    for (list, args) in [("posts", ["post", "list"]), ("newsfeed", ["feed", "popular"])] {
        let page =
            |more: &[&str]| fixture.run(&[&args[..], &["--limit=200", "--json"], more].concat()).json();
        let first = page(&[]);
        let second = page(&["--next", first["next"].as_str().unwrap()]);
        let both = [&first, &second].map(|page| page[list].as_array().unwrap().clone()).concat();
        assert_eq!(both, lines(&args)[..400]);
    }
}
