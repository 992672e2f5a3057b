//! The likes of one post, and the likes of one member.

use tidings_core::account::Caller;
use tidings_core::newsfeed::{self, Page};
use tidings_core::{Tidings, post, profile};

use super::Range;
use crate::Result;
use crate::cost;
use crate::table::Growth::{Flat, NLogN};
use crate::table::Report;
use crate::world::{World, ann, insert_post};

const PART: &str = "likes";
/// The number of posts that exist. The other likes of the member are of posts that have been removed, and older.
const POSTS: u64 = 400;

pub(super) fn measure(world: &World, rows: Range, report: &mut Report) -> Result<()> {
    let tidings = world.open()?;
    if rows.before == 0 {
        for n in 0..POSTS {
            let id = insert_post(&tidings, &n.to_string(), &format!("topic {}", n % 20))?;
            post::like(&tidings, &ann(), &id).wait()?;
        }
    }
    let popular = insert_post(&tidings, &format!("popular{}", rows.size), "popular")?;
    drop(tidings);
    let post = world.number("SELECT max(key) FROM post")?;
    world.fill(
        &format!("INSERT INTO settled_like (member, post, date) SELECT 1000000 + n, {post}, n FROM number"),
        0,
        rows.size,
    )?;
    let fill = "INSERT INTO settled_like (member, post, date) SELECT (SELECT key FROM member WHERE id = 'ann'), 1000000 + n, n
                FROM number";
    world.fill(fill, rows.before, rows.size)?;

    let mut add = |what, growth, cost| report.add(PART, what, growth, cost);
    let tidings = world.open()?;
    add("like or unlike of a post with as many likes", Flat, like(&tidings, &popular));
    add(
        "get_post of that post",
        Flat,
        cost::each(|| tidings.call(&Caller::Guest, post::Get { post_obi: popular.clone() })),
    );
    add(
        "list of likes of a member with as many",
        Flat,
        cost::each(|| tidings.call(&ann(), profile::GetLists { type_num: "1".into() })),
    );
    let mut liked = false;
    let feed = || -> Result<()> {
        let act = if liked { post::unlike } else { post::like };
        act(&tidings, &ann(), &popular).wait()?;
        liked = !liked;
        newsfeed::recommended(&tidings, &ann(), &Page::default())?;
        Ok(())
    };
    add("a like and the feed of that member after it", NLogN, cost::each(feed));
    Ok(())
}

fn like(tidings: &Tidings, id: &str) -> Option<std::time::Duration> {
    let mut liked = false;
    cost::each(|| {
        let act = if liked { post::unlike } else { post::like };
        liked = !liked;
        act(tidings, &ann(), id).wait()
    })
}
