//! Interrupted backups and restores: afterwards either the old file or the new one is in place, complete.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tidings_tests::{only_on_sqlite, run, sample};

use super::{busy_wait, closed_database, count_posts, names, partial_files, spawn, tidings, tidings_command};

#[test]
fn an_ended_backup_leaves_the_previous_one_whole() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(200);
    let _ = tidings(&database, &["backup", "copy.db"]).succeeded();
    let copy = directory.path().join("copy.db");
    let modified = || fs::metadata(&copy).unwrap().modified().unwrap();
    // A backup may end before its signal, so there are as many as it takes.
    let mut waiting = vec![Signal::TERM, Signal::INT, Signal::KILL, Signal::KILL, Signal::KILL];
    for round in 0..100_u32 {
        let Some(signal) = waiting.last().copied() else { break };
        let (old, begun) = (modified(), Instant::now());
        let mut backup = spawn(tidings_command(&database, &["backup", "copy.db"]));
        // The first is killed at the start, later ones when the partial file exists and some time has passed.
        busy_wait(&mut backup, || round == 0 || partial_files(directory.path()) > 0);
        if signal == Signal::KILL {
            busy_wait(&mut backup, || begun.elapsed() >= Duration::from_millis(15) * round);
        }
        let _ = kill_process(Pid::from_child(&backup), signal);
        let status = backup.wait().unwrap().code();
        assert_eq!(count_posts(&copy), 200);
        match status {
            Some(130) => {
                waiting.pop();
                assert_eq!(modified(), old, "the previous backup is unchanged");
            }
            None if signal == Signal::KILL => {
                waiting.pop();
            }
            status => assert_eq!(status, Some(0)),
        }
        // The next backup removes the partial file of a killed one.
        if signal == Signal::KILL {
            let _ = tidings(&database, &["backup", "copy.db"]).succeeded();
        }
        assert_eq!(partial_files(directory.path()), 0);
    }
    assert!(waiting.is_empty(), "every backup ended before its signal");
}

#[test]
fn a_killed_restore_leaves_the_old_database_or_the_new_one() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(60);
    let copy = directory.path().join("copy.db");
    let _ = tidings(&database, &["backup", "copy.db"]).succeeded();
    let more: Vec<String> = (0..10).map(|n| sample::post(&format!("more {n}")).to_string()).collect();
    let _ = run(tidings_command(&database, &["post", "import", "-"]), more.join("\n")).succeeded();
    let _ = tidings(&database, &["backup", "new.db"]).succeeded();
    let (mut killed, mut seen) = (0, [0, 0]);
    for round in 0..16_u32 {
        let before = names(directory.path()).len();
        let begun = Instant::now();
        let mut restore = spawn(tidings_command(&database, &["restore", "copy.db", "--yes"]));
        match round % 4 {
            // Kills at the start, during the copy, when the kept old database appears, or after a growing delay.
            0 => {}
            1 => busy_wait(&mut restore, || partial_files(directory.path()) > 0),
            2 => {
                busy_wait(&mut restore, || {
                    names(directory.path()).iter().any(|name| name.contains(".db.20"))
                });
            }
            _ => busy_wait(&mut restore, || begun.elapsed() >= Duration::from_millis(20) * round),
        }
        restore.kill().unwrap();
        killed += u32::from(restore.wait().unwrap().code().is_none());
        let left = count_posts(&database);
        assert!([60, 70].contains(&left), "round {round}: {left}, {before} files before");
        seen[usize::from(left == 60)] += 1;
        // The next restore succeeds and removes partial files.
        let _ = tidings(&database, &["restore", "new.db", "--yes"]).succeeded();
        let left: Vec<_> =
            names(directory.path()).into_iter().filter(|name| name.contains(".part")).collect();
        assert!(left.is_empty(), "round {round}: {left:?}");
        for name in names(directory.path()) {
            if name.contains(".db.20") {
                fs::remove_file(directory.path().join(name)).unwrap();
            }
        }
    }
    assert!(killed > 0 && seen[0] > 0, "{killed} {seen:?}");
    assert!(copy.exists());
}
