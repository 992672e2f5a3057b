//! Measures signing in, compared with bare password verifications, and its effect on feeds.

use super::FEW;
use crate::Result;
use crate::bare::Argon;
use crate::client::{Script, always, each, get, run};
use crate::measure::Turns;
use crate::program;
use crate::table::Row;
use crate::world::World;

const RATIO: f64 = 0.90;
const FEED_P99_MS: f64 = 20.0;
const NAME: &str = "signing";
/// Longer turns: a verification takes approximately 10 ms, and a turn must contain many of them.
const FEWER_TURNS: u32 = 3;

pub(super) fn sign_in(world: &World, turns: Turns) -> Result<Vec<Row>> {
    world.members(NAME, FEW)?;
    let argon = Argon::new()?;
    let mut limit = |slice| argon.rate(slice);
    let alone = turns.fewer(FEWER_TURNS).measure(world.server(), Some(&mut limit), clients)?;
    let feeds = each(FEW, &get("/get_popularity_newsfeed", None));
    let [feeds, signed_in] = run(world.address(), [feeds, clients()], turns.length())?;
    Ok(vec![
        Row::measured("sign_in", &alone).ratio_at_least(RATIO),
        Row::new("popular feed during sign-ins", feeds.rate, "/s")
            .latency(&feeds.latency)
            .p99_under(FEED_P99_MS)
            .note(format!("concurrent load: {:.0} sign-ins per second", signed_in.rate)),
    ])
}

fn clients() -> Vec<Script> {
    (0..FEW).map(|number| always(program::sign_in(&format!("{NAME}-{number:03}")))).collect()
}
