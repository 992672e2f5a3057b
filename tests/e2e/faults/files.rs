//! Invalid database files are refused with exit status 3 and a message, and are left unchanged.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tidings_tests::{Server, only_on_sqlite};

use super::{WITHOUT_PRIVILEGES, ends, through, tidings};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];
const COMMANDS: [&[&str]; 4] = [&SERVE, &["init"], &["admin", "grant", "ann"], &["post", "import", "-"]];

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn database(directory: &Path) -> PathBuf {
    let path = directory.join("tidings.db");
    let mut server = Server::at(&path, |_| {});
    server.member("ann");
    assert!(server.stop().status.success());
    path
}

/// Asserts that every command refuses the database with a message that contains these texts, and changes no file.
#[track_caller]
fn assert_refused(database: &Path, says: &[&str], by: Option<&[&str]>) {
    let files = || {
        let entries = fs::read_dir(database.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.map(|path| (fs::read(&path).ok(), path)).collect();
        files.sort();
        files
    };
    let before = files();
    for args in COMMANDS {
        let command = tidings(database, args);
        let output = ends(by.map_or_else(|| tidings(database, args), |by| through(&command, by)));
        assert_eq!(output.status, 3, "{args:?} {output:?}");
        assert_eq!(output.stdout, "", "{args:?}");
        for text in says {
            assert!(output.stderr.contains(text), "{args:?} {text:?} {output:?}");
        }
        assert!(!output.stderr.contains("panicked"), "{output:?}");
        assert!(files() == before, "{args:?} changes nothing");
    }
}

#[test]
fn what_is_no_database_of_this_version_is_refused() {
    only_on_sqlite!("it is about the database file");
    let directory = directory();
    let file = |name: &str| directory.path().join(name);
    let newer = database(directory.path());
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 7_777).unwrap();
    let other = Connection::open(file("other.db")).unwrap();
    other.execute_batch("CREATE TABLE member (x); INSERT INTO member VALUES (1);").unwrap();
    drop(other);
    fs::write(file("letter.txt"), "Dear Ann, ".repeat(1_000)).unwrap();
    fs::write(file("short.txt"), "short").unwrap();
    fs::create_dir(file("folder")).unwrap();
    for says in [
        &["tidings.db", "newer", "7777"][..],
        &["other.db", "not a tidings database"],
        &["letter.txt"],
        &["short.txt"],
        &["folder"],
    ] {
        assert_refused(&file(says[0]), says, None);
    }
    let nowhere = file("no").join("where.db");
    let mut serve = tidings(&nowhere, &SERVE);
    serve.current_dir(directory.path());
    let output = ends(serve);
    assert_eq!(output.status, 3, "{output:?}");
    assert!(output.stderr.contains("where.db"), "{output:?}");
    assert!(!nowhere.parent().unwrap().exists());
}

#[test]
fn what_is_read_only_is_refused_until_it_can_be_written() {
    only_on_sqlite!("it is about the database file");
    let directory = directory();
    let database = database(directory.path());
    let there = directory.path().display();
    let mount = format!("mount --bind '{there}' '{there}' && mount -o remount,bind,ro '{there}'");
    let script = format!("{mount} && exec \"$@\"");
    let by = ["unshare", "--map-root-user", "--mount", "sh", "-c", &script, "sh"];
    let tried = std::process::Command::new(by[0]).args(&by[1..5]).args([&mount, "sh"]).status();
    if tried.is_ok_and(|status| status.success()) {
        assert_refused(&database, &["tidings.db", "Read-only file system"], Some(&by));
    } else {
        eprintln!("a part is skipped: this system does not allow unprivileged mounts");
    }

    let by = rustix::process::getuid().is_root().then_some(&WITHOUT_PRIVILEGES[..]);
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&database, 0o400);
    assert_refused(&database, &["tidings.db", "ermission denied"], by);
    set(&database, 0o600);
    set(directory.path(), 0o500);
    assert_refused(&database, &["tidings.db"], by);
    set(directory.path(), 0o700);
    let server = Server::at(&database, |_| {});
    let _ = server.cli(["admin", "grant", "ann"]).succeeded();
}

#[test]
fn an_empty_file_instead_of_a_database_is_refused() {
    only_on_sqlite!("it is about the database file");
    for beside in ["tidings.db.key", "tidings.db-wal"] {
        let directory = directory();
        let database = database(directory.path());
        let key = fs::read(directory.path().join("tidings.db.key")).unwrap();
        fs::remove_file(directory.path().join("tidings.db.key")).unwrap();
        fs::write(&database, "").unwrap();
        fs::write(directory.path().join(beside), key).unwrap();
        assert_refused(&database, &["tidings.db is empty", beside, "tidings restore FILE"], None);
        let check = ends(tidings(&database, &["check"]));
        assert_eq!(check.status, 1, "{check:?}");
        assert!(
            check.stdout.contains("is empty") && check.stdout.contains("tidings restore FILE"),
            "{check:?}"
        );
        fs::remove_file(directory.path().join(beside)).unwrap();
        let _ = Server::at(&database, |_| {});
    }
}

#[test]
fn a_missing_database_with_a_log_is_refused_and_with_a_key_is_created_with_a_warning() {
    only_on_sqlite!("it is about the database file");
    let directory = directory();
    let database = database(directory.path());
    let log = directory.path().join("tidings.db-wal");
    fs::remove_file(&database).unwrap();
    fs::write(&log, "frames").unwrap();
    for args in [&SERVE[..], &["init"], &["post", "import", "-"]] {
        let output = ends(tidings(&database, args));
        assert_eq!(output.status, 3, "{args:?} {output:?}");
        assert!(output.stderr.contains("tidings.db-wal"), "{args:?} {output:?}");
        assert!(!database.exists() && fs::read(&log).unwrap() == b"frames", "{args:?}");
    }
    fs::remove_file(&log).unwrap();
    let server = Server::at(&database, |_| {});
    assert!(server.log().contains("a new, empty database is created"), "{}", server.log());
    server.member("ann");
}
