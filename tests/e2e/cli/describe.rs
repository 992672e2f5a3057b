//! `tidings completions`, `man` and `openapi`: the descriptions that the program generates of itself.

use std::collections::BTreeSet;
use std::fs;

use tidings_tests::{Server, run};

use super::without_database;

pub(crate) fn commands(help: &str) -> BTreeSet<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:");
    let lines = lines.take_while(|line| !line.starts_with("Options") && !line.starts_with("Arguments"));
    let names = lines.filter_map(|line| {
        line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')).and_then(|rest| rest.split(' ').next())
    });
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn each_shell_has_completions() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = without_database(directory.path(), &["completions", shell]).succeeded().stdout;
        assert!(script.contains("TIDINGS_COMPLETE") && script.len() < 5_000, "{shell}: {script}");
    }
    assert_eq!(without_database(directory.path(), &["completions", "csh"]).status, 2);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "the command creates no database");
}

#[test]
fn each_command_has_help_with_an_example_and_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let output = without_database(directory.path(), &["man", "share/man1"]).succeeded();
    assert!(output.stdout.contains("man ./share/man1/tidings.1"), "{output:?}");
    let mut expected = BTreeSet::new();
    let mut found = vec![vec![]];
    while let Some(command) = found.pop() {
        let help =
            without_database(directory.path(), &[&command[..], &["--help"]].concat()).succeeded().stdout;
        let inner = commands(&help);
        if inner.is_empty() {
            assert!(help.contains("Example") && help.contains("tidings "), "{command:?}: {help}");
        }
        let names = inner.into_iter().map(|name| [&command[..], &[&*name.leak()]].concat());
        found.extend(names);
        expected.insert(format!("{}.1", [&["tidings"], &command[..]].concat().join("-")));
    }
    assert!(expected.len() > 50, "{expected:?}");
    let pages = fs::read_dir(directory.path().join("share/man1")).unwrap();
    let pages: BTreeSet<String> =
        pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    assert!(pages.is_superset(&expected), "{:?}", expected.difference(&pages));
    assert!(expected.contains("tidings-words-train.1"), "{expected:?}");
    let page = fs::read_to_string(directory.path().join("share/man1/tidings-backup.1")).unwrap();
    assert!(
        page.contains(concat!(".TH tidings-backup 1  \"tidings ", env!("CARGO_PKG_VERSION"), "\""))
            && page.contains("Example"),
        "{page}"
    );
    fs::write(directory.path().join("file"), "").unwrap();
    let refused = without_database(directory.path(), &["man", "file"]);
    assert!(refused.status == 3 && refused.stderr.contains("file"), "{refused:?}");
    let object = without_database(directory.path(), &["man", "share/man1", "--json"]).succeeded();
    assert_eq!(object.json(), serde_json::json!({ "result": "success" }));
}

#[test]
fn the_openapi_command_prints_the_servers_document() {
    let directory = tempfile::tempdir().unwrap();
    let mut openapi = tidings_tests::command();
    openapi.current_dir(directory.path()).arg("openapi");
    let variables = [("TIDINGS_BASE_PATH", "/api"), ("TIDINGS_PW_MIN", "12")];
    openapi.envs(variables);
    let printed = run(openapi, "").succeeded().stdout;
    let server = Server::with(move |serve| {
        serve.envs(variables);
    });
    assert!(printed.as_bytes() == server.anyone().get("/api/openapi.json").bytes);
    assert!(printed.contains("The password, 12 to 128 characters."), "the settings in force are documented");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "the command creates no database");
}
