//! A full disk: writes return an error, reads are unaffected, and writes succeed again once there is room.

use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use tidings_tests::{Caller, PASSWORD, Server, only_on_sqlite, run, sample, wait_until};

use super::{assert_intact, ends, through, tidings};

fn read_lists(admin: &Caller) -> Vec<Value> {
    ["/get_all_notice", "/get_all_feedback", "/get_main_info", "/get_categories", "/get_userinfo"]
        .map(|path| admin.get(path).succeeded().body)
        .into()
}

/// A path prefix whose requests the access log records, with a topic name as suffix.
const FEED: &str = "/get_newsfeed_of_topic/";

/// Checks a server's responses while its disk is full and after there is room again.
///
/// `full` fills the disk, `free` makes room.
fn full_disk(server: &Server, database: &Path, admin: &Caller, full: impl FnOnce(), free: impl FnOnce()) {
    let anyone = server.anyone();
    let post = admin.post("/insert_post", sample::post("kept")).text("/_id");
    let large = |n: usize| json!({ "title": format!("notice {n}"), "post": "가".repeat(20_000) });
    for n in 0..3 {
        let _ = admin.post("/insert_notice", large(n)).succeeded();
    }
    full();
    // Writes that fit into existing file pages still succeed, so the first failure may take several writes.
    let mut kept = 3;
    loop {
        let answer = admin.post("/insert_notice", large(kept));
        if answer.status != 200 {
            assert_eq!(answer.outcome(), "500 internal error");
            break;
        }
        kept += 1;
        assert!(kept < 500, "the disk does not fill up");
    }
    let before = read_lists(admin);
    assert_eq!(before[0]["notice_list"].as_array().unwrap().len(), kept);
    let sign_up = json!({ "id": "late", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "x".repeat(30) });
    let feedback = json!({ "post": "가".repeat(5_000) });
    let mut article = sample::post("too late");
    article["post"] = json!("가".repeat(100_000));
    let line = article.to_string();
    for _ in 0..2 {
        for (answer, outcome) in [
            (admin.post("/insert_notice", large(0)), "500 internal error"),
            (admin.post("/insert_post", article.clone()), "500 internal error"),
            (
                admin.request("POST", "/import_posts").body("application/json", line.clone()).send(),
                "500 internal error",
            ),
            (admin.post("/send_feedback", feedback.clone()), "500 fail"),
            (anyone.post("/sign_up", sign_up.clone()), "500 sign_up fail"),
            (admin.get(&format!("/post_like/{post}")), "500 internal error"),
            (anyone.get(&format!("/post_view/{post}")), "500 internal error"),
        ] {
            assert_eq!(answer.outcome(), outcome);
            assert!(!answer.text("/message").contains("disk"), "only the log has the cause: {answer:?}");
        }
        for name in ["a", "a", "b", "b"] {
            let _ = anyone.get(&format!("{FEED}{name}")).succeeded();
        }
        assert_eq!(read_lists(admin), before, "reads are unaffected");
        wait_until("the feed shows the post", || {
            anyone.get("/get_popularity_newsfeed").succeeded().column("newsfeed", "_id") == [&*post]
        });
        let _ = anyone.post("/sign_in", json!({ "id": "admin", "pw": PASSWORD })).succeeded();
        assert_eq!(anyone.get("/readyz").outcome(), "503 overloaded");
        assert_eq!(anyone.get("/healthz").outcome(), "200 success");
    }
    free();
    // The server becomes ready again without a client's write.
    wait_until("the server is ready", || anyone.get("/readyz").status == 200);
    let _ = admin.post("/insert_notice", large(kept)).succeeded();
    for name in ["c", "d", "b", "a"] {
        let _ = anyone.get(&format!("{FEED}{name}")).succeeded();
    }
    let _ = admin.get(&format!("/post_like/{post}")).succeeded();
    let _ = anyone.get(&format!("/post_view/{post}")).succeeded();
    let _ = anyone.post("/sign_up", sign_up).succeeded();
    let _ = admin.post("/send_feedback", feedback).succeeded();
    let _ = admin.post("/insert_post", article).succeeded();
    let post = anyone.get(&format!("/get_post/{post}")).succeeded().body["post"].clone();
    assert_eq!((&post["fav_cnt"], &post["view"]), (&json!(1), &json!(1)), "refused acts are not counted");
    let notices = admin.get("/get_all_notice").succeeded();
    assert_eq!(notices.list("notice_list").len(), kept + 1);
    let log = admin.get("/get_log_date/0/1/0/1000").succeeded().column("log", "path");
    let feeds: String = log.iter().rev().filter_map(|path| path.strip_prefix(FEED)).collect();
    assert_eq!(feeds, "aabbaabbcdba", "no log line is lost or has a wrong path");
    let communications = admin.get("/get_analysis").succeeded().body["analysis"]["communication_avg"].clone();
    assert_eq!(communications, log.len() + 1, "the counters agree with the log");
    assert!(server.log().contains("ERROR"), "the log has the cause: {}", server.log());
    assert!(!server.log().contains("panicked"), "{}", server.log());
    assert_intact(database);
}

/// Ignores SIGXFSZ, which would otherwise kill the process when it writes beyond the limit.
const IGNORING_THE_LIMIT: [&str; 4] = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];

fn set_limit(server: &Server, bytes: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(server.pid()).unwrap());
    prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

/// Returns a command whose files may have so many blocks of 512 bytes.
fn limited(command: &Command, blocks: u32) -> Command {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    through(command, &["sh", "-c", &script, "sh"])
}

/// Returns 200 posts of many words, as lines.
fn large_posts() -> String {
    let line = |n: usize| {
        let mut post = sample::post(&format!("post {n}"));
        post["post"] = json!(format!("{n} ").repeat(5_000));
        format!("{post}\n")
    };
    (0..200).map(line).collect()
}

#[test]
fn a_file_size_limit_is_an_error_until_it_is_lifted() {
    only_on_sqlite!("the disk of the file is full");
    let server = Server::with(|serve| *serve = through(serve, &IGNORING_THE_LIMIT));
    let (admin, limit) = (server.admin(), |bytes| set_limit(&server, bytes));
    full_disk(&server, server.database(), &admin, || limit(Some(0)), || limit(None));
}

#[test]
fn a_start_without_room_ends_with_a_message() {
    only_on_sqlite!("the disk of the file is full");
    let directory = tempfile::tempdir().unwrap();
    for args in [&["serve", "--listen", "127.0.0.1:0"][..], &["init"], &["post", "import", "-"]] {
        let output = ends(limited(&tidings(&directory.path().join("tidings.db"), args), 0));
        assert_eq!(output.status, 3, "{args:?} {output:?}");
        assert!(output.stderr.contains("tidings.db"), "{args:?} {output:?}");
    }
    // Files left by the failed attempts do not prevent a start.
    let server = Server::at(directory.path().join("tidings.db"), |_| {});
    server.member("ann");
}

#[test]
fn every_import_on_a_full_disk_reports_its_progress() {
    only_on_sqlite!("the disk of the file is full");
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("tidings.db");
    let _ = ends(tidings(&database, &["init"])).succeeded();
    let member =
        |n: usize| format!("{}\n", json!({ "id": format!("member-{n}"), "nickname": "x".repeat(30) }));
    let act = |n: usize| {
        let search = format!("{n} {}", "가".repeat(150));
        let act =
            json!({ "id": "member-0", "type": "search", "search": search, "date": "2024-03-01T09:00:00Z" });
        format!("{act}\n")
    };
    for (command, lines) in [
        ("member", (0..10_000).map(member).collect::<String>()),
        ("act", (0..10_000).map(act).collect::<String>()),
    ] {
        let import = tidings(&database, &[command, "import", "-", "--json"]);
        let failed = run(limited(&import, 1_200), &lines);
        assert_eq!(failed.status, 3, "{command}: {:.2000}", failed.stderr);
        let kept = failed.json()["inserted"].as_u64().unwrap();
        assert!(kept > 0 && failed.stderr.contains("Import again"), "{command}: {:.2000}", failed.stderr);
        let report = run(import, &lines).succeeded().json();
        assert_eq!(
            (report["skipped"].as_u64(), report["inserted"].as_u64()),
            (Some(kept), Some(10_000 - kept))
        );
        assert_intact(&database);
    }
}

#[test]
fn an_http_import_on_a_full_disk_reports_its_progress() {
    only_on_sqlite!("the disk of the file is full");
    let server = Server::with(|serve| *serve = through(serve, &IGNORING_THE_LIMIT));
    let (admin, lines) = (server.admin(), large_posts());
    let import = || admin.request("POST", "/import_posts").body("application/x-ndjson", lines.clone()).send();
    set_limit(&server, Some(2 << 20));
    let failed = import();
    assert_eq!(failed.outcome(), "500 internal error");
    let kept = failed.body["inserted"].as_u64().unwrap();
    assert!(kept > 0, "{failed:?}");
    assert_eq!(failed.body, unfinished(kept), "only the log has the cause");
    set_limit(&server, None);
    let again = import().succeeded();
    assert_eq!((&again.body["skipped"], &again.body["inserted"]), (&json!(kept), &json!(200 - kept)));
}

#[test]
fn a_start_on_a_full_disk_reports_it_with_advice() {
    only_on_sqlite!("the disk of the file is full");
    let closed = tempfile::tempdir().unwrap();
    let _ = ends(tidings(&closed.path().join("tidings.db"), &["init"])).succeeded();
    let place = tempfile::tempdir().unwrap();
    let there = place.path().display();
    for prepare in [":".to_owned(), format!("cp '{}'/tidings.db* '{there}'", closed.path().display())] {
        for args in [&["serve", "--listen", "127.0.0.1:0"][..], &["init"], &["post", "import", "-"]] {
            let script = format!(
                "mount -t tmpfs -o size=1m none '{there}' || exit 77; {prepare}; \
                 dd if=/dev/zero of='{there}/ballast' bs=4096 2> /dev/null; exec \"$@\""
            );
            let by = ["unshare", "--map-root-user", "--mount", "sh", "-c", &script, "sh"];
            let database = place.path().join("tidings.db");
            let output = ends(through(&tidings(&database, args), &by));
            if output.status == 77 || output.stderr.contains("unshare") {
                eprintln!("skipped: this system does not allow unprivileged mounts");
                return;
            }
            assert_eq!((output.status, &*output.stdout), (3, ""), "{args:?} {prepare} {output:?}");
            for text in ["disk", "full", "make room", database.to_str().unwrap()] {
                assert!(output.stderr.contains(text), "{args:?} {prepare} {text:?} {output:?}");
            }
        }
    }
}

fn unfinished(inserted: u64) -> Value {
    json!({
        "result": "internal error",
        "code": "internal_error",
        "message": "the service failed: try again, and tell its operators, whose log has the cause",
        "inserted": inserted,
        "updated": 0,
        "skipped": 0,
    })
}
