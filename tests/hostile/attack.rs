//! The attacks, and the measurements of each.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::json;
use tidings_tests::{PASSWORD, Server};

use crate::client::{Connection, Latencies, connect, get, post, post_text};
use crate::world::{World, ask_always, database_mb, memory_mb, probe, socket_memory_mb};
use crate::{Row, http2};

const RATE: u32 = 100;
/// The number of concurrent attackers; more of them would not increase the effect.
const ATTACKERS: usize = 64;
/// The number of readers of a feed; each sends the next request as soon as it has a response.
const READERS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// Failed sign-ins with long ids, which must not stay in memory
    Ids,
    /// Requests for ever-new paths
    Paths,
    /// HTTP/2 streams whose responses are blocked by flow control
    Streams,
    /// HTTP/1.1 clients that send requests and never read
    Unread,
    /// Searches that match nearly every post
    Searches,
    /// Sign-ups, each of which costs a password hash
    SignUps,
    /// As many open connections as the server allows
    Connections,
    /// Removal of the database file while the server runs
    File,
    /// Large JSON bodies
    Bodies,
}

impl Attack {
    pub(crate) fn run(self, world: &World) -> Vec<Row> {
        match self {
            Self::Ids => ids(world),
            Self::Paths => paths(world),
            Self::Streams => streams(world),
            Self::Unread => unread(world),
            Self::Searches => searches(world),
            Self::SignUps => sign_ups(world),
            Self::Connections => connections(world),
            Self::File => file(world),
            Self::Bodies => bodies(world),
        }
    }
}

const FEED: &str = "/get_popularity_newsfeed";
/// Long responses that differ, so that the server cannot share their memory.
const REPORTS: &str = "/get_everyday_analysis_days_ago/";

/// Runs `attackers` threads that call `attack` repeatedly, and calls `victim` after half a second.
fn beside<T>(attackers: usize, attack: impl Fn(usize, &AtomicBool) + Sync, victim: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..attackers {
            let (attack, stop) = (&attack, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    attack(number, stop);
                }
            });
        }
        thread::sleep(Duration::from_millis(500));
        let seen = victim();
        stop.store(true, Ordering::Relaxed);
        seen
    })
}

/// Sends the requests that `next` makes on one connection, and reconnects when the server closes it.
fn flood(from: Ipv4Addr, server: &Server, stop: &AtomicBool, mut next: impl FnMut() -> Vec<u8>) {
    let Ok(mut connection) = Connection::open(from, server.address()) else { return };
    while !stop.load(Ordering::Relaxed) {
        if connection.ask(&next()).is_err() {
            return;
        }
    }
}

fn slower(alone: &Latencies, beside: &Latencies, share: f64) -> f64 {
    beside.quantile(share) / alone.quantile(share)
}

fn ids(world: &World) -> Vec<Row> {
    let server = world.serve();
    let sign_in = |number: usize, length: usize| {
        let id = format!("{number:08}{}", "x".repeat(length));
        post("/sign_in", &json!({ "id": id, "pw": PASSWORD }))
    };
    let ask = |number: usize, length: usize| {
        // The server refuses a client after fifty failures, so use many clients.
        let from = world.attacker(1 + number / 40);
        let mut connection = Connection::open(from, server.address()).unwrap();
        connection.ask(&sign_in(number, length)).unwrap();
    };
    // Let buffers and caches reach their size before the measurement.
    (0..20).for_each(|number| ask(number, 1_000_000));
    let before = memory_mb(&server);
    (20..420).for_each(|number| ask(number, 1_000_000));
    vec![Row::at_most("memory retained after 400 ids of 1 MB", memory_mb(&server) - before, "MB", 20.0)]
}

fn paths(world: &World) -> Vec<Row> {
    let server = world.serve();
    let member = server.member("victim");
    let posts = server.anyone().get(FEED).list("newsfeed").to_vec();
    let id = posts[0]["_id"].as_str().unwrap();
    let like = get(&format!("/post_like/{id}"), Some(member.token()));
    let before = database_mb(&server);
    let (asked, began) = (AtomicUsize::new(0), Instant::now());
    let flood = |_: usize, stop: &AtomicBool| {
        let Ok(mut stream) = connect(world.one_attacker(), server.address(), None) else { return };
        let mut answers = vec![0; 1 << 16];
        while !stop.load(Ordering::Relaxed) {
            let first = asked.fetch_add(32, Ordering::Relaxed);
            let requests =
                (first..first + 32).flat_map(|path| get(&format!("/get_newsfeed_of_topic/x{path:x}"), None));
            if stream.write_all(&requests.collect::<Vec<_>>()).is_err() {
                return;
            }
            // The response for an unknown topic is an empty list.
            let mut answered = 0;
            while answered < 32 {
                match stream.read(&mut answers) {
                    Ok(0) | Err(_) => return,
                    Ok(count) => {
                        answered += answers[..count].windows(9).filter(|text| *text == b"HTTP/1.1 ").count();
                    }
                }
            }
        }
    };
    let likes = beside(16, flood, || world.probe(&server, &like, 20));
    let seconds = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let rate = asked.load(Ordering::Relaxed) as f64 / seconds;
    vec![
        Row::at_least("requests for new paths", rate, "/s", 0.0),
        Row::at_most("slowest like during the attack", likes.quantile(1.0), "ms", 300.0),
        Row::at_least("share of likes that succeeded", likes.succeeded(), "", 1.0),
        Row::at_most("growth of database and log", (database_mb(&server) - before) / seconds, "MB/s", 2.0),
    ]
}

fn streams(world: &World) -> Vec<Row> {
    let server = world.serve();
    let feed = get(FEED, None);
    let alone = probe(&server, &feed, RATE, world.length / 3);
    let before = memory_mb(&server);
    let open = |number: usize| {
        let mut stream = connect(world.attacker(number), server.address(), None).ok()?;
        http2::begin(&mut stream).ok()?;
        http2::ask(&mut stream, REPORTS, 200).ok()?;
        Some(stream)
    };
    let mut held: Vec<TcpStream> = (0..100).filter_map(open).collect();
    let half = world.length / 2;
    let mut most: f64 = 0.0;
    let mut latencies = Vec::new();
    for _ in 0..2 {
        for stream in &mut held {
            let _ = http2::ping(stream);
        }
        latencies.push(probe(&server, &feed, RATE, half));
        most = most.max(memory_mb(&server) - before);
    }
    vec![
        Row::at_most("memory used by 100 connections", most, "MB", 256.0),
        Row::at_most(
            "feeds, p99 during the attack / before",
            slower(&alone, &latencies[1], 0.99),
            "times",
            10.0,
        ),
        Row::at_least("share of feeds that succeeded", latencies[1].succeeded(), "", 1.0),
    ]
}

fn unread(world: &World) -> Vec<Row> {
    let server = world.serve();
    let feed = get(FEED, None);
    let before = (memory_mb(&server), socket_memory_mb());
    let many = feed.repeat(200);
    let open = |number: usize| {
        let mut stream = connect(world.attacker(number), server.address(), Some(4_096)).ok()?;
        stream.set_write_timeout(Some(Duration::from_millis(20))).ok()?;
        let _ = stream.write_all(&many);
        Some(stream)
    };
    let held: Vec<TcpStream> = (0..500).filter_map(open).collect();
    let seen = world.probe(&server, &feed, RATE);
    let rows = vec![
        Row::at_most("memory used by 500 connections", memory_mb(&server) - before.0, "MB", 128.0),
        Row::at_most("kernel memory for their sockets", socket_memory_mb() - before.1, "MB", 192.0),
        Row::at_most("slowest feed during the attack", seen.quantile(1.0), "ms", 300.0),
    ];
    drop(held);
    rows
}

fn searches(world: &World) -> Vec<Row> {
    let server = world.serve();
    let member = server.member("victim");
    let userinfo = get("/get_userinfo", Some(member.token()));
    let common: Vec<String> = (0..30).map(crate::data::word).collect();
    let search = post("/priority_search/300", &json!({ "search": common.join(" ") }));
    let alone = probe(&server, &userinfo, RATE, world.length / 3);
    let flood = |_: usize, stop: &AtomicBool| flood(world.one_attacker(), &server, stop, || search.clone());
    let (reads, search) = beside(ATTACKERS, flood, || {
        let reads = world.probe(&server, &userinfo, RATE);
        (reads, probe(&server, &post("/priority_search/3", &json!({ "search": "zan" })), 2, world.length))
    });
    vec![
        Row::at_most(
            "get_userinfo, median during the attack / before",
            slower(&alone, &reads, 0.5),
            "times",
            5.0,
        ),
        Row::at_most("get_userinfo, p99", reads.quantile(0.99), "ms", 50.0),
        Row::at_least("share of others' searches that succeeded", search.succeeded(), "", 0.9),
        Row::at_most("searches of others, p99", search.quantile(0.99), "ms", 2_000.0),
    ]
}

fn sign_ups(world: &World) -> Vec<Row> {
    let server = world.serve();
    server.member("victim");
    let sign_in = post("/sign_in", &json!({ "id": "victim", "pw": PASSWORD }));
    let next = AtomicUsize::new(0);
    let sign_up = || {
        let id = format!("m{}", next.fetch_add(1, Ordering::Relaxed));
        post("/sign_up", &json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id }))
    };
    let flood = |_: usize, stop: &AtomicBool| flood(world.one_attacker(), &server, stop, sign_up);
    let seen = beside(2 * ATTACKERS, flood, || {
        probe(&server, &sign_in, 3, world.length.max(Duration::from_secs(5)))
    });
    vec![
        Row::at_least("share of correct sign-ins that succeeded", seen.succeeded(), "", 1.0),
        Row::at_most("slowest correct sign-in", seen.quantile(1.0), "ms", 1_000.0),
    ]
}

fn connections(world: &World) -> Vec<Row> {
    let server = world.serve();
    let health = get("/readyz", None);
    let open = |_| {
        let mut stream = connect(world.one_attacker(), server.address(), None).ok()?;
        // A connection that has had a response may stay idle for longer than a new one.
        stream.write_all(&get("/healthz", None)).ok()?;
        Some(stream)
    };
    let held: Vec<TcpStream> = (0..10_500).map_while(open).collect();
    let begin = Instant::now();
    let answered = Connection::open(Ipv4Addr::LOCALHOST, server.address())
        .and_then(|mut connection| connection.ask(&health))
        .is_ok_and(|answer| answer.is_success());
    let took = begin.elapsed();
    let seen = probe(&server, &get(FEED, None), 20, world.length / 2);
    let rows = vec![
        Row::at_least("connections that the attacker opened", count(held.len()), "", 0.0),
        Row::at_least("readyz answers on a new connection (1: yes)", f64::from(u8::from(answered)), "", 1.0),
        Row::at_most("time to that answer", took.as_secs_f64() * 1_000.0, "ms", 1_000.0),
        Row::at_least("share of feeds that succeeded", seen.succeeded(), "", 1.0),
    ];
    drop(held);
    rows
}

fn file(world: &World) -> Vec<Row> {
    let server = world.serve();
    let member = server.member("victim");
    fs::remove_file(server.database()).unwrap();
    let begin = Instant::now();
    let detected = loop {
        let refused = member.get("/update_auto_login/1").body["result"] != "success";
        if refused && server.anyone().get("/readyz").status == 503 {
            break begin.elapsed();
        }
        if begin.elapsed() > Duration::from_secs(10) {
            break Duration::MAX;
        }
    };
    vec![Row::at_most("time until writes fail and readyz is 503", detected.as_secs_f64(), "s", 1.0)]
}

fn bodies(world: &World) -> Vec<Row> {
    let server = world.serve();
    let feed = get(FEED, None);
    let alone = ask_always(&server, &feed, READERS, world.length / 2);
    let mut body = String::from("{");
    while body.len() < 1_000_000 {
        let key = body.len();
        let _ = write!(body, "\"k{key:x}\":[1,2,{{\"a\":\"b\"}}],");
    }
    body.push_str("\"search\":\"x\"}");
    let request = post_text("/search_logging", &body);
    let send = |_: usize, stop: &AtomicBool| {
        flood(world.one_attacker(), &server, stop, || {
            // 130 requests per second in total.
            thread::sleep(Duration::from_millis(60));
            request.clone()
        });
    };
    let beside = beside(8, send, || ask_always(&server, &feed, READERS, world.length));
    vec![
        Row::at_most("feeds, p99 during the attack / before", slower(&alone, &beside, 0.99), "times", 4.0),
        Row::at_most("feeds during the attack, p99", beside.quantile(0.99), "ms", 25.0),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn count(count: usize) -> f64 {
    count as f64
}
