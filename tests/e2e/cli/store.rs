//! `tidings store copy`, and backups of databases on a server: whatever happens, a copy is complete or recognised.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;
use tidings_cluster::{Cluster, Database, is_installed};
use tidings_tests::{Output, Server, command, run, sample};

use super::backup::{busy_wait, names, spawn};

/// A folder with databases, and a database on the shared server.
struct Site {
    folder: TempDir,
    server: Database,
}

impl Site {
    fn new() -> Option<Self> {
        is_installed("copies to and from PostgreSQL").then(|| Self {
            folder: tempfile::tempdir().unwrap(),
            server: Cluster::shared().expect("it is installed").database(),
        })
    }

    /// Returns a site with the made-up database `a.db`.
    fn demo() -> Option<Self> {
        let site = Self::new()?;
        let demo = ["--db", "a.db", "demo", "--members", "40", "--posts", "200", "--days", "4"];
        let _ = site.tidings(&demo).succeeded();
        Some(site)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut tidings = command();
        tidings.current_dir(self.folder.path()).args(args);
        tidings
    }

    fn tidings(&self, args: &[&str]) -> Output {
        run(self.command(args), "")
    }

    fn copy(&self, from: &str, to: &str) -> Output {
        self.tidings(&["store", "copy", from, to, "--json"])
    }

    fn export(&self, database: &str) -> String {
        self.tidings(&["--db", database, "post", "export", "-"]).succeeded().stdout
    }

    fn names(&self) -> Vec<String> {
        names(self.folder.path())
    }
}

#[test]
fn a_site_moves_to_postgresql_and_back_with_its_members_and_tokens() {
    if !is_installed("moving a site to PostgreSQL") {
        return;
    }
    let mut old = Server::start();
    let _ = old.cli_with_input(["post", "import", "-"], sample::RUST_BLOG).succeeded();
    let (ann, admin) = (old.member("ann"), old.admin());
    let id = old.cli(["post", "list", "--json"]).succeeded().json()["posts"][3]["_id"].clone();
    let id = id.as_str().unwrap();
    for act in ["post_view", "post_like"] {
        let _ = ann.get(&format!("/{act}/{id}")).succeeded();
    }
    let _ = admin.post("/insert_notice", sample::notice("Library \u{1f980}")).succeeded();
    assert!(old.stop().status.success());
    let export = |server: &Server| server.cli(["post", "export", "-"]).succeeded().stdout;
    let exported = export(&old);

    // The new server has been started once, and makes a key of its own.
    let mut new = Server::on_postgres();
    assert!(new.stop().status.success());
    let copy = |from: &Server, to: &OsStr| {
        let mut copy = command();
        copy.current_dir(from.database().parent().unwrap()).args(["store", "copy", "--json"]);
        copy.arg(from.location()).arg(to);
        run(copy, "").succeeded().json()
    };
    let report = copy(&old, new.location());
    let expected = json!({ "result": "success", "rows": report["rows"], "failed": [], "replaced": 0 });
    assert_eq!(report, expected);
    let name = new.location().to_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let folder = new.database().parent().unwrap().to_owned();
    fs::copy(old.beside(".key"), folder.join(format!("{name}.key"))).unwrap();
    new.restart();
    let ann = new.anyone().with_token("ann", ann.token());
    assert_eq!(ann.get("/get_specific_userinfo/0").succeeded().column("fav_list", "_id"), [id]);
    let titles = |server: &Server| server.anyone().get("/get_all_notice").column("notice_list", "title");
    assert_eq!(titles(&new), ["Library \u{1f980}"]);
    assert!(export(&new) == exported);
    new.cli(["check"]).assert_sound();
    assert!(new.stop().status.success());

    // And back, to a file.
    let back = folder.join("back.db");
    let _ = copy(&new, back.as_os_str());
    assert_eq!(fs::metadata(&back).unwrap().permissions().mode() & 0o777, 0o600);
    let tidings = |args: &[&str]| {
        let mut tidings = command();
        tidings.current_dir(&folder).arg("--db").arg(&back).args(args);
        run(tidings, "")
    };
    assert!(tidings(&["post", "export", "-"]).succeeded().stdout == exported);
    tidings(&["check"]).assert_sound();
}

#[test]
fn refused_copies_are_explained_and_leave_nothing() {
    let Some(site) = Site::demo() else { return };
    let url = site.server.url();
    fs::create_dir(site.path("sub")).unwrap();
    fs::write(site.path("letter.txt"), "Dear Ann").unwrap();
    let before = site.names();
    let refused = |from: &str, to: &str| {
        let output = site.copy(from, to);
        let result = output.json()["result"].as_str().unwrap().to_owned();
        let message =
            output.stderr.replace(site.folder.path().to_str().unwrap(), "[dir]").replace(url, "[url]");
        format!("{} {result}: {}", output.status, message.trim_end())
    };
    let _ = site.copy("a.db", url).succeeded();
    let all = [
        refused("none.db", "b.db"),
        refused("letter.txt", "b.db"),
        refused("sub", "b.db"),
        refused("a.db", "a.db"),
        refused("a.db", "sub"),
        refused("a.db", "letter.txt"),
        refused("a.db", "no/b.db"),
        refused("a.db", url),
        refused(url, url),
        refused("a.db", "postgres://ann:secret@127.0.0.1:1/a"),
        refused("postgres:ann:secret@h/a", "b.db"),
    ];
    insta::assert_snapshot!(all.join("\n"));
    assert_eq!(site.tidings(&["store", "copy", "a.db"]).status, 2);
    assert_eq!(site.tidings(&["--as", "ann", "store", "copy", "a.db", "b.db"]).status, 1);
    assert_eq!(site.names(), before);
    let printed = site.tidings(&["store", "copy", "a.db", "b.db"]).succeeded();
    insta::with_settings!({ filters => [(r"\d[\d,]* rows", "[n] rows"), (r"/\S*/", "[dir]/")] }, {
        insta::assert_snapshot!(printed.stdout);
    });
    assert_eq!(printed.stderr, "");
}

#[test]
fn a_full_disk_leaves_no_copy() {
    let Some(site) = Site::demo() else { return };
    let before = site.names();
    let _ = site.copy("a.db", site.server.url()).succeeded();
    for from in ["a.db", site.server.url()] {
        let copy = site.command(&["store", "copy", from, "b.db", "--json"]);
        // The file may have at most 500 blocks of 512 bytes, so the write fails as on a full disk.
        let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 500; exec \"$@\"", "sh"];
        let full = run(crate::faults::through(&copy, &limited), "");
        assert_eq!((full.status, &full.json()["result"]), (3, &json!("internal error")), "{full:?}");
        assert!(full.stderr.contains("b.db") && full.stderr.contains("disk is full"), "{full:?}");
        assert_eq!(site.names(), before);
    }
}

#[test]
fn a_copy_ended_among_its_rows_is_incomplete_until_it_is_repeated() {
    let Some(site) = Site::demo() else { return };
    let exported = site.export("a.db");
    for (signal, code) in [(Signal::KILL, None), (Signal::INT, Some(130))] {
        let target = Cluster::shared().expect("it is installed").database();
        assert_eq!(site.export(target.url()), "", "now it has the schema");
        // The copy has marked the database and waits for this lock.
        let mut other = target.connect();
        let _ = other.query("BEGIN; LOCK TABLE post IN SHARE MODE", &[]);
        let mut copy = spawn(site.command(&["store", "copy", "a.db", target.url()]));
        let is_marked = "SELECT to_regclass('incomplete_copy') IS NOT NULL";
        busy_wait(&mut copy, || target.query(is_marked, &[]) == [[Some("t".to_owned())]]);
        kill_process(Pid::from_child(&copy), signal).unwrap();
        assert_eq!(copy.wait().unwrap().code(), code);
        drop(other);
        let opened = site.tidings(&["--db", target.url(), "post", "export", "-"]);
        assert!(opened.stderr.contains("is an incomplete copy"), "{opened:?}");
        assert_eq!((opened.status, opened.stderr.lines().count()), (3, 1), "{opened:?}");
        let _ = site.copy("a.db", target.url()).succeeded();
        assert!(site.export(target.url()) == exported);
    }
}

#[test]
fn a_copy_ended_at_any_moment_never_looks_complete() {
    const ROUNDS: u32 = 6;
    let Some(site) = Site::demo() else { return };
    let url = site.server.url();
    let exported = site.export("a.db");
    let began = Instant::now();
    let _ = site.copy("a.db", url).succeeded();
    let took = began.elapsed();
    let empty = Cluster::shared().expect("it is installed");
    for round in 0..ROUNDS {
        let target = empty.database();
        let to_server = round % 2 == 0;
        let (from, to) = if to_server { ("a.db", target.url()) } else { (url, "b.db") };
        let mut copy = spawn(site.command(&["store", "copy", from, to]));
        let spawned = Instant::now();
        busy_wait(&mut copy, || spawned.elapsed() >= took * round / ROUNDS);
        let signal = if round % 4 < 2 { Signal::KILL } else { Signal::INT };
        // The process may have ended by itself.
        let _ = kill_process(Pid::from_child(&copy), signal);
        let status = copy.wait().unwrap().code();
        assert!(matches!(status, Some(0 | 130) | None), "{status:?}");
        // Killed before the first row, there is nothing or a new database; after the last statement, a copy.
        let opened = site.tidings(&["--db", to, "post", "export", "-"]);
        if opened.stdout != exported {
            let is_new = opened.status == 0 && opened.stdout.is_empty() && to_server;
            let is_none = opened.status == 3 && !to_server && !site.path("b.db").exists();
            let is_incomplete = to_server && opened.stderr.contains("is an incomplete copy");
            assert!(status != Some(0) && (is_new || is_none || is_incomplete), "{opened:?}");
            let _ = site.copy(from, to).succeeded();
        }
        assert!(site.export(to) == exported);
        let left: Vec<String> = site.names().into_iter().filter(|name| name.contains(".part")).collect();
        assert!(left.is_empty() || to_server, "the next copy removes the partial file: {left:?}");
        if !to_server {
            fs::remove_file(site.path("b.db")).unwrap();
        }
    }
}

#[test]
fn a_backup_of_a_server_is_a_file_that_either_engine_restores() {
    let Some(site) = Site::demo() else { return };
    let (url, exported) = (site.server.url(), site.export("a.db"));
    let _ = site.copy("a.db", url).succeeded();
    let backup = |file: &str| site.tidings(&["--db", url, "backup", file, "--json"]);
    let report = backup("copy.db").succeeded().json();
    assert_eq!(report["bytes"], fs::metadata(site.path("copy.db")).unwrap().len());
    assert_eq!(report.as_object().unwrap().len(), 3, "{report}");
    assert_eq!(fs::metadata(site.path("copy.db")).unwrap().permissions().mode() & 0o777, 0o600);
    // An earlier backup is replaced; any other file is not.
    let _ = backup("copy.db").succeeded();
    fs::write(site.path("letter.txt"), "Dear Ann").unwrap();
    let refused = backup("letter.txt");
    assert!(refused.status == 3 && refused.stderr.contains("is not a backup"), "{refused:?}");
    assert_eq!(fs::read(site.path("letter.txt")).unwrap(), b"Dear Ann");
    let own = format!("{}.key", site.server.name());
    assert_eq!(backup(&own).status, 2);

    let restore = |database: &str| site.tidings(&["--db", database, "restore", "copy.db", "--yes", "--json"]);
    let empty = Cluster::shared().expect("it is installed").database();
    for database in ["new.db", "a.db", empty.url()] {
        let restored = restore(database).succeeded().json();
        assert_eq!(restored["rows"], report["rows"]);
        assert!(site.export(database) == exported);
        site.tidings(&["--db", database, "check"]).assert_sound();
    }
    let generation = "SELECT min(generation) FROM member";
    assert_ne!(empty.query(generation, &[]), site.server.query(generation, &[]), "every token ends");
    let occupied = restore(url);
    assert!(occupied.status == 3 && occupied.stderr.contains("is not empty"), "{occupied:?}");
    let asked = site.tidings(&["--db", url, "restore", "copy.db"]);
    assert!(asked.status == 2 && asked.stderr.contains("--yes"), "{asked:?}");
}
