//! `tidings backup --keep`: dated backups with a retention, on both engines.

use std::fs;

use tidings_tests::{Server, command_in, only_on_sqlite, run};

use super::{closed_database, names, tidings, tidings_command};

#[test]
fn a_dated_backup_is_verified_recorded_and_replaces_older_ones() {
    let server = Server::start();
    let _ = server.member("ann");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let stem = server.beside("");
    let stem = stem.file_stem().unwrap().to_str().unwrap();
    let old = |day: u32| format!("{stem}-202001{day:02}T000000Z.backup");
    for day in 1..=9 {
        fs::write(directory.path().join(old(day)), "").unwrap();
    }
    let other = directory.path().join("other-20200101T000000Z.backup");
    fs::write(&other, "").unwrap();
    let made = server.cli(["backup", "--keep", "3d", path, "--json"]).succeeded().json();
    assert_eq!((&made["kept"], made["removed"].as_array().unwrap().len()), (&3.into(), 7), "{made}");
    let left = |name: &str| directory.path().join(name).exists();
    assert!(left(&old(9)) && left(&old(8)) && !left(&old(7)) && other.exists());
    // The record is next to the database.
    assert!(server.beside(".backup").exists());
    let checked = server.cli(["check"]).stdout;
    assert!(checked.contains("✓ ok     backup "), "{checked}");
    // The backup is a database with the member.
    let file = made["file"].as_str().unwrap();
    let mut list = command_in(directory.path());
    list.args(["--db", file, "member", "show", "ann"]);
    let _ = run(list, "").succeeded();
}

#[test]
fn a_retention_that_is_wrong_and_a_missing_directory_are_refused() {
    let server = Server::start();
    let refused = server.cli(["backup", "--keep", "7", "."]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("such as 7d,4w,12m"), "{}", refused.stderr);
    let missing = server.cli(["backup", "--keep", "7d", "no-such-directory"]);
    assert_eq!(missing.status, 3);
    assert!(missing.stderr.contains("no-such-directory"), "{}", missing.stderr);
    assert_eq!(server.cli(["backup"]).status, 2);
}

#[test]
fn a_full_disk_removes_no_older_backup_and_the_age_stays_that_of_the_last_one() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(50);
    let [first, backups] = ["first", "backups"].map(|name| directory.path().join(name));
    for directory in [&first, &backups] {
        fs::create_dir(directory).unwrap();
    }
    let _ = tidings(&database, &["backup", "--keep", "2d", "first"]).succeeded();
    let record = directory.path().join("tidings.db.backup");
    let recorded = fs::read(&record).unwrap();
    for day in 1..=9 {
        fs::write(backups.join(format!("tidings-202001{day:02}T000000Z.backup")), "").unwrap();
    }
    let left = || {
        let names = names(&backups).into_iter();
        names.filter(|name| name.ends_with(".backup")).collect::<Vec<_>>()
    };
    let before = left();

    // The file may have at most 500 blocks of 512 bytes, so the write fails as on a full disk.
    let backup = tidings_command(&database, &["backup", "--keep", "2d", "backups"]);
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 500; exec \"$@\"", "sh"];
    let full = run(crate::faults::through(&backup, &limited), "");
    assert!(full.status == 3 && full.stderr.contains("disk is full"), "{full:?}");
    assert_eq!((left(), fs::read(&record).unwrap()), (before, recorded));
    let _ = tidings(&database, &["backup", "--keep", "2d", "backups"]).succeeded();
    assert_eq!(left().len(), 2);
}
