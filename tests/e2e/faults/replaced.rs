//! Database files that are removed or replaced while the server runs: the server acknowledges no write that would
//! be lost, and earlier acknowledged writes survive.

use std::fs;
use std::path::Path;

use serde_json::json;
use tidings_tests::{Caller, PASSWORD, Server, only_on_sqlite, sample, wait_until};

use super::{assert_intact, ends, tidings};

fn titles(caller: &Caller) -> Vec<String> {
    caller.get("/get_all_notice").succeeded().column("notice_list", "title")
}

/// Asserts that the server acknowledges no write and reports this, while reads and `/healthz` still work.
#[track_caller]
fn assert_refuses(server: &Server, admin: &Caller, says: &str) {
    let anyone = server.anyone();
    let sign_up = json!({ "id": "late", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "late" });
    let before = titles(admin);
    for _ in 0..2 {
        for (answer, outcome) in [
            (admin.post("/insert_notice", sample::notice("lost")), "500 internal error"),
            (admin.post("/send_feedback", json!({ "post": "lost" })), "500 fail"),
            (anyone.post("/sign_up", sign_up.clone()), "500 sign_up fail"),
        ] {
            assert_eq!(answer.outcome(), outcome);
            let message = answer.text("/message");
            assert!(!message.contains("tidings.db"), "only the log has the cause: {answer:?}");
        }
    }
    assert_eq!(titles(admin), before, "reads are unaffected");
    assert_eq!(anyone.get("/readyz").outcome(), "503 overloaded");
    assert_eq!(anyone.get("/healthz").outcome(), "200 success");
    let log = server.log();
    assert!(log.contains(says), "{says:?}: {log}");
    assert!(!log.contains("panicked"), "{log}");
}

/// Starts a server with a notice, and makes a backup before the notice is inserted.
fn server_with_a_notice() -> (Server, Caller) {
    let server = Server::start();
    let admin = server.admin();
    let _ = server.cli(["backup", "copy.db"]).succeeded();
    let _ = admin.post("/insert_notice", sample::notice("kept")).succeeded();
    assert_eq!(server.anyone().get("/readyz").outcome(), "200 success");
    (server, admin)
}

#[test]
fn a_removed_database_refuses_writes_and_is_not_recreated() {
    only_on_sqlite!("it replaces or damages the file");
    let (mut server, admin) = server_with_a_notice();
    let database = server.database().to_owned();
    fs::remove_file(&database).unwrap();
    assert_refuses(&server, &admin, "tidings.db was removed");
    assert!(server.log().contains("restore a backup to "), "{}", server.log());
    assert!(!database.exists(), "no empty database is created");
    assert!(server.stop().status.success());
    assert!(!database.exists() && server.beside("-wal").exists(), "the remaining files are left alone");
    let started = ends(tidings(&database, &["serve", "--listen", "127.0.0.1:0"]));
    assert_eq!(started.status, 3, "{started:?}");
    assert!(started.stderr.contains("tidings.db-wal"), "{started:?}");
    let _ = server.cli(["restore", "copy.db", "--yes"]).succeeded();
    server.restart();
    assert_eq!(titles(&server.anyone()), [] as [&str; 0]);
    assert_eq!(server.anyone().get("/readyz").outcome(), "200 success");
}

type Replace = fn(&Path, &Path);

#[test]
fn a_replaced_overwritten_or_emptied_database_refuses_writes_and_the_new_file_is_left_alone() {
    only_on_sqlite!("it replaces or damages the file");
    let cases: [(&str, Replace); 3] = [
        ("replaced", |copy, database| fs::rename(copy, database).unwrap()),
        // The file keeps its inode, as with `cp`.
        ("overwritten", |copy, database| fs::write(database, fs::read(copy).unwrap()).unwrap()),
        ("overwritten", |_, database| fs::write(database, "").unwrap()),
    ];
    for (number, (how, replace)) in cases.into_iter().enumerate() {
        let (mut server, admin) = server_with_a_notice();
        let database = server.database().to_owned();
        let copy = database.with_file_name("copy.db");
        let expected = if number < 2 { fs::read(&copy).unwrap() } else { Vec::new() };
        replace(&copy, &database);
        assert_refuses(&server, &admin, &format!("tidings.db was {how}"));
        assert!(server.stop().status.success());
        assert!(fs::read(&database).unwrap() == expected, "{how}");
    }
}

#[test]
fn a_removed_write_ahead_log_refuses_writes_and_a_clean_stop_saves_its_contents() {
    only_on_sqlite!("it replaces or damages the file");
    for removed in ["-wal", "-shm"] {
        let (mut server, admin) = server_with_a_notice();
        let database = server.database().to_owned();
        fs::remove_file(server.beside(removed)).unwrap();
        assert_refuses(&server, &admin, &format!("tidings.db{removed} was removed"));
        assert!(server.stop().status.success());
        server.restart();
        // A write that was refused while the log was missing may still have been saved with the others.
        let saved = titles(&server.anyone());
        assert_eq!(saved.last().map(String::as_str), Some("kept"), "{removed}: {saved:?}");
        let _ = admin.post("/insert_notice", sample::notice("again")).succeeded();
        assert_intact(&database);
    }
}

#[test]
fn an_idle_server_notices_that_its_database_is_gone_and_accepts_writes_when_it_is_back() {
    only_on_sqlite!("it replaces or damages the file");
    let (server, admin) = server_with_a_notice();
    let database = server.database().to_owned();
    let away = database.with_file_name("away.db");
    fs::rename(&database, &away).unwrap();
    wait_until("the server is not ready", || server.anyone().get("/readyz").outcome() == "503 overloaded");
    assert_refuses(&server, &admin, "tidings.db was removed");
    fs::rename(&away, &database).unwrap();
    wait_until("the server is ready", || server.anyone().get("/readyz").status == 200);
    let _ = admin.post("/insert_notice", sample::notice("again")).succeeded();
    let found = titles(&admin);
    assert!(found.starts_with(&["again".to_owned()]) && found.ends_with(&["kept".to_owned()]), "{found:?}");
    assert_eq!(server.integrity(), "ok");
}
