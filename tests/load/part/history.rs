//! Measures what members with a history read, compared with a bare warp server that responds with the same bytes, and
//! searches, compared with an FTS5 index alone. The targets are processor time of the server for each request.

use serde_json::json;

use super::FEW;
use super::reads::of_members;
use crate::Result;
use crate::bare::Fts;
use crate::client::{each, post_json};
use crate::data::{TOPICS, word};
use crate::measure::Turns;
use crate::table::Row;
use crate::world::World;

const MEMBERS: usize = 60;
pub(super) const SEARCHES: usize = 300;

pub(super) fn history(world: &World, turns: Turns) -> Result<Vec<Row>> {
    let readers = world.searchers("history", MEMBERS, SEARCHES)?;
    let tokens: Vec<_> = readers.into_iter().take(FEW).map(|reader| reader.token).collect();
    let topic = format!("/get_newsfeed_of_topic/{}", TOPICS[0]);
    let rows = [
        ("get_userinfo", "/get_userinfo", 100.0),
        ("likes", "/get_specific_userinfo/1", 200.0),
        ("views", "/get_specific_userinfo/2", 80.0),
        ("topic feed", &topic, 60.0),
        ("recommended feed with why", "/get_recommendation_newsfeed?why=1", 100.0),
        ("get_my_data", "/get_my_data", 8_000.0),
    ];
    let row = |(what, path, cpu_us): (&str, &str, f64)| {
        Ok(of_members(world, turns, &format!("history: {what}"), path, &tokens)?.cpu_at_most(cpu_us))
    };
    rows.into_iter().map(row).collect()
}

pub(super) fn searches(world: &World, turns: Turns, posts: usize) -> Result<Vec<Row>> {
    let (words, fts) = ([word(0), word(1)], Fts::new(posts)?);
    let request = post_json("/priority_search/20", None, &json!({ "search": words.join(" ") }));
    let mut alone = |slice| fts.rate([&words[0], &words[1]], slice);
    let measured = turns.measure(world.server(), Some(&mut alone), || each(FEW, &request))?;
    let row = Row::measured("search", &measured).cpu_at_most(1_000.0);
    Ok(vec![row.note("bare limit: FTS5 alone, on one processor")])
}
