//! The command line: settings, the first administrator and exit statuses. The modules test what each command prints.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use tidings_tests::{Database, Output, Server, command, command_in, only_on_sqlite, run, wait_until};

mod again;
mod backup;
mod busy;
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

/// Runs a command in this directory, on the database in it.
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
fn a_flag_overrides_a_variable_which_overrides_the_file() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tidings.toml"), "base-path = \"/file\"\npw-min = 12\n").unwrap();
    let base = |args: &'static [&'static str], variable: Option<&'static str>| {
        let server = Server::at(directory.path().join("tidings.db"), move |serve| {
            serve.args(args).envs(variable.map(|value| ("TIDINGS_BASE_PATH", value)));
        });
        let bases = ["/flag", "/variable", "/file"];
        let found =
            bases.into_iter().filter(|base| server.anyone().get(&format!("{base}/healthz")).status == 200);
        found.collect::<Vec<_>>()
    };
    assert_eq!(base(&[], None), ["/file"]);
    assert_eq!(base(&[], Some("/variable")), ["/variable"]);
    assert_eq!(base(&["--base-path", "/flag"], Some("/variable")), ["/flag"]);
    // Other commands apply the settings of the file, too.
    let short = tidings(directory.path(), &["init", "--admin", "ann", "--password-stdin"], "11 letters.\n");
    assert_eq!(short.status, 1, "{short:?}");
    let long = tidings(directory.path(), &["init", "--admin", "ann", "--password-stdin"], "12 letters..\n");
    assert_eq!(long.status, 0, "{long:?}");
}

#[test]
fn a_file_with_an_unknown_key_or_a_bad_value_is_refused_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("other.toml");
    for (text, named) in [
        ("pw-min = 8\npassword-min = 8\n", "password-min"),
        ("pw-min = 8\nlog-days = \"many\"\n", "log-days"),
        ("pw-min = 8\nverifier = \"oracle\"\n", "oracle"),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = tidings(directory.path(), &["--config", "other.toml", "init"], "");
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.stderr.contains("line 2") && output.stderr.contains(named), "{output:?}");
    }
    let missing = tidings(directory.path(), &["--config", "none.toml", "init"], "");
    assert_eq!(missing.status, 2, "{missing:?}");
    assert!(!directory.path().join("tidings.db").exists(), "the command creates no database");
}

#[test]
fn the_first_command_creates_the_database_and_explains_how_to_become_administrator() {
    let directory = tempfile::tempdir().unwrap();
    let made = tidings(directory.path(), &["--json", "init"], "");
    assert_eq!((made.status, made.json()), (0, json!({ "result": "success", "admin": "" })));
    let mut database = Database::open(&directory.path().join("tidings.db"));
    assert_eq!(database.scalar::<u64>("SELECT count(*) FROM member", &[]), 0);
    let server = Server::at(directory.path().join("tidings.db"), |_| {});
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
        &["notice", "add", "--title", "Library", "--post", "Open."],
        &["member", "sign-up", "ann", "--nickname", "Ann", "--password-stdin"],
        &["--as", "ann", "feed", "recommended"],
        &["admin", "grant", "ann"],
        &["post", "export", "posts.jsonl"],
        &["roster", "list"],
        &["words", "train"],
        &["bench", "feed"],
        &["analysis", "summary", "--json"],
    ] {
        let output = mistyped(args);
        assert_eq!(output.status, 3, "{args:?}: {output:?}");
        assert!(output.stderr.contains("there is no database typo.db"), "{args:?}: {output:?}");
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
fn a_second_init_keeps_the_database_and_grants_an_existing_member() {
    let server = Server::start();
    let ann = server.member("ann");
    for _ in 0..2 {
        let output = server.cli(["--json", "init", "--admin", "ann"]);
        assert_eq!((output.status, output.json()), (0, json!({ "result": "success", "admin": "ann" })));
    }
    assert_eq!(ann.get("/check_admin").outcome(), "200 success");
}

#[test]
fn passwords_come_from_input_or_a_file_and_never_from_an_argument() {
    let directory = tempfile::tempdir().unwrap();
    let in_directory = |args: &[&str], input: &str| tidings(directory.path(), args, input);
    std::fs::write(directory.path().join("pw"), "from a file\nnot this line\n").unwrap();
    for (args, input) in [
        (&["init", "--admin", "ann", "--password-stdin"], "from input\r\nnot this line\n"),
        (&["init", "--admin", "bob", "--password-file=pw"], ""),
    ] {
        assert_eq!(in_directory(args, input).status, 0, "{args:?}");
    }
    let none = in_directory(&["init", "--admin", "cleo"], "correct horse\n");
    assert_eq!(none.status, 2, "{none:?}");
    assert!(none.stderr.contains("--password-stdin"), "{none:?}");
    let argument = in_directory(&["init", "--admin", "cleo", "--password", "correct horse"], "");
    assert_eq!(argument.status, 2, "{argument:?}");
    let server = Server::at(directory.path().join("tidings.db"), |_| {});
    for (id, pw, outcome) in [
        ("ann", "from input", "200 success"),
        ("bob", "from a file", "200 success"),
        ("cleo", "correct horse", "200 No member"),
    ] {
        assert_eq!(server.anyone().post("/sign_in", json!({ "id": id, "pw": pw })).outcome(), outcome);
    }
}

#[test]
fn the_exit_status_distinguishes_refusal_usage_and_system_failure() {
    let directory = tempfile::tempdir().unwrap();
    let status = |args: &[&str]| {
        let output = tidings(directory.path(), args, "");
        assert_eq!(output.stderr.is_empty(), output.status == 0, "{output:?}");
        output.status
    };
    assert_eq!(status(&["init"]), 0);
    assert_eq!(status(&["admin", "grant", "nobody"]), 1);
    assert_eq!(status(&["admin", "give", "nobody"]), 2);
    assert_eq!(status(&[]), 2);
    assert_eq!(status(&["roster", "import", "none.csv"]), 3);
}

#[test]
fn a_file_that_cannot_be_a_database_is_a_system_failure_and_is_not_changed() {
    only_on_sqlite!("it is about the database file");
    let directory = tempfile::tempdir().unwrap();
    let status = |args: &[&str]| tidings(directory.path(), args, "").status;
    assert_eq!(status(&["--db", "no/such/directory/tidings.db", "init"]), 3);
    std::fs::write(directory.path().join("letter.txt"), "Dear Ann,\nthis is no database.\n".repeat(100))
        .unwrap();
    assert_eq!(status(&["--db", "letter.txt", "init"]), 3);
    let letter = std::fs::read_to_string(directory.path().join("letter.txt")).unwrap();
    assert!(letter.starts_with("Dear Ann"), "the file is unchanged");
}

#[test]
fn an_address_in_use_is_named_with_advice_to_choose_another() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    let directory = tempfile::tempdir().unwrap();
    let output = tidings(directory.path(), &["serve", "--listen", &address], "");
    assert_eq!(output.status, 3, "{output:?}");
    assert!(output.stderr.contains(&address) && output.stderr.contains("--listen"), "{output:?}");
    assert_eq!(output.stdout, "");
}

#[test]
fn invalid_settings_are_refused_at_startup() {
    let directory = tempfile::tempdir().unwrap();
    for wrong in [
        ["--base-path", "/a b"],
        ["--trust-proxy", "localhost"],
        ["--pw-min", "0"],
        ["--pw-min", "200"],
        ["--verifier", "http"],
        ["--verifier", "oracle"],
        ["--school-ids", "("],
        ["--rate-limit", "0"],
        ["--max-connections", "0"],
        ["--sign-up-limit", "5"],
        ["--token-days", "-1"],
        ["--sign-in-slowing", "maybe"],
        ["--log-format", "xml"],
    ] {
        let mut args = vec!["serve", "--listen", "127.0.0.1:0"];
        if wrong[0] == "--school-ids" {
            args.extend(["--verifier", "http", "--verifier-url", "http://127.0.0.1:1/"]);
        }
        args.extend(wrong);
        let output = tidings(directory.path(), &args, "");
        assert_eq!(output.status, 2, "{wrong:?}: {output:?}");
        assert!(!output.stderr.is_empty(), "{wrong:?}");
    }
}

#[test]
fn the_log_can_be_json() {
    let mut server = Server::with(|serve| {
        serve.args(["--log-format", "json", "--log-auth-failures"]);
    });
    let _ = server.anyone().post("/sign_in", json!({ "id": "nobody", "pw": "x" }));
    let log = server.stop().log;
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line.to_string().contains("127.0.0.1")), "{log}");
}
