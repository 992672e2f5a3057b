//! Notices: reading one and all, while they change.

use tidings_core::account::Caller;
use tidings_core::notice::{self, Draft};

use super::Range;
use crate::table::Growth::{Flat, NLogN};
use crate::table::Report;
use crate::world::World;
use crate::{Result, cost};

const PART: &str = "notices";
/// The largest number of notices: the list has all of them.
pub(super) const MAX: u64 = 100_000;

pub(super) fn measure(world: &World, rows: Range, report: &mut Report) -> Result<()> {
    world.fill(
        "INSERT INTO notice (id, title, post, view, activation, date)
         SELECT printf('%024x', n), 'Notice ' || n, 'The library is closed on Monday.', 0, 1, n FROM number",
        rows.before,
        rows.size,
    )?;
    let mut add = |what, growth, cost| report.add(PART, what, growth, cost);
    let tidings = world.open()?;
    let draft = Draft { title: Some("New".into()), post: Some("Open again.".into()), ..Draft::default() };
    let insert = || tidings.call(&Caller::Operator, notice::Insert { draft: draft.clone() });
    let id = insert()?.id.to_string();
    let get = || tidings.call(&Caller::Guest, notice::Get { notice_obi: id.clone(), html: None });
    let list =
        || tidings.call(&Caller::Guest, notice::List::default()).map(|list| list.answer().json().len());
    list()?;
    add("get_notice", Flat, cost::each(get));
    add("insert_notice and get_all_notice after it", NLogN, cost::each(|| insert().and_then(|_| list())));
    Ok(())
}
