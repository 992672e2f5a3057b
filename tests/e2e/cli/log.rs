//! `tidings analysis log`: filters, and following.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tidings_tests::{Server, wait_until};

fn follow(server: &Server, args: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = tidings_tests::command();
    command.arg("--db").arg(tidings_tests::location(server.database()));
    follow_with(command, args)
}

fn follow_remotely(server: &Server, args: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let key = server.cli(["key", "add", "follower", "--scope", "analytics:read"]).succeeded().stdout;
    let mut command = tidings_tests::command();
    command.env("TIDINGS_SERVER", format!("http://{}", server.address()));
    command.env("TIDINGS_SERVER_KEY", key.trim());
    follow_with(command, args)
}

fn follow_with(mut command: Command, args: &[&str]) -> (Child, BufReader<ChildStdout>) {
    command.args(["analysis", "log", "--follow"]).args(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

fn line(lines: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line
}

#[test]
fn lines_are_filtered_by_path_and_status() {
    let server = Server::start();
    let _ = server.anyone().get("/get_device").succeeded();
    let _ = server.anyone().get("/get_notice/650000000000000000000009");
    let log =
        |args: &[&str]| server.cli([&["analysis", "log", "--ndjson"], args].concat()).succeeded().stdout;
    wait_until("the log has both lines", || log(&[]).lines().count() == 2);
    assert_eq!(log(&["--status", "404"]).lines().count(), 1);
    assert_eq!(log(&["--status", "2xx", "--path", "device"]).lines().count(), 1);
    assert_eq!(log(&["--status", "5xx"]), "");
    for wrong in [["--status", "600"], ["--status", "all"], ["--path", ""], ["--result", ""]] {
        let refused = server.cli([&["analysis", "log"], &wrong[..]].concat());
        assert!(refused.status == 2 && !refused.stderr.is_empty(), "{refused:?}");
    }
}

fn ended(mut child: Child) -> (Option<i32>, String) {
    let status = child.wait().unwrap().code();
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    (status, message)
}

/// Asserts that a command which follows the log prints the last line, then new ones, and ends on Ctrl-C without a message.
#[track_caller]
fn assert_follows(follow: impl Fn(&Server, &[&str]) -> (Child, BufReader<ChildStdout>)) -> Server {
    let server = Server::start();
    let _ = server.anyone().get("/get_device").succeeded();
    wait_until("the log has a line", || {
        server.cli(["analysis", "log", "--ndjson"]).succeeded().stdout.lines().count() == 1
    });
    let (child, mut lines) = follow(&server, &["--json", "--path", "/get_"]);
    let path = |line: &str| serde_json::from_str::<Value>(line).unwrap()["path"].as_str().unwrap().to_owned();
    // The command asks a server for its time, too.
    let mut next = || loop {
        let path = path(&line(&mut lines));
        if path != "/get_status" {
            break path;
        }
    };
    assert_eq!(next(), "/get_device");
    let _ = server.anyone().get("/get_main_info").succeeded();
    let _ = server.anyone().get("/get_categories").succeeded();
    assert_eq!([next(), next()], ["/get_main_info", "/get_categories"]);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(ended(child), (Some(0), String::new()));
    server
}

#[test]
fn following_prints_new_lines_until_ctrl_c_or_the_reader_closes_the_pipe() {
    let server = assert_follows(follow);
    let (child, mut lines) = follow(&server, &["--json", "--limit", "1"]);
    assert!(line(&mut lines).contains("/get_categories"), "the last line");
    let _ = server.anyone().get("/get_device").succeeded();
    assert!(line(&mut lines).contains("/get_device"), "it follows");
    drop(lines);
    assert_eq!(ended(child), (Some(0), String::new()));
}

#[test]
fn following_over_http_prints_new_lines_until_ctrl_c() {
    let _server = assert_follows(follow_remotely);
}
