//! `tidings backup` and `tidings restore`: a backup is complete whenever it is taken, and no step loses data.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;
use tidings_tests::{Output, Server, WAIT_MAX, command, only_on_sqlite, run, sample};

use crate::meanwhile::{Act, meanwhile};

mod killed;
mod restore;

/// The longest that a write may take while a backup runs, on a machine that runs other tests as well. A write that
/// waits for the backup to finish takes much longer.
const WRITE_MAX: Duration = Duration::from_secs(5);

fn tidings_command(database: &Path, args: &[&str]) -> Command {
    let mut tidings = command();
    tidings.current_dir(database.parent().unwrap()).arg("--db").arg(database).args(args);
    tidings
}

fn tidings(database: &Path, args: &[&str]) -> Output {
    run(tidings_command(database, args), "")
}

/// Creates a database with `posts` posts with long texts in a new directory; no process has it open.
fn closed_database(posts: usize) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("tidings.db");
    let line = |n: usize| {
        let mut post = sample::post(&format!("post {n}"));
        post["post"] = json!(format!("{n} words ").repeat(5_000));
        post.to_string()
    };
    let lines: Vec<String> = (0..posts).map(line).collect();
    let imported =
        run(tidings_command(&database, &["post", "import", "-", "--json"]), lines.join("\n")).succeeded();
    assert_eq!(imported.json()["inserted"], posts);
    (directory, database)
}

pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the number of posts in a database, after `tidings check` has found no fault in it.
#[track_caller]
fn count_posts(database: &Path) -> i64 {
    let checked = tidings(database, &["check", "--json"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let connection = Connection::open(database).unwrap();
    connection.query_row("SELECT count(*) FROM post", [], |row| row.get(0)).unwrap()
}

/// Polls `condition` without a pause until it holds or the process has ended.
pub(super) fn busy_wait(child: &mut Child, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() && child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < WAIT_MAX, "the condition did not hold in time");
    }
}

pub(super) fn spawn(mut command: Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn partial_files(directory: &Path) -> usize {
    names(directory)
        .iter()
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "part"))
        .count()
}

#[test]
fn a_backup_taken_during_writes_is_whole_and_blocks_none() {
    let server = Server::start();
    let admin = server.admin();
    let members: Vec<_> = (0..3).map(|n| server.member(&format!("member-{n}"))).collect();
    let insert = |n: usize| {
        let mut post = sample::post(&format!("post {n}"));
        post["post"] = json!(format!("{n} words ").repeat(2_000));
        admin.post("/insert_post", post).text("/_id")
    };
    let ids: Vec<String> = (0..100).map(insert).collect();
    let (longest, writes) = (AtomicU64::new(0), AtomicUsize::new(0));
    let timed = |write: &dyn Fn()| {
        let began = Instant::now();
        write();
        longest.fetch_max(u64::try_from(began.elapsed().as_micros()).unwrap(), Ordering::Relaxed);
        writes.fetch_add(1, Ordering::Relaxed);
    };
    let (ids, timed) = (&ids, &timed);
    let mut acts: Vec<Act> = Vec::new();
    for (n, member) in members.iter().enumerate() {
        let mut next = n;
        acts.push(Box::new(move || {
            next = (next + 7) % ids.len();
            for act in ["view", "like", "unlike", "like"] {
                timed(&|| drop(member.get(&format!("/post_{act}/{}", ids[next])).succeeded()));
            }
        }));
    }
    acts.push(Box::new(|| {
        timed(&|| drop(admin.post("/insert_notice", sample::notice("Notice")).succeeded()));
    }));
    let directory = server.database().parent().unwrap();
    let copy = directory.join("copy.db");
    let mut sizes = Vec::new();
    meanwhile(acts, || {
        for _ in 0..5 {
            let report = server.cli(["backup", "copy.db", "--json"]).succeeded().json();
            assert_eq!(report["bytes"], fs::metadata(&copy).unwrap().len());
            // `count_posts` checks that counters match their rows, which holds only for a copy of one point in time.
            assert_eq!(count_posts(&copy), 100);
            sizes.push(report["rows"].as_u64().unwrap());
            assert!(writes.swap(0, Ordering::Relaxed) > 0, "members write during the backup");
        }
    });
    let longest = Duration::from_micros(longest.into_inner());
    assert!(longest < WRITE_MAX, "a write took {longest:?}");
    assert!(sizes.is_sorted(), "{sizes:?}");
    assert_eq!(partial_files(directory), 0);
    assert_eq!(server.integrity(), "ok");
    let log = server.log();
    assert!(!log.contains("ERROR") && !log.contains("locked"), "{log}");
}

#[test]
fn a_backup_reports_its_contents_and_only_its_owner_may_read_it() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(3);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut backup = tidings_command(&database, &["backup", "copy.db"]);
    backup.env("LC_ALL", "C");
    let printed = run(backup, "").succeeded();
    let rows = printed.stdout.split(": ").nth(1).unwrap();
    insta::with_settings!({ filters => [(r"\d[\d,.]* (rows|KiB|MiB)", "[n] $1")] }, {
        insta::assert_snapshot!(printed.stdout.trim_end(), @"copy.db is a backup: [n] rows, [n] KiB, checked.");
    });
    assert!(rows.starts_with(|c: char| c.is_ascii_digit()));
    let copy = directory.path().join("copy.db");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o644)).unwrap();
    let object = tidings(&database, &["--json", "backup", "copy.db"]).succeeded().json();
    let bytes = fs::metadata(&copy).unwrap().len();
    assert_eq!(
        object,
        json!({ "result": "success", "bytes": bytes, "rows": object["rows"].as_u64().unwrap() })
    );
    assert_eq!(mode(&copy), 0o600, "the mode of the replaced file does not matter");
    assert_eq!(names(directory.path()), ["copy.db", "tidings.db", "tidings.db.key"]);
    let key = fs::read(directory.path().join("tidings.db.key")).unwrap();
    let copied = fs::read(&copy).unwrap();
    assert!(!copied.windows(key.len()).any(|bytes| bytes == key), "a backup does not contain the key");
    assert_eq!(count_posts(&copy), 3);
}

#[test]
fn a_failed_backup_is_reported_and_changes_nothing() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(1);
    let path = |name: &str| directory.path().join(name);
    let _ = tidings(&database, &["backup", "copy.db"]).succeeded();
    let copy = fs::read(path("copy.db")).unwrap();
    fs::write(path("letter.txt"), "Dear Ann, ".repeat(100)).unwrap();
    fs::create_dir(path("sub")).unwrap();
    let before = names(directory.path());
    let refused = |database: &str, file: &str| {
        let output = tidings(&path(database), &["backup", file, "--json"]);
        let result = output.json()["result"].as_str().unwrap().to_owned();
        let message = output.stderr.replace(directory.path().to_str().unwrap(), "[dir]");
        format!("{} {result}: {}", output.status, message.trim_end())
    };
    let all = [
        refused("none.db", "copy.db"),
        refused("letter.txt", "copy.db"),
        refused("sub", "copy.db"),
        refused("tidings.db", "letter.txt"),
        refused("tidings.db", "tidings.db"),
        refused("tidings.db", "./tidings.db"),
        refused("tidings.db", "tidings.db.key"),
        refused("tidings.db", "sub"),
        refused("tidings.db", "no/where.db"),
    ];
    insta::assert_snapshot!(all.join("\n"));
    let as_member = tidings(&database, &["--as", "ann", "backup", "copy.db"]);
    assert_eq!(as_member.status, 1, "{as_member:?}");
    assert_eq!(names(directory.path()), before, "a failed backup creates no file");
    assert_eq!(fs::read(path("copy.db")).unwrap(), copy);
    assert!(fs::read_to_string(path("letter.txt")).unwrap().starts_with("Dear Ann"));
}

#[test]
fn a_full_disk_leaves_the_previous_backup_and_no_partial_file() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(50);
    let _ = tidings(&database, &["backup", "copy.db"]).succeeded();
    let copy = fs::read(directory.path().join("copy.db")).unwrap();
    let before = names(directory.path());
    let backup = tidings_command(&database, &["backup", "copy.db", "--json"]);
    // The file may have at most 500 blocks of 512 bytes, so the write fails as on a full disk.
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 500; exec \"$@\"", "sh"];
    let full = run(crate::faults::through(&backup, &limited), "");
    assert_eq!(full.status, 3, "{full:?}");
    assert_eq!(full.json()["result"], "internal error");
    assert!(full.stderr.contains("copy.db") && full.stderr.contains("disk is full"), "{full:?}");
    assert_eq!(names(directory.path()), before);
    assert_eq!(fs::read(directory.path().join("copy.db")).unwrap(), copy);

    // The free space of this disk is too small from the start.
    let small = tempfile::tempdir().unwrap();
    let place = small.path().display();
    let script = format!(
        "mount -t tmpfs -o size=256k none '{place}' || exit 77; \"$@\" '{place}/copy.db'; s=$?; ls -A '{place}'; exit $s"
    );
    let wrapper = ["unshare", "--map-root-user", "--mount", "sh", "-c", &script, "sh"];
    let mounted = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: this system does not let a user mount a disk");
        return;
    }
    let full = run(crate::faults::through(&tidings_command(&database, &["backup"]), &wrapper), "");
    if full.status == 77 {
        eprintln!("not tested: this system does not let a user mount a disk");
        return;
    }
    assert_eq!((full.status, &*full.stdout), (3, ""), "{full:?}");
    assert!(full.stderr.contains("room") && full.stderr.contains("another disk"), "{full:?}");
}

#[test]
fn a_read_only_directory_can_be_backed_up_but_not_written_to() {
    only_on_sqlite!("backups are copies of the file");
    let (directory, database) = closed_database(1);
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("copy.db");
    let wrapper = rustix::process::getuid().is_root().then_some(&crate::faults::WITHOUT_PRIVILEGES[..]);
    let tidings = |args: &[&str]| {
        let command = tidings_command(&database, args);
        let through = wrapper.map(|wrapper| crate::faults::through(&command, wrapper));
        run(through.unwrap_or(command), "")
    };
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let into = tidings(&["backup", "copy.db"]);
    let from = tidings(&["backup", copy.to_str().unwrap()]);
    let check = tidings(&["check"]);
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(into.status == 3 && into.stderr.contains("ermission denied"), "{into:?}");
    let _ = from.succeeded();
    let _ = check.succeeded();
    assert_eq!(count_posts(&copy), 1);
}
