//! `tidings restore`: it replaces the database by a backup and keeps the old database.

use std::fs;

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tidings_tests::{Server, command, only_on_sqlite, run, sample, wait_until};

use super::{busy_wait, closed_database, count_posts, names, partial_files, spawn, tidings, tidings_command};
use crate::meanwhile::{Act, meanwhile};

#[test]
fn a_restore_installs_the_backup_keeps_the_old_database_and_revokes_all_tokens() {
    only_on_sqlite!("backups are copies of the file");
    let mut server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let titles = |server: &Server| server.anyone().get("/get_all_notice").column("notice_list", "title");
    let _ = admin.post("/insert_notice", sample::notice("before")).succeeded();
    let _ = server.cli(["backup", "copy.db"]).succeeded();
    let _ = admin.post("/insert_notice", sample::notice("after")).succeeded();
    // An idle server still uses the database.
    let idle = server.cli(["restore", "copy.db", "--yes", "--json"]);
    assert_eq!((idle.status, &idle.json()["result"]), (3, &json!("overloaded")));
    let users = format!("in use by another process, tidings (process {}): stop the server", server.pid());
    assert!(idle.stderr.contains(&users), "{idle:?}");
    assert_eq!(idle.stderr.trim_end(), format!("error: {}", idle.json()["message"].as_str().unwrap()));
    assert_eq!(titles(&server), ["after", "before"]);

    // A killed server no longer uses the database.
    server.kill();
    let asked = server.cli(["restore", "copy.db"]);
    assert!(asked.status == 2 && asked.stderr.contains("--yes"), "{asked:?}");
    let restored = server.cli(["restore", "copy.db", "--yes"]).succeeded();
    insta::with_settings!({ filters => [
        (r"/\S*/", "[dir]/"),
        (r"\d[\d,.]* (rows|KiB|MiB)", "[n] $1"),
        (r"\d{8}T\d{6}Z", "[time]"),
    ] }, {
        insta::assert_snapshot!(restored.stdout.trim_end());
    });
    let directory = server.database().parent().unwrap().to_owned();
    let old_databases: Vec<String> = names(&directory)
        .into_iter()
        .filter(|name| name.starts_with("tidings.db.20") && name.ends_with('Z'))
        .collect();
    assert_eq!(old_databases.len(), 1, "{:?}", names(&directory));
    assert!(!directory.join("tidings.db.key").exists() && !directory.join("tidings.db-wal").exists());
    server.restart();
    assert_eq!(titles(&server), ["before"]);
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found", "old tokens are revoked");
    let form = json!({ "id": "ann", "pw": tidings_tests::PASSWORD });
    let _ = server.anyone().post("/sign_in", form).succeeded();
    let old = Server::at(directory.join(&old_databases[0]), |_| {});
    assert_eq!(titles(&old), ["after", "before"]);
    assert!(server.stop().status.success());
    let object = server.cli(["--json", "restore", "copy.db", "--yes"]).succeeded().json();
    assert_eq!(object.as_object().unwrap().keys().collect::<Vec<_>>(), ["bytes", "result", "rows"]);
}

#[test]
fn a_restore_names_what_it_revokes_again() {
    only_on_sqlite!("backups are copies of the file");
    let mut server = Server::start();
    let admin = server.admin();
    let _ = admin.post("/add_key", json!({ "name": "script", "scopes": ["posts"] })).succeeded();
    let _ = server.cli(["backup", "copy.db"]).succeeded();
    assert_eq!(admin.get("/remove_key/script").outcome(), "200 success");
    assert!(server.stop().status.success());
    let object = server.cli(["--json", "restore", "copy.db", "--yes"]).succeeded().json();
    let expected =
        json!({ "keys": ["script"], "administrators": [], "roles": [], "blacklisted": [], "webhooks": [] });
    assert_eq!(object["revoked"], expected);
    let restored = server.cli(["restore", "copy.db", "--yes"]).succeeded();
    let line = "API keys, revoked since the backup and again now: script.";
    assert!(restored.stdout.contains(line), "{restored:?}");
    // Nobody knows what was revoked since if there is nothing to compare.
    let new =
        tidings(&server.database().with_file_name("new.db"), &["restore", "copy.db", "--yes"]).succeeded();
    assert!(new.stderr.contains("tidings key list"), "{new:?}");
}

#[test]
fn a_failed_restore_is_reported_and_changes_nothing() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(2);
    let path = |name: &str| directory.path().join(name);
    let _ = tidings(&database, &["backup", "copy.db"]).succeeded();
    let whole = fs::read(path("copy.db")).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..].fill(0x5a);
    fs::write(path("damaged.db"), damaged).unwrap();
    fs::write(path("cut.db"), &whole[..middle]).unwrap();
    fs::write(path("letter.txt"), "Dear Ann, ".repeat(1_000)).unwrap();
    fs::write(path("empty.db"), "").unwrap();
    fs::create_dir(path("sub")).unwrap();
    fs::copy(path("copy.db"), path("newer.db")).unwrap();
    Connection::open(path("newer.db")).unwrap().pragma_update(None, "user_version", 7_777).unwrap();
    Connection::open(path("other.db")).unwrap().execute_batch("CREATE TABLE member (x)").unwrap();
    let before = (names(directory.path()), fs::read(&database).unwrap());
    let refused = |database: &str, file: &str| {
        let mut restore = tidings_command(&path(database), &["restore", file, "--yes", "--json"]);
        let output = run(std::mem::replace(restore.current_dir(directory.path()), command()), "");
        let result = output.json()["result"].as_str().unwrap().to_owned();
        // The text after this is SQLite's and may change with its version.
        let message = output.stderr.replace(directory.path().to_str().unwrap(), "[dir]");
        let message = message.split("is damaged: ").next().unwrap().trim_end().to_owned();
        format!("{} {result}: {message}", output.status)
    };
    let all = [
        refused("tidings.db", "none.db"),
        refused("tidings.db", "damaged.db"),
        refused("tidings.db", "cut.db"),
        refused("tidings.db", "letter.txt"),
        refused("tidings.db", "empty.db"),
        refused("tidings.db", "sub"),
        refused("tidings.db", "newer.db"),
        refused("tidings.db", "other.db"),
        refused("tidings.db", "tidings.db"),
        refused("letter.txt", "copy.db"),
        refused("no/where.db", "copy.db"),
    ];
    insta::with_settings!({ filters => [(r"supports [0-9]+", "supports [n]")] }, {
        insta::assert_snapshot!(all.join("\n"));
    });
    assert_eq!((names(directory.path()), fs::read(&database).unwrap()), before);
}

#[test]
fn a_backup_of_an_older_version_is_migrated_by_its_restore() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(1);
    let older = directory.path().join("older.db");
    let connection = Connection::open(&older).unwrap();
    connection.execute_batch(include_str!("../../../../core/store/src/sqlite/0031_schema.sql")).unwrap();
    connection.pragma_update(None, "application_id", 0x7464_6e67).unwrap();
    connection.pragma_update(None, "user_version", 31).unwrap();
    drop(connection);
    let _ = tidings(&database, &["restore", "older.db", "--yes"]).succeeded();
    let checked = tidings(&database, &["check"]).succeeded();
    assert!(!checked.stdout.contains("version 31\n"), "{checked:?}");
    let _ = tidings(&database, &["analysis", "summary"]).succeeded();
    assert_eq!(count_posts(&database), 0);
}

#[test]
fn ctrl_c_leaves_the_database_as_it_was() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(100);
    let _ = tidings(&database, &["backup", "copy.db"]).succeeded();
    let before = (names(directory.path()), fs::read(&database).unwrap());
    let now = || (names(directory.path()), fs::read(&database).unwrap());
    let mut child = spawn(tidings_command(&database, &["restore", "copy.db", "--yes"]));
    busy_wait(&mut child, || partial_files(directory.path()) > 0);
    // The restore may have finished before the signal.
    let _ = kill_process(Pid::from_child(&child), Signal::INT);
    match child.wait().unwrap().code() {
        Some(130) => assert!(now() == before, "{:?}", names(directory.path())),
        status => assert_eq!(status, Some(0)),
    }
    assert_eq!((partial_files(directory.path()), count_posts(&database)), (0, 100));
}

#[test]
fn writes_between_restores_are_in_the_database_or_a_kept_copy() {
    const RESTORES: usize = 3;
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(1);
    let _ = tidings(&database, &["backup", "copy.db"]).succeeded();
    let written = std::sync::Mutex::new(Vec::new());
    let mut n = 0;
    let write: Act = Box::new(|| {
        n += 1;
        let title = format!("notice {n}");
        // A restore never makes another command fail because the database is in use.
        let _ = tidings(&database, &["notice", "add", "--title", &title, "--post", "text"]).succeeded();
        written.lock().unwrap().push(title);
        // During this command no process has the database open, so a restore can run.
        let _ = tidings(&database, &["completions", "bash"]).succeeded();
    });
    meanwhile(vec![write], || {
        let mut restored = 0;
        while restored < RESTORES {
            let before = written.lock().unwrap().len();
            let output = tidings(&database, &["restore", "copy.db", "--yes"]);
            match output.status {
                0 => restored += 1,
                status => assert!(status == 3 && output.stderr.contains("in use"), "{output:?}"),
            }
            wait_until("a notice is written", || written.lock().unwrap().len() > before);
        }
    });
    let databases = names(directory.path()).into_iter().filter(|name| {
        name == "tidings.db"
            || name.starts_with("tidings.db.20") && !name.ends_with("-wal") && !name.ends_with("-shm")
    });
    let mut found = std::collections::BTreeSet::new();
    for name in databases {
        let path = directory.path().join(name);
        assert_eq!(count_posts(&path), 1);
        let connection = Connection::open(&path).unwrap();
        let mut notices = connection.prepare("SELECT title FROM notice").unwrap();
        let titles = notices.query_map([], |row| row.get::<_, String>(0)).unwrap();
        found.extend(titles.map(Result::unwrap));
    }
    let written = written.into_inner().unwrap();
    assert!(written.iter().all(|title| found.contains(title)), "{written:?} {found:?}");
}
