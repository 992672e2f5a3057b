//! Measures generic work with records, for comparison with other backends: insert one, read one by its id, and list 30.
//! The part `sign_in` measures signing in.

use std::path::Path;

use serde_json::json;

use super::MANY;
use super::reads::{read, read_each};
use crate::Result;
use crate::bare::Sqlite;
use crate::client::{always, ask_json, get, post_json};
use crate::data::{self, TOPICS};
use crate::measure::Turns;
use crate::table::Row;
use crate::world::World;

/// The number of records in a list.
const LISTED: usize = 30;

/// Measures reads, then inserts. Removes notices until 30 are left, because `get_all_notice` has no limit.
pub(super) fn records(world: &World, turns: &Turns, bare_database: &Path) -> Result<Vec<Row>> {
    for id in world.notices()?.iter().skip(LISTED) {
        ask_json(world.address(), &get(&format!("/remove_notice/{id}"), Some(world.administrator())))?;
    }
    let (notices, posts) = (world.notices()?, world.all_posts());
    let mut bare = Sqlite::open(bare_database)?;
    let popular = format!("/get_popularity_newsfeed?limit={LISTED}");
    let topic = format!("/get_newsfeed_of_topic/{}?limit={LISTED}", TOPICS[0]);
    Ok(vec![
        read_each(world, turns, "read a notice", "/get_notice", &notices, None)?,
        read_each(world, turns, "read a post", "/get_post", &posts[..MANY.min(posts.len())], None)?,
        read(world, turns, "list 30 notices", "/get_all_notice", None)?,
        read(world, turns, "list 30 popular posts", &popular, None)?,
        read(world, turns, "list 30 posts of a topic", &topic, None)?,
        feedback(world, turns, &mut bare)?,
        notice(world, turns, &mut bare)?,
    ])
}

/// Measures members who send feedback.
fn feedback(world: &World, turns: &Turns, bare: &mut Sqlite) -> Result<Row> {
    let notice = data::notice(0);
    let text = notice["post"].as_str().ok_or("a notice without text")?;
    let requests = world
        .members("writer", MANY)?
        .into_iter()
        .map(|token| post_json("/send_feedback", Some(&token), &json!({ "type": "general", "post": text })));
    insert(world, turns, "insert feedback of members", &requests.collect::<Vec<_>>(), (bare, text))
}

/// Measures an administrator who publishes notices on all connections.
fn notice(world: &World, turns: &Turns, bare: &mut Sqlite) -> Result<Row> {
    let notice = data::notice(0);
    let text = notice["post"].as_str().ok_or("a notice without text")?;
    let request = post_json("/insert_notice", Some(world.administrator()), &notice);
    insert(world, turns, "insert a notice", &vec![request; MANY], (bare, text))
}

fn insert(
    world: &World,
    turns: &Turns,
    what: &str,
    requests: &[Vec<u8>],
    (bare, text): (&mut Sqlite, &str),
) -> Result<Row> {
    let mut commits = |slice| bare.rate_of_texts(text, slice);
    let measured = turns
        .measure(world.server(), &mut [&mut commits], || requests.iter().cloned().map(always).collect())?;
    let row = Row::measured(what, &measured).beside(measured.limits[0]);
    Ok(row.note(format!("{} bytes of text; bare limit: sequential commits", text.len())))
}
