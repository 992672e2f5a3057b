//! Signing in, against bare verifications of the same kind; and what feeds feel of it.

use super::FEW;
use crate::Result;
use crate::bare::Argon;
use crate::client::{Script, always, each, get};
use crate::measure::{Turns, one_group};
use crate::program;
use crate::table::Row;
use crate::world::World;

const RATIO: f64 = 0.90;
const FEED_P99_MS: f64 = 20.0;
const NAME: &str = "signing";
/// A turn must hold many verifications of a hundredth of a second, or one more or less of them shows.
const FEWER_TURNS: u32 = 3;

pub(super) fn sign_in(world: &World, turns: &Turns) -> Result<Vec<Row>> {
    world.members(NAME, FEW)?;
    let argon = Argon::new()?;
    let alone = turns.fewer(FEWER_TURNS).measure(&mut [&mut |slice| argon.rate(slice)], |slice| {
        one_group(world.address(), clients(), slice)
    })?;

    let feed = get("/get_popularity_newsfeed", None);
    let [feeds, signed_in] = turns.together(world.address(), || [each(FEW, &feed), clients()])?;
    Ok(vec![
        Row::new("sign_in", alone.rate, "/s").latency(&alone.latency).against(alone.limits[0], RATIO),
        Row::new("popular feed meanwhile", feeds.rate, "/s")
            .latency(&feeds.latency)
            .p99_under(FEED_P99_MS)
            .note(format!("without a pause; {:.0} sign in each second", signed_in.rate)),
    ])
}

fn clients() -> Vec<Script> {
    (0..FEW).map(|number| always(program::sign_in(&format!("{NAME}-{number:03}")))).collect()
}
