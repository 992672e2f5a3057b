//! Power cuts: acknowledged writes survive, whatever unsynced data the disk loses.
//!
//! The test records all writes, syncs and responses of a server and some commands in a journal while several clients
//! use them. For many moments it reconstructs the disk as a power cut may leave it (`journal.rs`): with none, all, or
//! some sectors of the unsynced data. Each such database must open, be sound, and hold every write that was
//! acknowledged before the power cut.
//!
//! The suite tests some of the moments. To test a power cut after every record of the journal:
//!
//! ```sh
//! TIDINGS_POWER_CUTS=100000 cargo test -p tidings-cli --test e2e faults::power
//! ```

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};
use tidings_tests::{Answer, PASSWORD, Server, only_on_sqlite, read_answer, run, sample};

use super::journal::{Disk, Image, Record, Unsynced, read};
use super::shim::Shim;
use super::{by_hand, tidings};

/// The number of power cuts if `TIDINGS_POWER_CUTS` is not set.
const CUTS: usize = 60;
/// Which unsynced data the disk keeps at each power cut.
const UNSYNCED: [Unsynced; 4] = [Unsynced::Lost, Unsynced::Kept, Unsynced::Partly(1), Unsynced::Partly(2)];

#[derive(Clone, Debug)]
enum Done {
    Member(String),
    Notice(String),
    Post(String),
    Liked { member: String, post: String },
    Feedback(String),
}

impl Done {
    fn is_in(&self, database: &Connection) -> bool {
        let count = |sql: &str, args: &[&String]| -> i64 {
            database.query_row(sql, rusqlite::params_from_iter(args), |row| row.get(0)).unwrap()
        };
        let found = match self {
            Self::Member(id) => count("SELECT count(*) FROM member WHERE id = ?", &[id]),
            Self::Notice(id) => count("SELECT count(*) FROM notice WHERE id = ?", &[id]),
            Self::Post(id) => count("SELECT count(*) FROM post WHERE id = ?", &[id]),
            Self::Liked { member, post } => count(
                "SELECT count(*) FROM liked l JOIN member m ON m.key = l.member JOIN post p ON p.key = l.post
                 WHERE m.id = ? AND p.id = ?",
                &[member, post],
            ),
            Self::Feedback(text) => count("SELECT count(*) FROM feedback WHERE post = ?", &[text]),
        };
        found == 1
    }
}

/// A client that sends one request after another on one connection.
struct Client {
    stream: BufReader<TcpStream>,
    token: String,
    /// The write that each response acknowledged, in order.
    noted: Vec<Option<Done>>,
}

impl Client {
    fn new(server: &Server, token: &str) -> Self {
        let stream = BufReader::new(TcpStream::connect(server.address()).unwrap());
        Self { stream, token: token.to_owned(), noted: Vec::new() }
    }

    fn port(&self) -> u16 {
        self.stream.get_ref().local_addr().unwrap().port()
    }

    /// Sends a request that must succeed; `done` returns the write that the response acknowledges.
    fn ask(
        &mut self,
        path: &str,
        body: Option<&Value>,
        done: impl FnOnce(&Answer) -> Option<Done>,
    ) -> Answer {
        let (method, body) = body.map_or(("GET", String::new()), |body| ("POST", body.to_string()));
        let authorization = if self.token.is_empty() {
            String::new()
        } else {
            format!("Authorization: Bearer {}\r\n", self.token)
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: here\r\n{authorization}Content-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let answer = read_answer(&mut self.stream).expect("an answer").succeeded();
        self.noted.push(done(&answer));
        answer
    }

    fn sign_up(&mut self, id: &str) -> String {
        let form = json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id });
        self.ask("/sign_up", Some(&form), |_| Some(Done::Member(id.to_owned()))).text("/access_token")
    }

    fn insert_notice(&mut self, title: &str, length: usize) {
        let notice = json!({ "title": title, "post": "x".repeat(length) });
        self.ask("/insert_notice", Some(&notice), |answer| Some(Done::Notice(answer.text("/_id"))));
    }

    fn insert_post(&mut self, title: &str) -> String {
        let done = |answer: &Answer| Some(Done::Post(answer.text("/_id")));
        self.ask("/insert_post", Some(&sample::post(title)), done).text("/_id")
    }

    fn like(&mut self, member: &str, post: &str) {
        let liked = Done::Liked { member: member.to_owned(), post: post.to_owned() };
        self.ask(&format!("/post_like/{post}"), None, |_| Some(liked));
    }

    fn send_feedback(&mut self, text: &str) {
        let feedback = json!({ "type": "question", "post": text });
        self.ask("/send_feedback", Some(&feedback), |_| Some(Done::Feedback(text.to_owned())));
    }
}

struct Recording {
    records: Vec<Record>,
    noted: HashMap<u16, Vec<Option<Done>>>,
}

impl Recording {
    /// Records a run in which several clients use a server that is stopped, restarted and killed, next to some
    /// commands.
    fn new(syncs: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (data, journal) = (directory.path().join("data"), directory.path().join("journal"));
        fs::create_dir(&data).unwrap();
        let database = data.join("tidings.db");
        let shim = Shim::journal(&data, &journal, syncs);
        let command = |args: &[&str], input: &str| {
            let mut command = tidings(&database, args);
            shim.load(&mut command);
            let _ = run(command, input).succeeded();
        };
        let serve = shim.clone();
        let mut server = Server::at(&database, move |command: &mut Command| serve.load(command));
        let mut noted: HashMap<u16, Vec<Option<Done>>> = HashMap::new();
        let mut note = |client: Client| noted.entry(client.port()).or_default().extend(client.noted);

        let mut first = Client::new(&server, "");
        let admin = first.sign_up("admin");
        note(first);
        command(&["admin", "grant", "admin"], "");
        for round in 0..2 {
            let clients = std::thread::scope(|scope| {
                let (server, admin) = (&server, admin.as_str());
                let notices = scope.spawn(move || {
                    let mut client = Client::new(server, admin);
                    for n in 0..12 {
                        client.insert_notice(&format!("notice {round} {n}"), 100 << n.min(7));
                    }
                    client
                });
                let posts = scope.spawn(move || {
                    let mut client = Client::new(server, admin);
                    for n in 0..8 {
                        let post = client.insert_post(&format!("post {round} {n}"));
                        client.like("admin", &post);
                    }
                    client
                });
                let members = scope.spawn(move || {
                    let mut client = Client::new(server, "");
                    for n in 0..3 {
                        client.token.clear();
                        client.token = client.sign_up(&format!("member-{round}-{n}"));
                        client.send_feedback(&format!("feedback {round} {n}"));
                    }
                    client
                });
                [notices, posts, members].map(|client| client.join().unwrap())
            });
            clients.into_iter().for_each(&mut note);
            command(&["backup", "copy.db"], "");
            command(&["words", "load", "-"], &format!("post 1 {round}\nsay 0 1\n"));
            if round == 0 {
                assert!(server.stop().status.success());
                server.restart();
            }
        }
        server.kill();
        Self { records: read(&journal), noted }
    }

    /// Returns the moments of the power cuts, as numbers of records: half of them directly after responses.
    fn cuts(&self) -> Vec<usize> {
        let all = self.records.len();
        let most = by_hand("TIDINGS_POWER_CUTS").unwrap_or(CUTS);
        if most >= all {
            return (1..=all).collect();
        }
        let is_answer = |at: &usize| matches!(self.records[*at - 1], Record::Answer { port: 1.., .. });
        let answers: Vec<usize> = (1..=all).filter(is_answer).collect();
        let spread = |of: &[usize], count: usize| -> Vec<usize> {
            (0..count).map(|n| of[(n + 1) * of.len() / count - 1]).collect()
        };
        let others: Vec<usize> = (1..=all).collect();
        let mut cuts = [spread(&answers, most / 2), spread(&others, most - most / 2)].concat();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// Checks the disk after a power cut at each of these moments; the error describes the first problem.
    fn check(&self, cuts: &[usize], unsynced: &[Unsynced]) -> Result<(), String> {
        let (mut disk, mut answered) = (Disk::new(), Answered::default());
        let mut cuts = cuts.iter().peekable();
        for (at, record) in (1..).zip(&self.records) {
            disk.apply(record);
            answered.apply(record, &self.noted);
            if cuts.next_if(|cut| **cut == at).is_none() {
                continue;
            }
            for unsynced in unsynced {
                let unsynced = if let Unsynced::Partly(seed) = unsynced {
                    Unsynced::Partly(seed + at as u64)
                } else {
                    *unsynced
                };
                let image = disk.after_a_power_cut(unsynced);
                answered.is_in(&image).map_err(|wrong| {
                    let (all, names) = (self.records.len(), image.keys());
                    format!("after record {at} of {all}, with unsynced data {unsynced:?}: {wrong}; {names:?}")
                })?;
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Answered {
    count: HashMap<u16, usize>,
    done: Vec<Done>,
    is_ready: bool,
    /// The minimum number of writes in the last backup.
    backup: Option<usize>,
    /// The number of writes acknowledged by the last response of the server.
    acknowledged: usize,
}

impl Answered {
    fn apply(&mut self, record: &Record, noted: &HashMap<u16, Vec<Option<Done>>>) {
        let Record::Answer { port, text } = record else { return };
        if *port == 0 {
            self.is_ready |= text.contains("listening on");
            if text.contains("is a backup") {
                // No client writes during a backup, so it contains all writes acknowledged before it.
                self.backup = Some(self.acknowledged);
            }
            return;
        }
        let Some(noted) = noted.get(port).filter(|_| text.starts_with("HTTP/1.1 ")) else { return };
        let count = self.count.entry(*port).or_default();
        self.done.extend(noted.get(*count).cloned().flatten());
        *count += 1;
        self.acknowledged = self.done.len();
    }

    /// Checks that a disk holds all acknowledged writes; the error names what is missing or broken.
    fn is_in(&self, image: &Image) -> Result<(), String> {
        let held = |name: &str| image.get(name);
        for name in ["tidings.db.key", "copy.db"] {
            if held(name).is_some_and(|(_, is_whole)| !is_whole) {
                return Err(format!("{name} has its name and is not whole"));
            }
        }
        let needed = [
            ("tidings.db", self.is_ready || !self.done.is_empty()),
            ("tidings.db.key", self.is_ready || !self.done.is_empty()),
            ("copy.db", self.backup.is_some()),
        ];
        if let Some((name, _)) = needed.iter().find(|(name, needed)| *needed && held(name).is_none()) {
            return Err(format!("{name} is gone"));
        }
        if held("tidings.db.key").is_some_and(|(key, _)| key.len() != 32) {
            return Err("the key is short".into());
        }
        let directory = tempfile::tempdir().unwrap();
        lay_out(image, directory.path());
        if held("tidings.db").is_some() {
            let is_made = self.is_ready || !self.done.is_empty();
            holds(&directory.path().join("tidings.db"), &self.done, is_made)?;
        }
        match self.backup {
            Some(done) => holds(&directory.path().join("copy.db"), &self.done[..done], true),
            None => Ok(()),
        }
    }
}

/// Writes the files of an image with mode 0600, like the originals.
fn lay_out(image: &Image, directory: &Path) {
    for (name, (content, _)) in image {
        let mut file = OpenOptions::new();
        let mut file = file.write(true).create_new(true).mode(0o600).open(directory.join(name)).unwrap();
        file.write_all(content).unwrap();
    }
}

/// Checks that a database is sound and holds these writes; it may be empty if `is_made` is false.
fn holds(database: &Path, done: &[Done], is_made: bool) -> Result<(), String> {
    let failed = |error: rusqlite::Error| format!("{}: {error}", database.display());
    let connection = Connection::open(database).map_err(failed)?;
    // This copy is temporary, so it need not be synced.
    connection.pragma_update(None, "synchronous", "OFF").map_err(failed)?;
    let found = connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    let found = found.map_err(failed)?;
    if found != "ok" {
        return Err(format!("{}: {found}", database.display()));
    }
    let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    if version.map_err(failed)? == 0 {
        return if is_made { Err(format!("{} is empty", database.display())) } else { Ok(()) };
    }
    let dangling = connection.prepare("PRAGMA foreign_key_check").and_then(|mut check| check.exists([]));
    if dangling.map_err(failed)? {
        return Err(format!("{}: a foreign key has no target", database.display()));
    }
    match done.iter().find(|done| !done.is_in(&connection)) {
        Some(missing) => Err(format!("{}: {missing:?} is lost", database.display())),
        None => Ok(()),
    }
}

#[test]
fn acknowledged_writes_survive_a_power_cut_at_any_moment() {
    only_on_sqlite!("it simulates power cuts of the disk of the file");
    let recording = Recording::new(true);
    let cuts = recording.cuts();
    eprintln!("{} records, {} power cuts", recording.records.len(), cuts.len() * UNSYNCED.len());
    recording.check(&cuts, &UNSYNCED).unwrap();
    // The program itself opens the final disk.
    let mut disk = Disk::new();
    for record in &recording.records {
        disk.apply(record);
    }
    for unsynced in UNSYNCED {
        let directory = tempfile::tempdir().unwrap();
        lay_out(&disk.after_a_power_cut(unsynced), directory.path());
        let database = directory.path().join("tidings.db");
        let server = Server::at(&database, |_| {});
        let _ = server.anyone().get("/get_all_notice").succeeded();
        drop(server);
        let checked = run(tidings(&database, &["check", "--json"]), "");
        assert_eq!(checked.status, 0, "{checked:?}");
    }
}

#[test]
fn a_program_that_does_not_sync_is_detected() {
    only_on_sqlite!("it simulates power cuts of the disk of the file");
    let recording = Recording::new(false);
    let cuts = recording.cuts();
    let wrong = recording.check(&cuts, &[Unsynced::Lost]).unwrap_err();
    assert!(wrong.contains("is gone"), "{wrong}");
    // Even if the names survive, sectors are missing.
    let wrong = recording.check(&cuts, &[Unsynced::Partly(1), Unsynced::Partly(2), Unsynced::Partly(3)]);
    assert!(wrong.is_err());
    // With all data kept, the same journal gives no error.
    recording.check(&cuts, &[Unsynced::Kept]).unwrap();
}
