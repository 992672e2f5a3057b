//! `kill -9` under load: acknowledged writes survive, and the database stays sound.
//!
//! The suite runs a few rounds. `TIDINGS_KILL_ROUNDS` sets the number of rounds:
//!
//! ```sh
//! TIDINGS_KILL_ROUNDS=150 cargo test -p tidings-cli --test e2e faults::kill::acknowledged
//! ```

use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tidings_tests::{Caller, Database, Engine, PASSWORD, Request, Server, sample, wait_until};

use super::counts::{Acts, figures};
use super::{assert_intact, by_hand};
use crate::meanwhile::SetAtLast;

/// The number of rounds if `TIDINGS_KILL_ROUNDS` is not set.
const ROUNDS: usize = 16;
const POSTS: usize = 10;
/// The number of acknowledged writes in each round before the server is killed.
const CHANGES: usize = 60;

#[derive(Default)]
struct Load {
    acknowledged: AtomicUsize,
    over: AtomicBool,
}

impl Load {
    /// Sends a write, and returns the response that acknowledges it, or `None` if there was no response.
    fn send(&self, request: Request<'_>) -> Option<Value> {
        if self.over.load(Ordering::Relaxed) {
            return None;
        }
        let answer = request.try_send().ok()?;
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        Some(answer.succeeded().body)
    }
}

/// The likes of a member: the acknowledged ones, and the one post whose state is unknown.
#[derive(Default)]
struct Likes {
    known: HashSet<usize>,
    unknown: Option<usize>,
}

impl Likes {
    fn act(&mut self, member: &Caller, posts: &[String], load: &Load) {
        for n in (0..posts.len()).cycle().step_by(3) {
            let liked = self.known.contains(&n);
            let act = if liked { "unlike" } else { "like" };
            match load.send(member.request("GET", &format!("/post_{act}/{}", posts[n]))) {
                None => {
                    self.unknown = Some(n);
                    return;
                }
                Some(_) if liked => drop(self.known.remove(&n)),
                Some(_) => drop(self.known.insert(n)),
            }
        }
    }

    /// Compares the known likes with the member's list, and reads the unknown one from it.
    fn check(&mut self, member: &Caller, posts: &[String]) {
        let list = member.get("/get_specific_userinfo/1").succeeded().column("fav_list", "_id");
        let listed =
            list.iter().map(|id| posts.iter().position(|post| post == id).unwrap()).collect::<HashSet<_>>();
        if let Some(n) = self.unknown.take() {
            self.known.remove(&n);
            self.known.extend(listed.get(&n));
        }
        assert_eq!(listed, self.known, "the likes of {}", member.id());
    }
}

/// The views of each post: at least the acknowledged ones, at most the sent ones.
struct Views {
    acknowledged: Vec<usize>,
    sent: Vec<usize>,
}

impl Views {
    fn act(&mut self, guest: &Caller, posts: &[String], load: &Load) {
        for n in (0..posts.len()).cycle() {
            self.sent[n] += 1;
            if load.send(guest.request("GET", &format!("/post_view/{}", posts[n]))).is_none() {
                return;
            }
            self.acknowledged[n] += 1;
        }
    }
}

/// Inserts notices until the server is killed, and returns the acknowledged ids and titles.
fn insert_notices(admin: &Caller, load: &Load) -> Vec<(Value, String)> {
    let mut known = Vec::new();
    for n in 0.. {
        let title = format!("notice {n}");
        let request = admin.request("POST", "/insert_notice").json(&sample::notice(&title));
        let Some(body) = load.send(request) else { break };
        known.push((body["_id"].clone(), title));
    }
    known
}

/// Signs members up until the server is killed, and returns the acknowledged ones with their tokens.
fn sign_up(anyone: &Caller, round: usize, load: &Load) -> Vec<Caller> {
    let mut known = Vec::new();
    for n in 0.. {
        let id = format!("member-{round}-{n}");
        let form = json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id });
        let Some(body) = load.send(anyone.request("POST", "/sign_up").json(&form)) else { break };
        known.push(anyone.with_token(&id, body["access_token"].as_str().unwrap()));
    }
    known
}

#[test]
fn acknowledged_writes_survive_each_of_many_kills_and_are_counted() {
    let rounds = by_hand("TIDINGS_KILL_ROUNDS").unwrap_or(ROUNDS);
    let mut server = Server::start();
    let (anyone, admin) = (server.anyone(), server.admin());
    let insert = |n| admin.post("/insert_post", sample::post(&format!("post {n}"))).text("/_id");
    let posts: Vec<String> = (0..POSTS).map(insert).collect();
    let members = ["ann", "ben"].map(|id| server.member(id));
    let mut likes = [Likes::default(), Likes::default()];
    let mut views = [(); 2].map(|()| Views { acknowledged: vec![0; POSTS], sent: vec![0; POSTS] });
    let mut notices: Vec<(Value, String)> = Vec::new();
    let ([searches, devices], search) = ([(); 2].map(|()| Acts::default()), json!({ "search": "rust" }));
    for round in 0..rounds {
        let (load, posts) = (&Load::default(), &posts);
        let (more_notices, signed_up) = std::thread::scope(|scope| {
            let _over = SetAtLast(&load.over);
            for (likes, member) in likes.iter_mut().zip(&members) {
                scope.spawn(move || likes.act(member, posts, load));
            }
            for views in &mut views {
                let anyone = &anyone;
                scope.spawn(move || views.act(anyone, posts, load));
            }
            let goes_on = move || !load.over.load(Ordering::Relaxed);
            let (anyone, searches, devices, search) = (&anyone, &searches, &devices, &search);
            scope.spawn(move || while goes_on() && searches.send(anyone, "/search_logging", Some(search)) {});
            scope.spawn(move || while goes_on() && devices.send(anyone, "/insert_device/pc", None) {});
            let notices = scope.spawn(|| insert_notices(&admin, load));
            let signed_up = scope.spawn(move || sign_up(anyone, round, load));
            wait_until("enough writes are acknowledged", || {
                let are_counted = [searches, devices].iter().all(|acts| acts.acknowledged() > round as u64);
                load.acknowledged.load(Ordering::Relaxed) >= CHANGES && are_counted
            });
            server.kill();
            (notices.join().unwrap(), signed_up.join().unwrap())
        });
        notices.extend(more_notices);
        server.restart();
        assert_intact(server.database());

        for (likes, member) in likes.iter_mut().zip(&members) {
            likes.check(member, posts);
        }
        let mut counted = (0, 0);
        for (n, id) in posts.iter().enumerate() {
            let post = anyone.get(&format!("/get_post/{id}")).succeeded().body["post"].clone();
            let count = |of: fn(&Views) -> &Vec<usize>| views.iter().map(|views| of(views)[n]).sum::<usize>();
            let (least, most) = (count(|views| &views.acknowledged), count(|views| &views.sent));
            let view = usize::try_from(post["view"].as_u64().unwrap()).unwrap();
            assert!((least..=most).contains(&view), "{view} views, acknowledged {least}, sent {most}");
            let likes = likes.iter().filter(|likes| likes.known.contains(&n)).count();
            assert_eq!(post["fav_cnt"], likes, "the count agrees with the lists");
            counted = (counted.0 + view, counted.1 + likes);
        }
        let figures = figures(&server);
        assert_eq!((&figures["total_view"], &figures["total_fav"]), (&json!(counted.0), &json!(counted.1)));
        searches.check("searches", &figures["search_count"]);
        devices.check("devices", &anyone.get("/get_device").succeeded().body["pc"]);
        // One of a guest's searches in an hour counts in trends, but all of them are stored.
        let trends = anyone.get("/get_search_realtime").succeeded();
        assert_eq!(trends.body["search_realtime"][0][0], "rust");
        let kept: i64 = server.sql().scalar("SELECT count(*) FROM term", &[]);
        assert_eq!(json!(kept), figures["search_count"]);
        let list = admin.get("/get_all_notice").succeeded();
        let listed: HashSet<(Value, Value)> =
            list.list("notice_list").iter().map(|n| (n["_id"].clone(), n["title"].clone())).collect();
        for (id, title) in &notices {
            assert!(listed.contains(&(id.clone(), json!(title))), "{title}");
        }
        assert!(
            listed.len() <= notices.len() + round + 1,
            "at most one notice per round was written without a response"
        );
        for member in signed_up {
            assert_eq!(member.get("/get_userinfo").text("/user_id"), member.id());
        }
    }
    assert!(server.stop().status.success());
    assert_intact(server.database());
}

/// The number of posts in an import that is killed: several batches.
const TO_IMPORT: u64 = 800;

#[test]
fn a_killed_import_leaves_whole_posts_and_can_be_repeated() {
    let server = Server::start();
    let line = |n: u64| {
        let mut post = sample::post(&format!("post {n}"));
        post["topic"] = json!(["killed"]);
        post["post"] = json!("many words ".repeat(200));
        post.to_string()
    };
    let lines: Vec<String> = (0..TO_IMPORT).map(line).collect();
    let mut import = super::tidings(server.database(), &["post", "import", "-"]);
    let mut import = import.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = import.stdin.take().unwrap();
    let count = || {
        let categories = server.anyone().get("/get_categories").succeeded();
        categories.list("categories").first().map_or(0, |category| category["posts"].as_u64().unwrap())
    };
    std::thread::scope(|scope| {
        let lines = lines.join("\n");
        let writer = scope.spawn(move || {
            let _ = stdin.write_all(lines.as_bytes());
            // Keep the pipe open, so that the import never finishes.
            stdin
        });
        wait_until("the first posts are imported", || count() > 0);
        import.kill().unwrap();
        import.wait().unwrap();
        drop(writer.join().unwrap());
    });
    let left = count();
    assert!((1..TO_IMPORT).contains(&left), "{left}");
    assert_intact(server.database());
    let again = server.cli_with_input(["post", "import", "-", "--json"], lines.join("\n")).succeeded().json();
    let expected = json!({
        "result": "success", "inserted": TO_IMPORT - left, "updated": 0, "skipped": left, "errors": [],
    });
    assert_eq!(again, expected);
    assert_eq!(count(), TO_IMPORT);
}

fn is_opened(database: &Path) -> bool {
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()";
    match Engine::chosen() {
        Engine::Sqlite => database.exists(),
        Engine::Postgres => Database::open(database).scalar::<u64>(connections, &[]) > 1,
    }
}

#[test]
fn a_killed_first_start_can_be_repeated() {
    for _ in 0..4 {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("tidings.db");
        let mut first = super::tidings(&database, &["init"]).stdout(Stdio::null()).spawn().unwrap();
        // A quick program may have ended before it was seen.
        wait_until("the database is opened", || is_opened(&database) || first.try_wait().unwrap().is_some());
        first.kill().unwrap();
        first.wait().unwrap();
        let _ = super::ends(super::tidings(&database, &["init"])).succeeded();
        assert_intact(&database);
    }
}
