//! Measures servers that share a database on PostgreSQL.
//!
//! ```text
//! cargo bench --bench servers                      # everything, about two minutes
//! cargo bench --bench servers -- likes userinfo    # some parts
//! cargo bench --bench servers -- --connections 48
//! cargo bench --bench servers -- --seconds 600 mixed
//! cargo bench --bench servers -- --posts 1000000 --servers 1 search
//! ```
//!
//! It starts PostgreSQL with `fsync` on in a temporary folder, and so many servers, which the clients share evenly. The
//! database, the servers and the clients are all on this machine, so nothing else should run there.
//!
//! The part `search` first imports `--posts` generated posts of about 84 words in four languages, and reports the rate. Its
//! clients have two connections, so that the latency is that of a search and not of a queue.
//!
//! A table has the rate, the latencies, and the deadlocks that the database has counted, of which there must be none. A failed
//! response fails its part, and the exit status is then 1.
#![expect(clippy::print_stdout, reason = "the table is the output")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use clap::{Parser, ValueEnum};
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
#[expect(dead_code, reason = "the load benchmark uses all of it")]
#[path = "../load/figures.rs"]
mod figures;
#[path = "../load/histogram.rs"]
mod histogram;
mod world;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const SEARCHING: usize = 2;
/// The number of words of the language of a search.
const WORDS: u32 = 60_000;

/// Measures servers that share a database on PostgreSQL
#[derive(Parser)]
struct Options {
    /// The parts to measure [default: all]
    parts: Vec<Part>,
    /// The numbers of servers
    #[arg(long, value_delimiter = ',', default_value = "1,3")]
    servers: Vec<usize>,
    /// The number of connections of all clients together
    #[arg(long, default_value_t = 96)]
    connections: usize,
    /// The length of each measurement in seconds
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// The number of posts that are searched
    #[arg(long, default_value_t = 20_000)]
    posts: u64,
    /// Added by cargo bench
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Part {
    /// Likes of posts that the member has not liked; every tenth is a like or an unlike of one post
    Likes,
    /// `get_userinfo` of members
    Userinfo,
    /// The recommended feed of guests
    Feed,
    /// Searches for one to three words, drawn like those of titles: common and rare ones
    Search,
    /// Likes and views, searches, topic feeds, changes of the profile, notices and reports
    Mixed,
}

fn main() -> Result<()> {
    let options = Options::parse();
    // `cargo test --benches` passes no `--bench`: there is nothing to test.
    if options.bench { measure(&options) } else { Ok(()) }
}

fn measure(options: &Options) -> Result<()> {
    println!(
        "{:<10} {:>7} {:>9} {:>8} {:>8} {:>8} {:>9}",
        "part", "servers", "rate", "p50 ms", "p99 ms", "max ms", "deadlocks"
    );
    for servers in &options.servers {
        let world = World::start(*servers)?;
        let is_chosen = |part: &Part| options.parts.is_empty() || options.parts.contains(part);
        for part in Part::value_variants().iter().copied().filter(is_chosen) {
            if part == Part::Search {
                let (rate, size) = world.import(options.posts)?;
                println!("import     {servers:>7} {rate:>9.0} posts/s; the index has {size} MB");
            }
            let (rate, latency, busy) = run(&world, part, options)?;
            let part = format!("{part:?}").to_lowercase();
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
fn run(world: &World, part: Part, options: &Options) -> Result<(f64, Histogram, f64)> {
    let connections = if part == Part::Search { SEARCHING } else { options.connections };
    let share = connections.div_ceil(world.servers.len());
    let results = thread::scope(|scope| {
        let clients = world.servers.iter().enumerate().map(|(number, (_, address))| {
            let (acts, first) = (world.acts.clone(), number * share);
            scope.spawn(move || {
                let scripts = (first..first + share).map(|client| acts.script(part, client)).collect();
                let [result] = client::run(*address, [scripts], Duration::from_secs(options.seconds))
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
#[derive(Clone, Default)]
struct Acts {
    posts: Arc<[String]>,
    /// The tokens of the administrator and of the members who act.
    admin: String,
    members: Arc<[String]>,
    /// The tokens of members who have liked nothing.
    readers: Arc<[String]>,
    /// The number of pairs of a member and a post that clients have taken.
    pairs: Arc<AtomicUsize>,
}

impl Acts {
    fn script(&self, part: Part, client: usize) -> Script {
        let (acts, member) = (self.clone(), self.members[client % self.members.len()].clone());
        let mut number = client;
        match part {
            Part::Likes => Box::new(move |out| {
                number += 1;
                let is_hot = number.is_multiple_of(10);
                out.extend(if is_hot { acts.hot(number) } else { acts.like()? });
                Some(Kind::Counted)
            }),
            Part::Userinfo => always(get("/get_userinfo", Some(&acts.readers[client % acts.readers.len()]))),
            Part::Feed => always(get("/get_recommendation_newsfeed", None)),
            Part::Search => {
                let mut random = corpus::Random::new(client as u64);
                Box::new(move |out| {
                    let words = 1 + random.below(3);
                    let search = corpus::search(&mut random, words, (0, WORDS));
                    out.extend(post_json("/priority_search/20", None, &json!({ "search": search })));
                    Some(Kind::Counted)
                })
            }
            Part::Mixed => Box::new(move |out| {
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
