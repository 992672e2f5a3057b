//! Measures reads, compared with a bare warp server that responds with the same bytes.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use super::MANY;
use crate::Result;
use crate::bare;
use crate::client::{always, ask, each, get, get_unless, tag_and_length, unchanged_head};
use crate::data::TOPICS;
use crate::measure::{Limit, Measured, Turns, one_group};
use crate::table::Row;
use crate::world::{World, feed_length};

const FEED_RATIO: f64 = 0.70;
const UNCHANGED_RATIO: f64 = 0.90;
const NOTICE_RATIO: f64 = 0.60;
const USERINFO_RATIO: f64 = 0.55;

/// The time in which a server shows a change of its feeds.
const UPDATES: Duration = Duration::from_secs(2);
/// The number of such times that its content may go on changing.
const SETTLING_MAX: u32 = 10;

pub(super) fn feeds(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    let topic = format!("/get_newsfeed_of_topic/{}", TOPICS[0]);
    let feeds = [
        ("popular feed", "/get_popularity_newsfeed"),
        ("recommended feed", "/get_recommendation_newsfeed"),
        ("topic feed", &topic),
    ];
    let mut rows = Vec::new();
    for (what, path) in feeds {
        if path != topic && feed_length(world.address(), path)? < world.feed_posts() {
            return Err(format!("{path} returns fewer than {} posts", world.feed_posts()).into());
        }
        rows.push(read(world, turns, what, path, Some(FEED_RATIO))?);
    }
    Ok(rows)
}

/// Measures responses to clients that have the content, compared with a bare warp server that responds with 304 and the tag
/// alone, with one that sends the same head, with the whole responses, and with a bare warp server that responds with those.
pub(super) fn unchanged(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (what, path) in [
        ("popular feed, 304", "/get_popularity_newsfeed"),
        ("get_all_notice, 304", "/get_all_notice"),
        ("get_search_realtime, 304", "/get_search_realtime"),
    ] {
        let server = world.server();
        let (tag, length) = settled(server.address(), path)?;
        let (whole, conditional) = (get(path, None), get_unless(path, None, &tag));
        let with_content = bare::warp_with(&ask(server.address(), &whole)?)?;
        let with_head = bare::warp_unchanged(&unchanged_head(server.address(), path, &tag)?)?;
        let with_tag = bare::warp_unchanged(&format!("etag: {tag}"))?;
        let of = |address, request: Vec<u8>| move |slice| one_group(address, each(MANY, &request), slice);
        let bare_conditional = get_unless(bare::PATH, None, &tag);
        let limits: &mut [Limit<'_>] = &mut [
            &mut of(with_tag.address, bare_conditional.clone()),
            &mut of(with_head.address, bare_conditional),
            &mut of(server.address(), whole),
            &mut of(with_content.address, get(bare::PATH, None)),
        ];
        let measured = turns.measure(server, limits, || each(MANY, &conditional))?;
        if tag_and_length(server.address(), path, None)?.0 != tag {
            return Err(format!("the content of {path} changed while it was measured").into());
        }
        let [head, full, content] = [1, 2, 3].map(|n| measured.limits[n].ratio);
        let row = Row::measured(what, &measured).against(measured.limits[0], UNCHANGED_RATIO);
        rows.push(row.note(format!(
            "{head:.2} of bare 304 with the same head, {full:.2} of the whole response, {content:.2} of bare warp with it, \
             {length} bytes"
        )));
    }
    Ok(rows)
}

/// Waits until the tag of a path no longer changes, as it does while the server loads its words, and returns it with the
/// length of the content.
fn settled(address: SocketAddr, path: &str) -> Result<(String, usize)> {
    let mut before = tag_and_length(address, path, None)?;
    for _ in 0..SETTLING_MAX {
        thread::sleep(UPDATES);
        let now = tag_and_length(address, path, None)?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
    Err(format!("the content of {path} does not stop changing").into())
}

pub(super) fn notices(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    let ids = world.notices()?;
    let one = read_each(world, turns, "get_notice", "/get_notice", &ids, Some(NOTICE_RATIO))?;
    Ok(vec![read(world, turns, "get_all_notice", "/get_all_notice", Some(NOTICE_RATIO))?, one])
}

pub(super) fn userinfo(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    const PATH: &str = "/get_userinfo";
    let tokens = world.members("userinfo", MANY)?;
    let first = tokens.first().map(String::as_str);
    let body = ask(world.address(), &get(PATH, first))?;
    // Send the bare server a token too, so that it reads headers of the same size.
    let bare = get(bare::PATH, first);
    let measured = turns.against_warp(MANY, (&bare, &body), world.server(), || {
        tokens.iter().map(|token| always(get(PATH, Some(token)))).collect()
    })?;
    Ok(vec![row("get_userinfo", body.len(), &measured, Some(USERINFO_RATIO))])
}

/// Measures reading one record of each id by `path`; each connection repeats one of the ids.
pub(super) fn read_each(
    world: &World,
    turns: &Turns,
    what: &str,
    path: &str,
    ids: &[String],
    wanted: Option<f64>,
) -> Result<Row> {
    let requests: Vec<_> = ids.iter().map(|id| get(&format!("{path}/{id}"), None)).collect();
    let body = ask(world.address(), requests.first().ok_or("no records")?)?;
    let bare = get(bare::PATH, None);
    let measured = turns.against_warp(MANY, (&bare, &body), world.server(), || {
        requests.iter().cycle().take(MANY).cloned().map(always).collect()
    })?;
    Ok(row(what, body.len(), &measured, wanted))
}

pub(super) fn read(world: &World, turns: &Turns, what: &str, path: &str, wanted: Option<f64>) -> Result<Row> {
    let request = get(path, None);
    let body = ask(world.address(), &request)?;
    let bare = get(bare::PATH, None);
    let scripts = || each(MANY, &request);
    let measured = turns.against_warp(MANY, (&bare, &body), world.server(), scripts)?;
    Ok(row(what, body.len(), &measured, wanted))
}

pub(super) fn row(what: &str, bytes: usize, measured: &Measured, wanted: Option<f64>) -> Row {
    let (row, limit) = (Row::measured(what, measured), measured.limits[0]);
    let row = wanted.map_or_else(|| row.clone().beside(limit), |wanted| row.clone().against(limit, wanted));
    row.note(format!("{bytes} bytes"))
}
