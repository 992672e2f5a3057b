//! Clients that note what they sent and what was acknowledged, and the comparison with what is stored.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::json;
use tidings_tests::Caller;

use crate::Outcome;
use crate::world::World;

/// Titles are unique in the whole program.
static TITLES: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Notice,
    /// A like of a post that the member has not liked.
    Like,
    View,
}

const ALL: [Kind; 3] = [Kind::Notice, Kind::Like, Kind::View];

#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) kind: Kind,
    /// The title; or the member's id and the post's.
    pub(crate) key: String,
    pub(crate) server: usize,
    pub(crate) at: Instant,
    pub(crate) answered: Instant,
    /// The status and the result, or `None` if the connection ended without an answer.
    pub(crate) answer: Option<(u16, String)>,
    /// Whether the answer said when to try again.
    pub(crate) says_when: bool,
}

impl Sent {
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.answer.as_ref().is_some_and(|(status, result)| *status == 200 && result == "success")
    }
}

pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    sent: Arc<Mutex<Vec<Sent>>>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts clients of each server that send all kinds of requests, and lets them run for this time.
    pub(crate) fn running(world: &World, clients: usize, time: Duration) -> Self {
        let load = Self::start(world, clients, &ALL);
        thread::sleep(time);
        load
    }

    /// Lets the clients run for this time, stops them, and returns everything that was sent.
    pub(crate) fn stop_after(self, time: Duration) -> Vec<Sent> {
        thread::sleep(time);
        self.stop()
    }

    /// Starts clients of each server; each sends one request after the other.
    pub(crate) fn start(world: &World, clients: usize, kinds: &[Kind]) -> Self {
        let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let likes = Arc::new(AtomicU64::new(0));
        let mut running = Vec::new();
        for server in 0..world.servers.len() {
            for client in 0..clients {
                let client = Client {
                    server,
                    kind: kinds[(server + client) % kinds.len()],
                    admin: world.admin(server),
                    members: (0..6).map(|number| world.member(number, server)).collect(),
                    posts: world.posts.clone(),
                    likes: Arc::clone(&likes),
                };
                let (stop, sent) = (Arc::clone(&stop), Arc::clone(&sent));
                running.push(thread::spawn(move || client.run(&stop, &sent)));
            }
        }
        Self { stop, sent, clients: running }
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    /// Returns the number of acknowledged requests of a server whose answer came after `since`.
    fn acknowledged_since(&self, server: usize, since: Instant) -> usize {
        let sent = self.sent.lock().unwrap();
        sent.iter()
            .filter(|one| one.server == server && one.answered > since && one.is_acknowledged())
            .count()
    }

    /// Waits until each of these servers has acknowledged a request after `since`; returns how long the slowest took.
    pub(crate) fn resumed(&self, servers: &[usize], since: Instant, most: Duration) -> Option<Duration> {
        while !servers.iter().all(|server| self.acknowledged_since(*server, since) > 0) {
            if since.elapsed() > most {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
        Some(since.elapsed())
    }

    pub(crate) fn stop(self) -> Vec<Sent> {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().expect("no client panics");
        }
        Arc::into_inner(self.sent).expect("the clients have ended").into_inner().unwrap()
    }
}

struct Client {
    server: usize,
    kind: Kind,
    admin: Caller,
    members: Vec<Caller>,
    posts: Vec<String>,
    likes: Arc<AtomicU64>,
}

impl Client {
    fn run(&self, stop: &AtomicBool, sent: &Mutex<Vec<Sent>>) {
        while !stop.load(Ordering::Relaxed) {
            let one = self.send();
            let failed = !one.is_acknowledged();
            sent.lock().unwrap().push(one);
            if failed {
                // The server may be gone, and refuses at once.
                thread::sleep(Duration::from_millis(20));
            }
        }
    }

    fn send(&self) -> Sent {
        let number =
            usize::try_from(self.likes.fetch_add(1, Ordering::Relaxed)).expect("far below the maximum");
        let (member, post) = (&self.members[number % 6], &self.posts[number / 6 % self.posts.len()]);
        // Each pair once: afterwards the client writes notices.
        let kind =
            if self.kind == Kind::Like && number / 6 >= self.posts.len() { Kind::View } else { self.kind };
        let at = Instant::now();
        let (key, answer) = match kind {
            Kind::Notice => {
                let title = format!("Notice {}", TITLES.fetch_add(1, Ordering::Relaxed));
                let body = json!({ "title": title, "post": "Text." });
                (title, self.admin.request("POST", "/insert_notice").json(&body).try_send())
            }
            Kind::Like => {
                let path = format!("/post_like/{post}");
                (format!("{} {post}", member.id()), member.request("GET", &path).try_send())
            }
            Kind::View => {
                let path = format!("/post_view/{post}");
                (format!("{} {post}", member.id()), member.request("GET", &path).try_send())
            }
        };
        let answer = answer.ok();
        let says_when = answer.as_ref().is_some_and(|answer| !answer.header("retry-after").is_empty());
        let text = |answer: tidings_tests::Answer| {
            (answer.status, answer.body["result"].as_str().unwrap_or_default().to_owned())
        };
        let (server, answered) = (self.server, Instant::now());
        Sent { kind, key, server, at, answered, answer: answer.map(text), says_when }
    }
}

/// Returns the outcome of a comparison of what the clients know with what is stored, with more measured and more faults.
pub(crate) fn outcome(
    world: &World,
    sent: &[Sent],
    measured: &str,
    more: impl IntoIterator<Item = String>,
) -> Outcome {
    let (stored, mut faults) = compare(world, sent);
    faults.extend(more);
    if !faults.is_empty() {
        faults.push(world.logs());
    }
    let acknowledged = sent.iter().filter(|one| one.is_acknowledged()).count();
    let measured = format!("{} sent, {acknowledged} acknowledged, {stored} stored; {measured}", sent.len());
    Outcome { measured, faults }
}

/// Compares what the clients know with what the primary has stored: acknowledged ⊆ stored ⊆ sent, each once. Returns the
/// number of stored rows, and the faults.
pub(crate) fn compare(world: &World, sent: &[Sent]) -> (usize, Vec<String>) {
    let mut faults = Vec::new();
    let of = |kind: Kind| sent.iter().filter(move |one| one.kind == kind);
    let mut connection = world.connect();
    let mut stored = |sql: &str| -> Vec<(String, i64)> {
        let rows = connection.query(sql, &[]).into_iter();
        rows.map(|row| (row[0].clone().unwrap_or_default(), row[1].as_ref().unwrap().parse().unwrap()))
            .collect()
    };
    let titles = stored("SELECT title, count(*) FROM notice GROUP BY title");
    let likes = stored(
        "SELECT m.id || ' ' || p.id, count(*) FROM liked l JOIN member m ON m.key = l.member JOIN post p ON p.key = l.post
         GROUP BY 1",
    );
    for (kind, rows) in [(Kind::Notice, &titles), (Kind::Like, &likes)] {
        let known: HashSet<_> = of(kind).map(|one| &*one.key).collect();
        let there: HashSet<_> = rows.iter().map(|(key, _)| &**key).collect();
        for (key, count) in rows {
            if *count != 1 {
                faults.push(format!("{kind:?} {key}: stored {count} times"));
            }
            if !known.contains(&**key) {
                faults.push(format!("{kind:?} {key}: stored, but never sent"));
            }
        }
        for one in of(kind).filter(|one| one.is_acknowledged() && !there.contains(&*one.key)) {
            faults
                .push(format!("{kind:?} {}: acknowledged by server {}, but not stored", one.key, one.server));
        }
    }
    // A like counts with the post, in the same transaction.
    let counted = stored("SELECT p.id, s.fav FROM post_stats s JOIN post p ON p.key = s.post");
    let rows = stored("SELECT p.id, count(*) FROM liked l JOIN post p ON p.key = l.post GROUP BY 1");
    let rows: HashMap<_, _> = rows.into_iter().collect();
    for (post, fav) in counted {
        let likes = rows.get(&post).copied().unwrap_or(0);
        if fav != likes {
            faults.push(format!("post {post}: {fav} likes are counted, and {likes} stored"));
        }
    }
    let views: HashMap<_, _> =
        stored("SELECT p.id, s.view FROM post_stats s JOIN post p ON p.key = s.post").into_iter().collect();
    let (mut least, mut most) = (HashMap::<&str, i64>::new(), HashMap::<&str, i64>::new());
    for one in of(Kind::View) {
        let post = one.key.split(' ').nth(1).unwrap_or_default();
        *most.entry(post).or_default() += 1;
        *least.entry(post).or_default() += i64::from(one.is_acknowledged());
    }
    for (post, view) in &views {
        let (least, most) =
            (least.get(&**post).copied().unwrap_or(0), most.get(&**post).copied().unwrap_or(0));
        if !(least..=most).contains(view) {
            faults.push(format!(
                "post {post}: {view} views are counted, {most} were sent and {least} acknowledged"
            ));
        }
    }
    let viewed: i64 = views.values().sum();
    let stored = titles.len() + likes.len() + usize::try_from(viewed).unwrap_or_default();
    (stored, faults)
}
