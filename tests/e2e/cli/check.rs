//! `tidings check`: its report on sound and on faulty databases.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use tidings_cluster::{Cluster, is_installed};
use tidings_tests::{Database, Output, Server, only_on_sqlite, sample};

use super::tidings;

/// Creates a database with two posts that a member likes, in a new directory; no process has it open.
fn closed_database() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::at(directory.path().join("tidings.db"), |_| {});
    let (admin, ann) = (server.admin(), server.member("ann"));
    for n in 0..2 {
        let mut post = sample::post(&format!("post {n}"));
        post["topic"] = json!(["sea"]);
        let id = admin.post("/insert_post", post).text("/_id");
        let _ = ann.get(&format!("/post_like/{id}")).succeeded();
    }
    assert!(server.stop().status.success());
    directory
}

fn change(directory: &Path, sql: &str) {
    Database::open(&directory.join("tidings.db")).batch(sql);
}

/// Returns a statement that removes the posts with these keys from the search index.
fn remove_from_index(keys: &str) -> String {
    format!("DELETE FROM post_terms WHERE post IN ({keys});")
}

/// Makes derived rows wrong; returns the names of the checks that find it.
fn make_faults(directory: &Path) -> [&'static str; 5] {
    let faults = "UPDATE total_count SET n = 9 WHERE counter IN (3, 12);
         UPDATE category SET posts = 40 WHERE name = 'sea';
         UPDATE post_stats SET fav = 0;";
    change(directory, &format!("{faults}{}", remove_from_index("2")));
    ["posts", "categories", "likes_and_views", "search_index", "totals"]
}

/// Returns the lines of a report that are the same on every machine and with every version of SQLite.
fn stable_lines(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("sqlite") && !line.contains("free space"));
    lines.map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Returns the names of the checks that a JSON report marks as failed.
fn failed_checks(output: &Output) -> Vec<String> {
    let object = output.json();
    let Some(checks) = object["checks"].as_array() else { panic!("no report: {output:?}") };
    let wrong = checks.iter().filter(|check| check["ok"] == json!(false));
    // The PostgreSQL server of the tests has settings that do not survive a crash.
    let names = wrong.map(|check| check["name"].as_str().unwrap().to_owned());
    names.filter(|name| name != "durability").collect()
}

#[test]
fn a_sound_database_is_reported_as_sound() {
    only_on_sqlite!("the report has lines about the file");
    let directory = closed_database();
    let printed = tidings(directory.path(), &["check"], "").succeeded();
    assert_eq!(printed.stderr, "");
    insta::with_settings!({ filters => [(r"version [0-9]+", "version [n]")] }, {
        insta::assert_snapshot!(stable_lines(&printed.stdout));
    });
    let object = tidings(directory.path(), &["check", "--json"], "").succeeded();
    assert_eq!(object.json()["result"], "success");
    assert_eq!(failed_checks(&object), [] as [&str; 0]);
    for check in object.json()["checks"].as_array().unwrap() {
        let fields: Vec<&String> = check.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["detail", "name", "ok"], "{check}");
    }
    let lines = tidings(directory.path(), &["check", "--ndjson"], "").succeeded();
    let lines: Vec<Value> = lines.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names = |checks: &[Value]| checks.iter().map(|check| check["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&lines), names(object.json()["checks"].as_array().unwrap()));
    // A repair changes nothing in a sound database.
    let again = tidings(directory.path(), &["check", "--repair", "--yes"], "").succeeded();
    assert_eq!(stable_lines(&again.stdout), stable_lines(&printed.stdout));
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 2, "the database and the key");
}

#[test]
fn a_server_is_checked_and_nothing_is_created_in_a_database_without_tables() {
    if !is_installed("the check of a PostgreSQL server") {
        return;
    }
    let cluster = Cluster::builder().start().unwrap();
    let (database, directory) = (cluster.database(), tempfile::tempdir().unwrap());
    let run = |args: &[&str]| tidings(directory.path(), &[&["--db", database.url()], args].concat(), "");
    let without_tables = run(&["check", "--json"]);
    assert_eq!((without_tables.status, &without_tables.json()["result"]), (3, &json!("internal error")));
    assert!(without_tables.stderr.contains("has no tables yet"), "{without_tables:?}");
    assert!(database.query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'", &[]).is_empty());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);

    let _ = run(&["demo", "--members", "9", "--posts", "9", "--days", "2"]).succeeded();
    let printed = run(&["check"]).succeeded();
    insta::with_settings!({ filters => [
        (r"version [0-9]+", "version [n]"),
        (r"PostgreSQL [0-9].*", "PostgreSQL [version]"),
        // PostgreSQL 18 has them by default.
        (r"every index is valid.*", "every index is valid[, with or without checksums]"),
        (r"[0-9.]+ MiB", "[size]"),
    ] }, {
        insta::assert_snapshot!(printed.stdout);
    });
    database
        .query("UPDATE total_count SET n = n + 1 WHERE counter = 12; UPDATE category SET posts = 99", &[]);
    let found = run(&["check", "--json"]);
    assert_eq!(
        (found.status, failed_checks(&found)),
        (1, ["posts", "categories"].map(str::to_owned).to_vec())
    );
    assert_eq!(run(&["check", "--repair"]).status, 2);
    let repaired = run(&["check", "--repair", "--yes"]).succeeded();
    let without_size = |printed: &str| {
        printed.lines().filter(|line| !line.contains("size ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without_size(&repaired.stdout), without_size(&printed.stdout));
}

#[test]
fn faults_are_reported_with_advice_and_repaired_on_request() {
    only_on_sqlite!("the report has lines about the file");
    let directory = closed_database();
    let mut all = make_faults(directory.path()).to_vec();
    fs::set_permissions(directory.path().join("tidings.db"), fs::Permissions::from_mode(0o644)).unwrap();
    let printed = tidings(directory.path(), &["check"], "");
    assert_eq!(printed.status, 1, "{printed:?}");
    insta::with_settings!({ filters => [(r"[0-9a-f]{24}", "[id]"), (r"version [0-9]+", "version [n]")] }, {
        insta::assert_snapshot!(stable_lines(&printed.stdout));
    });
    let object = tidings(directory.path(), &["check", "--json"], "");
    assert_eq!((object.status, &object.json()["result"]), (1, &json!("fail")));
    all.push("permissions");
    assert_eq!(failed_checks(&object), all);

    let unconfirmed = tidings(directory.path(), &["check", "--repair"], "");
    assert_eq!(unconfirmed.status, 2, "{unconfirmed:?}");
    assert!(
        unconfirmed.stderr.contains("--yes") && unconfirmed.stderr.contains("search index"),
        "{unconfirmed:?}"
    );
    assert_eq!(failed_checks(&tidings(directory.path(), &["check", "--json"], "")), all);

    let repaired = tidings(directory.path(), &["check", "--repair", "--yes", "--json"], "");
    assert_eq!((repaired.status, failed_checks(&repaired)), (1, vec!["permissions".to_owned()]));
    fs::set_permissions(directory.path().join("tidings.db"), fs::Permissions::from_mode(0o600)).unwrap();
    let _ = tidings(directory.path(), &["check"], "").succeeded();
}

#[test]
fn a_damaged_database_is_reported_and_another_kind_of_file_is_refused() {
    only_on_sqlite!("it replaces or damages the file");
    let directory = closed_database();
    let path = |name: &str| directory.path().join(name);
    let mut bytes = fs::read(path("tidings.db")).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0x5a);
    fs::write(path("tidings.db"), &bytes).unwrap();
    let damaged = tidings(directory.path(), &["check", "--json"], "");
    assert_eq!((damaged.status, &*failed_checks(&damaged)[0]), (1, "integrity"));
    assert!(
        damaged.stdout.contains("restore a backup") && !damaged.stdout.contains("panicked"),
        "{damaged:?}"
    );
    let for_people = tidings(directory.path(), &["check"], "");
    assert!(for_people.stdout.contains("tidings restore"), "{for_people:?}");

    let other = rusqlite::Connection::open(path("other.db")).unwrap();
    other.execute_batch("CREATE TABLE member (x)").unwrap();
    for (name, args, says) in [
        ("missing/new.db", &["demo"][..], "missing does not exist"),
        ("none.db", &["check"], "none.db"),
        ("other.db", &["check"], "not a tidings database"),
    ] {
        let output = tidings(directory.path(), &[&["--db", name], args].concat(), "");
        assert_eq!((output.status, &*output.stdout), (3, ""), "{output:?}");
        assert!(output.stderr.contains(says), "{output:?}");
    }
    assert!(!path("none.db").exists());
    let yes = tidings(directory.path(), &["check", "--yes"], "");
    assert_eq!(yes.status, 2, "{yes:?}");
}
