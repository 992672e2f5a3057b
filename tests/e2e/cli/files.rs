//! The files that commands read and write: byte order marks, line ends, links, pipes, and names that are none.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;
use tidings_tests::{Output, Server, WAIT_MAX, command_in, only_on_sqlite};

const MARK: &str = "\u{feff}";

/// A directory with the database `tidings.db`, in which commands run.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with_admin() -> Self {
        let place = Self::new();
        place.write("pw", "correct horse boss\n");
        let _ = place.tidings(&["init", "--admin", "boss", "--password-file", "pw"]).succeeded();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    fn tidings(&self, args: &[&str]) -> Output {
        self.tidings_with(args, "")
    }

    fn tidings_with(&self, args: &[&str], input: impl AsRef<str>) -> Output {
        super::tidings(self.0.path(), args, input.as_ref())
    }
}

/// Asserts that SIGTERM ends a command soon, which waits for a pipe.
fn assert_ends(mut child: Child, what: &str) {
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none(), "{what} does not wait");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let asked = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if asked.elapsed() > WAIT_MAX / 4 {
            child.kill().unwrap();
            panic!("{what} goes on after SIGTERM");
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_password_or_a_text() {
    let place = Place::new();
    place.write("bom", format!("{MARK}correct horse\r\n"));
    let _ = place.tidings(&["init", "--admin", "boss", "--password-file", "bom"]).succeeded();
    let new = ["member", "sign-up", "ann", "--nickname", "A", "--password-stdin"];
    let _ = place.tidings_with(&new, format!("{MARK}correct horse\n")).succeeded();
    for id in ["boss", "ann"] {
        let sign_in = ["member", "sign-in", id, "--password-stdin"];
        let _ = place.tidings_with(&sign_in, "correct horse\n").succeeded();
    }

    place.write("n.md", format!("{MARK}# Heading\n"));
    let added =
        place.tidings(&["notice", "add", "--title", "t", "--post-file", "n.md", "--json"]).succeeded();
    let id = added.json()["_id"].as_str().unwrap().to_owned();
    let html = place.tidings(&["notice", "show", &id, "--html"]).succeeded().stdout;
    assert!(html.contains("<h1>Heading</h1>") && !html.contains(MARK), "{html}");
    let post = ["post", "add", "--title", "t", "--url", "https://x.example/1", "--post-file", "-", "--json"];
    let _ = place.tidings_with(&post, format!("{MARK}text")).succeeded();
    let listed = place.tidings(&["post", "export", "-"]).succeeded().stdout;
    assert!(listed.contains("\"post\":\"text\""), "{listed}");
    place.write("tidings.toml", format!("{MARK}log-days = 7\n"));
    let config = place.tidings(&["config", "--json"]).succeeded();
    assert!(config.stdout.contains("log-days"), "{config:?}");
}

#[test]
fn only_commands_that_say_so_write_to_standard_output() {
    only_on_sqlite!("it copies the file");
    let place = Place::with_admin();
    for args in [
        &["backup", "-"][..],
        &["store", "copy", "tidings.db", "-"],
        &["words", "export", "-"],
        &["analysis", "report", "--csv", "-"],
        &["man", "-"],
    ] {
        let refused = place.tidings(args);
        assert_eq!(refused.status, 2, "{args:?}: {refused:?}");
        assert!(refused.stdout.is_empty() && !place.path("-").exists(), "{args:?}: {refused:?}");
    }
    let member = place.tidings(&["member", "export", "boss", "-"]).succeeded().stdout;
    assert!(member.contains("boss"), "{member}");
}

#[test]
fn a_link_to_nowhere_is_followed() {
    only_on_sqlite!("it copies the file");
    let place = Place::with_admin();
    fs::create_dir(place.path("disk")).unwrap();
    let is_link = |name: &str| fs::symlink_metadata(place.path(name)).unwrap().is_symlink();
    for (args, target) in [
        (&["backup", "link"][..], "disk/a.backup"),
        (&["member", "export", "boss", "link"], "disk/a.jsonl"),
        (&["post", "export", "link"], "disk/b.jsonl"),
        (&["analysis", "report", "--html", "link"], "disk/a.html"),
    ] {
        symlink(target, place.path("link")).unwrap();
        let _ = place.tidings(args).succeeded();
        assert!(is_link("link") && place.path(target).is_file(), "{args:?}");
        // The target exists now.
        let _ = place.tidings(args).succeeded();
        assert!(is_link("link") && place.path(target).is_file(), "{args:?}");
        fs::remove_file(place.path("link")).unwrap();
        // The disk is not mounted.
        symlink("nowhere/a", place.path("link")).unwrap();
        let refused = place.tidings(args);
        assert_eq!(refused.status, 3, "{args:?}: {refused:?}");
        assert!(is_link("link"), "{args:?}");
        fs::remove_file(place.path("link")).unwrap();
    }
}

#[test]
fn a_pipe_is_no_backup_and_no_command_waits_for_one_beyond_sigterm() {
    only_on_sqlite!("it copies the file");
    let place = Place::with_admin();
    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    for args in [
        &["backup", "pipe"][..],
        &["backup", "/dev/stdout"],
        &["restore", "pipe", "--yes"],
        &["--db", "pipe", "member", "list"],
        &["store", "copy", "pipe", "b.db"],
    ] {
        let refused = place.tidings(args);
        assert!(refused.status == 3 && refused.stderr.contains("is not a file"), "{args:?}: {refused:?}");
    }
    for args in [
        &["post", "export", "pipe"][..],
        &["post", "import", "pipe"],
        &["words", "load", "pipe"],
        &["member", "sign-up", "ann", "--nickname", "A", "--password-file", "pipe"],
    ] {
        let mut command = command_in(place.0.path());
        let child = command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        assert_ends(child, &format!("{args:?}"));
    }
}

#[test]
fn a_name_that_is_none_of_a_file_is_refused() {
    only_on_sqlite!("the names are those of files");
    let place = Place::new();
    for name in [":memory:", "file:x.db", "-"] {
        for command in [&["init"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let refused = place.tidings(&[&["--db", name], command].concat());
            assert!(
                refused.status == 3 && refused.stderr.contains("is not the name of a file"),
                "{name}: {refused:?}"
            );
            assert!(!place.path(name).exists(), "{name} {command:?}");
        }
    }
}

#[test]
fn a_database_has_one_key_under_all_its_names() {
    only_on_sqlite!("the database is a file");
    let place = Place::with_admin();
    fs::create_dir(place.path("links")).unwrap();
    let link = place.path("links/campus.db");
    symlink("../tidings.db", &link).unwrap();
    let through = Server::at(&link, |_| {});
    let ann = through.member("ann");
    assert!(!place.path("links/campus.db.key").exists());
    let accepts = |server: &Server| {
        server.anyone().with_token("ann", ann.token()).get("/get_userinfo").result() == "success"
    };
    assert!(accepts(&Server::at(place.path("tidings.db"), |_| {})));
    drop(through);
    // An earlier version has put the only key beside the link.
    fs::rename(place.path("tidings.db.key"), place.path("links/campus.db.key")).unwrap();
    assert!(accepts(&Server::at(link, |_| {})));
    let mode = fs::metadata(place.path("tidings.db.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_key_that_others_may_write_is_no_fault_of_the_program() {
    only_on_sqlite!("the key is beside the file");
    let place = Place::with_admin();
    let key = place.path("tidings.db.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o666)).unwrap();
    let refused = |what: &str| {
        let refused = place.tidings(&["member", "list"]);
        assert_eq!(refused.status, 3, "{refused:?}");
        let is_right = refused.stderr.contains(what) && !refused.stderr.contains("fault of the program");
        assert!(is_right, "{refused:?}");
    };
    refused("chmod 600");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&key, "short").unwrap();
    refused("shorter than 32 bytes");
    fs::remove_file(&key).unwrap();
    fs::create_dir(&key).unwrap();
    refused("cannot read the token key");
}

#[test]
fn a_feed_without_entries_is_read_and_no_feed_is_refused() {
    let place = Place::new();
    let import =
        |text: &str| place.tidings_with(&["post", "import", "-", "--format", "feed", "--json"], text);
    let read = import("<items><item><title>t</title></item></items>");
    assert_eq!((read.status, &read.json()["result"]), (1, &json!("bad request")), "{read:?}");
    let empty =
        r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>none yet</title><!-- <entry/> --></feed>"#;
    assert_eq!(import(empty).json()["inserted"], 0);
}

#[test]
fn the_hour_24_is_the_beginning_of_the_next_day() {
    let place = Place::new();
    let import = |date: &str| {
        let post = json!({ "title": "t", "url": format!("https://x.example/{date}"), "date": date });
        place.tidings_with(&["post", "import", "-", "--json"], post.to_string()).json()
    };
    assert_eq!(import("2025-04-21T24:00:00Z")["inserted"], 1);
    assert_eq!(import("2025-04-21T24:30:00Z")["errors"].as_array().unwrap().len(), 1);
    let posts = place.tidings(&["post", "list", "--json"]).succeeded().json();
    assert_eq!(posts["posts"][0]["date"], "2025-04-22T00:00:00.000Z");
    let rss = "<rss version=\"2.0\"><channel><item><title>t</title><link>https://x.example/5</link>\
               <pubDate>Mon, 21 Apr 2025 24:05:00 GMT</pubDate></item></channel></rss>";
    let read = place.tidings_with(&["post", "import", "-", "--format", "feed"], rss).succeeded();
    assert_eq!(
        read.stderr,
        "entry 1: its date cannot be read: Mon, 21 Apr 2025 24:05:00 GMT: a new post gets the time of the import\n"
    );
}

#[test]
fn a_key_with_a_passphrase_is_named_so() {
    let place = Place::new();
    let script = "openssl req -x509 -newkey rsa:2048 -nodes -keyout plain.pem -out cert.pem -subj /CN=localhost -days 9 &&
                  openssl rsa -aes128 -traditional -passout pass:x -in plain.pem -out old.pem &&
                  openssl pkcs8 -topk8 -passout pass:x -in plain.pem -out new.pem";
    let made = Command::new("sh").args(["-ec", script]).current_dir(place.0.path()).output();
    assert!(made.as_ref().unwrap().status.success(), "{made:?}");
    for key in ["old.pem", "new.pem"] {
        let args = ["serve", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", key];
        let refused = place.tidings(&args);
        assert!(refused.status != 0 && refused.stderr.contains("passphrase"), "{key}: {refused:?}");
    }
}

#[test]
fn a_command_whose_input_is_missing_makes_no_database() {
    only_on_sqlite!("a new database is a file");
    let place = Place::new();
    let imports =
        ["member", "post", "act", "roster", "source"].map(|kind| vec![kind, "import", "none.jsonl"]);
    let init = vec!["init", "--admin", "boss", "--password-file", "none.pw"];
    for args in imports.into_iter().chain([init]) {
        let failed = place.tidings(&args);
        assert_eq!(failed.status, 3, "{failed:?}");
        assert!(failed.stderr.starts_with("error: cannot read none."), "{failed:?}");
    }
    for args in [&["source", "list"][..], &["source", "remove", "a"]] {
        assert!(place.tidings(args).stderr.contains("there is no database"), "{args:?}");
    }
    assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 0);
}

#[test]
fn a_password_file_that_cannot_be_read_is_named_instead_of_the_database() {
    let place = Place::with_admin();
    place.write(
        "tidings.toml",
        "smtp-url = \"smtps://me@mail.example.org\"\nsmtp-password-file = \"none.pw\"\nmail-from = \"a@example.org\"\n\
         public-url = \"https://a.example.org\"\n",
    );
    let failed = place.tidings(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(failed.status == 2 && failed.stderr.contains("smtp-password-file"), "{failed:?}");
    assert!(failed.stderr.contains("none.pw cannot be read"), "{failed:?}");
    assert!(!failed.stderr.contains("database"), "{failed:?}");
}
