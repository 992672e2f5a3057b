//! Measures reads, compared with a bare warp server that responds with the same bytes.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use super::MANY;
use crate::Result;
use crate::bare;
use crate::client::{always, ask, each, get, get_unless, tag};
use crate::measure::{Turns, one_group};
use crate::table::Row;
use crate::world::World;

const FEED_RATIO: f64 = 0.70;
const UNCHANGED_RATIO: f64 = 0.90;
const NOTICE_RATIO: f64 = 0.60;
const USERINFO_RATIO: f64 = 0.55;

/// The time in which a server shows a change of its feeds.
const UPDATES: Duration = Duration::from_secs(2);
/// The number of such times that its content may go on changing.
const SETTLING_MAX: u32 = 10;

pub(super) fn feeds(world: &World, turns: Turns) -> Result<Vec<Row>> {
    let feeds =
        [("popular feed", "/get_popularity_newsfeed"), ("recommended feed", "/get_recommendation_newsfeed")];
    feeds.iter().map(|(what, path)| Ok(read(world, turns, what, path)?.ratio_at_least(FEED_RATIO))).collect()
}

/// Measures responses to clients that have the content, compared with a bare warp server that responds with 304 and the tag
/// alone.
pub(super) fn unchanged(world: &World, turns: Turns) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (what, path) in [
        ("popular feed, 304", "/get_popularity_newsfeed"),
        ("get_all_notice, 304", "/get_all_notice"),
        ("get_search_realtime, 304", "/get_search_realtime"),
    ] {
        let settled = settled(world.address(), path)?;
        let (_bare, bare) = bare::warp_unchanged(&settled)?;
        let (request, bare_request) = (get_unless(path, &settled), get_unless(bare::PATH, &settled));
        let mut limit = |slice| one_group(bare, each(MANY, &bare_request), slice);
        let measured = turns.measure(world.server(), Some(&mut limit), || each(MANY, &request))?;
        if tag(world.address(), path)? != settled {
            return Err(format!("the content of {path} changed while it was measured").into());
        }
        rows.push(Row::measured(what, &measured).ratio_at_least(UNCHANGED_RATIO));
    }
    Ok(rows)
}

/// Waits until the tag of a path no longer changes, as it does while the server loads its words, and returns it.
fn settled(address: SocketAddr, path: &str) -> Result<String> {
    let mut before = tag(address, path)?;
    for _ in 0..SETTLING_MAX {
        thread::sleep(UPDATES);
        let now = tag(address, path)?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
    Err(format!("the content of {path} does not stop changing").into())
}

pub(super) fn notices(world: &World, turns: Turns) -> Result<Vec<Row>> {
    let all = read(world, turns, "get_all_notice", "/get_all_notice")?;
    let one = read_each(world, turns, "get_notice", "/get_notice", &world.notices()?)?;
    Ok([all, one].map(|row| row.ratio_at_least(NOTICE_RATIO)).into())
}

pub(super) fn userinfo(world: &World, turns: Turns) -> Result<Vec<Row>> {
    let tokens = world.members("userinfo", MANY)?;
    let row = of_members(world, turns, "get_userinfo", "/get_userinfo", &tokens)?;
    Ok(vec![row.ratio_at_least(USERINFO_RATIO)])
}

/// Measures a path for these members; each connection repeats the request of one of them.
pub(super) fn of_members(
    world: &World,
    turns: Turns,
    what: &str,
    path: &str,
    tokens: &[String],
) -> Result<Row> {
    let requests: Vec<_> = tokens.iter().map(|token| get(path, Some(token))).collect();
    measure(world, turns, what, &requests, tokens.first().map(String::as_str))
}

/// Measures reading one record of each id by `path`; each connection repeats one of the ids.
pub(super) fn read_each(world: &World, turns: Turns, what: &str, path: &str, ids: &[String]) -> Result<Row> {
    let requests = ids.iter().map(|id| get(&format!("{path}/{id}"), None)).cycle().take(MANY);
    measure(world, turns, what, &requests.collect::<Vec<_>>(), None)
}

pub(super) fn read(world: &World, turns: Turns, what: &str, path: &str) -> Result<Row> {
    measure(world, turns, what, &vec![get(path, None); MANY], None)
}

/// Measures requests, each on a connection of its own.
fn measure(
    world: &World,
    turns: Turns,
    what: &str,
    requests: &[Vec<u8>],
    token: Option<&str>,
) -> Result<Row> {
    let body = ask(world.address(), requests.first().ok_or("no records")?)?;
    let scripts = || requests.iter().cloned().map(always).collect();
    let measured = turns.against_warp(world.server(), requests.len(), (&body, token), scripts)?;
    Ok(Row::measured(what, &measured).note(format!("{} bytes", body.len())))
}
