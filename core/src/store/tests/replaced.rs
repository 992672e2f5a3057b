//! Tests of removing, replacing and overwriting the files of a database while it is open.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::super::{Store, StoreError};
use super::{insert, numbers, open};

/// Opens a store whose files the test can replace; also returns its directory and the path of the database.
fn replaceable() -> (TempDir, Store, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    store.write(|tx| insert(tx, 1)).unwrap();
    let path = dir.path().join("test.db");
    // Opens a reading connection in advance: after the file is replaced, no connection can be opened.
    assert_eq!(numbers(&store), [1]);
    (dir, store, path)
}

#[track_caller]
fn refused(store: &Store) {
    let refused = store.write(|tx| insert(tx, 2));
    assert!(matches!(refused, Err(StoreError::Replaced { .. })), "{refused:?}");
    assert!(matches!(store.writable(), Err(StoreError::Replaced { .. })));
    assert!(store.failures() > 0);
}

#[test]
fn a_file_that_loses_its_path_takes_no_write_until_it_has_it_again() {
    let (dir, store, path) = replaceable();
    for file in ["test.db", "test.db-wal", "test.db-shm"].map(|name| dir.path().join(name)) {
        let away = dir.path().join("away");
        std::fs::rename(&file, &away).unwrap();
        refused(&store);
        std::fs::write(&file, "another file").unwrap();
        refused(&store);
        assert_eq!(numbers(&store), [1], "readers are unaffected");
        std::fs::rename(&away, &file).unwrap();
        store.write(|tx| tx.run("DELETE FROM number WHERE n > 1", &[])).unwrap();
        assert!(store.writable().is_ok(), "writable without another write");
    }
    let second = Store::open(&path).unwrap();
    drop(store);
    second.write(|tx| insert(tx, 2)).unwrap();
    assert_eq!(numbers(&second), [1, 2]);
}

#[test]
fn a_file_that_loses_its_path_while_a_work_runs_does_not_acknowledge_it() {
    let (dir, store, path) = replaceable();
    let away = dir.path().join("away");
    let (from, to) = (path.clone(), away.clone());
    let lost = store.write(move |tx| {
        // The write may run again.
        let _ = std::fs::rename(&from, &to);
        assert!(!from.exists());
        insert(tx, 2)
    });
    assert!(matches!(lost, Err(StoreError::Replaced { .. })), "{lost:?}");
    std::fs::rename(&away, &path).unwrap();
    store.write(|tx| insert(tx, 3)).unwrap();
}

#[test]
fn a_commit_that_fails_is_remembered_until_one_succeeds_though_nobody_writes() {
    let (_dir, store, _) = replaceable();
    assert!(!store.health.needs_probe(), "no trial commit while writes succeed");
    for passing in [StoreError::Overloaded, StoreError::Duplicate] {
        store.health.committed(Err(&passing));
        assert!(store.writable().is_ok(), "{passing} does not indicate a fault of the disk");
    }
    store.health.committed(Err(&StoreError::Full));
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
    let (dir, store, path) = replaceable();
    let other = tempfile::tempdir().unwrap();
    drop(open(&other));
    let backup = other.path().join("test.db");
    rusqlite::Connection::open(&backup).unwrap().pragma_update(None, "journal_mode", "DELETE").unwrap();
    let bytes = std::fs::read(&backup).unwrap();
    for bytes in [bytes.clone(), Vec::new(), bytes[..50].to_vec(), vec![0; 8_192]] {
        std::fs::write(&path, &bytes).unwrap();
        refused(&store);
    }
    std::fs::write(&path, &bytes).unwrap();
    drop(store);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert!(dir.path().join("test.db-wal").exists(), "the log is not removed");
}

#[test]
fn an_older_copy_that_is_put_over_a_file_is_found_soon() {
    let (_dir, store, path) = replaceable();
    assert!(store.empty_wal().unwrap());
    let older = std::fs::read(&path).unwrap();
    store.write(|tx| tx.run("UPDATE number SET n = 2", &[])).unwrap();
    assert!(store.empty_wal().unwrap());
    let newer = std::fs::read(&path).unwrap();
    assert!(older.len() == newer.len() && older[..100] == newer[..100], "the headers are equal");
    store.health.check_closely();
    assert!(store.writable().is_ok());
    let put = |bytes: &[u8]| {
        // Writes until the file's modification time changes.
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        while std::fs::metadata(&path).unwrap().modified().unwrap() == before {
            std::fs::write(&path, bytes).unwrap();
        }
    };
    put(&older);
    store.health.check_closely();
    let refused = store.write(|tx| insert(tx, 3));
    assert!(matches!(refused, Err(StoreError::Replaced { .. })), "{refused:?}");
    put(&newer);
    store.health.check_closely();
    store.write(|tx| insert(tx, 3)).unwrap();
}

#[test]
fn checkpoints_and_other_processes_are_no_reason_to_refuse() {
    let (_dir, store, path) = replaceable();
    let other = rusqlite::Connection::open(&path).unwrap();
    for n in 2..20 {
        store.write(move |tx| insert(tx, n)).unwrap();
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
    let (dir, store, path) = replaceable();
    store.write(|tx| tx.run("CREATE TABLE page (n INTEGER PRIMARY KEY, text TEXT) STRICT", &[])).unwrap();
    let grow = |rows: i64| {
        store.write(move |tx| {
            let sql = "INSERT INTO page (text) VALUES (hex(zeroblob(2000)))";
            (0..rows).try_for_each(|_| tx.run(sql, &[]).map(drop))
        })
    };
    // Beyond the size at which the log is copied, beside the writes.
    (0..11).for_each(|_| grow(500).unwrap());
    let copy = dir.path().join("copy");
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
