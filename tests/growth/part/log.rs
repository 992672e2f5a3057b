//! The queries of the access log.

use tidings_core::account::Caller;
use tidings_core::analysis;

use super::Range;
use crate::table::Growth::Flat;
use crate::table::Report;
use crate::world::{NOW_MS, World};
use crate::{Result, cost};

const PART: &str = "log";
/// The number of members with lines; half of the lines are of guests.
const MEMBERS: u64 = 10;
/// The number of lines that a query returns, which every member has in a month at every size.
const LINES: i64 = 50;
/// The period of the lines: half a year.
const SPAN_MS: i64 = 180 * 86_400_000;

pub(super) fn measure(world: &World, rows: Range, report: &mut Report) -> Result<()> {
    if rows.before == 0 {
        world.fill(
            "INSERT INTO member (key, id, folded, password, generation, nickname, date)
             SELECT 100 + n, 'member' || n, 'member' || n, '-', n, 'Member ' || n, n FROM number",
            0,
            MEMBERS,
        )?;
        world.fill(
            "INSERT INTO request (key, method, path, hash, status, used)
             SELECT n, 'GET', '/get_post/' || n, n, 200, 20000 FROM number",
            1,
            1_000,
        )?;
    }
    // Each size spreads its new lines over the whole period.
    let new = rows.size - rows.before;
    let (start, scale) = (NOW_MS - SPAN_MS, rows.size.ilog10());
    world.fill(
        &format!(
            "INSERT INTO log (key, member, request)
             SELECT ({start} + n * {SPAN_MS} / {new}) * 16384 + {scale} * 1024 + n % 1024,
                    CASE WHEN n % 2 = 0 THEN 0 ELSE 100 + n / 2 % {MEMBERS} END,
                    1 + n * 7919 % 999
             FROM number"
        ),
        0,
        new,
    )?;
    let mut add = |what, cost| report.add(PART, what, Flat, cost);
    let (tidings, operator) = (world.open()?, Caller::Operator);
    let (months, days, hours, limit) = (1, 0, 0, LINES);
    let month = analysis::GetLogDate { months, days, hours, limit };
    add("50 lines of a month", cost::each(|| tidings.call(&operator, month)));
    let of_member = || tidings.call(&operator, analysis::GetLogUser { user_id: "member7".into(), limit });
    add("50 lines of a member", cost::each(of_member));
    let both = analysis::GetLogUserDate { user_id: "member7".into(), months, days, hours, limit };
    let both = || tidings.call(&operator, both.clone());
    add("50 lines of a member in a month", cost::each(both));
    Ok(())
}
