//! Completion in a real shell.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tidings_tests::{Tmux, only_on_sqlite, remote, run};

use super::fixture::{Fixture, LIBRARY};
use super::without_database;

/// Completes the last of the words as `shell` does, and returns what it offers.
fn completed(fixture: &Fixture, shell: &str, words: &[&str]) -> Vec<String> {
    let script = without_database(fixture.directory(), &["completions", shell]).succeeded().stdout;
    let script = match shell {
        "bash" => format!(
            "{script}\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _tidings \"$1\" \"${{!#}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        ),
        "zsh" => format!(
            "compdef() {{ }}\n_describe() {{ print -rl -- \"${{(@P)3}}\" }}\n{script}\nwords=(\"$@\"); CURRENT=$#; _tidings\n"
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
fn shells_complete_commands_ids_and_names() {
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
        assert_eq!(first(&["tidings", "post", "sho"]), ["show"], "{shell}");
        assert_eq!(first(&["tidings", "post", "show", LIBRARY]), [LIBRARY], "{shell}");
        assert_eq!(first(&["tidings", "post", "show", "65"]).len(), 3, "{shell}");
        assert_eq!(first(&["tidings", "notice", "show", &fixture.notice]), [&*fixture.notice], "{shell}");
        assert_eq!(first(&["tidings", "member", "show", "an"]), ["ann"], "{shell}");
        assert_eq!(first(&["tidings", "--as", "an"]), ["ann"], "{shell}");
        assert_eq!(first(&["tidings", "feed", "topic", "Ru"]), ["Rust"], "{shell}");
        assert_eq!(first(&["tidings", "member", "role", "ann", "noti"]), ["notices"], "{shell}");
        // Nothing is found where there is nothing, and nothing is created.
        assert_eq!(first(&["tidings", "--db", "none.db", "post", "show", "65"]), [""; 0], "{shell}");
    }
    assert!(!fixture.directory().join("none.db").exists());
    assert!(!fixture.directory().join("none.db.key").exists());
}

/// Adds a post with each of these topics.
fn with_topics(fixture: &Fixture, topics: &[&str]) {
    for (i, topic) in topics.iter().enumerate() {
        let url = format!("https://example.org/{i}");
        let _ = fixture.stdout(&["post", "add", "--title", topic, "--url", &url, "--topic", topic]);
    }
}

#[test]
fn shells_complete_words_with_separators_and_open_quotes() {
    only_on_sqlite!("the database is a file");
    if remote::is_chosen() {
        return;
    }
    let fixture = Fixture::new();
    with_topics(&fixture, &["news:local", "two words", "it's \"here\" $5", "a=b@c"]);
    let is_there = |shell: &str| Command::new(shell).arg("-c").arg("true").output().is_ok();
    for shell in ["bash", "zsh", "fish"].into_iter().filter(|shell| is_there(shell)) {
        let topic = |word: &str| {
            let found = completed(&fixture, shell, &["tidings", "feed", "topic", word]);
            found.iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for open in ["\"two w", "'two w"] {
            assert_eq!(topic(open)[0].trim_end_matches(':'), "two words", "{shell} {open}");
        }
        assert_eq!(topic("\"news:l")[0].replace('\\', "").trim_end_matches(':'), "news:local", "{shell}");
    }
    // Bash separates words, and replaces only the last part.
    let bash = |words: &[&str]| completed(&fixture, "bash", &[&["tidings", "feed", "topic"], words].concat());
    assert_eq!(bash(&["news", ":", "l"]), ["local"]);
    assert_eq!(bash(&["news", ":"]), ["local"]);
    assert_eq!(bash(&["a", "=", "b", "@"]), ["c"]);
    assert_eq!(bash(&["\"it's"]), ["it's \\\"here\\\" \\$5"]);
    assert_eq!(bash(&["'it"]), [""; 0], "a quote cannot be in single quotes");
    assert_eq!(bash(&["two\\ w"]), ["two\\ words"]);
}

#[test]
fn bash_completes_what_is_typed() {
    only_on_sqlite!("the database is a file");
    if remote::is_chosen() {
        return;
    }
    let fixture = Fixture::new();
    with_topics(&fixture, &["news:local", "two words", "café \"x\""]);
    let terminal = Tmux::open(100, 30);
    let program = Path::new(env!("CARGO_BIN_EXE_tidings")).parent().unwrap().display().to_string();
    let database = fixture.directory().join("tidings.db").display().to_string();
    terminal.runs("exec bash --norc --noprofile -i");
    terminal.runs(&format!("PS1='$ '; PATH={program}:$PATH; export TIDINGS_DB={database}"));
    terminal.runs("source <(tidings completions bash); echo sourced: $?");
    terminal.waits_for("sourced: 0");
    for (typed, completed) in [
        ("tidings feed topic news:l", "topic news:local "),
        ("tidings feed topic 'news:l", "topic 'news:local' "),
        ("tidings feed topic \"two w", "topic \"two words\" "),
        ("tidings feed topic two", "topic two\\ words "),
        ("tidings post list --topic=new", "--topic=news:local "),
    ] {
        terminal.types(typed);
        terminal.press(&["Tab"]);
        // The text that follows shows that there is a blank after the word.
        terminal.types("!");
        terminal.waits_for(&format!("{completed}!"));
        terminal.press(&["C-u"]);
        terminal.runs("clear");
        terminal.waits_until_gone(completed);
    }
}

#[test]
fn completing_is_fast_and_silent() {
    only_on_sqlite!("the database is a file");
    if remote::is_chosen() {
        return;
    }
    let fixture = Fixture::new();
    let complete = |index: &str, words: &[&str]| {
        fixture.run(&[&["__complete", index, "--", "tidings"], words].concat()).succeeded()
    };
    let began = Instant::now();
    let found = complete("3", &["post", "show", "65"]);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!((found.stdout.lines().count(), &*found.stderr), (3, ""));
    assert!(found.stdout.contains("\tAnnouncing a release"), "{found:?}");
    for words in [
        &["--db", "postgres://nowhere.invalid/db", "post", "show", "65"][..],
        &["--server", "x", "post", "show", "65"],
    ] {
        let found = complete("5", words);
        assert_eq!((&*found.stdout, &*found.stderr), ("", ""), "{words:?}");
    }
    // A database of an earlier version is not updated.
    let old = fixture.directory().join("old.db");
    let mut bytes = fs::read(fixture.directory().join("tidings.db")).unwrap();
    bytes[60..64].copy_from_slice(&1_u32.to_be_bytes());
    fs::write(&old, &bytes).unwrap();
    assert_eq!(complete("5", &["--db", "old.db", "post", "show", "65"]).stdout, "");
    assert!(fs::read(&old).unwrap() == bytes);
}
