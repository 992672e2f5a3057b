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

const LISTED: usize = 30;

/// Measures reads, then inserts. Removes notices until 30 are left, because `get_all_notice` has no limit.
pub(super) fn records(world: &World, turns: Turns, bare_database: &Path) -> Result<Vec<Row>> {
    for id in world.notices()?.iter().skip(LISTED) {
        ask_json(world.address(), &get(&format!("/remove_notice/{id}"), Some(world.administrator())))?;
    }
    let (notices, posts) = (world.notices()?, world.all_posts());
    let mut bare = Sqlite::open(bare_database)?;
    let popular = format!("/get_popularity_newsfeed?limit={LISTED}");
    let topic = format!("/get_newsfeed_of_topic/{}?limit={LISTED}", TOPICS[0]);
    let notice = data::notice(0);
    let text = notice["post"].as_str().ok_or("a notice without text")?;
    let publish = post_json("/insert_notice", Some(world.administrator()), &notice);
    let message = json!({ "type": "general", "post": text });
    let writers = world.members("writer", MANY)?;
    let feedback: Vec<_> =
        writers.iter().map(|token| post_json("/send_feedback", Some(token), &message)).collect();
    Ok(vec![
        read_each(world, turns, "read a notice", "/get_notice", &notices)?,
        read_each(world, turns, "read a post", "/get_post", &posts[..MANY.min(posts.len())])?,
        read(world, turns, "list 30 notices", "/get_all_notice")?,
        read(world, turns, "list 30 popular posts", &popular)?,
        read(world, turns, "list 30 posts of a topic", &topic)?,
        insert(world, turns, "insert feedback of members", &feedback, (&mut bare, text))?,
        insert(world, turns, "insert a notice", &vec![publish; MANY], (&mut bare, text))?,
    ])
}

fn insert(
    world: &World,
    turns: Turns,
    what: &str,
    requests: &[Vec<u8>],
    (bare, text): (&mut Sqlite, &str),
) -> Result<Row> {
    let mut commits = |slice| bare.rate_of_texts(text, slice);
    let scripts = || requests.iter().cloned().map(always).collect();
    let row = Row::measured(what, &turns.measure(world.server(), Some(&mut commits), scripts)?);
    Ok(row.note(format!("{} bytes of text; bare limit: sequential commits", text.len())))
}
