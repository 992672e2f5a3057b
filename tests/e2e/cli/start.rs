//! The start of `serve`: its log, its address, and settings without effect.

use std::io::{BufRead as _, BufReader, PipeReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tidings_tests::{Caller, Server, Tmux, command_in, run, wait_until};

fn serve(directory: &std::path::Path) -> Command {
    let mut serve = command_in(directory);
    serve.args(["serve", "--listen", "127.0.0.1:0"]).env_remove("RUST_LOG");
    serve
}

#[test]
fn a_wrong_log_level_is_refused_wherever_it_is_set() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |serve: Command, place: &str| {
        let output = run(serve, "");
        assert_eq!(output.status, 2, "{place}: {output:?}");
        let rule = "must be error, warn, info, debug, trace or off, or directives such as tidings=debug";
        assert!(output.stderr.contains(place) && output.stderr.contains(rule), "{output:?}");
    };
    let mut flag = serve(directory.path());
    flag.args(["--log-level", "warning"]);
    refused(flag, "--log-level");
    for name in ["TIDINGS_LOG_LEVEL", "RUST_LOG"] {
        let mut variable = serve(directory.path());
        variable.env(name, "tidings=loud");
        refused(variable, name);
    }
    std::fs::write(directory.path().join("tidings.toml"), "log-level = \"warning\"\n").unwrap();
    refused(serve(directory.path()), "tidings.toml, line 1");
}

#[test]
fn a_port_alone_is_one_of_this_machine() {
    let directory = tempfile::tempdir().unwrap();
    for listen in ["0", "localhost:0"] {
        let mut serve = command_in(directory.path());
        let mut child = serve.args(["serve", "--listen", listen]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening on http://127.0.0.1:"), "{listen}: {line}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn empty_variables_count_as_not_set_and_settings_without_effect_are_named() {
    let server = Server::with(|serve| {
        serve.env("RUST_LOG", "").env("TIDINGS_LOG_LEVEL", "").env("TIDINGS_LISTEN", "");
        serve.args(["--verifier-url", "https://a.example"]).env("TIDINGS_LISTN", "8080");
    });
    let log = server.log();
    assert!(log.contains("--verifier-url has no effect, because verifier is roster"), "{log}");
    assert!(log.contains("TIDINGS_LISTN is unknown and has no effect; do you mean TIDINGS_LISTEN?"), "{log}");
    let _ = kill_process(Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap(), Signal::HUP);
    wait_until("the log has messages of the default level", || server.log().contains("INFO"));
    let directory = tempfile::tempdir().unwrap();
    let mut config = command_in(directory.path());
    config.args(["config", "--verifier-url", "https://a.example"]);
    assert!(run(config, "").succeeded().stderr.contains("--verifier-url has no effect"));
}

/// Starts a server whose log nobody reads yet.
fn with_unread_log() -> (tempfile::TempDir, Child, Caller, PipeReader) {
    let directory = tempfile::tempdir().unwrap();
    let (log, writer) = std::io::pipe().unwrap();
    let mut serve = serve(directory.path());
    let mut child = serve.arg("--log-auth-failures").stdout(Stdio::piped()).stderr(writer).spawn().unwrap();
    drop(serve);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap().parse().unwrap();
    (directory, child, Caller::to(address), log)
}

fn fail_to_sign_in(anyone: &Caller, times: usize) {
    for n in 0..times {
        let _ = anyone.post("/sign_in", json!({ "id": format!("nobody{n}"), "pw": "x".repeat(100) }));
    }
}

#[test]
fn a_log_that_nobody_reads_stops_neither_answers_nor_the_server() {
    let (_directory, mut child, anyone, log) = with_unread_log();
    // A pipe holds 64 KiB, and the queue some thousand lines.
    fail_to_sign_in(&anyone, 6_000);
    assert_eq!(anyone.get("/healthz").outcome(), "200 success");
    let begin = Instant::now();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(begin.elapsed() < Duration::from_secs(13), "{:?}", begin.elapsed());
    drop(log);
}

#[test]
fn an_ordinary_stop_loses_no_line_of_the_log() {
    let (_directory, mut child, anyone, mut log) = with_unread_log();
    fail_to_sign_in(&anyone, 300);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(text.matches("sign-in failed").count(), 300, "{text}");
    assert!(text.contains("stopping: finishing what runs"), "{text}");
}

#[test]
fn closing_the_terminal_stops_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let terminal = Tmux::open(80, 24);
    let (command, out) = (tidings_tests::command(), directory.path().join("out"));
    terminal.runs(&format!(
        "{} --db {}/a.db serve --listen 127.0.0.1:0 >{} 2>&1",
        command.get_program().display(),
        directory.path().display(),
        out.display()
    ));
    let output = || std::fs::read_to_string(&out).unwrap_or_default();
    wait_until("the server listens", || output().contains("listening on http://"));
    drop(terminal);
    wait_until("the server stops", || output().contains("stopping: finishing what runs"));
    let text = output();
    let address = text.split("http://").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    wait_until("nothing listens", || std::net::TcpStream::connect(&address).is_err());
}

#[test]
fn every_line_of_a_json_log_is_json() {
    let directory = tempfile::tempdir().unwrap();
    let all_json = |stderr: &str| {
        let lines: Vec<serde_json::Value> =
            stderr.lines().map(|line| serde_json::from_str(line).expect(stderr)).collect();
        let text = |line: &serde_json::Value| line["fields"]["message"].as_str().unwrap().to_owned();
        assert!(
            lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()),
            "{stderr}"
        );
        lines.iter().map(text).collect::<Vec<_>>()
    };
    // Of a start that succeeds, and of a sign-in that fails.
    let mut server = Server::at(directory.path().join("tidings.db"), |serve| {
        serve.args(["--log-format", "json", "--log-auth-failures"]);
    });
    fail_to_sign_in(&server.anyone(), 1);
    let texts = all_json(&server.stop().log);
    for begin in ["There is no administrator yet.", "sign-in failed"] {
        assert!(texts.iter().any(|text| text.starts_with(begin)), "{texts:?}");
    }
    // Of starts that fail, before and after the settings are read.
    for wrong in [&["--listen", "x"][..], &["--lisen"], &["--pw-min", "200"], &["--as", "ann"]] {
        let mut failing = serve(directory.path());
        failing.args(["--log-format=json"]).args(wrong);
        let output = run(failing, "");
        assert!(output.status != 0 && !all_json(&output.stderr).is_empty(), "{output:?}");
    }
    std::fs::write(directory.path().join("tidings.toml"), "log-format = \"json\"\ntls-cert = \"none.pem\"\n")
        .unwrap();
    let output = run(serve(directory.path()), "");
    assert!(output.status == 2 && !all_json(&output.stderr).is_empty(), "{output:?}");
    // The log of a server is not that of other commands.
    let mut list = command_in(directory.path());
    list.args(["--config", "none.toml", "member", "list"]).env("TIDINGS_LOG_FORMAT", "json");
    assert!(run(list, "").stderr.starts_with("error: "));
}
