//! Measures mixed load for a longer time: what members do, searches, and an import, all at once. Reports the rate, the slowest
//! responses, and how large the write-ahead log becomes.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tidings_vectors::Random;

use super::history::SEARCHES;
use crate::Result;
use crate::client::{Kind, Noted, Script, get, post, post_json, run};
use crate::cost::Costs;
use crate::data::{Posts, search};
use crate::figures::whole;
use crate::histogram::Histogram;
use crate::measure::Turns;
use crate::table::Row;
use crate::world::{Reader, World};

const MEMBERS: usize = 24;
/// The measurement takes longer than others by this factor, because a log may grow slowly.
const LONGER: u32 = 10;
/// The time between two readings of the size of the log.
const READING: Duration = Duration::from_millis(10);
/// The target for the size of the log in MiB.
const LOG_MIB: f64 = 128.0;
/// The targets for the rate and the slowest responses without imports, of all requests and of two kinds.
const RATE: f64 = 5_000.0;
const P99_MS: f64 = 50.0;
const FEEDS_P99_MS: f64 = 10.0;
const LIKES_P99_MS: f64 = 50.0;
const IMPORTED: usize = 500;
const MIB: f64 = 1_048_576.0;

/// Measures feeds, likes, views, searches and profiles of members, then the same beside imports.
pub(super) fn mixed(world: &World, turns: Turns) -> Result<Vec<Row>> {
    let readers = world.searchers("mixed", MEMBERS, SEARCHES)?;
    let mut rows = measure(world, turns, "mixed load", [member_scripts(world, &readers), Vec::new()])?;
    let scripts = [member_scripts(world, &readers), vec![imports(world.administrator().to_owned())]];
    rows.append(&mut measure(world, turns, "mixed load beside imports", scripts)?);
    Ok(rows)
}

/// Returns the rows of one measurement: the rate with latencies, and the log.
fn measure(world: &World, turns: Turns, what: &str, scripts: [Vec<Script>; 2]) -> Result<Vec<Row>> {
    let server = world.server();
    let mut log = server.database().into_os_string();
    log.push("-wal");
    let (used, is_over, length) = (server.processor_time(), AtomicBool::new(false), turns.length() * LONGER);
    let (load, log_bytes) = thread::scope(|scope| {
        let sizes = scope.spawn(|| largest(Path::new(&log), &is_over));
        let load = run(world.address(), scripts, length);
        is_over.store(true, Ordering::Release);
        (load, sizes.join().unwrap_or_default())
    });
    let [members, imports] = load?;
    let is_alone = imports.answered == 0;
    let [feeds, likes] = &members.noted;
    let latency = |of: &str, histogram: &Histogram, p99_ms| {
        let rate = whole(histogram.count()) / length.as_secs_f64();
        let row = Row::new(format!("{what}: {of}"), rate, "/s").latency(histogram);
        if is_alone { row.p99_under(p99_ms) } else { row }
    };
    let costs = Costs::default().with_processor_time(server.processor_time_since(used), members.answered);
    let all = Row::new(what, members.rate, "/s").latency(&members.latency).client_busy(members.client_busy);
    let all = all.costs(costs);
    let all = if is_alone {
        let note = format!("{MEMBERS} members, {:.0} seconds", length.as_secs_f64());
        all.at_least(RATE).p99_under(P99_MS).note(note)
    } else {
        all.note(format!("{} imports of {IMPORTED} posts", imports.answered))
    };
    Ok(vec![
        all,
        latency("feeds of guests", feeds, FEEDS_P99_MS),
        latency("likes", likes, LIKES_P99_MS),
        Row::new(format!("{what}: largest log"), whole(log_bytes) / MIB, "MiB").at_most(LOG_MIB),
    ])
}

/// Returns the largest size that a file had until `is_over` is set, in bytes.
fn largest(file: &Path, is_over: &AtomicBool) -> u64 {
    let mut largest = 0;
    while !is_over.load(Ordering::Acquire) {
        largest = largest.max(std::fs::metadata(file).map_or(0, |about| about.len()));
        thread::sleep(READING);
    }
    largest
}

fn member_scripts(world: &World, readers: &[Reader]) -> Vec<Script> {
    let posts = world.all_posts();
    let scripts = readers.iter().zip(1..).map(|(reader, seed)| {
        let (token, posts, mut random) = (reader.token.clone(), posts.clone(), Random::new(seed));
        let script: Script = Box::new(move |out| {
            let token = Some(token.as_str());
            let act = |act: &str, id: &str| get(&format!("/post_{act}/{id}"), token);
            let id = random.pick(&posts).as_str();
            let choice = random.below(10);
            out.extend_from_slice(&match choice {
                0 => get("/get_popularity_newsfeed", None),
                1 => get("/get_recommendation_newsfeed", token),
                2 => get("/get_newsfeed_of_topic/library", token),
                3 | 4 => act("view", id),
                5 => act("like", id),
                6 => act("unlike", id),
                7 => get("/get_specific_userinfo/0", token),
                8 => post_json("/search_logging", token, &search(&mut random)),
                _ => post_json("/priority_search/20", token, &search(&mut random)),
            });
            Some(match choice {
                0 => Kind::CountedAs(Noted::Feed),
                5 => Kind::CountedAs(Noted::Like),
                _ => Kind::Counted,
            })
        });
        script
    });
    scripts.collect()
}

fn imports(token: String) -> Script {
    let mut posts = Posts::new();
    // The first ones exist.
    let mut imported = 0;
    Box::new(move |out| {
        let lines = posts.lines(IMPORTED).replace("/board/", &format!("/board-{imported}/"));
        imported += 1;
        out.extend_from_slice(&post("/import_posts", Some(&token), "application/x-ndjson", lines.as_bytes()));
        Some(Kind::Counted)
    })
}
