//! The access log: its queries, and the reports.

use tidings_core::account::Caller;
use tidings_core::analysis::{self, GetDaysAgo, GetDevices, GetLog, GetSummary};

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
            MEMBERS + 1,
        )?;
        world.fill(
            "INSERT INTO request (key, method, path, hash, status, used)
             SELECT n, 'GET', '/get_post/' || n, n, 200, 20000 FROM number",
            1,
            1_000,
        )?;
        let today = NOW_MS / 86_400_000;
        world.fill(
            &format!(
                "INSERT INTO day_count (day, counter, n) SELECT {today} - n / 6, 1 + n % 6, n FROM number"
            ),
            0,
            6 * 180,
        )?;
    }
    // Each size spreads its new lines over the whole period. The last member is rare: 100 lines of each size.
    let new = rows.size - rows.before;
    let (start, rare, scale) = (NOW_MS - SPAN_MS, new / 100, rows.size.ilog10());
    world.fill(
        &format!(
            "INSERT INTO log (key, member, request)
             SELECT ({start} + n * {SPAN_MS} / {new}) * 16384 + {scale} * 1024 + n % 1024,
                    CASE WHEN n % {rare} = 0 THEN 100 + {MEMBERS} WHEN n % 2 = 0 THEN 0 ELSE 100 + n / 2 % {MEMBERS} END,
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
    let of = |id: &str| {
        cost::each(|| tidings.call(&operator, analysis::GetLogUser { user_id: id.into(), limit: LINES }))
    };
    add("50 lines of a member", of("member7"));
    let rare = format!("member{MEMBERS}");
    add("50 lines of a rare member", of(&rare));
    let both = analysis::GetLogUserDate { user_id: "member7".into(), months, days, hours, limit };
    let both = || tidings.call(&operator, both.clone());
    add("50 lines of a member in a month", cost::each(both));
    let path = GetLog { path: Some("/get_post/77".into()), limit: Some(LINES), ..GetLog::default() };
    add("a page of lines with a path", cost::each(|| tidings.call(&operator, path.clone())));
    // A change makes the cached answer stale, and a second later it is not returned.
    let count = || {
        tidings.clock().advance(1_000);
        analysis::insert_device(&tidings, "pc").wait()
    };
    let summary = || count().and_then(|()| tidings.call(&operator, GetSummary {}));
    add("get_analysis, after a count", cost::each(summary));
    let days = || count().and_then(|()| tidings.call(&operator, GetDaysAgo { days: 30 }));
    add("get_everyday_analysis, 30 days, after a count", cost::each(days));
    let devices = || count().and_then(|()| tidings.call(&operator, GetDevices {}));
    add("get_device, after a count", cost::each(devices));
    Ok(())
}
