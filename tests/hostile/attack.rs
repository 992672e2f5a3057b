//! The attacks, each with what it measures.

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

/// Requests of the victim in a second.
const RATE: u32 = 100;
/// Attackers that ask at once, where one more would not make it worse.
const ATTACKERS: usize = 64;
/// Readers of a feed who ask again as soon as they are answered.
const READERS: usize = 8;

/// An attack.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// Failed sign-ins with long ids, which must not stay in memory
    Ids,
    /// Requests for ever-new paths, each of which is a new row of the access log
    Paths,
    /// HTTP/2 streams whose answers are never let through
    Streams,
    /// HTTP/1.1 clients that ask and never read
    Unread,
    /// Searches that match nearly every post
    Searches,
    /// Sign-ups, each of which costs a password hash
    SignUps,
    /// As many open connections as the server has
    Connections,
    /// The database file is removed under the server
    File,
    /// Large JSON bodies
    Bodies,
    /// Request targets that no client sends
    Targets,
}

impl Attack {
    /// Runs the attack against a server of its own.
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
            Self::Targets => targets(world),
        }
    }
}

const FEED: &str = "/get_popularity_newsfeed";
/// Long answers that differ, so that no two share their memory.
const REPORTS: &str = "/get_everyday_analysis_days_ago/";

/// Runs `attackers` threads that call `attack` again and again, and `victim` beside them, after half a second.
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

/// Asks the same server again and again on one connection, with the request that `next` makes; begins again when the
/// server closes the connection.
fn flood(from: Ipv4Addr, server: &Server, stop: &AtomicBool, mut next: impl FnMut() -> Vec<u8>) {
    let Ok(mut connection) = Connection::open(from, server.address()) else { return };
    while !stop.load(Ordering::Relaxed) {
        if connection.ask(&next()).is_err() {
            return;
        }
    }
}

/// How many times slower the second is than the first, at this share of the answers.
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
        // A client is refused after fifty failures, so there are many.
        let from = world.attacker(1 + number / 40);
        let mut connection = Connection::open(from, server.address()).unwrap();
        connection.ask(&sign_in(number, length)).unwrap();
    };
    // Buffers and caches have their size before anything is measured.
    (0..20).for_each(|number| ask(number, 1_000_000));
    let before = memory_mb(&server);
    (20..420).for_each(|number| ask(number, 1_000_000));
    vec![Row::at_most("memory that 400 ids of 1 MB leave behind", memory_mb(&server) - before, "MB", 20.0)]
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
            // Each answer to an unknown topic is an empty list.
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
        Row::at_least("requests for new paths a second", rate, "/s", 0.0),
        Row::at_most("slowest like meanwhile", likes.quantile(1.0), "ms", 300.0),
        Row::at_least("likes that succeeded", likes.succeeded(), "", 1.0),
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
        Row::at_most("memory that 100 connections hold", most, "MB", 256.0),
        Row::at_most("feeds meanwhile, p99 beside alone", slower(&alone, &latencies[1], 0.99), "times", 10.0),
        Row::at_least("feeds that were answered", latencies[1].succeeded(), "", 1.0),
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
        Row::at_most("memory that 500 connections hold", memory_mb(&server) - before.0, "MB", 128.0),
        Row::at_most("memory of the kernel for them", socket_memory_mb() - before.1, "MB", 192.0),
        Row::at_most("slowest feed meanwhile", seen.quantile(1.0), "ms", 300.0),
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
        Row::at_most("get_userinfo, median beside alone", slower(&alone, &reads, 0.5), "times", 5.0),
        Row::at_most("get_userinfo, p99", reads.quantile(0.99), "ms", 50.0),
        Row::at_least("searches of others that succeeded", search.succeeded(), "", 0.9),
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
        Row::at_least("correct sign-ins that succeeded", seen.succeeded(), "", 1.0),
        Row::at_most("slowest of them", seen.quantile(1.0), "ms", 1_000.0),
    ]
}

fn connections(world: &World) -> Vec<Row> {
    let server = world.serve();
    let health = get("/readyz", None);
    let open = |_| {
        let mut stream = connect(world.one_attacker(), server.address(), None).ok()?;
        // A connection that has had an answer may be silent for longer than one that has not.
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
        Row::at_least("readyz was answered on a new connection", f64::from(u8::from(answered)), "", 1.0),
        Row::at_most("after", took.as_secs_f64() * 1_000.0, "ms", 1_000.0),
        Row::at_least("feeds that were answered", seen.succeeded(), "", 1.0),
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
    vec![Row::at_most("until writes fail and readyz is 503", detected.as_secs_f64(), "s", 1.0)]
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
            // 130 a second in all.
            thread::sleep(Duration::from_millis(60));
            request.clone()
        });
    };
    let beside = beside(8, send, || ask_always(&server, &feed, READERS, world.length));
    vec![
        Row::at_most("feeds meanwhile, p99 beside alone", slower(&alone, &beside, 0.99), "times", 4.0),
        Row::at_most("feeds meanwhile, p99", beside.quantile(0.99), "ms", 25.0),
    ]
}

fn targets(world: &World) -> Vec<Row> {
    let server = world.serve();
    let odd = ["CONNECT h:80", "GET evil:80", "CONNECT /x", "GET *", "OPTIONS *"];
    let refused = odd.iter().filter(|target| {
        let request = format!("{target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let status = server.try_raw(request).map(|answer| answer.status);
        matches!(status, Some(400 | 404 | 405))
    });
    let refused = count(refused.count());
    let panics = server.log().matches("panicked").count();
    vec![
        Row::at_least("odd request targets that are refused", refused, "", count(odd.len())),
        Row::at_most("panics in the log", count(panics), "", 0.0),
    ]
}

/// A count as a figure.
#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^53")]
fn count(count: usize) -> f64 {
    count as f64
}
