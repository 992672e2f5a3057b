//! Measures servers that share a database on PostgreSQL.
//!
//! ```text
//! cargo bench --bench servers                      # everything, about two minutes
//! cargo bench --bench servers -- likes userinfo    # some parts
//! cargo bench --bench servers -- --servers 1,3     # the numbers of servers (1 and 3 by default)
//! cargo bench --bench servers -- --connections 48  # of all clients together (96 by default)
//! cargo bench --bench servers -- --seconds 600 mixed
//! cargo bench --bench servers -- --posts 1000000 --servers 1 search
//! ```
//!
//! It starts PostgreSQL with `fsync` on in a temporary folder, and so many servers, which the clients share evenly. The
//! database, the servers and the clients are all on this machine, so nothing else should run there.
//!
//! | part | what its clients send |
//! |---|---|
//! | likes | likes of posts that the member has not liked; every tenth is a like or an unlike of one post |
//! | userinfo | `get_userinfo` of members |
//! | feed | the recommended feed of guests |
//! | search | searches for one to three words, drawn like those of titles: common and rare ones |
//! | mixed | likes and views, searches, topic feeds, changes of the profile, notices and reports |
//!
//! The part `search` first imports `--posts` generated posts of about 84 words in four languages (20,000 by default), and
//! reports the rate. Its clients have two connections, so that the latency is that of a search and not of a queue.
//!
//! A table has the rate, the latencies, and the deadlocks that the database has counted, of which there must be none. A failed
//! response fails its part, and the exit status is then 1.
#![expect(clippy::print_stdout, reason = "the table is the output")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use client::{Kind, Script, always, get, post_json};
use histogram::Histogram;
use serde_json::json;
use world::World;

#[path = "../load/answer.rs"]
mod answer;
#[expect(dead_code, reason = "the load benchmark uses all of it")]
#[path = "../load/client.rs"]
mod client;
#[path = "../../core/src/post/index/tests/agreement/corpus.rs"]
mod corpus;
#[path = "../load/histogram.rs"]
mod histogram;
mod world;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// The parts in the order in which they run.
const PARTS: [&str; 5] = ["likes", "userinfo", "feed", "search", "mixed"];
/// The number of connections that search.
const SEARCHING: usize = 2;
/// The number of words of the language of a search.
const WORDS: u32 = 60_000;

/// What is measured.
struct Options {
    parts: Vec<String>,
    servers: Vec<usize>,
    /// The number of connections of all clients together.
    connections: usize,
    length: Duration,
    /// The number of posts that are searched.
    posts: u64,
}

fn main() -> ExitCode {
    // `cargo test --benches` passes no `--bench`: there is nothing to test.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    match options().and_then(|options| measure(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options> {
    let (servers, length) = (vec![1, 3], Duration::from_secs(5));
    let mut options = Options { parts: Vec::new(), servers, connections: 96, length, posts: 20_000 };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--bench" => {}
            "--seconds" => options.length = Duration::from_secs(value()?.parse()?),
            "--connections" => options.connections = value()?.parse()?,
            "--posts" => options.posts = value()?.parse()?,
            "--servers" => {
                let numbers = value()?;
                options.servers = numbers.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            part if PARTS.contains(&part) => options.parts.push(part.to_owned()),
            other => return Err(format!("{other} is no part: {}", PARTS.join(", ")).into()),
        }
    }
    if options.parts.is_empty() {
        options.parts = PARTS.map(ToOwned::to_owned).to_vec();
    }
    Ok(options)
}

fn measure(options: &Options) -> Result<()> {
    println!(
        "{:<10} {:>7} {:>9} {:>8} {:>8} {:>8} {:>9}",
        "part", "servers", "rate", "p50 ms", "p99 ms", "max ms", "deadlocks"
    );
    for servers in &options.servers {
        let world = World::start(*servers)?;
        for part in &options.parts {
            if part == "search" {
                let (rate, size) = world.import(options.posts)?;
                println!("import     {servers:>7} {rate:>9.0} posts/s; the index has {size} MB");
            }
            let (rate, latency, busy) = run(&world, part, options)?;
            let ms = |latency: Duration| format!("{:.1}", latency.as_secs_f64() * 1_000.0);
            let [p50, p99] = [50.0, 99.0].map(|percent| ms(latency.percentile(percent)));
            let (longest, deadlocks) = (ms(latency.longest()), world.deadlocks());
            println!("{part:<10} {servers:>7} {rate:>9.0} {p50:>8} {p99:>8} {longest:>8} {deadlocks:>9}");
            if busy > 0.9 {
                println!("           the client was the bottleneck");
            }
            if deadlocks > 0 {
                return Err("transactions waited for each other in a circle".into());
            }
        }
    }
    Ok(())
}

/// Runs the clients of a part. Returns the rate of all servers, the latencies, and how busy the busiest client was.
fn run(world: &World, part: &str, options: &Options) -> Result<(f64, Histogram, f64)> {
    let connections = if part == "search" { SEARCHING } else { options.connections };
    let share = connections.div_ceil(world.servers.len());
    let acts = Acts {
        posts: world.posts.clone().into(),
        members: world.members.clone().into(),
        readers: world.readers.clone().into(),
        pairs: Arc::clone(&world.pairs),
        admin: world.admin.clone(),
    };
    let results = thread::scope(|scope| {
        let clients = world.servers.iter().enumerate().map(|(number, server)| {
            let (acts, first) = (acts.clone(), number * share);
            scope.spawn(move || {
                let scripts = (first..first + share).map(|client| acts.script(part, client)).collect();
                let [result] = client::run(server.address, [scripts], options.length)
                    .map_err(|error| error.to_string())?;
                Ok::<_, String>(result)
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().map(|client| client.join().expect("no client panics")).collect::<Vec<_>>()
    });
    let (mut rate, mut latency, mut busy) = (0.0, Histogram::new(), 0.0_f64);
    for result in results {
        let result = result?;
        rate += result.rate;
        latency.merge(&result.latency);
        busy = busy.max(result.client_busy);
    }
    Ok((rate, latency, busy))
}

/// What the requests are made of.
#[derive(Clone)]
struct Acts {
    posts: Arc<[String]>,
    /// The tokens of the members who act.
    members: Arc<[String]>,
    /// The tokens of members who only read.
    readers: Arc<[String]>,
    /// The number of pairs of a member and a post that clients have taken.
    pairs: Arc<AtomicUsize>,
    admin: String,
}

impl Acts {
    /// Returns the requests of a client.
    fn script(&self, part: &str, client: usize) -> Script {
        let (acts, member) = (self.clone(), self.members[client % self.members.len()].clone());
        let mut number = client;
        match part {
            "likes" => Box::new(move |out| {
                number += 1;
                let is_hot = number.is_multiple_of(10);
                out.extend(if is_hot { acts.hot(number) } else { acts.like()? });
                Some(Kind::Counted)
            }),
            "userinfo" => always(get("/get_userinfo", Some(&acts.readers[client % acts.readers.len()]))),
            "feed" => always(get("/get_recommendation_newsfeed", None)),
            "search" => {
                let mut random = corpus::Random::new(client as u64);
                Box::new(move |out| {
                    let words = 1 + random.below(3);
                    let search = corpus::search(&mut random, words, (0, WORDS));
                    out.extend(post_json("/priority_search/20", None, &json!({ "search": search })));
                    Some(Kind::Counted)
                })
            }
            _ => Box::new(move |out| {
                number += 1;
                out.extend(acts.mixed(number, &member));
                Some(Kind::Counted)
            }),
        }
    }

    /// A like of a post that the member has not liked.
    fn like(&self) -> Option<Vec<u8>> {
        let pair = self.pairs.fetch_add(1, Ordering::Relaxed);
        // The first post is the hot one.
        let post = self.posts.get(1 + pair / self.members.len())?;
        Some(get(&format!("/post_like/{post}"), Some(&self.members[pair % self.members.len()])))
    }

    /// A like or an unlike of one post.
    fn hot(&self, number: usize) -> Vec<u8> {
        let act = if number.is_multiple_of(20) { "post_like" } else { "post_unlike" };
        get(&format!("/{act}/{}", self.posts[0]), Some(&self.members[number / 20 % self.members.len()]))
    }

    /// One of the requests of a site. The posts and members are other ones each time.
    fn mixed(&self, number: usize, member: &str) -> Vec<u8> {
        let post = &self.posts[number.wrapping_mul(7_919) % self.posts.len()];
        let other = &self.members[number.wrapping_mul(31) % self.members.len()];
        match number % 50 {
            0..8 => get(&format!("/post_like/{post}"), Some(other)),
            8..12 => get(&format!("/post_unlike/{post}"), Some(other)),
            12..24 => get(&format!("/post_view/{post}"), Some(other)),
            24..28 => self.hot(number / 50),
            28..30 => post_json(
                "/search_logging",
                Some(other),
                &json!({ "search": format!("topic {}", number % 100) }),
            ),
            30..32 => get("/get_newsfeed_of_topic/all", Some(member)),
            32 => get(&format!("/update_auto_login/{}", number / 50 % 2), Some(other)),
            33 => post_json(
                "/change_nickname",
                Some(other),
                &json!({ "new_nickname": format!("Name {}", number % 10) }),
            ),
            34 if number.is_multiple_of(20) => {
                post_json("/insert_notice", Some(&self.admin), &json!({ "title": "News", "post": "Text." }))
            }
            35 => get("/insert_device/pc", None),
            36..42 => get("/get_userinfo", Some(other)),
            _ => get("/get_recommendation_newsfeed", Some(other)),
        }
    }
}
