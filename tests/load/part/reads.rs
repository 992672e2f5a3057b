//! Measures reads, compared with a bare warp server that responds with the same bytes.

use super::MANY;
use crate::Result;
use crate::bare;
use crate::client::{always, ask, each, get};
use crate::data::TOPICS;
use crate::measure::{Measured, Turns};
use crate::table::Row;
use crate::world::{World, feed_length};

const FEED_RATIO: f64 = 0.70;
const NOTICE_RATIO: f64 = 0.60;
const USERINFO_RATIO: f64 = 0.50;

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
        rows.push(read(world, turns, what, path, FEED_RATIO)?);
    }
    Ok(rows)
}

pub(super) fn notices(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    let ids = world.notices()?;
    let first = format!("/get_notice/{}", ids.first().ok_or("no notices")?);
    let body = ask(world.address(), &get(&first, None))?;
    let bare = get(bare::PATH, None);
    let one = turns.against_warp(MANY, (&bare, &body), world.address(), || {
        let requests = ids.iter().cycle().take(MANY).map(|id| get(&format!("/get_notice/{id}"), None));
        requests.map(always).collect()
    })?;
    Ok(vec![
        read(world, turns, "get_all_notice", "/get_all_notice", NOTICE_RATIO)?,
        row("get_notice", body.len(), &one, NOTICE_RATIO),
    ])
}

pub(super) fn userinfo(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    const PATH: &str = "/get_userinfo";
    let tokens = world.members("userinfo", MANY)?;
    let first = tokens.first().map(String::as_str);
    let body = ask(world.address(), &get(PATH, first))?;
    // Send the bare server a token too, so that it reads headers of the same size.
    let bare = get(bare::PATH, first);
    let measured = turns.against_warp(MANY, (&bare, &body), world.address(), || {
        tokens.iter().map(|token| always(get(PATH, Some(token)))).collect()
    })?;
    Ok(vec![row("get_userinfo", body.len(), &measured, USERINFO_RATIO)])
}

pub(super) fn read(world: &World, turns: &Turns, what: &str, path: &str, wanted: f64) -> Result<Row> {
    let request = get(path, None);
    let body = ask(world.address(), &request)?;
    let bare = get(bare::PATH, None);
    let scripts = || each(MANY, &request);
    let measured = turns.against_warp(MANY, (&bare, &body), world.address(), scripts)?;
    Ok(row(what, body.len(), &measured, wanted))
}

fn row(what: &str, bytes: usize, measured: &Measured, wanted: f64) -> Row {
    let row =
        Row::new(what, measured.rate, "/s").latency(&measured.latency).client_busy(measured.client_busy);
    row.against(measured.limits[0], wanted).note(format!("{bytes} bytes"))
}
