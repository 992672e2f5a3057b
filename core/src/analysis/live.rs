//! Live figures of the current day: compared with the day before up to the same time, by hour, and among the last 30 days. The
//! figures are read from a few counters, however many visitors and log lines exist.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::counters::{Counter, Counts};
use super::local_time::{HOUR_MS, HOURS, LocalHour, date_text};
use super::report::Devices;

use crate::Tidings;
use crate::account::{Admin, Caller};
use crate::record::error::Result;
use crate::record::schema::Date;
use crate::record::scope::Scope;
use crate::store::Tx;

/// The number of days in [`Live::month`], including today.
pub const MONTH_DAYS: i64 = 30;

/// The counts of a day up to some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sums {
    /// Number of visitors.
    pub visitor: i64,
    /// Number of visits of guests.
    pub guest_visit: i64,
    /// Number of visits of members.
    pub member_visit: i64,
    /// Number of views of posts.
    pub view: i64,
    /// Number of likes; taking a like back does not reduce it.
    pub like: i64,
    /// Number of searches.
    pub search: i64,
}

/// The number of visitors of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayVisitors {
    /// The day, `YYYY-MM-DD`.
    #[schema(value_type = Date)]
    pub date: String,
    /// Number of visitors.
    pub visitor: i64,
}

/// The live figures of the current day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Live {
    /// The current hour, 0 to 23.
    #[schema(minimum = 0, maximum = 23, examples(14))]
    pub hour: usize,
    /// The counts of today.
    pub today: Sums,
    /// The counts of yesterday up to this time of day: the full hours, and of the current hour the share that has
    /// passed.
    pub yesterday: Sums,
    /// Number of today's visitors that are members; the others are guests.
    pub member_visitor: i64,
    /// Visitors in each hour of today …
    #[schema(value_type = Vec<i64>, min_items = 24, max_items = 24)]
    pub hours: [i64; HOURS],
    /// … and of yesterday.
    #[schema(value_type = Vec<i64>, min_items = 24, max_items = 24)]
    pub hours_yesterday: [i64; HOURS],
    /// Number of visitors on each of the last 30 days, oldest first; the last is today.
    pub month: Vec<DayVisitors>,
    /// Total numbers of reported devices.
    pub devices: Devices,
}

/// Returns the live figures of the current day.
///
/// # Errors
/// `bad token`, `Not admin`.
pub fn live(tidings: &Tidings, caller: &Caller) -> Result<Live> {
    let (identity, analysis, now) = (caller.identify(tidings), tidings.analysis(), tidings.now());
    analysis.settle();
    let time = analysis.calendar.local_hour(now);
    let ms_into_hour = analysis.calendar.local_time().ms_into_hour(now);
    tidings.store().read(|tx| {
        let admin = identity.with_scope(tx, Scope::AnalyticsRead)?;
        read(tx, &admin, time, ms_into_hour)
    })
}

/// The counts of today that all callers may see. The names of its fields are those of the daily report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TodayCounts {
    /// The day, `YYYY-MM-DD`.
    #[schema(value_type = Date)]
    pub date: String,
    /// Number of visitors.
    pub today_visitor: i64,
    /// Number of views of posts.
    pub today_view: i64,
    /// Number of likes; taking a like back does not reduce it.
    pub today_fav: i64,
}

/// `YYYY-MM-DD`.
pub(crate) fn today(tidings: &Tidings) -> String {
    date_text(tidings.analysis().calendar.today())
}

/// As of the last commit.
pub(crate) fn today_counts(tidings: &Tidings) -> Result<TodayCounts> {
    let day = tidings.analysis().calendar.today();
    let counts = tidings.store().read(|tx| Counts::of_day(tx, day))?;
    Ok(TodayCounts {
        date: date_text(day),
        today_visitor: counts.of(Counter::Visitor),
        today_view: counts.of(Counter::View),
        today_fav: counts.of(Counter::Like),
    })
}

fn read(tx: &mut dyn Tx, _: &Admin<'_>, time: LocalHour, ms_into_hour: i64) -> Result<Live> {
    let (today, before) = (Counts::of_day(tx, time.day)?, Counts::of_day(tx, time.day - 1)?);
    let total = Counts::in_total(tx)?;
    let hour = usize::from(time.hour);
    let mut until_now = |counter| until(tx, time.day - 1, counter, hour, ms_into_hour);
    let yesterday = Sums {
        visitor: until_now(Counter::Visitor)?,
        guest_visit: until_now(Counter::GuestVisit)?,
        member_visit: until_now(Counter::MemberVisit)?,
        view: until_now(Counter::View)?,
        like: until_now(Counter::Like)?,
        search: until_now(Counter::Search)?,
    };
    let days = time.day - (MONTH_DAYS - 1)..=time.day;
    let month = days.map(|day| {
        Ok(DayVisitors { date: date_text(day), visitor: Counts::single(tx, day, Counter::Visitor)? })
    });
    Ok(Live {
        hour,
        yesterday,
        month: month.collect::<Result<_>>()?,
        today: Sums {
            visitor: today.of(Counter::Visitor),
            guest_visit: today.of(Counter::GuestVisit),
            member_visit: today.of(Counter::MemberVisit),
            view: today.of(Counter::View),
            like: today.of(Counter::Like),
            search: today.of(Counter::Search),
        },
        member_visitor: today.of(Counter::MemberVisitor),
        hours: today.hours,
        hours_yesterday: before.hours,
        devices: Devices {
            pc: total.of(Counter::Pc),
            tablet: total.of(Counter::Tablet),
            mobile: total.of(Counter::Mobile),
        },
    })
}

/// Of the count of that hour, it takes the share that has passed.
fn until(tx: &mut dyn Tx, day: i64, counter: Counter, hour: usize, ms: i64) -> Result<i64> {
    let hours = Counts::hourly(tx, day, counter)?;
    let over: i64 = hours[..hour].iter().sum();
    // The count of an hour is far too small to saturate this product.
    Ok(over + hours[hour].saturating_mul(ms) / HOUR_MS)
}
