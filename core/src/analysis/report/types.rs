use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::{GUEST, REMOVED, RESERVED_IDS, fold};
use crate::analysis::counters::{self, Counter, Counts};
use crate::analysis::local_time;
use crate::analysis::trends::SearchBurst;
use crate::analysis::visitor;
use crate::base::config::StudentNumbers;
use crate::record::error::Result;
use crate::record::schema::{Date, TermAndCount};
use crate::store::{StoreError, Tx};

/// The maximum number of days that a report reaches back.
pub const DAYS_MAX: i64 = 366;

/// The number of characters of an id of digits that everyone may see by default: the year of entrance.
const ENTRANCE_CHARS: usize = 4;
/// Stands for ids that a caller may not see.
const MEMBER: &str = "member";

/// The figures over all days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Analysis {
    /// Average number of visitors per day since the first day with data, rounded down.
    pub day_avg_visitor: i64,
    /// Highest number of visitors on one day.
    pub highest_day_visitor: i64,
    /// Number of posts.
    pub posts_count: i64,
    /// Number of searches.
    pub search_count: i64,
    /// Number of communications; the interface documents this field with this name.
    pub communication_avg: i64,
    /// Number of visitors today.
    pub today_visitor: i64,
    /// Number of likes given, minus those taken back.
    pub total_fav: i64,
    /// Number of views of posts.
    pub total_view: i64,
    /// Sum of the visitors of all days.
    pub total_visitor: i64,
}

/// The answer to asking for all figures.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct Summary {
    /// The figures.
    pub analysis: Analysis,
}

/// The report of one day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Day {
    /// The day, `YYYY-MM-DD`.
    #[schema(value_type = Date)]
    pub date: String,
    /// Number of visitors.
    pub today_visitor: i64,
    /// Number of visitors in each hour, 0 to 23.
    pub today_time_visitor: Vec<HourVisitors>,
    /// Number of views of posts.
    pub today_view: i64,
    /// Number of likes; taking a like back does not reduce it.
    pub today_fav: i64,
    /// Visits by student number, most visits first.
    pub today_student_visitor: Vec<StudentVisits>,
}

/// The number of visitors in one hour of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HourVisitors {
    /// The hour, 0 to 23.
    #[schema(minimum = 0, maximum = 23, examples(14))]
    pub time: usize,
    /// Number of visitors in this hour.
    pub visitor: i64,
}

/// The number of visits of a student number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StudentVisits {
    /// The member's id, for administrators. Other callers see the first four characters of an id of digits and `member`
    /// for other ids, unless the server is set up to show more. `guest` for all guests together, `removed` for all removed
    /// members.
    #[schema(max_length = 128, examples("2026"))]
    pub student_num: String,
    /// Number of visits.
    pub count: i64,
}

/// The answer to asking for the last days.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Days {
    /// The days, oldest first.
    #[schema(value_type = Vec<Day>)]
    pub analysis: Vec<Arc<Day>>,
}

/// The answer to asking for one day.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OneDay {
    /// The day.
    #[schema(value_type = Day)]
    pub analysis: Arc<Day>,
}

/// The answer to asking for the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Devices {
    /// Reports of a computer.
    pub pc: i64,
    /// Reports of a tablet.
    pub tablet: i64,
    /// Reports of a phone.
    pub mobile: i64,
}

/// The answer to asking for the frequent searches.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Realtime {
    /// Terms with their numbers of searches in the last 24 hours, most searched first.
    #[schema(value_type = Vec<TermAndCount>, max_items = 10)]
    pub search_realtime: Vec<(String, i64)>,
}

/// The answer to asking for the terms searched more than usual.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Bursts {
    /// The terms, highest score first.
    #[schema(max_items = 10)]
    pub search_bursts: Vec<SearchBurst>,
}

pub(super) fn read_summary(tx: &mut dyn Tx, today: i64) -> Result<Summary> {
    let total = Counts::in_total(tx)?;
    let (first, of_today) = (counters::first_day(tx)?, Counts::of_day(tx, today)?);
    // If the clock was set back, today can be before the first day.
    let days = first.map_or(1, |first| (today - first + 1).max(1));
    Ok(Summary {
        analysis: Analysis {
            day_avg_visitor: total.of(Counter::Visitor) / days,
            highest_day_visitor: counters::most_visitors(tx)?,
            posts_count: total.of(Counter::Posts),
            search_count: total.of(Counter::Search),
            communication_avg: total.of(Counter::Communication),
            today_visitor: of_today.of(Counter::Visitor),
            total_fav: total.of(Counter::Like) - total.of(Counter::Unlike),
            total_view: total.of(Counter::View),
            total_visitor: total.of(Counter::Visitor),
        },
    })
}

pub(super) fn read_devices(tx: &mut dyn Tx) -> Result<Devices> {
    let total = Counts::in_total(tx)?;
    let [pc, tablet, mobile] = [Counter::Pc, Counter::Tablet, Counter::Mobile].map(|device| total.of(device));
    Ok(Devices { pc, tablet, mobile })
}

pub(super) fn read_day(tx: &mut dyn Tx, day: i64) -> Result<Day, StoreError> {
    let counts = Counts::of_day(tx, day)?;
    let hours = counts.hours.iter().enumerate();
    Ok(Day {
        date: local_time::date_text(day),
        today_visitor: counts.of(Counter::Visitor),
        today_time_visitor: hours.map(|(time, visitor)| HourVisitors { time, visitor: *visitor }).collect(),
        today_view: counts.of(Counter::View),
        today_fav: counts.of(Counter::Like),
        today_student_visitor: read_students(tx, day, &counts)?,
    })
}

/// Most visits first.
pub(in crate::analysis) fn read_students(
    tx: &mut dyn Tx,
    day: i64,
    counts: &Counts,
) -> Result<Vec<StudentVisits>, StoreError> {
    let mut removed = 0;
    let mut students = Vec::new();
    for (id, count) in visitor::member_visits(tx, day)? {
        match id {
            Some(student_num) => students.push(StudentVisits { student_num, count }),
            None => removed += count,
        }
    }
    for (id, count) in [(GUEST, counts.of(Counter::GuestVisit)), (REMOVED, removed)] {
        if count > 0 {
            students.push(StudentVisits { student_num: id.to_owned(), count });
        }
    }
    sort(&mut students);
    Ok(students)
}

pub(in crate::analysis) fn sort(students: &mut [StudentVisits]) {
    students.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.student_num.cmp(&b.student_num)));
}

impl Day {
    /// Adds up the visits of ids that are shown as the same text. `guest` and `removed` stay as they are.
    pub(super) fn hide_ids(&self, numbers: StudentNumbers) -> Self {
        let mut sums: HashMap<&str, i64> = HashMap::new();
        for StudentVisits { student_num, count } in &self.today_student_visitor {
            let shown = if is_reserved(student_num) { student_num } else { shown(student_num, numbers) };
            *sums.entry(shown).or_insert(0) += count;
        }
        let students =
            sums.into_iter().map(|(num, count)| StudentVisits { student_num: num.to_owned(), count });
        let mut students: Vec<_> = students.collect();
        sort(&mut students);
        Self { today_student_visitor: students, ..self.clone() }
    }
}

/// `guest` and `removed` stand for several visitors.
fn is_reserved(student_num: &str) -> bool {
    RESERVED_IDS.contains(&fold(student_num).as_str())
}

fn shown(id: &str, numbers: StudentNumbers) -> &str {
    match numbers {
        StudentNumbers::Entrance if id.bytes().all(|c| c.is_ascii_digit()) => first_chars(id, ENTRANCE_CHARS),
        StudentNumbers::Entrance | StudentNumbers::First(0) => MEMBER,
        StudentNumbers::First(chars) => first_chars(id, chars),
        StudentNumbers::Full => id,
    }
}

/// One character less if they would read `guest` or `removed`. An id is ASCII.
fn first_chars(id: &str, chars: usize) -> &str {
    let cut = id.get(..chars).unwrap_or(id);
    if is_reserved(cut) { id.get(..chars - 1).unwrap_or(id) } else { cut }
}
