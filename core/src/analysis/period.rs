//! The figures of a stretch of days together: by day, by hour, by student number, by device.

use std::collections::HashMap;

use super::counters::{Counter, Counts};
use super::local_time::{HOURS, date_text, day_of};
use super::report::{Devices, StudentVisits, read_students, sort};
use crate::Tidings;
use crate::account::{Admin, Caller};
use crate::error::{Error, Result};
use crate::store::Tx;

/// The most days of a period.
pub const PERIOD_MAX: i64 = 366;

const PERIOD_RULE: &str = "a period is from a date to one that is not before it, at most 366 days";

/// The figures of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayFigures {
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// Visitors.
    pub visitor: i64,
    /// Visits.
    pub visit: i64,
    /// Views of posts.
    pub view: i64,
    /// Likes given.
    pub like: i64,
    /// Searches.
    pub search: i64,
    /// Communications.
    pub communication: i64,
}

/// The figures of a stretch of days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    /// Its days, oldest first.
    pub days: Vec<DayFigures>,
    /// Visitors in each hour, 0 to 23, of all days together.
    pub hours: [i64; HOURS],
    /// Visits by student number of all days together, most first.
    pub students: Vec<StudentVisits>,
    /// Devices as they were reported on these days.
    pub devices: Devices,
}

/// The figures of the days from `first` to `last`, both `YYYY-MM-DD` and both included.
///
/// # Errors
/// `bad token`, `Not admin`; `bad request` for what is no date, for a last day before the first, and for more than
/// 366 days.
pub fn period(tidings: &Tidings, caller: &Caller, first: &str, last: &str) -> Result<Period> {
    let (identity, analysis) = (caller.identify(tidings), tidings.analysis());
    let days = day(first).zip(day(last)).filter(|(first, last)| (0..PERIOD_MAX).contains(&(last - first)));
    analysis.settle();
    tidings.store().read(|tx| {
        let admin = identity.admin(tx)?;
        let (first, last) = days.ok_or(Error::BadRequest(PERIOD_RULE))?;
        read(tx, &admin, first, last)
    })
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
        days.push(DayFigures {
            date: date_text(day),
            visitor: counts.of(Counter::Visitor),
            visit,
            view: counts.of(Counter::View),
            like: counts.of(Counter::Like),
            search: counts.of(Counter::Search),
            communication: counts.of(Counter::Communication),
        });
    }
    let students = students.into_iter().map(|(student_num, count)| StudentVisits { student_num, count });
    let mut students: Vec<_> = students.collect();
    sort(&mut students);
    let [pc, tablet, mobile] = devices;
    Ok(Period { days, hours, students, devices: Devices { pc, tablet, mobile } })
}

/// The number of a day that is written `YYYY-MM-DD`.
fn day(date: &str) -> Option<i64> {
    let mut parts = date.splitn(3, '-').map(|part| part.parse().ok());
    day_of(parts.next()??, parts.next()??, parts.next()??)
}
