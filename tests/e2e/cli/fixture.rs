//! A database with records of every kind, created by commands only.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use tidings_tests::{Database, Output, PASSWORD, Server, command_in, remote, run, wait_until};

/// Posts with fixed ids, in the form that `post import` reads.
const POSTS: &str = r#"
{"_id": "650000000000000000000001", "title": "Announcing a release with a name that is a good deal longer than any terminal has cells", "url": "https://news.example.org/release", "post": "First line.\nSecond line.", "topic": ["Rust", "Release"], "tag": ["compiler"], "date": "2024-01-02T03:04:05Z", "img": "https://news.example.org/a.png"}
{"_id": "650000000000000000000002", "title": "도서관은 밤 열 시까지 열려 있습니다 그리고 일요일에는 쉽니다", "url": "https://news.example.org/도서관", "post": "모두", "topic": ["캠퍼스"], "date": "2024-02-03T04:05:06Z", "view": 12345, "fav_cnt": 67}
{"_id": "650000000000000000000003", "title": "🦀🦀 crabs 👩‍👩‍👧 families", "url": "https://news.example.org/crabs", "date": "2023-03-04T05:06:07Z", "end_date": "2023-04-04T00:00:00Z"}
"#;

pub(crate) const RELEASE: &str = "650000000000000000000001";
pub(crate) const LIBRARY: &str = "650000000000000000000002";
/// An id that no record has.
pub(crate) const UNKNOWN: &str = "650000000000000000000009";

/// A database, and the commands to run on it.
pub(crate) struct Fixture {
    /// The server on which the commands run, in the second run of the tests.
    server: OnceCell<Server>,
    directory: TempDir,
    /// The id of a notice that everyone can see.
    pub(crate) notice: String,
    /// The id of a notice that only administrators can see.
    pub(crate) hidden: String,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut fixture =
            Self { server: OnceCell::new(), directory, notice: String::new(), hidden: String::new() };
        let _ = fixture.with_input(&["init", "--admin", "boss", "--password-stdin"], PASSWORD).succeeded();
        for (id, nickname) in [("ann", "앤 🦀"), ("ben", "Ben \"the\" Quote")] {
            let args = ["member", "sign-up", id, "--nickname", nickname, "--password-stdin"];
            let _ = fixture.with_input(&args, PASSWORD).succeeded();
        }
        let roster = "id,name,major,password\ns2026001,김지우,물리학,secret password\n";
        let _ = fixture.with_input(&["roster", "import", "-"], roster).succeeded();
        let args = ["member", "sign-in-up", "s2026001", "--password-stdin"];
        let _ = fixture.with_input(&args, "secret password").succeeded();
        let _ = fixture.with_input(&["post", "import", "-"], POSTS.trim_start()).succeeded();
        if remote::is_chosen() {
            // A command on a database reads the posts itself.
            wait_until("the feeds of the server show the posts", || {
                fixture.stdout(&["feed", "popular"]).contains("650000000000000000000002")
            });
        }
        let add = ["notice", "add", "--title", "Library", "--post", "Open until ten.\nNot on Sundays."];
        fixture.notice = String::from(fixture.stdout(&add).trim());
        let add = ["notice", "add", "--title", "곧 공개될 공지입니다 🎉", "--post", "Later.", "--hidden"];
        fixture.hidden = String::from(fixture.stdout(&add).trim());
        for act in [
            &["post", "view", RELEASE][..],
            &["post", "like", RELEASE],
            &["feed", "topic", "Rust"],
            &["search", "log", "borrow checker"],
            &["feedback", "send", "--type", "idea", "--notice", &fixture.notice, "Open on Sundays, too"],
        ] {
            let _ = fixture.stdout(&[&["--as", "ann"], act].concat());
        }
        let _ = fixture.stdout(&["blacklist", "add", "ben"]);
        if remote::is_chosen() {
            wait_until("the feeds of the server show the view and the like", || {
                let feed = fixture.stdout(&["feed", "topic", "Rust", "--json"]);
                let feed: Value = serde_json::from_str(&feed).unwrap();
                feed["newsfeed"][0]["view"] == 1 && feed["newsfeed"][0]["fav_cnt"] == 1
            });
        }
        fixture
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn sql(&self) -> Database {
        Database::open(&self.directory().join("tidings.db"))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut tidings = command_in(self.directory());
        tidings.args(args);
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        if remote::is_chosen() && remote::is_remote(&args) {
            let start = || Server::at(self.directory().join("tidings.db"), |_| {});
            self.server.get_or_init(start).sign_in(&mut tidings, &args);
        }
        tidings
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.with_input(args, "")
    }

    pub(crate) fn with_input(&self, args: &[&str], input: &str) -> Output {
        run(self.command(args), input)
    }

    #[track_caller]
    pub(crate) fn stdout(&self, args: &[&str]) -> String {
        self.run(args).succeeded().stdout
    }
}

/// Runs `assert` with the ids, times and tokens of this run replaced by placeholders.
///
/// Placeholders in tables are as long as the text that they replace, so columns stay aligned.
pub(crate) fn with_redactions(assert: impl FnOnce()) {
    let filters = [
        (r"\b(?:6[a-f]|7[0-9a-f])[0-9a-f]{22}\b", "[notice or feedback id]~"),
        (r"\b20(?:2[6-9]|[3-8]\d)-\d\d-\d\d \d\d:\d\d", "[this moment...]"),
        (r"\b20(?:2[6-9]|[3-8]\d)-\d\d-\d\d\b", "[today...]"),
        (r"\beyJ[\w.-]+", "[token]"),
        (r"\b[0-9a-f]{27}\b", "[next of a feed, 27 digits]"),
        // Shown where the database is named by a variable, as in the tests on PostgreSQL.
        (r"(! Usage: .*) --db <PATH\|URL>", "$1"),
        (r"(! Usage: .*) --server <URL>", "$1"),
    ];
    insta::with_settings!({ filters => filters }, { assert() });
}
