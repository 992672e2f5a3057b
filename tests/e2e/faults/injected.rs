//! Fault injection: every change to a file fails once, as on a full or broken disk or with a partial write.
//!
//! The first run counts the changes (files created, written, truncated, synced, renamed and removed). In each further
//! run one of them fails, and in some runs all later ones, too. The program must always respond, acknowledged writes
//! must exist after a restart on a sound disk, and `tidings check` must find no error.
//!
//! The suite tests evenly spread changes, each with one of six faults. To test all changes with all six faults:
//!
//! ```sh
//! TIDINGS_FAULT_POINTS=100000 cargo test -p tidings-cli --test e2e faults::injected
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tidings_tests::{Answer, Caller, Output, PASSWORD, Request, Server, only_on_sqlite, run, sample};

use super::shim::{Fault, Shim, counted};
use super::{assert_intact, by_hand, tidings};

/// The number of faults tested on a server if `TIDINGS_FAULT_POINTS` is not set; a third of it on a command.
const POINTS: usize = 36;

/// Runs `case` without a fault, then once for each of a number of faults, several in parallel.
///
/// A case gets its fault and a new directory, and returns the number of requested and of failed changes.
fn each_fault(points: usize, case: impl Fn(Option<Fault>, &Path) -> (u64, u64) + Sync) {
    let run_one = |fault| {
        let directory = tempfile::tempdir().unwrap();
        case(fault, directory.path())
    };
    let (changes, _) = run_one(None);
    assert!(changes > 0, "the library counts the changes");
    let points = by_hand("TIDINGS_FAULT_POINTS").unwrap_or(points) as u64;
    let faults: Vec<Fault> = if points >= changes {
        (1..=changes).flat_map(Fault::each).collect()
    } else {
        (0..points).map(|n| Fault::each(1 + n * changes / points)[usize::try_from(n % 6).unwrap()]).collect()
    };
    let (next, hit) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, usize::from).min(8) {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let note = FaultNote(*fault);
                    let (_, failed) = run_one(Some(*fault));
                    hit.fetch_add(usize::from(failed > 0), Ordering::Relaxed);
                    drop(note);
                }
            });
        }
    });
    let hit = hit.into_inner();
    eprintln!("{changes} changes, {} faults, {hit} of them triggered", faults.len());
    // Batching of writes depends on timing, so the last changes do not happen in every run.
    assert!(hit * 4 >= faults.len() * 3, "{hit} of {} faults were triggered", faults.len());
}

struct FaultNote(Fault);

impl Drop for FaultNote {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("with {:?}", self.0);
        }
    }
}

/// Creates a directory for the watched files, and returns it with the path of a state file outside of it.
fn places(directory: &Path) -> (PathBuf, PathBuf) {
    let data = directory.join("data");
    fs::create_dir(&data).unwrap();
    (data, directory.join("state"))
}

#[derive(Default)]
struct Done {
    members: Vec<Caller>,
    notices: Vec<String>,
    posts: Vec<String>,
    likes: Vec<String>,
    feedback: Vec<String>,
}

/// Sends a request, and returns the response if it acknowledges a write.
fn done(request: Request<'_>) -> Option<Answer> {
    let answer = request.try_send().expect("the server answers");
    assert!([200, 500, 503].contains(&answer.status), "{answer:?}");
    let done = answer.result() == "success";
    done.then_some(answer)
}

/// Sends requests to a server with a failing disk, and returns the acknowledged writes.
fn send_requests(server: &Server, lasts: bool) -> Done {
    let mut all = Done::default();
    let anyone = server.anyone();
    for id in ["admin", "ann"] {
        let form = json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id });
        if let Some(answer) = done(anyone.request("POST", "/sign_up").json(&form)) {
            all.members.push(anyone.with_token(id, answer.text("/access_token")));
        }
    }
    let Some(admin) = all.members.iter().find(|member| member.id() == "admin") else { return all };
    let _ = server.cli(["admin", "grant", "admin"]).succeeded();
    let mut insert_notice = |n: usize| {
        let title = format!("notice {n}");
        let body = json!({ "title": title, "post": "text ".repeat(2_000) });
        let is_done = done(admin.request("POST", "/insert_notice").json(&body)).is_some();
        all.notices.extend(is_done.then_some(title));
        is_done
    };
    for n in 0..3 {
        insert_notice(n);
    }
    for n in 0..2 {
        let request = admin.request("POST", "/insert_post").json(&sample::post(&format!("post {n}")));
        all.posts.extend(done(request).map(|answer| answer.text("/_id")));
    }
    for post in &all.posts {
        let liked = done(admin.request("GET", &format!("/post_like/{post}")));
        all.likes.extend(liked.map(|_| post.clone()));
        drop(done(anyone.request("GET", &format!("/post_view/{post}"))));
    }
    let text = "what a disk".to_owned();
    let sent =
        done(admin.request("POST", "/send_feedback").json(&json!({ "type": "question", "post": text })));
    all.feedback.extend(sent.map(|_| text));
    assert_eq!(anyone.get("/healthz").status, 200, "the server still responds");
    if !lasts {
        assert!(insert_notice(3) || insert_notice(4), "writes succeed again after the fault");
    }
    all
}

fn assert_present(server: &Server, done: &Done) {
    let members: Vec<Caller> =
        done.members.iter().map(|one| server.anyone().with_token(one.id(), one.token())).collect();
    for member in &members {
        assert_eq!(member.get("/get_userinfo").text("/user_id"), member.id());
    }
    let Some(admin) = members.iter().find(|member| member.id() == "admin") else { return };
    // The grant was made by another process, which had no fault.
    let column = |path: &str, list: &str, name: &str| admin.get(path).succeeded().column(list, name);
    let notices = column("/get_all_notice", "notice_list", "title");
    assert!(done.notices.iter().all(|title| notices.contains(title)), "{:?} {notices:?}", done.notices);
    for post in &done.posts {
        let stored = admin.get(&format!("/get_post/{post}")).succeeded().body["post"].clone();
        let likes = usize::from(done.likes.contains(post));
        assert!(stored["fav_cnt"].as_u64().unwrap() >= likes as u64, "{stored}");
    }
    let feedback = column("/get_all_feedback", "feedback_list", "post");
    assert!(done.feedback.iter().all(|text| feedback.contains(text)), "{:?} {feedback:?}", done.feedback);
}

/// Asserts that `tidings check` and SQLite find no error in the database.
fn assert_sound(database: &Path) {
    let checked = run(tidings(database, &["check", "--json"]), "");
    assert_eq!(checked.status, 0, "{checked:?}");
    assert_intact(database);
}

#[test]
fn acknowledged_writes_survive_any_failing_system_call() {
    only_on_sqlite!("it injects faults into the system calls of SQLite");
    each_fault(POINTS, |fault, directory| {
        let (data, state) = places(directory);
        let database = data.join("tidings.db");
        let shim = Shim::counting(&data, &state).with(fault);
        let mut acknowledged = Done::default();
        match Server::try_at(&database, move |serve| shim.load(serve)) {
            // The next start creates the files that could not be created.
            Err(log) => assert!(fault.is_some() && !log.contains("panicked"), "{log}"),
            Ok(mut server) => {
                acknowledged = send_requests(&server, fault.is_some_and(|fault| fault.lasts));
                let stopped = server.stop();
                assert!(!stopped.log.contains("panicked"), "{}", stopped.log);
                assert!(fault.is_some() || stopped.status.success(), "{stopped:?}");
            }
        }
        let counted = counted(&state);
        let server = Server::at(&database, |_| {});
        assert_present(&server, &acknowledged);
        drop(server);
        assert_sound(&database);
        counted
    });
}

/// Creates a closed database with the posts of the Rust blog, which each case copies.
fn template() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("tidings.db");
    let _ = run(tidings(&database, &["post", "import", "-"]), sample::RUST_BLOG).succeeded();
    directory
}

/// Does the same, with a backup in `copy.db`, and a post more than in the backup.
fn template_with_a_backup() -> TempDir {
    let template = template();
    let database = template.path().join("tidings.db");
    let _ = run(tidings(&database, &["backup", "copy.db"]), "").succeeded();
    let more = sample::post("one more").to_string();
    let _ = run(tidings(&database, &["post", "import", "-"]), more).succeeded();
    template
}

fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Makes the changes of a command fail; `holds` checks the files that it left behind.
fn each_fault_of(template: &Path, args: &[&str], input: &str, holds: impl Fn(&Path, &Output) + Sync) {
    each_fault(POINTS / 3, |fault, directory| {
        let (data, state) = places(directory);
        copy_all(template, &data);
        let database = data.join("tidings.db");
        let mut command = tidings(&database, args);
        Shim::counting(&data, &state).with(fault).load(&mut command);
        let output = run(command, input);
        assert!(!output.stderr.contains("panicked"), "{output:?}");
        assert!(fault.is_some() || output.status == 0, "{output:?}");
        let counted = counted(&state);
        holds(&data, &output);
        assert_sound(&database);
        counted
    });
}

fn posts(database: &Path) -> usize {
    let database = Connection::open(database).unwrap();
    let count: i64 = database.query_row("SELECT count(*) FROM post", [], |row| row.get(0)).unwrap();
    usize::try_from(count).unwrap()
}

#[test]
fn a_failed_backup_leaves_the_previous_one() {
    only_on_sqlite!("it injects faults into the system calls of SQLite");
    let (template, whole) = (template_with_a_backup(), sample::rust_blog().len());
    each_fault_of(template.path(), &["backup", "copy.db"], "", |data, output| {
        assert_sound(&data.join("copy.db"));
        let expected = if output.status == 0 { vec![whole + 1] } else { vec![whole, whole + 1] };
        assert!(expected.contains(&posts(&data.join("copy.db"))), "{output:?}");
        assert_eq!(posts(&data.join("tidings.db")), whole + 1);
    });
}

#[test]
fn a_failed_restore_leaves_a_whole_database() {
    only_on_sqlite!("it injects faults into the system calls of SQLite");
    let (template, whole) = (template_with_a_backup(), sample::rust_blog().len());
    each_fault_of(template.path(), &["restore", "copy.db", "--yes"], "", |data, output| {
        let expected = if output.status == 0 { vec![whole] } else { vec![whole, whole + 1] };
        assert!(expected.contains(&posts(&data.join("tidings.db"))), "{output:?}");
        assert_sound(&data.join("copy.db"));
    });
}

#[test]
fn a_failed_model_write_leaves_the_previous_model() {
    only_on_sqlite!("it injects faults into the system calls of SQLite");
    let template = template();
    let database = template.path().join("tidings.db");
    let load = |words: &str| {
        let _ = run(tidings(&database, &["words", "load", "-"]), words).succeeded();
    };
    let words = |data: &Path| {
        let file = data.join("words.txt");
        let export = tidings(&data.join("tidings.db"), &["words", "export", file.to_str().unwrap()]);
        let _ = run(export, "").succeeded();
        fs::read_to_string(file).unwrap().lines().skip(1).count()
    };
    load("rust 1 0\ncargo 0 1\n");
    assert_eq!(words(template.path()), 2);
    let three = "rust 1 0\ncargo 0 1\ncompiler 1 1\n";
    each_fault_of(template.path(), &["words", "load", "-"], three, |data, output| {
        let found = words(data);
        assert!(found == 3 || (output.status != 0 && found == 2), "{found} {output:?}");
    });
}

#[test]
fn a_failed_import_leaves_whole_posts() {
    only_on_sqlite!("it injects faults into the system calls of SQLite");
    let directory = tempfile::tempdir().unwrap();
    let _ = run(tidings(&directory.path().join("tidings.db"), &["init"]), "").succeeded();
    each_fault_of(directory.path(), &["post", "import", "-"], sample::RUST_BLOG, |data, output| {
        let posts = posts(&data.join("tidings.db"));
        let whole = sample::rust_blog().len();
        assert!(posts == whole || (output.status != 0 && posts < whole), "{posts} {output:?}");
    });
}
