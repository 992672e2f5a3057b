//! Files that commands write: only a complete file replaces an existing one, and none replaces the database.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use tidings_tests::{Server, only_on_sqlite, sample};

#[test]
fn an_export_never_overwrites_the_databases_files() {
    only_on_sqlite!("it is about the database file");
    let server = Server::with(|serve| {
        serve.args(["--words-retrain-after", "0"]);
    });
    let _ = server.cli_with_input(["post", "import", "-"], sample::RUST_BLOG).succeeded();
    let _ = server.cli(["words", "train"]).succeeded();
    let database = server.database().file_name().unwrap().to_str().unwrap();
    let beside = |end: &str| format!("{database}{end}");
    let linked = server.database().with_file_name("linked.txt");
    fs::hard_link(server.database(), linked).unwrap();
    let before = server.dump();
    let places = ["", "-wal", "-shm", "-journal", ".key"].map(beside);
    let others = ["linked.txt".to_owned(), format!("./{database}"), server.database().display().to_string()];
    for place in places.iter().chain(&others) {
        let read = || fs::read(server.database().with_file_name(place)).ok();
        let bytes = read();
        for kind in ["post", "words"] {
            let refused = server.cli([kind, "export", place]);
            assert_eq!(refused.status, 2, "{place}: {refused:?}");
            let message = "is the database itself, or one of its files: name another file";
            assert!(refused.stderr.contains(message), "{place}: {refused:?}");
        }
        let written_meanwhile = ["-wal", "-shm"].iter().any(|end| place.ends_with(end));
        assert!(written_meanwhile || read() == bytes, "{place} has changed");
    }
    assert_eq!(server.dump(), before);
    assert_eq!(server.integrity(), "ok");
    for kind in ["post", "words"] {
        let _ = server.cli([kind, "export", "another.txt"]).succeeded();
    }
}

#[test]
fn an_export_is_of_the_owner_alone_and_one_that_fails_leaves_the_existing_file() {
    let server = Server::start();
    let _ = (server.admin(), server.member("ann"));
    let path = |file: &str| server.database().with_file_name(file);
    // An earlier file that others could read becomes one of the owner.
    fs::write(path("trail"), "").unwrap();
    fs::set_permissions(path("trail"), fs::Permissions::from_mode(0o644)).unwrap();
    for args in [["audit", "export", "trail"].as_slice(), &["member", "export", "ann", "data"]] {
        let _ = server.cli(args).succeeded();
        let file = args[args.len() - 1];
        assert_eq!(fs::metadata(path(file)).unwrap().permissions().mode() & 0o777, 0o600, "{file}");
    }
    fs::write(path("vectors.txt"), "before").unwrap();
    let refused = server.cli(["words", "export", "vectors.txt"]);
    insta::assert_snapshot!(refused.stderr, @"error: Not found: there are no words yet: tidings words train");
    assert_eq!(server.cli(["post", "export", "--as", "ann", "vectors.txt"]).status, 1);
    assert_eq!(fs::read_to_string(path("vectors.txt")).unwrap(), "before");
    let nowhere = server.cli(["post", "export", "no/posts.jsonl"]);
    assert!(nowhere.status == 3 && nowhere.stderr.contains("cannot write no/posts.jsonl"), "{nowhere:?}");
    assert_eq!(server.cli(["post", "export", "-", "--json"]).status, 2);
}

#[test]
fn json_has_escapes_for_what_could_control_a_terminal() {
    let server = Server::start();
    let title = "a\u{7f}b\u{9b}31m\u{85}\u{202e}c\u{2066}\u{feff}";
    let _ = server.cli_with_input(["post", "import", "-"], r#"{"title": "T", "url": "https://a.example/1"}"#);
    let sql = "UPDATE post SET title = $1";
    server.sql().execute(sql, &[tidings_tests::Value::Text(title)]);
    let raw = ['\u{7f}', '\u{9b}', '\u{85}', '\u{202e}', '\u{2066}', '\u{feff}'];
    for args in [
        ["post", "list", "--json"].as_slice(),
        &["post", "list", "--ndjson"],
        &["--json", "feed", "popular"],
        &["post", "export", "-"],
    ] {
        let printed = server.cli(args).succeeded().stdout;
        assert!(!printed.contains(raw) && printed.contains("\\u009b31m"), "{args:?}: {printed}");
        let line: serde_json::Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
        let found = [&line["title"], &line["posts"][0]["title"], &line["newsfeed"][0]["title"]];
        assert!(found.iter().any(|found| **found == title), "{args:?}: {line}");
    }
    assert!(!server.cli(["post", "list"]).succeeded().stdout.contains(raw));
}
