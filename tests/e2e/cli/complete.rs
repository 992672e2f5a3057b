//! Completion in a real shell.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tidings_tests::{only_on_sqlite, remote, run};

use super::fixture::{Fixture, LIBRARY};
use super::without_database;

/// Completes the last of the words as `shell` does, and returns what it offers.
fn completed(fixture: &Fixture, shell: &str, words: &[&str]) -> Vec<String> {
    let script = without_database(fixture.directory(), &["completions", shell]).succeeded().stdout;
    let script = match shell {
        "bash" => format!(
            "{script}\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _clap_complete_tidings \"$1\" \"${{!#}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        ),
        "zsh" => format!(
            "compdef() {{ }}\n_describe() {{ print -rl -- \"${{(@P)3}}\" }}\n{script}\nwords=(\"$@\"); CURRENT=$#; _clap_dynamic_completer_tidings\n"
        ),
        _ => format!("{script}\ncomplete --do-complete \"$argv\"\n"),
    };
    let file = fixture.directory().join(format!("script.{shell}"));
    fs::write(&file, script).unwrap();
    let mut command = Command::new(shell);
    let program = Path::new(env!("CARGO_BIN_EXE_tidings"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
    command.current_dir(fixture.directory()).env("TIDINGS_DB", "tidings.db").env("HOME", fixture.directory());
    match shell {
        "zsh" => command.arg("-f").arg(&file).args(words),
        _ => command.arg(&file).args(words),
    };
    let output = run(command, "");
    assert_eq!(output.stderr, "", "{shell} {words:?}");
    output.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn shells_complete_commands_ids_and_names_fast_and_silently() {
    only_on_sqlite!("the database is a file");
    if remote::is_chosen() {
        return;
    }
    let fixture = Fixture::new();
    let is_there = |shell: &str| Command::new(shell).arg("-c").arg("true").output().is_ok();
    for shell in ["bash", "zsh", "fish"].into_iter().filter(|shell| is_there(shell)) {
        let first = |words: &[&str]| {
            let found = completed(&fixture, shell, words);
            found.iter().map(|line| line.split(['\t', ':']).next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let notice = fixture.notice.as_str();
        for (words, expected) in [
            (&["post", "sho"][..], &["show"][..]),
            (&["post", "show", LIBRARY], &[LIBRARY]),
            (&["notice", "show", notice], &[notice]),
            (&["member", "show", "an"], &["ann"]),
            (&["--as", "an"], &["ann"]),
            (&["feed", "topic", "Ru"], &["Rust"]),
            (&["member", "role", "ann", "noti"], &["notices"]),
            // Nothing is found where there is nothing, and nothing is created.
            (&["--db", "none.db", "post", "show", "65"], &[]),
        ] {
            assert_eq!(first(&[&["tidings"], words].concat()), expected, "{shell}");
        }
        assert_eq!(first(&["tidings", "post", "show", "65"]).len(), 3, "{shell}");
    }
    assert!(!fixture.directory().join("none.db").exists());
    assert!(!fixture.directory().join("none.db.key").exists());
    let complete = |words: &[&str]| {
        let mut command = fixture.command(&[&["--", "tidings"], words].concat());
        command.env("TIDINGS_COMPLETE", "fish");
        run(command, "").succeeded()
    };
    let began = Instant::now();
    let found = complete(&["post", "show", "65"]);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!((found.stdout.lines().count(), &*found.stderr), (3, ""));
    assert!(found.stdout.contains("\tAnnouncing a release"), "{found:?}");
    for words in [
        &["--db", "postgres://nowhere.invalid/db", "post", "show", "65"][..],
        &["--server", "x", "post", "show", "65"],
    ] {
        let found = complete(words);
        assert_eq!((&*found.stdout, &*found.stderr), ("", ""), "{words:?}");
    }
    // A database of an earlier version is not updated.
    let old = fixture.directory().join("old.db");
    let mut bytes = fs::read(fixture.directory().join("tidings.db")).unwrap();
    bytes[60..64].copy_from_slice(&1_u32.to_be_bytes());
    fs::write(&old, &bytes).unwrap();
    assert_eq!(complete(&["--db", "old.db", "post", "show", "65"]).stdout, "");
    assert!(fs::read(&old).unwrap() == bytes);
}
