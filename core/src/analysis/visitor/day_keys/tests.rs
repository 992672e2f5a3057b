//! Tests of keys that leave no trace on a server.
#![cfg(feature = "postgres")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use tidings_cluster::{Cluster, Database, Programs, is_installed};

use super::*;
use crate::base::location::Location;

/// A value of a table whose changes are logged, which must be found where keys must not.
const CONTROL: &str = "c0117201c0117201c0117201c0117201";

fn cluster() -> Option<Cluster> {
    is_installed("tests of day keys on PostgreSQL").then(|| Cluster::builder().start().unwrap())
}

fn open(database: &Database) -> Store {
    Store::open(&Location::from(database.url())).unwrap()
}

fn stored(database: &Database) -> Vec<String> {
    let rows = database.query("SELECT secret FROM day_key ORDER BY day", &[]);
    rows.into_iter().map(|mut row| row.remove(0).unwrap()).collect()
}

fn bytes_in(folder: &Path, all: &mut Vec<u8>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes_in(&path, all);
        } else if let Ok(bytes) = fs::read(&path) {
            // A socket cannot be read.
            all.extend(bytes);
        }
    }
}

fn found<'k>(bytes: &[u8], keys: &'k [String]) -> Vec<&'k String> {
    let binary: Vec<Secret> = keys.iter().map(|key| decode(key).unwrap()).collect();
    // Each form by its first byte, because the files are large.
    let mut forms: Vec<Vec<(&[u8], usize)>> = vec![Vec::new(); 256];
    for (number, key) in keys.iter().enumerate() {
        for form in [key.as_bytes(), &*binary[number]] {
            forms[usize::from(form[0])].push((form, number));
        }
    }
    let mut found = BTreeSet::new();
    for (at, byte) in bytes.iter().enumerate() {
        let here = forms[usize::from(*byte)].iter().filter(|(form, _)| bytes[at..].starts_with(form));
        found.extend(here.map(|(_, number)| *number));
    }
    found.into_iter().map(|number| &keys[number]).collect()
}

#[test]
fn a_past_key_is_neither_in_the_log_nor_in_a_file_nor_in_a_base_backup() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database();
    let (store, keys) = (open(&database), DayKeys::default());
    let mut all = vec![CONTROL.to_owned()];
    for day in 20_000..20_004 {
        keys.rotate(&store, day).unwrap();
        assert!(erase_replaced(&store).unwrap());
        all.extend(stored(&database));
        // Statistics of the columns are in a table whose changes are logged.
        database.query("ANALYZE", &[]);
        database.query("CHECKPOINT", &[]);
    }
    database.query(&format!("CREATE TABLE control AS SELECT CAST('{CONTROL}' AS text) AS secret"), &[]);
    database.query("CHECKPOINT", &[]);
    all.dedup();
    assert_eq!(all.len(), 6, "five days, of which the last two have keys now");

    let mut log = Vec::new();
    bytes_in(&cluster.data().join("pg_wal"), &mut log);
    assert_eq!(found(&log, &all), [CONTROL], "in the log");
    let mut files = Vec::new();
    bytes_in(&cluster.data(), &mut files);
    let in_files = found(&files, &all);
    assert!(
        in_files.contains(&&all[0]) && !in_files.iter().any(|key| all[1..4].contains(key)),
        "{in_files:?}"
    );

    let run = |program: &str, arguments: &[&str]| {
        let programs = Programs::find().unwrap();
        let output = Command::new(programs.folder().join(program)).args(arguments).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let mut segments: Vec<_> = fs::read_dir(cluster.data().join("pg_wal")).unwrap().flatten().collect();
    segments.retain(|segment| segment.file_name().len() == 24);
    segments.sort_by_key(fs::DirEntry::file_name);
    let first = segments[0].path();
    let end = &database.query("SELECT pg_current_wal_flush_lsn()::text", &[])[0][0];
    let shown = run("pg_waldump", &["--end", end.as_deref().unwrap(), first.to_str().unwrap()]);
    assert!(!shown.is_empty() && found(&shown, &all).is_empty());
    let copy = tempfile::tempdir().unwrap();
    let target = copy.path().join("backup");
    run("pg_basebackup", &["-d", database.url(), "-X", "fetch", "-D", target.to_str().unwrap()]);
    let mut backup = Vec::new();
    bytes_in(&target, &mut backup);
    assert_eq!(found(&backup, &all), [CONTROL], "in the base backup");
}

#[test]
fn a_dump_of_the_table_delays_the_removal_and_no_writer() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database();
    let (store, keys) = (open(&database), DayKeys::default());
    keys.rotate(&store, 20_000).unwrap();
    let mut dump = database.connect();
    dump.query("BEGIN", &[]);
    dump.query("LOCK TABLE day_key IN ACCESS SHARE MODE", &[]);
    assert!(!erase_replaced(&store).unwrap());
    dump.query("COMMIT", &[]);
    assert!(erase_replaced(&store).unwrap());
    assert_eq!(stored(&database).len(), 2);
}

#[test]
fn a_table_that_a_crash_has_emptied_gets_the_keys_of_a_running_server() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database();
    let (store, keys) = (open(&database), DayKeys::default());
    keys.rotate(&store, 20_000).unwrap();
    let before = stored(&database);
    database.query("TRUNCATE day_key", &[]);
    keys.rotate(&store, 20_000).unwrap();
    assert_eq!(stored(&database), before);
    let other = DayKeys::default();
    other.rotate(&open(&database), 20_000).unwrap();
    assert_eq!(other.hash(20_001, |secret| encode(secret)), before[1]);
}
