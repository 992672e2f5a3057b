//! Measures what members with a history read, searches, and reports, compared with a bare warp server that responds with the
//! same bytes, or with an FTS5 index alone. The targets are processor time of the server for each request.

use serde_json::json;

use super::reads::row;
use super::{FEW, MANY};
use crate::Result;
use crate::bare::{self, Fts};
use crate::client::{Script, always, ask, each, get, get_unless, page, post_json, tag_and_length};
use crate::data::{TOPICS, word};
use crate::measure::{Turns, one_group};
use crate::table::Row;
use crate::world::{Reader, World};

/// The number of members with a history.
const MEMBERS: usize = 60;
/// The number of searches of each of them.
pub(super) const SEARCHES: usize = 300;

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
        ("get_my_data", "/get_my_data", 8_000.0),
    ] {
        rows.push(of_members(world, turns, what, &readers, path)?.cpu_at_most(cpu_us));
    }
    rows.insert(1, unchanged(world, turns, &readers)?.cpu_at_most(30.0));
    Ok(rows)
}

/// Measures `get_userinfo` for members whose apps have the current content.
fn unchanged(world: &World, turns: &Turns, readers: &[Reader]) -> Result<Row> {
    const PATH: &str = "/get_userinfo";
    let conditional = |reader: &Reader| {
        let (tag, _) = tag_and_length(world.address(), PATH, Some(&reader.token))?;
        Ok(get_unless(PATH, Some(&reader.token), &tag))
    };
    let requests = readers.iter().take(FEW).map(conditional).collect::<Result<Vec<_>>>()?;
    let bare = bare::warp_unchanged("etag: \"4c3282b53cd7086b89a5f8d918591504\"")?;
    let mut limit = |slice| one_group(bare.address, each(FEW, &get(bare::PATH, None)), slice);
    let scripts = || -> Vec<Script> { requests.iter().cloned().map(always).collect() };
    let measured = turns.measure(world.server(), &mut [&mut limit], scripts)?;
    Ok(row("history: get_userinfo, 304", 0, &measured, None))
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
pub(super) fn searches(world: &World, turns: &Turns, posts: usize) -> Result<Vec<Row>> {
    let words = [word(0), word(1)];
    let search = json!({ "search": words.join(" ") });
    let category = format!("/category_search/{}/20", TOPICS[0]);
    let (fts, mut rows) = (Fts::new(posts)?, Vec::new());
    for (what, path) in [
        ("search", "/priority_search/20"),
        ("category search", &category),
        ("domain search", "/domain_search"),
    ] {
        let request = post_json(path, None, &search);
        let mut alone = |slice| fts.rate([&words[0], &words[1]], slice);
        let measured = turns.measure(world.server(), &mut [&mut alone], || each(FEW, &request))?;
        let row = Row::measured(what, &measured).beside(measured.limits[0]).cpu_at_most(1_000.0);
        rows.push(row.note("bare limit: FTS5 alone, on one processor"));
    }
    let report = ask(world.address(), &get("/get_report", None))?;
    let shown = page(world.address(), "/reports")?;
    for (path, body) in [("/get_report", report), ("/reports", shown.into_bytes())] {
        let (request, bare) = (get(path, None), get(bare::PATH, None));
        let measured = turns.against_warp(MANY, (&bare, &body), world.server(), || each(MANY, &request))?;
        rows.push(row(path, body.len(), &measured, None).cpu_at_most(50.0));
    }
    Ok(rows)
}
