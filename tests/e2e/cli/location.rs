//! `--db` with the URL of a PostgreSQL database, as far as no server is needed.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;

use serde_json::json;
use tidings_tests::{Output, command, only_on_sqlite, run};

use super::tidings;

/// The password in the URLs of these tests, which no output may contain.
const SECRET: &str = "Rumpelstilzchen";

/// Runs `init` on a database, and checks that it fails without leaving a file or showing the password.
fn refused(database: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let output = tidings(directory.path(), &["--db", database, "init"], "");
    assert_eq!(output.status, 3, "{output:?}");
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert!(left.is_empty(), "{database}: {left:?}");
    assert!(!format!("{output:?}").contains(SECRET), "{output:?}");
    assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    output.stderr
}

#[test]
fn a_malformed_url_is_refused_and_creates_nothing() {
    for (url, fault) in [
        ("postgres:ann:Rumpelstilzchen@h/campus", "does not begin with postgres://"),
        ("postgres://ann:Rumpelstilzchen/campus", "port"),
        ("postgresql://h/campus?password=Rumpelstilzchen&sslmode=sometimes", "sslmode"),
    ] {
        let message = refused(url);
        assert!(message.contains("the URL is malformed") && message.contains(fault), "{message}");
    }
}

#[test]
fn an_unreachable_server_is_named_with_the_reason() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let message = refused(&format!("postgres://ann:{SECRET}@{closed}/campus"));
    let expected = format!(
        "error: cannot open the database postgres://ann:***@{closed}/campus: no server answers ({closed}: Connection \
         refused"
    );
    assert!(message.starts_with(&expected), "{message}");
    let message = refused("postgres:///campus?host=/nowhere");
    assert!(message.contains("/nowhere/.s.PGSQL.5432: No such file or directory"), "{message}");
}

#[test]
fn a_password_is_masked_in_the_settings_the_help_and_the_messages() {
    only_on_sqlite!("tests on PostgreSQL name the database by the variable TIDINGS_DB");
    let directory = tempfile::tempdir().unwrap();
    let url = format!("postgres://ann:{SECRET}@db.example.org/campus");
    let shown = json!("postgres://ann:***@db.example.org/campus");
    let database = |output: &Output| {
        let settings = output.json()["settings"].clone();
        let setting =
            settings.as_array().unwrap().iter().find(|setting| setting["name"] == "db").unwrap().clone();
        (setting["value"].clone(), setting["source"].as_str().unwrap().to_owned())
    };
    let with_variable = |args: &[&str]| {
        let mut tidings = command();
        tidings.current_dir(directory.path()).args(args).env("TIDINGS_DB", OsStr::new(&url));
        let output = run(tidings, "");
        assert!(!format!("{output:?}").contains(SECRET), "{output:?}");
        output
    };
    let by_flag = tidings(directory.path(), &["--db", &url, "config", "--json"], "").succeeded();
    assert_eq!(database(&by_flag), (shown.clone(), "flag".to_owned()));
    let by_variable = with_variable(&["config", "--json"]).succeeded();
    assert_eq!(database(&by_variable), (shown.clone(), "environment".to_owned()));
    let _ = with_variable(&["--help"]).succeeded();
    fs::write(directory.path().join("tidings.toml"), format!("db = \"{url}\"\n")).unwrap();
    let by_file = tidings(directory.path(), &["config", "--json"], "").succeeded();
    assert_eq!(database(&by_file), (shown, "file".to_owned()));
    for toml in [format!("db = \"{url}"), format!("db = [\"{url}\"]")] {
        fs::write(directory.path().join("tidings.toml"), toml).unwrap();
        let output = tidings(directory.path(), &["config"], "");
        assert_eq!(output.status, 2);
        assert!(!output.stderr.contains(SECRET), "{output:?}");
    }
    fs::remove_file(directory.path().join("tidings.toml")).unwrap();
    let misplaced = tidings(directory.path(), &[&url], "");
    assert!(misplaced.status == 2 && !misplaced.stderr.contains(SECRET), "{misplaced:?}");
}
