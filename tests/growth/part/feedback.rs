//! Feedback: sending it, and the list of open feedback among much that is done.

use tidings_core::account::Caller;
use tidings_core::feedback::{self, Message};

use super::Range;
use crate::table::Growth::Flat;
use crate::table::Report;
use crate::world::{World, ann};
use crate::{Result, cost};

const PART: &str = "feedback";
/// The share of feedback that is open: the oldest ones of each size.
const OPEN: u64 = 20;

pub(super) fn measure(world: &World, rows: Range, report: &mut Report) -> Result<()> {
    let open = if rows.before == 0 { OPEN } else { 0 };
    world.fill(
        &format!(
            "INSERT INTO feedback (id, type, post, member, notice, activation, date)
             SELECT printf('%024x', n), 'general', 'Thank you for the library.', 1, '', n < {open}, n FROM number"
        ),
        rows.before,
        rows.size,
    )?;
    let mut add = |what, cost| report.add(PART, what, Flat, cost);
    let (tidings, operator) = (world.open()?, Caller::Operator);
    add(
        "list of 20 open ones",
        cost::each(|| {
            let limit = Some(feedback::LIST_MAX);
            tidings.call(&operator, feedback::List { limit, ..feedback::List::default() })
        }),
    );
    let middle = format!("{:024x}", rows.size / 2);
    let page = || {
        let (all, limit, after) = (Some(1), Some(feedback::LIST_MAX), Some(middle.clone()));
        tidings.call(&operator, feedback::List { all, limit, after })
    };
    add("a page of 1,000 in the middle", cost::each(page));
    // Sent last and then marked as done, so that the list of the next size has the same length.
    let draft = Message { post: Some("Thank you.".into()), ..Message::default() };
    add(
        "send_feedback",
        cost::each(|| tidings.call(&ann(), feedback::SendGeneral { message: draft.clone() })),
    );
    drop(tidings);
    world.execute(&format!("UPDATE feedback SET activation = key <= {OPEN} WHERE activation = 1"))
}
