//! The figures of a period of days: by day, hour, student number and device.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::counters::{Counter, Counts};
use super::local_time::{HOURS, date_text, day_of};
use super::report::{Devices, StudentVisits, read_students, sort};

use crate::account::{Admin, Call};
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::operation::{Access, Operation, Spec, Work};
use crate::record::schema::Date;
use crate::record::scope::Scope;
use crate::store::Tx;

/// The maximum number of days of a period.
pub const PERIOD_MAX: i64 = 366;

const PERIOD_RULE: Problem =
    Problem::new(Code::InvalidValue, "a period ends on or after its first date and has at most 366 days");

/// The figures of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayFigures {
    /// The day, `YYYY-MM-DD`.
    #[schema(value_type = Date)]
    pub date: String,
    /// Number of visitors.
    pub visitor: i64,
    /// Number of visits.
    pub visit: i64,
    /// Number of views of posts.
    pub view: i64,
    /// Number of likes; taking a like back does not reduce it.
    pub like: i64,
    /// Number of searches.
    pub search: i64,
    /// Number of communications.
    pub communication: i64,
}

impl DayFigures {
    pub(super) fn new(day: i64, counts: &Counts, visit: i64) -> Self {
        Self {
            date: date_text(day),
            visitor: counts.of(Counter::Visitor),
            visit,
            view: counts.of(Counter::View),
            like: counts.of(Counter::Like),
            search: counts.of(Counter::Search),
            communication: counts.of(Counter::Communication),
        }
    }
}

/// The figures of a period of days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Period {
    /// The days, oldest first.
    pub days: Vec<DayFigures>,
    /// Number of visitors in each hour, 0 to 23, summed over all days.
    #[schema(value_type = Vec<i64>, min_items = 24, max_items = 24)]
    pub hours: [i64; HOURS],
    /// Visits by student number, summed over all days, most visits first.
    pub students: Vec<StudentVisits>,
    /// Devices that were reported on these days.
    pub devices: Devices,
}

/// Get the figures of days
///
/// Returns the figures of at most 366 days by day, hour, student number and device.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetPeriod {
    /// The first day, `YYYY-MM-DD`
    #[schema(value_type = Date)]
    pub first: String,
    /// The last day, `YYYY-MM-DD`
    #[schema(value_type = Date)]
    pub last: String,
}

impl Operation for GetPeriod {
    type Answer = Period;
    const SPEC: Spec =
        Spec::get("analysis", "/get_analysis_of_days/{first}/{last}", Access::Admins(Scope::AnalyticsRead))
            .works(Work::Query);

    fn run(self, call: &Call<'_>) -> Result<Period> {
        let (identity, analysis) = (call.authority(), call.tidings().analysis());
        let days = day_number(&self.first)
            .zip(day_number(&self.last))
            .filter(|(first, last)| (0..PERIOD_MAX).contains(&(last - first)));
        analysis.settle();
        call.store().read(|tx| {
            let admin = identity.admin(tx)?;
            let (first, last) = days.ok_or(Error::BadRequest(PERIOD_RULE))?;
            read(tx, &admin, first, last)
        })
    }
}

fn read(tx: &mut dyn Tx, _: &Admin<'_>, first: i64, last: i64) -> Result<Period> {
    let (mut days, mut hours, mut devices) = (Vec::new(), [0; HOURS], [0; 3]);
    let mut students: HashMap<String, i64> = HashMap::new();
    for day in first..=last {
        let counts = Counts::of_day(tx, day)?;
        let mut visit = 0;
        for StudentVisits { student_num, count } in read_students(tx, day, &counts)? {
            visit += count;
            *students.entry(student_num).or_insert(0) += count;
        }
        hours.iter_mut().zip(counts.hours).for_each(|(sum, hour)| *sum += hour);
        let reported = [Counter::Pc, Counter::Tablet, Counter::Mobile];
        devices.iter_mut().zip(reported).for_each(|(sum, device)| *sum += counts.of(device));
        days.push(DayFigures::new(day, &counts, visit));
    }
    let students = students.into_iter().map(|(student_num, count)| StudentVisits { student_num, count });
    let mut students: Vec<_> = students.collect();
    sort(&mut students);
    let [pc, tablet, mobile] = devices;
    Ok(Period { days, hours, students, devices: Devices { pc, tablet, mobile } })
}

/// `date` is `YYYY-MM-DD`.
pub(super) fn day_number(date: &str) -> Option<i64> {
    let mut parts = date.splitn(3, '-').map(|part| part.parse().ok());
    day_of(parts.next()??, parts.next()??, parts.next()??)
}
