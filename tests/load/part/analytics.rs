//! Measures the analytics reports, and the cost of counting requests.

use std::fs;

use super::MANY;
use super::reads::read;
use crate::Result;
use crate::client::{each, get};
use crate::data;
use crate::measure::{Turns, one_group};
use crate::program::{Program, Server};
use crate::table::Row;
use crate::world::{World, wait_for_feeds};

const REPORT_RATIO: f64 = 0.60;
const COUNTING_RATIO: f64 = 0.85;

pub(super) fn reports(world: &World, turns: Turns) -> Result<Vec<Row>> {
    let row = |path: &&str| Ok(read(world, turns, &path[1..], path)?.ratio_at_least(REPORT_RATIO));
    ["/get_analysis", "/get_everyday_analysis_days_ago/30"].iter().map(row).collect()
}

/// Compares guest feeds of two servers with the same posts, one of which does not log or count requests.
pub(super) fn counting(program: &Program, turns: Turns, posts: usize) -> Result<Vec<Row>> {
    fs::write(program.file("posts.jsonl"), data::posts(posts))?;
    let serve = |settings: &[&str]| -> Result<Server> {
        let database = program.init()?;
        program.import(&database, "post", "posts.jsonl", posts)?;
        program.train(&database)?;
        let server = program.serve(&database, settings)?;
        wait_for_feeds(server.address(), posts)?;
        Ok(server)
    };
    let (counted, plain) = (serve(&[])?, serve(&["--analytics", "off"])?);
    let feeds = [
        ("popular feed, counted", "/get_popularity_newsfeed"),
        ("recommended feed, counted", "/get_recommendation_newsfeed"),
    ];
    let mut rows = Vec::new();
    for (what, path) in feeds {
        let request = get(path, None);
        let mut without = |slice| one_group(plain.address(), each(MANY, &request), slice);
        let measured = turns.measure(&counted, Some(&mut without), || each(MANY, &request))?;
        let row = Row::measured(what, &measured).ratio_at_least(COUNTING_RATIO);
        rows.push(row.note("bare limit: --analytics off"));
    }
    Ok(rows)
}
