//! The command line: settings, the first administrator and exit statuses. The modules test what each command prints.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use tidings_tests::{Output, Server, command, command_in, only_on_sqlite, run, wait_until};

mod again;
mod backup;
mod check;
mod compare;
mod complete;
mod config;
pub(crate) mod describe;
mod exports;
mod feedback;
mod files;
mod fixture;
mod location;
mod log;
mod notice;
mod odd;
mod page;
mod pipe;
mod ready;
mod screen;
mod small;
mod start;
mod store;
mod values;

fn tidings(directory: &Path, args: &[&str], input: &str) -> Output {
    let mut tidings = command_in(directory);
    tidings.args(args);
    run(tidings, input)
}

/// Runs a command that opens no database in this directory, without a setting that names one.
fn without_database(directory: &Path, args: &[&str]) -> Output {
    let mut tidings = command();
    tidings.current_dir(directory).args(args);
    run(tidings, "")
}

#[test]
fn the_first_command_creates_the_database_with_the_settings_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tidings.toml"), "base-path = \"/file\"\npw-min = 12\n").unwrap();
    let short = tidings(directory.path(), &["init", "--admin", "ann", "--password-stdin"], "11 letters.\n");
    assert!(short.status == 1 && short.stderr.contains("12 to 128 characters"), "{short:?}");
    let made = tidings(directory.path(), &["--json", "init"], "");
    assert_eq!((made.status, made.json()), (0, json!({ "result": "success", "admin": "" })));
    let server = Server::at(directory.path().join("tidings.db"), |_| {});
    assert_eq!(server.anyone().get("/file/healthz").status, 200);
    // The server may report that it is ready before it writes this line.
    wait_until("the log says how to become administrator", || {
        let log = server.log();
        log.contains(" init --admin ID") && log.contains(" admin grant ID")
    });
}

#[test]
fn a_server_on_all_addresses_is_shown_with_one_that_a_browser_can_open() {
    let directory = tempfile::tempdir().unwrap();
    let mut serve = command_in(directory.path());
    serve.args(["serve", "--listen", "0.0.0.0:0", "--base-path", "/campus"]);
    let mut server = serve.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let log = BufReader::new(server.stderr.take().unwrap());
    let line = log.lines().map(Result::unwrap).find(|line| line.contains("/docs")).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let (_, url) = line.split_once("http://127.0.0.1:").unwrap();
    let (_, path) = url.split_once('/').unwrap();
    assert!(path.starts_with("campus/docs,"), "{line}");
}

#[test]
fn a_mistyped_database_name_creates_no_database() {
    only_on_sqlite!("it is about the database file");
    let directory = tempfile::tempdir().unwrap();
    let typo = directory.path().join("typo.db");
    let mistyped = |args: &[&str]| tidings(directory.path(), &[&["--db", "typo.db"], args].concat(), "");
    for args in [
        &["notice", "list"][..],
        &["member", "sign-up", "ann", "--nickname", "Ann", "--password-stdin"],
        &["admin", "grant", "ann"],
        &["post", "export", "posts.jsonl"],
        &["words", "train"],
        &["bench", "feed"],
    ] {
        let output = mistyped(args);
        assert!(
            output.status == 3 && output.stderr.contains("there is no database typo.db"),
            "{args:?}: {output:?}"
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{args:?}");
    }
    // These commands create the database.
    for args in [
        &["init"][..],
        &["demo", "--members", "2", "--posts", "2", "--days", "1"],
        &["member", "import", "-"],
        &["post", "import", "-"],
        &["act", "import", "-"],
        &["roster", "import", "-"],
    ] {
        assert_eq!(mistyped(args).status, 0, "{args:?}");
        assert!(typo.exists(), "{args:?}");
        for file in std::fs::read_dir(directory.path()).unwrap() {
            std::fs::remove_file(file.unwrap().path()).unwrap();
        }
    }
}

#[test]
fn passwords_come_from_input_or_a_file_and_never_from_an_argument() {
    let directory = tempfile::tempdir().unwrap();
    let in_directory = |args: &[&str], input: &str| tidings(directory.path(), args, input);
    std::fs::write(directory.path().join("pw"), "from a file\nnot this line\n").unwrap();
    for (args, input, status) in [
        (&["init", "--admin", "ann", "--password-stdin"][..], "from input\r\nnot this line\n", 0),
        (&["init", "--admin", "bob", "--password-file=pw"], "", 0),
        (&["init", "--admin", "cleo", "--password", "correct horse"], "", 2),
        (&["member", "sign-in", "ann", "--password-stdin"], "from input", 0),
        (&["member", "sign-in", "bob", "--password-stdin"], "from a file", 0),
        (&["member", "sign-in", "cleo", "--password-stdin"], "correct horse", 1),
    ] {
        let output = in_directory(args, input);
        assert_eq!(output.status, status, "{args:?}: {output:?}");
    }
    let none = in_directory(&["init", "--admin", "cleo"], "correct horse\n");
    assert!(none.status == 2 && none.stderr.contains("--password-stdin"), "{none:?}");
}

#[test]
fn an_address_in_use_is_named_with_its_setting() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    let directory = tempfile::tempdir().unwrap();
    for (args, setting) in [
        (&["--listen", &*address][..], "choose another address with --listen"),
        (&["--listen", "127.0.0.1:0", "--metrics-listen", &address], "metrics"),
    ] {
        let output = tidings(directory.path(), &[&["serve"], args].concat(), "");
        assert_eq!((output.status, &*output.stdout), (3, ""), "{output:?}");
        assert!(output.stderr.contains(&address) && output.stderr.contains(setting), "{output:?}");
    }
}
