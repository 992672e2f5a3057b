//! Migration: importing members and acts from another system with the command line.

use std::io::Write as _;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tidings_tests::{Server, only_on_sqlite, sample, wait_until};

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

/// A hash of `correct horse`, made by libxcrypt.
const BCRYPT: &str = "$2y$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e";
/// Hashes of `correct horse`, made by Werkzeug.
const SCRYPT: &str = "scrypt:1024:8:1$abcDEF0123456789$88d9c36506e82e4d9f27cb8a97fcacbb07e659ea07e37969d4f94fb9593a2210\
                      0bbb3997023cbab4da97c41b49d644a31efe06af90d6fa3b2d7d4167e8015fab";
const PBKDF2: &str =
    "pbkdf2:sha256:1000$abcDEF0123456789$c4a753c699272d707372cc2e394122a883a176a5661bebeac3098df02f7b532d";

fn members(server: &Server) -> u64 {
    server.sql().scalar("SELECT count(*) FROM member", &[])
}

#[test]
fn members_are_imported_while_the_server_runs_and_sign_in_as_before() {
    let server = Server::start();
    server.member("taken");
    let input = lines(&[
        json!({"id": "Ann", "nickname": "Annie", "password_hash": SCRYPT, "name": "김안나", "major": "CS"}),
        json!({"id": "ben", "password_hash": PBKDF2, "date": "2024-03-01T09:00:00Z"}),
        json!({"id": "TAKEN", "nickname": "Somebody else"}),
        json!({"id": "cid", "password_hash": "md5$x$y"}),
        json!({"id": "dan"}),
        json!({"id": "eva", "password_hash": BCRYPT}),
    ]);
    let output = server.cli_with_input(["member", "import", "-", "--json"], &input).succeeded();
    insta::assert_json_snapshot!(output.json(), @r#"
    {
      "errors": [
        {
          "line": 4,
          "reason": "password_hash is an Argon2 PHC string, a bcrypt hash, or as Werkzeug writes pbkdf2 and scrypt"
        }
      ],
      "inserted": 4,
      "result": "success",
      "skipped": 1
    }
    "#);
    let sign_in = |id: &str, pw: &str| server.anyone().post("/sign_in", json!({"id": id, "pw": pw}));
    for id in ["ann", "BEN", "eva"] {
        assert_eq!(sign_in(id, "correct horse").outcome(), "200 success");
    }
    let token = sign_in("ann", "correct horse").body["access_token"].as_str().unwrap().to_owned();
    let info = server.anyone().with_token("ann", token).get("/get_userinfo").body;
    let shown = ["user_id", "user_name", "user_major", "nickname"].map(|name| info[name].clone());
    assert_eq!(shown, ["Ann", "김안나", "CS", "Annie"].map(Value::from), "{info}");

    let file = server.database().with_file_name("members.jsonl");
    std::fs::write(&file, &input).unwrap();
    let again = server.cli([std::ffi::OsStr::new("member"), "import".as_ref(), file.as_ref()]).succeeded();
    insta::assert_snapshot!(again.stdout, @"0 inserted, 5 already the same, 1 left out");
    insta::assert_snapshot!(again.stderr, @"line 4: password_hash is an Argon2 PHC string, a bcrypt hash, or as Werkzeug writes pbkdf2 and scrypt");
}

#[test]
fn acts_are_imported_while_the_server_runs_and_count_on_their_days() {
    let server = Server::start();
    let ann = server.member("ann");
    let posts =
        server.cli_with_input(["post", "import", "-", "--json"], sample::RUST_BLOG).succeeded().json();
    assert_eq!(posts["errors"], json!([]));
    let url = sample::rust_blog()[0]["url"].clone();
    let input = lines(&[
        json!({"id": "ANN", "type": "view", "url": url, "date": "2025-03-01T09:00:00Z"}),
        json!({"id": "ann", "type": "like", "url": url, "date": "2025-03-01T09:10:00Z"}),
        json!({"id": "ann", "type": "search", "search": "Async Rust", "date": "2025-03-01T09:50:00Z"}),
        json!({"id": "ann", "type": "newsfeed", "newsfeed_name": "no such topic", "date": "2025-03-01T10:00:00Z"}),
        json!({"id": "ann", "type": "like", "url": url, "date": "2025-03-02T09:10:00Z"}),
        json!({"id": "ann", "type": "view", "url": url, "date": "2999-03-01T09:00:00Z"}),
    ]);
    let output = server.cli_with_input(["act", "import", "-", "--json"], &input).succeeded();
    insta::assert_json_snapshot!(output.json(), @r#"
    {
      "errors": [
        {
          "line": 6,
          "reason": "date is in the future"
        }
      ],
      "inserted": 4,
      "result": "success",
      "skipped": 1
    }
    "#);
    let day = || {
        let path = "/get_everyday_analysis_specific_days/2025/3/1";
        let day = server.anyone().get(path).succeeded().body["analysis"].clone();
        ["today_visitor", "today_view", "today_fav"].map(|name| day[name].as_i64())
    };
    assert_eq!(day(), [Some(1); 3]);
    let lists = ann.get("/get_specific_userinfo/0").succeeded().body;
    for list in ["fav_list", "view_list", "search_list", "newsfeed_list"] {
        assert_eq!(lists[list].as_array().map(Vec::len), Some(1), "{lists}");
    }
    let again = server.cli_with_input(["act", "import", "-"], &input).succeeded();
    insta::assert_snapshot!(again.stdout, @"0 inserted, 5 already the same, 1 left out");
    assert_eq!(day(), [Some(1); 3]);
    server.cli(["check"]).assert_sound();
}

/// Starts an import that reads from a pipe, and returns it with the pipe's writing end.
fn waiting_import(server: &Server, kind: &str) -> (Child, ChildStdin) {
    let mut import = server.command();
    import.args(["--json", kind, "import", "-"]);
    let import = import.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut import = import.unwrap();
    let stdin = import.stdin.take().unwrap();
    (import, stdin)
}

/// Sends SIGINT to an import that waits for input, and returns its report.
#[track_caller]
fn interrupted(import: Child) -> Value {
    kill_process(Pid::from_child(&import), Signal::INT).unwrap();
    let output = import.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("run the command again"), "{output:?}");
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["result"], "interrupted", "{outcome}");
    outcome
}

#[test]
fn an_interrupted_import_reports_its_progress_and_resumes_when_repeated() {
    let server = Server::start();
    let (import, mut stdin) = waiting_import(&server, "member");
    let writer = std::thread::spawn(move || {
        // Write until the import stops reading.
        let mut n = 0;
        while writeln!(stdin, "{{\"id\": \"member-{n}\"}}").is_ok() {
            n += 1;
        }
    });
    let began = Instant::now();
    while members(&server) == 0 {
        assert!(began.elapsed() < Duration::from_mins(1), "no member was imported");
        std::thread::yield_now();
    }
    let outcome = interrupted(import);
    writer.join().unwrap();
    let there = members(&server);
    assert_eq!(outcome["inserted"], there);
    assert_eq!(server.integrity(), "ok");
    let input: String =
        (0..there + 10).map(|n| json!({"id": format!("member-{n}")}).to_string() + "\n").collect();
    let rest = server.cli_with_input(["--json", "member", "import", "-"], &input).succeeded().json();
    assert_eq!((&rest["inserted"], &rest["skipped"]), (&json!(10), &json!(there)));
}

#[test]
fn an_import_interrupted_while_waiting_for_input_reports_its_progress() {
    let server = Server::start();
    let (import, mut stdin) = waiting_import(&server, "member");
    for n in 0..1_100 {
        writeln!(stdin, "{{\"id\": \"member-{n}\"}}").unwrap();
    }
    // An incomplete line, which must not be imported.
    write!(stdin, "{{\"id\": \"member-x").unwrap();
    wait_until("the second batch is written", || members(&server) > 500);
    let outcome = interrupted(import);
    assert_eq!(outcome["inserted"], members(&server), "{outcome}");
    assert_eq!(outcome["errors"], json!([]));
}

#[cfg(target_os = "linux")]
fn has_interrupt(process: &Child, set: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let signals = status.lines().find_map(|line| line.strip_prefix(set)).unwrap();
    u64::from_str_radix(signals.trim(), 16).unwrap() & 0b10 != 0
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_interrupt_ends_an_import_that_cannot_stop() {
    only_on_sqlite!("it holds SQLite's lock of writers");
    let server = Server::start();
    let (import, mut stdin) = waiting_import(&server, "member");
    for n in 0..250 {
        writeln!(stdin, "{{\"id\": \"member-{n}\"}}").unwrap();
    }
    wait_until("the first batch is written", || members(&server) == 250);
    let mut other = server.sql();
    other.batch("BEGIN IMMEDIATE");
    // More than fits into all buffers and the second batch, which waits for the lock, and less than with the third one.
    for n in 250..575 {
        writeln!(stdin, "{{\"id\": \"member-{n}\"{:2000}}}", "").unwrap();
    }
    kill_process(Pid::from_child(&import), Signal::INT).unwrap();
    wait_until("the first signal has arrived", || !has_interrupt(&import, "ShdPnd:"));
    kill_process(Pid::from_child(&import), Signal::INT).unwrap();
    let output = import.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(130), &b""[..]), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("run the command again"), "{output:?}");
    other.batch("COMMIT");
    assert_eq!(members(&server), 250);
}

#[cfg(target_os = "linux")]
#[test]
fn an_import_interrupted_before_reading_changes_nothing() {
    let server = Server::start();
    for kind in ["member", "act", "post", "roster"] {
        let (import, _stdin) = waiting_import(&server, kind);
        wait_until("it listens for Ctrl-C", || has_interrupt(&import, "SigCgt:"));
        let outcome = interrupted(import);
        assert_eq!((&outcome["inserted"], &outcome["errors"]), (&json!(0), &json!([])), "{kind}");
    }
}

#[test]
fn members_are_imported_from_csv_and_many_errors_of_a_kind_are_counted() {
    let server = Server::start();
    let bad = (0..14).map(|n| format!("x{n}!;;;\n")).collect::<Vec<_>>().concat();
    let input = format!(
        "\u{feff}id;nickname;password_hash;name\r\nann;\"Ann; A\";{SCRYPT};Ann Lee\r\n{bad}ben;;nothing;\n"
    );
    let output = server.cli_with_input(["member", "import", "-"], &input).succeeded();
    assert_eq!(output.stdout.trim_end(), "1 inserted, 0 already the same, 15 left out");
    let notes: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(notes.len(), 12, "{output:?}");
    assert!(notes[0].starts_with("line 3: id is ") && notes[9].starts_with("line 12: id is "), "{output:?}");
    assert!(notes[10].starts_with("line 17: password_hash is "), "{output:?}");
    assert!(
        notes[11].starts_with("… and 4 more of this kind; the last one is line 16: id is "),
        "{output:?}"
    );
    let json = server.cli_with_input(["member", "import", "-", "--json"], &input).succeeded().json();
    assert_eq!(json["errors"].as_array().map(Vec::len), Some(15), "programs get all of them");
}
