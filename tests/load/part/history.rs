//! Measures what members with a history read, searches, and reports, compared with a bare warp server that responds with the
//! same bytes. The targets are processor time of the server for each request.

use serde_json::json;

use super::reads::row;
use super::{FEW, MANY};
use crate::Result;
use crate::bare;
use crate::client::{always, ask, each, get, post_json};
use crate::data::{TOPICS, word};
use crate::measure::Turns;
use crate::table::Row;
use crate::world::{Reader, World};

/// The number of members with a history.
const MEMBERS: usize = 60;
/// The number of searches of each of them.
const SEARCHES: usize = 300;

/// Measures the lists and feeds of members with a history.
pub(super) fn history(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    let readers = world.searchers("history", MEMBERS, SEARCHES)?;
    let topic = format!("/get_newsfeed_of_topic/{}", TOPICS[0]);
    let mut rows = Vec::new();
    for (what, path, cpu_us) in [
        ("get_userinfo", "/get_userinfo", 100.0),
        ("likes", "/get_specific_userinfo/1", 200.0),
        ("views", "/get_specific_userinfo/2", 80.0),
        ("searches", "/get_specific_userinfo/3", 80.0),
        ("opened newsfeeds", "/get_specific_userinfo/4", 80.0),
        ("all lists", "/get_specific_userinfo/0", 440.0),
        ("popular feed with liked", "/get_popularity_newsfeed?liked=1", 60.0),
        ("topic feed", &topic, 60.0),
        ("recommended feed with why", "/get_recommendation_newsfeed?why=1", 100.0),
        ("get_user_lately_search of 50", "/get_user_lately_search/50", 40.0),
    ] {
        rows.push(of_members(world, turns, what, &readers, path)?.cpu_at_most(cpu_us));
    }
    Ok(rows)
}

/// Measures a path for each member in turn.
fn of_members(world: &World, turns: &Turns, what: &str, readers: &[Reader], path: &str) -> Result<Row> {
    let first = readers.first().map(|reader| reader.token.as_str());
    let body = ask(world.address(), &get(path, first))?;
    let measured = turns.against_warp(FEW, (&get(bare::PATH, first), &body), world.server(), || {
        readers.iter().map(|reader| always(get(path, Some(&reader.token)))).take(FEW).collect()
    })?;
    Ok(row(&format!("history: {what}"), body.len(), &measured, None))
}

/// Measures searches for two frequent words, and the report.
pub(super) fn searches(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    let search = json!({ "search": format!("{} {}", word(0), word(1)) });
    let category = format!("/category_search/{}/20", TOPICS[0]);
    let mut rows = Vec::new();
    for (what, path) in [
        ("search", "/priority_search/20"),
        ("category search", &category),
        ("domain search", "/domain_search"),
    ] {
        rows.push(of_guests(world, turns, what, &post_json(path, None, &search))?.cpu_at_most(1_000.0));
    }
    let report = get("/get_report", None);
    rows.push(of_guests(world, turns, "get_report", &report)?.cpu_at_most(50.0));
    Ok(rows)
}

fn of_guests(world: &World, turns: &Turns, what: &str, request: &[u8]) -> Result<Row> {
    let body = ask(world.address(), request)?;
    let bare = get(bare::PATH, None);
    let measured = turns.against_warp(MANY, (&bare, &body), world.server(), || each(MANY, request))?;
    Ok(row(what, body.len(), &measured, None))
}
