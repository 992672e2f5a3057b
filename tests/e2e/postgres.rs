//! PostgreSQL: its own faults, the whole suite on request, and the list of the tests that it leaves out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::json;
use tidings_tests::{Server, sample, wait_until};

use crate::programs::{root, sources};

#[test]
fn the_suite_passes_on_postgresql() {
    tidings_cluster::suite_on_postgres();
}

#[test]
fn a_search_path_without_a_schema_is_named_by_every_command() {
    if !tidings_cluster::is_installed("search_path") {
        return;
    }
    let cluster = tidings_cluster::Cluster::shared().expect("it is installed");
    for path in ["pg_catalog", "nowhere"] {
        let database = cluster.database();
        database.query(&format!("ALTER DATABASE {} SET search_path = {path}", database.name()), &[]);
        let directory = tempfile::tempdir().unwrap();
        for args in [&["post", "list"][..], &["check"], &["serve", "--listen", "127.0.0.1:0"]] {
            let mut command = tidings_tests::command();
            command.current_dir(directory.path()).args(["--db", database.url()]).args(args);
            let refused = tidings_tests::run(command, "");
            let says = format!("search_path is \"{path}\"");
            assert!(refused.status == 3 && refused.stderr.contains(&says), "{args:?}: {refused:?}");
            assert!(!refused.stderr.contains("its disk"), "{refused:?}");
        }
    }
}

#[test]
fn a_server_whose_tablespace_is_full_is_not_ready_until_there_is_room() {
    if !tidings_cluster::is_installed("a full tablespace") {
        return;
    }
    let server = Server::on_postgres();
    let (admin, anyone) = (server.admin(), server.anyone());
    let insert = |title: &str| admin.post("/insert_notice", sample::notice(title));
    let kept = insert("kept").succeeded().text("/_id");
    // What extends a table fails, and what fits into pages that exist succeeds.
    let mut database = tidings_cluster::Connection::open(server.location().to_str().unwrap()).unwrap();
    let mut run = |statements: &[&str]| {
        for sql in statements {
            database.try_execute(sql, &[]).unwrap();
        }
    };
    run(&[
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN RAISE EXCEPTION ''could not extend file'' USING ERRCODE = ''53100''; END'",
        "CREATE FUNCTION full_disk_of_table() RETURNS event_trigger LANGUAGE plpgsql AS
           'BEGIN RAISE EXCEPTION ''could not extend file'' USING ERRCODE = ''53100''; END'",
        "CREATE TRIGGER full_disk BEFORE INSERT ON notice FOR EACH ROW EXECUTE FUNCTION full_disk()",
        "CREATE EVENT TRIGGER full_disk ON ddl_command_start EXECUTE FUNCTION full_disk_of_table()",
    ]);
    assert_eq!(anyone.get("/readyz").status, 200);
    assert_eq!(insert("refused").outcome(), "500 internal error");
    let begin = std::time::Instant::now();
    while begin.elapsed() < std::time::Duration::from_secs(3) {
        assert_eq!(anyone.get("/readyz").outcome(), "503 overloaded");
        assert_eq!(anyone.get(&format!("/get_notice/{kept}")).outcome(), "200 success");
        let _ = admin.get("/get_all_feedback").succeeded();
        let hidden = json!({ "activation": 1 });
        assert_eq!(admin.post(&format!("/update_notice/{kept}"), hidden).outcome(), "200 success");
    }
    run(&["DROP EVENT TRIGGER full_disk", "DROP TRIGGER full_disk ON notice"]);
    wait_until("the server is ready again", || anyone.get("/readyz").status == 200);
    let _ = insert("again").succeeded();
}

/// The list of tests that do not run on PostgreSQL.
const LIST: &str = "tests/SQLITE_ONLY.md";
const HEAD: &str = "# Tests of the SQLite file\n\n\
    With `TIDINGS_TEST_STORE=postgres` all tests run on PostgreSQL, except these. Each begins with\n\
    `only_on_sqlite!` and the reason. `WRITE_DOCS=1 cargo test -p tidings-cli --test e2e postgres::` writes this list.\n";

#[test]
fn the_list_of_tests_that_need_the_file_is_complete() {
    let mut listed: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    let folders = ["core/src", "core/store/src", "server/src", "cli/src", "tui/src", "tests/e2e"];
    for file in folders.iter().flat_map(|folder| sources(&root().join(folder))) {
        let name = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        for (test, reason) in only_on_sqlite(&fs::read_to_string(&file).unwrap(), &name) {
            listed.entry(reason).or_default().entry(name.clone()).or_default().push(test);
        }
    }
    let mut text = HEAD.to_owned();
    for (reason, files) in listed {
        let count: usize = files.values().map(Vec::len).sum();
        write!(text, "\n## Because {reason} ({count})\n\n").unwrap();
        for (file, tests) in files {
            writeln!(text, "- `{file}`").unwrap();
            for test in tests {
                writeln!(text, "  - `{test}`").unwrap();
            }
        }
    }
    let list = root().join(LIST);
    if std::env::var_os("WRITE_DOCS").is_some() {
        fs::write(&list, &text).unwrap();
    }
    assert!(fs::read_to_string(&list).unwrap() == text, "{LIST} is out of date; it must be:\n{text}");
}

/// Returns the tests in a source file that call `only_on_sqlite!`, with their reasons.
///
/// # Panics
/// When the call is not the first statement of a test: it would leave out something that the list does not name.
fn only_on_sqlite(text: &str, file: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let calls = lines.iter().enumerate().filter_map(|(number, line)| {
        let reason = line.strip_prefix("only_on_sqlite!(\"")?.strip_suffix("\");")?;
        Some((number, reason.to_owned()))
    });
    let tests = calls.map(|(number, reason)| {
        let constants = lines[..number].iter().rev().take_while(|line| line.starts_with("const ")).count();
        let head = number - constants - 1;
        let name = lines[head].trim_start_matches("async ").strip_prefix("fn ");
        let name = name.and_then(|rest| rest.strip_suffix("() {"));
        let mut attributes = lines[..head].iter().rev().take_while(|line| line.starts_with("#["));
        let is_test = attributes.any(|line| ["#[test]", "#[tokio::test]"].contains(line));
        let name = name.filter(|_| is_test).unwrap_or_else(|| panic!("{file}:{}: not in a test", number + 1));
        (name.to_owned(), reason)
    });
    tests.collect()
}
