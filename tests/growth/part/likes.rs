//! The likes of one member.

use tidings_core::post;

use super::Range;
use crate::Result;
use crate::cost;
use crate::table::Growth::NLogN;
use crate::table::Report;
use crate::world::{World, ann, insert_post, like_and_feed};

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
    let fill = "INSERT INTO settled_like (member, post, date) SELECT (SELECT key FROM member WHERE id = 'ann'), 1000000 + n, n
                FROM number";
    world.fill(fill, rows.before, rows.size)?;

    let tidings = world.open()?;
    let cost = cost::each(like_and_feed(&tidings, &popular));
    report.add(PART, "a like and the feed of that member after it", NLogN, cost);
    Ok(())
}
