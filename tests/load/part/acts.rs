//! Measures acts of members: likes, and recommended feeds that depend on the likes.

use std::path::Path;

use super::{FEW, MANY};
use crate::Result;
use crate::bare::Sqlite;
use crate::client::{Kind, Script, ask_json, each, get};
use crate::measure::{Measured, Turns};
use crate::table::Row;
use crate::world::{HISTORY, Reader, World};

const FEED: &str = "/get_recommendation_newsfeed";
/// The targets for members' feeds: feeds per second, and latency.
const FEED_RATE: f64 = 2_500.0;
const FEED_P99_MS: f64 = 5.0;
/// The number of members who like a post and read their feed in turns.
const READERS: usize = 50;
/// The target for concurrent likes, relative to sequential commits.
const LIKE_RATIO: f64 = 4.0;

/// Measures the feed of one member who only reads, and of members who like a post before each feed.
pub(super) fn member_feed(world: &World, turns: Turns) -> Result<Vec<Row>> {
    let (calm, lively) = (world.readers("calm", 1)?, world.readers("lively", READERS)?);
    let request = get(FEED, calm.first().map(|reader| reader.token.as_str()));
    let answer = ask_json(world.address(), &request)?;
    let posts = answer["newsfeed"].as_array().map_or(0, Vec::len);

    let unchanged = turns.measure(world.server(), None, || each(FEW, &request))?;
    let changing = turns
        .measure(world.server(), None, || (0..FEW).map(|client| like_and_read(&lively, client)).collect())?;
    let history = format!("{HISTORY} likes and views, {posts} posts");
    Ok(vec![
        member_row("member's feed, unchanged", &unchanged).note(history),
        member_row("member's feed after a like", &changing)
            .note(format!("{READERS} members; the costs include the like")),
    ])
}

fn member_row(what: &str, measured: &Measured) -> Row {
    Row::measured(what, measured).at_least(FEED_RATE).p99_under(FEED_P99_MS)
}

/// Returns the script of one client: for each of its members in turn, a like and then the feed.
fn like_and_read(readers: &[Reader], client: usize) -> Script {
    let mine = readers.iter().skip(client).step_by(FEW);
    let mut members: Vec<_> =
        mine.map(|reader| (reader.like_another(), get(FEED, Some(&reader.token)))).collect();
    let (mut turn, mut liked) = (0, false);
    Box::new(move |out| {
        let (like_another, feed) = members.get_mut(turn)?;
        liked = !liked;
        if liked {
            out.extend_from_slice(&like_another()?);
            return Some(Kind::Aside);
        }
        out.extend_from_slice(feed);
        turn = (turn + 1) % members.len();
        Some(Kind::Counted)
    })
}

/// Measures concurrent likes of many members; no member likes a post twice.
pub(super) fn post_like(world: &World, turns: Turns, bare_database: &Path) -> Result<Vec<Row>> {
    let likers = world.newcomers("liker", MANY)?;
    let script = |liker: &Reader| -> Script {
        let mut like_another = liker.like_another();
        Box::new(move |out| {
            out.extend_from_slice(&like_another()?);
            Some(Kind::Counted)
        })
    };
    let mut sqlite = Sqlite::open(bare_database)?;
    let mut limit = |slice| sqlite.rate_of_acts(slice);
    let measured = turns.measure(world.server(), Some(&mut limit), || likers.iter().map(script).collect())?;
    let row = Row::measured("post_like", &measured).ratio_at_least(LIKE_RATIO);
    Ok(vec![row.note("bare limit: sequential commits")])
}
