//! Measures importing all posts, and starting a server with all posts.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::client::whole;
use crate::data;
use crate::measure::{Turns, middle};
use crate::program::{self, Program};
use crate::table::Row;
use crate::world::{self, FEED_POSTS, feed_length};

/// The number of repetitions; odd, so that there is a median.
const TIMES: usize = 5;
const IMPORT_RATE: f64 = 20_000.0;
const START_SECONDS: f64 = 0.1;
const START_MB: f64 = 100.0;

pub(super) fn import(program: &Program, turns: &Turns, posts: usize) -> Result<Vec<Row>> {
    let lines = data::posts(posts);
    let file = write_file(program, &lines)?;
    let (mut over_http, mut by_command, mut processor_time) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        over_http.push(turns.undisturbed(|| {
            let server = program.serve(&program.init()?, &[])?;
            let token = program::administrator(server.address())?;
            let before = server.processor_time();
            let rate = rate(posts, world::import(server.address(), &token, &lines, posts)?);
            processor_time.extend(server.processor_time_since(before));
            Ok(rate)
        })?);
        by_command
            .push(turns.undisturbed(|| Ok(rate(posts, program.import(&program.init()?, &file, posts)?)))?);
    }
    let count = posts as u64;
    let costs = turns.count(
        &program.serve_counting(&program.init()?, &[])?,
        program::administrator,
        |address, token| world::import(address, &token, &lines, posts).map(|_| count),
    )?;
    processor_time.sort();
    let costs = costs.with_processor_time(processor_time.get(processor_time.len() / 2).copied(), count);
    let row = |what, rates| Row::new(what, middle(rates), "posts/s").at_least(IMPORT_RATE);
    Ok(vec![
        row("import over HTTP", over_http).costs(costs).note("the whole request; costs are per post"),
        row("import by command", by_command).note("the whole command"),
    ])
}

fn rate(posts: usize, took: Duration) -> f64 {
    whole(posts as u64) / took.as_secs_f64()
}

fn write_file(program: &Program, lines: &str) -> Result<PathBuf> {
    let file = program.directory.join("posts.jsonl");
    fs::write(&file, lines)?;
    Ok(file)
}

/// Measures repeated starts with all posts; the first response must be a full feed.
pub(super) fn start(program: &Program, turns: &Turns, posts: usize) -> Result<Vec<Row>> {
    let database = program.init()?;
    program.import(&database, &write_file(program, &data::posts(posts))?, posts)?;
    program.train(&database)?;
    let (mut seconds, mut memory, mut later, mut greatest) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let (server, took, answered) = turns.undisturbed(|| {
            let started = Instant::now();
            let server = program.serve(&database, &[])?;
            let answered = feed_length(server.address(), "/get_popularity_newsfeed")?;
            Ok((server, started.elapsed(), answered))
        })?;
        if answered < posts.min(FEED_POSTS) {
            return Err(format!("the first response after the start has {answered} posts").into());
        }
        seconds.push(took.as_secs_f64());
        memory.push(server.memory_kb("VmRSS")? / 1024.0);
        thread::sleep(Duration::from_secs(2));
        later.push(server.memory_kb("VmRSS")? / 1024.0);
        greatest.push(server.memory_kb("VmHWM")? / 1024.0);
    }
    let note = format!("{:.0} after two seconds, peak {:.0}", middle(later), middle(greatest));
    Ok(vec![
        Row::new("start to first response", middle(seconds), "s").at_most(START_SECONDS),
        Row::new("memory after the start", middle(memory), "MB").at_most(START_MB).note(note),
    ])
}
