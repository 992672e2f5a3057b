//! Measures importing all posts, members and acts, and starting a server with all posts.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::data;
use crate::figures::whole;
use crate::measure::{Turns, middle};
use crate::program::{self, Program};
use crate::table::Row;
use crate::world::{self, FEED_POSTS, feed_length};

/// The number of repetitions; odd, so that there is a median.
const TIMES: usize = 5;
const POST_RATE: f64 = 60_000.0;
const MEMBER_RATE: f64 = 100_000.0;
const ACT_RATE: f64 = 100_000.0;
/// So many members and acts that the start of the command hardly counts.
const MEMBERS_PER_POST: usize = 5;
const ACTS_PER_POST: usize = 5;
const START_SECONDS: f64 = 0.1;
const START_MB: f64 = 100.0;

pub(super) fn import(program: &Program, turns: Turns, posts: usize) -> Result<Vec<Row>> {
    let lines = data::posts(posts);
    let (members, acts) = (posts * MEMBERS_PER_POST, posts * ACTS_PER_POST);
    let kinds = [("post", posts), ("member", members), ("act", acts)];
    fs::write(program.file("post.jsonl"), &lines)?;
    fs::write(program.file("member.jsonl"), data::members(members))?;
    fs::write(program.file("act.jsonl"), data::acts(acts, posts, members))?;
    let (mut over_http, mut by_command) = (Vec::new(), [const { Vec::new() }; 3]);
    let mut processor_time = Vec::new();
    for _ in 0..TIMES {
        let server = program.serve(&program.init()?, &[])?;
        let token = program::administrator(server.address())?;
        let before = server.processor_time();
        over_http.push(rate(posts, world::import(server.address(), &token, &lines, posts)?));
        processor_time.extend(server.processor_time_since(before));
        drop(server);
        let database = program.init()?;
        for ((kind, count), rates) in kinds.into_iter().zip(&mut by_command) {
            rates.push(rate(count, program.import(&database, kind, &format!("{kind}.jsonl"), count)?));
        }
    }
    let counting = program.serve_counting(&program.init()?, &[])?;
    let token = program::administrator(counting.address())?;
    let count = posts as u64;
    let costs =
        turns.count(&counting, || world::import(counting.address(), &token, &lines, posts).map(|_| count))?;
    processor_time.sort();
    let costs = costs.with_processor_time(processor_time.get(processor_time.len() / 2).copied(), count);
    let row = |what, rates, unit, wanted| Row::new(what, middle(rates), unit).at_least(wanted);
    let [posts, members, acts] = by_command;
    Ok(vec![
        row("import over HTTP", over_http, "posts/s", POST_RATE)
            .costs(costs)
            .note("the whole request; costs are per post"),
        row("import by command", posts, "posts/s", POST_RATE).note("the whole command"),
        row("import of members", members, "members/s", MEMBER_RATE).note("the whole command"),
        row("import of acts", acts, "acts/s", ACT_RATE).note("the whole command"),
    ])
}

fn rate(count: usize, took: Duration) -> f64 {
    whole(count as u64) / took.as_secs_f64()
}

/// Measures repeated starts with all posts; the first response must be a full feed.
pub(super) fn start(program: &Program, posts: usize) -> Result<Vec<Row>> {
    let database = program.init()?;
    fs::write(program.file("post.jsonl"), data::posts(posts))?;
    program.import(&database, "post", "post.jsonl", posts)?;
    program.train(&database)?;
    let (mut seconds, mut memory, mut later) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let started = Instant::now();
        let server = program.serve(&database, &[])?;
        let answered = feed_length(server.address(), "/get_popularity_newsfeed")?;
        seconds.push(started.elapsed().as_secs_f64());
        if answered < posts.min(FEED_POSTS) {
            return Err(format!("the first response after the start has {answered} posts").into());
        }
        memory.push(server.memory_mb()?);
        thread::sleep(Duration::from_secs(2));
        later.push(server.memory_mb()?);
    }
    let note = format!("{:.0} after two seconds", middle(later));
    Ok(vec![
        Row::new("start to first response", middle(seconds), "s").at_most(START_SECONDS),
        Row::new("memory after the start", middle(memory), "MB").at_most(START_MB).note(note),
    ])
}
