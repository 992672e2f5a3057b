//! `tidings completions`, `man` and `openapi`: the descriptions that the program generates of itself.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use tidings_tests::{Server, run};

use super::without_database;

/// Returns the commands that a help text lists.
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
        // If the shell is installed, it parses the script without a message.
        let mut read = Command::new(shell);
        read.arg("-n");
        if shell != "powershell" && Command::new(shell).arg("-c").arg("true").output().is_ok() {
            let output = run(read, &script);
            assert_eq!((output.status, &*output.stderr), (0, ""), "{shell}");
        }
    }
    assert_eq!(without_database(directory.path(), &["completions", "csh"]).status, 2);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "the command creates no database");
}

#[test]
fn each_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let output = without_database(directory.path(), &["man", "share/man1"]).succeeded();
    assert!(output.stdout.contains("man ./share/man1/tidings.1"), "{output:?}");
    let mut expected = BTreeSet::from(["tidings.1".to_owned()]);
    for command in commands(&without_database(directory.path(), &["--help"]).succeeded().stdout) {
        expected.insert(format!("tidings-{command}.1"));
        let help = without_database(directory.path(), &[&command, "--help"]).succeeded().stdout;
        expected.extend(commands(&help).iter().map(|inner| format!("tidings-{command}-{inner}.1")));
    }
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
    assert_eq!(refused.status, 3, "{refused:?}");
    assert!(refused.stderr.contains("file"), "{refused:?}");
    let object = without_database(directory.path(), &["man", "share/man1", "--json"]).succeeded();
    assert_eq!(object.json(), serde_json::json!({ "result": "success" }));
}

#[test]
fn the_openapi_command_prints_the_servers_document() {
    for base in ["", "/api"] {
        let server = Server::with(move |serve| {
            serve.env("TIDINGS_BASE_PATH", base).env("TIDINGS_PW_MIN", "12");
        });
        let answer = server.anyone().get(&format!("{base}/openapi.json"));
        let directory = tempfile::tempdir().unwrap();
        let mut openapi = tidings_tests::command();
        openapi.current_dir(directory.path()).arg("openapi");
        openapi.env("TIDINGS_BASE_PATH", base).env("TIDINGS_PW_MIN", "12");
        let printed = run(openapi, "").succeeded().stdout;
        assert!(printed.as_bytes() == answer.bytes, "{base}");
        assert!(
            printed.contains("The password, 12 to 128 characters."),
            "the settings in force are documented"
        );
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "the command creates no database");
    }
}
