//! Measures the analytics reports, and the cost of counting requests.

use std::fs;

use super::MANY;
use super::reads::read;
use crate::Result;
use crate::client::{each, get};
use crate::data;
use crate::measure::{Turns, one_group};
use crate::program::Program;
use crate::server::Server;
use crate::table::Row;
use crate::world::{World, wait_for_feeds};

const REPORT_RATIO: f64 = 0.60;
const COUNTING_RATIO: f64 = 0.85;

pub(super) fn reports(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    let reports =
        ["/get_analysis", "/get_everyday_analysis_days_ago/30", "/get_search_realtime", "/get_device"];
    reports.iter().map(|path| read(world, turns, &path[1..], path, Some(REPORT_RATIO))).collect()
}

/// Compares guest feeds of two servers with the same posts, one of which does not log or count requests.
pub(super) fn counting(program: &Program, turns: &Turns, posts: usize) -> Result<Vec<Row>> {
    let file = program.directory.join("posts.jsonl");
    fs::write(&file, data::posts(posts))?;
    let serve = |settings: &[&str]| -> Result<Server> {
        let database = program.init()?;
        program.import(&database, "post", &file, posts)?;
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
        let measured = turns.measure(&counted, &mut [&mut without], || each(MANY, &request))?;
        let row = Row::measured(what, &measured).against(measured.limits[0], COUNTING_RATIO);
        rows.push(row.note("bare limit: --analytics off"));
    }
    Ok(rows)
}
