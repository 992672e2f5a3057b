//! Tests of removing, replacing and overwriting the files of a database while it is open.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_cluster::{Scratch, only_on_sqlite};

use super::super::sqlite::{Health, SqliteEngine};
use super::super::{Isolation, Location, Store, StoreError};
use super::{create, insert, numbers, open};

/// Opens a store whose files the test can replace; also returns its directory and the path of the database.
fn replaceable() -> (Scratch, Store, std::path::PathBuf) {
    let (database, store, path, _) = watched();
    (database, store, path)
}

/// Does the same as [`replaceable`], and returns the state of the files too.
fn watched() -> (Scratch, Store, std::path::PathBuf, Arc<Health>) {
    let database = Scratch::new();
    let versions = Arc::default();
    let (engine, committer) = SqliteEngine::open(&database.path(), &versions).unwrap();
    let health = engine.health();
    let store = create(Store::start(Box::new(engine), committer, versions, false).unwrap());
    store.write(Isolation::Alone, |tx| insert(tx, 1)).unwrap();
    let path = database.path();
    // Opens a reading connection in advance: after the file is replaced, no connection can be opened.
    assert_eq!(numbers(&store), [1]);
    (database, store, path, health)
}

#[track_caller]
fn refused(store: &Store) {
    let refused = store.write(Isolation::Alone, |tx| insert(tx, 2));
    assert!(matches!(refused, Err(StoreError::Replaced { .. })), "{refused:?}");
    assert!(matches!(store.writable(), Err(StoreError::Replaced { .. })));
    assert!(store.failures() > 0);
}

#[test]
fn a_file_that_loses_its_path_takes_no_write_until_it_has_it_again() {
    only_on_sqlite!("it replaces or damages the file");
    let (database, store, path) = replaceable();
    for file in ["test.db", "test.db-wal", "test.db-shm"].map(|name| database.folder().join(name)) {
        let away = database.folder().join("away");
        std::fs::rename(&file, &away).unwrap();
        refused(&store);
        std::fs::write(&file, "another file").unwrap();
        refused(&store);
        assert_eq!(numbers(&store), [1], "readers are unaffected");
        std::fs::rename(&away, &file).unwrap();
        store.write(Isolation::Alone, |tx| tx.run("DELETE FROM number WHERE n > 1", &[])).unwrap();
        assert!(store.writable().is_ok(), "writable without another write");
    }
    let second = Store::open(&Location::from(&path)).unwrap();
    drop(store);
    second.write(Isolation::Alone, |tx| insert(tx, 2)).unwrap();
    assert_eq!(numbers(&second), [1, 2]);
}

#[test]
fn a_file_that_loses_its_path_while_a_work_runs_does_not_acknowledge_it() {
    only_on_sqlite!("it replaces or damages the file");
    let (database, store, path) = replaceable();
    let away = database.folder().join("away");
    let (from, to) = (path.clone(), away.clone());
    let lost = store.write(Isolation::Alone, move |tx| {
        // The write may run again.
        let _ = std::fs::rename(&from, &to);
        assert!(!from.exists());
        insert(tx, 2)
    });
    assert!(matches!(lost, Err(StoreError::Replaced { .. })), "{lost:?}");
    std::fs::rename(&away, &path).unwrap();
    store.write(Isolation::Alone, |tx| insert(tx, 3)).unwrap();
}

#[test]
fn a_commit_that_fails_is_remembered_until_one_succeeds_though_nobody_writes() {
    only_on_sqlite!("it replaces or damages the file");
    let (_database, store, _, health) = watched();
    assert!(!health.needs_probe(), "no trial commit while writes succeed");
    for passing in [StoreError::Overloaded, StoreError::Duplicate] {
        health.committed(Err(&passing));
        assert!(store.writable().is_ok(), "{passing} does not indicate a fault of the disk");
    }
    health.committed(Err(&StoreError::Full));
    let began = Instant::now();
    while let Err(error) = store.writable() {
        assert!(matches!(error, StoreError::Full), "{error:?}");
        assert!(began.elapsed() < Duration::from_secs(60), "no trial commit in time");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(store.failures(), 3);
    assert_eq!(numbers(&store), [1], "the trial commit wrote nothing");
}

#[test]
fn a_file_that_is_overwritten_takes_no_write_and_is_left_as_it_is() {
    only_on_sqlite!("it replaces or damages the file");
    let (database, store, path) = replaceable();
    let other = Scratch::new();
    drop(open(&other));
    let backup = other.path();
    rusqlite::Connection::open(&backup).unwrap().pragma_update(None, "journal_mode", "DELETE").unwrap();
    let bytes = std::fs::read(&backup).unwrap();
    for bytes in [bytes.clone(), Vec::new(), bytes[..50].to_vec(), vec![0; 8_192]] {
        std::fs::write(&path, &bytes).unwrap();
        refused(&store);
    }
    std::fs::write(&path, &bytes).unwrap();
    drop(store);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert!(database.folder().join("test.db-wal").exists(), "the log is not removed");
}

#[test]
fn an_older_copy_that_is_put_over_a_file_is_found_soon() {
    only_on_sqlite!("it replaces or damages the file");
    let (_database, store, path, health) = watched();
    assert!(store.empty_wal().unwrap());
    let older = std::fs::read(&path).unwrap();
    store.write(Isolation::Alone, |tx| tx.run("UPDATE number SET n = 2", &[])).unwrap();
    assert!(store.empty_wal().unwrap());
    let newer = std::fs::read(&path).unwrap();
    assert!(older.len() == newer.len() && older[..100] == newer[..100], "the headers are equal");
    health.check_closely();
    assert!(store.writable().is_ok());
    let put = |bytes: &[u8]| {
        // Writes until the file's modification time changes.
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        while std::fs::metadata(&path).unwrap().modified().unwrap() == before {
            std::fs::write(&path, bytes).unwrap();
        }
    };
    put(&older);
    health.check_closely();
    let refused = store.write(Isolation::Alone, |tx| insert(tx, 3));
    assert!(matches!(refused, Err(StoreError::Replaced { .. })), "{refused:?}");
    put(&newer);
    health.check_closely();
    store.write(Isolation::Alone, |tx| insert(tx, 3)).unwrap();
}

#[test]
fn checkpoints_and_other_processes_are_no_reason_to_refuse() {
    only_on_sqlite!("it replaces or damages the file");
    let (_database, store, path) = replaceable();
    let other = rusqlite::Connection::open(&path).unwrap();
    for n in 2..20 {
        store.write(Isolation::Alone, move |tx| insert(tx, n)).unwrap();
        let text = "x".repeat(100_000);
        other.execute_batch(&format!("CREATE TABLE t{n} (x); INSERT INTO t{n} VALUES ('{text}')")).unwrap();
        other.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        if n % 5 == 0 {
            other.execute_batch(&format!("DROP TABLE t{n}; VACUUM")).unwrap();
        }
        assert!(store.empty_wal().is_ok() && store.writable().is_ok());
    }
    assert_eq!(store.failures(), 0);
}

#[test]
fn an_overwritten_file_gets_nothing_of_the_write_ahead_log() {
    only_on_sqlite!("it replaces or damages the file");
    let database = Scratch::new();
    let (path, versions) = (database.path(), Arc::default());
    let (engine, committer) = SqliteEngine::open(&path, &versions).unwrap();
    let is_copying = committer.copying();
    let store = create(Store::start(Box::new(engine), committer, versions, false).unwrap());
    store
        .write(Isolation::Alone, |tx| {
            tx.run("CREATE TABLE page (n INTEGER PRIMARY KEY, text TEXT) STRICT", &[])
        })
        .unwrap();
    let grow = |rows: i64| {
        store.write(Isolation::Alone, move |tx| {
            let sql = "INSERT INTO page (text) VALUES (hex(zeroblob(2000)))";
            (0..rows).try_for_each(|_| tx.run(sql, &[]).map(drop))
        })
    };
    // Beyond the size at which the log is copied, beside the writes.
    (0..11).for_each(|_| grow(500).unwrap());
    // A copy that runs when the file is overwritten is not stopped. It has two parts, each after a group of writes.
    for _ in 0..3 {
        grow(0).unwrap();
        while is_copying() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let copy = database.folder().join("copy");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::write(&path, b"restored in place").unwrap();
    for _ in 0..3 {
        refused(&store);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"restored in place");
    // Closed without a copy as well.
    drop(store);
    assert_eq!(std::fs::read(&path).unwrap(), b"restored in place");
}
