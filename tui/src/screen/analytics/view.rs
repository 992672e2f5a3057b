//! The days whose figures are shown, and the views of the figures, as rows of a table.

use jiff::ToSpan as _;
use jiff::civil::Date;
use tidings_core::analysis::{PERIOD_MAX, SearchBurst};

use crate::effect::query::{Figures, Searches};
use crate::sheet::Sheet;
use crate::widget::Cycle;
use crate::widget::table::Column;

pub(super) const DAYS_HINT: &str = "2026-11-20, 2026-11-01..2026-11-20, 30d";
const NO_DAYS: &str = "Days look like 2026-11-20, 2026-11-01..2026-11-20 or 30d.";
const TOO_MANY: &str = "A range has at most 366 days and starts with its first day.";

/// Both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Days {
    pub(super) first: Date,
    pub(super) last: Date,
}

impl Days {
    pub(super) const fn one(day: Date) -> Self {
        Self { first: day, last: day }
    }

    pub(super) fn len(self) -> i32 {
        self.first.until(self.last).map_or(1, |span| span.get_days() + 1)
    }

    pub(super) fn moved(self, by: i32) -> Self {
        let span = (self.len() * by).days();
        match (self.first.checked_add(span), self.last.checked_add(span)) {
            (Ok(first), Ok(last)) => Self { first, last },
            _ => self,
        }
    }

    /// Accepts one day, two days separated by two dots, or the number of days up to today.
    pub(super) fn parse(text: &str, today: Date) -> Result<Self, &'static str> {
        let text = text.trim();
        let date = |text: &str| text.trim().parse::<Date>().map_err(|_| NO_DAYS);
        let days = if let Some((first, last)) = text.split_once("..") {
            Self { first: date(first)?, last: date(last)? }
        } else if let Some(n) = text.strip_suffix('d') {
            let n: i32 = n.trim().parse().ok().filter(|n| (1..=10_000).contains(n)).ok_or(NO_DAYS)?;
            Self { first: today.checked_sub((n - 1).days()).map_err(|_| NO_DAYS)?, last: today }
        } else if text.is_empty() || text == "today" {
            Self::one(today)
        } else {
            Self::one(date(text)?)
        };
        if (1..=PERIOD_MAX).contains(&i64::from(days.len())) { Ok(days) } else { Err(TOO_MANY) }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    #[default]
    Hours,
    Days,
    Students,
    Terms,
    Devices,
}

const DAY_COLUMNS: [(&str, u16, u16); 6] = [
    ("Visitors", 8, 0),
    ("Visits", 8, 0),
    ("Views", 8, 44),
    ("Likes", 7, 52),
    ("Searches", 8, 61),
    ("Requests", 10, 72),
];

/// The bar shows the first figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) figures: Vec<i64>,
}

impl Row {
    fn new(name: impl Into<String>, figures: impl Into<Vec<i64>>) -> Self {
        Self { name: name.into(), figures: figures.into() }
    }

    pub(super) fn text(&self) -> String {
        let figures = self.figures.iter().map(|n| format!("\t{n}"));
        self.name.clone() + &figures.collect::<String>()
    }
}

/// How many visitors a burst is above the usual level; 0 for other terms.
#[expect(clippy::cast_possible_truncation, reason = "at most the number of visitors")]
fn above_usual(bursts: &[SearchBurst], term: &str) -> i64 {
    let burst = bursts.iter().find(|burst| burst.term == term);
    burst.map_or(0, |burst| burst.count - burst.usual.round() as i64)
}

impl Cycle for View {
    const ALL: &'static [Self] = &[Self::Hours, Self::Days, Self::Students, Self::Terms, Self::Devices];
}

impl View {
    pub(super) const fn name(self) -> &'static str {
        self.names().0
    }

    /// Of the view, and of the columns of its export.
    const fn names(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Hours => ("hours", &["hour", "visitors"]),
            Self::Days => ("days", &["day", "visitors", "visits", "views", "likes", "searches", "requests"]),
            Self::Students => ("students", &["student", "visits"]),
            Self::Terms => ("terms", &["term", "searches", "above_usual"]),
            Self::Devices => ("devices", &["device", "reported"]),
        }
    }

    /// The name, the figures and the bar.
    pub(super) fn columns(self) -> Vec<Column> {
        // The name has a title and a width; each figure also the least width of the table.
        let (name, figures): (_, &[(&'static str, u16, u16)]) = match self {
            Self::Hours => (("Hour", 6), &[("Visitors", 9, 0)]),
            Self::Days => (("Day", 10), &DAY_COLUMNS),
            Self::Students => (("Student number", 20), &[("Visits", 8, 0)]),
            Self::Terms => (("Term", 24), &[("Searches", 8, 0), ("Above usual", 11, 50)]),
            Self::Devices => (("Device", 8), &[("Reported", 10, 0)]),
        };
        let bar = Column::new("", 0).from(if self == Self::Days { 84 } else { 0 });
        let figure =
            |(title, width, from): &(&'static str, u16, u16)| Column::new(title, *width).right().from(*from);
        let name = Column::new(name.0, name.1);
        [name].into_iter().chain(figures.iter().map(figure)).chain([bar]).collect()
    }

    pub(super) fn rows(self, Figures { period, searches }: &Figures) -> Vec<Row> {
        match self {
            Self::Hours => {
                let hours = period.hours.iter().enumerate();
                hours.map(|(hour, n)| Row::new(format!("{hour:02}:00"), [*n])).collect()
            }
            Self::Days => {
                // Newest first, as in every list.
                let days = period.days.iter().rev();
                days.map(|day| {
                    let figures = [day.visitor, day.visit, day.view, day.like, day.search, day.communication];
                    Row::new(day.date.clone(), figures)
                })
                .collect()
            }
            Self::Students => {
                let students = period.students.iter();
                students.map(|student| Row::new(student.student_num.clone(), [student.count])).collect()
            }
            Self::Terms => {
                let Searches { terms, bursts } = searches;
                let row = |(term, n): &(String, i64)| Row::new(term.clone(), [*n, above_usual(bursts, term)]);
                terms.iter().map(row).collect()
            }
            Self::Devices => {
                let devices = &period.devices;
                let rows = [("pc", devices.pc), ("tablet", devices.tablet), ("mobile", devices.mobile)];
                rows.map(|(name, n)| Row::new(name, [n])).into()
            }
        }
    }

    pub(super) const fn empty(self) -> &'static str {
        match self {
            Self::Students => "There were no visits.",
            Self::Terms => "Nothing was searched in the last 24 hours.",
            _ => "There was no traffic.",
        }
    }

    pub(super) fn sheet(self, days: Days, rows: &[Row]) -> Sheet {
        let of = if self == Self::Terms {
            "last-24-hours".to_owned()
        } else if days.first == days.last {
            days.first.to_string()
        } else {
            format!("{}-{}", days.first, days.last)
        };
        let row = |row: &Row| {
            let name = std::iter::once(row.name.as_str().into());
            name.chain(row.figures.iter().map(|n| (*n).into())).collect()
        };
        Sheet {
            name: format!("{}-{of}", self.name()),
            head: self.names().1.to_vec(),
            rows: rows.iter().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const TODAY: Date = date(2026, 11, 20);

    #[test]
    fn days_are_a_day_a_range_or_a_number_of_days() {
        assert_eq!(Days::parse("2026-02-28", TODAY), Ok(Days::one(date(2026, 2, 28))));
        let both = Days { first: date(2026, 11, 1), last: TODAY };
        assert_eq!(Days::parse("2026-11-01..2026-11-20", TODAY), Ok(both));
        assert_eq!(Days::parse("20d", TODAY), Ok(both));
        assert_eq!((both.len(), Days::parse(" ", TODAY)), (20, Ok(Days::one(TODAY))));
    }

    #[test]
    fn invalid_days_are_refused_with_a_reason() {
        for text in ["2026-02-29", "yesterday", "0d", "-3d", "d", "2026-11-01.."] {
            assert_eq!(Days::parse(text, TODAY), Err(NO_DAYS), "{text}");
        }
        for text in ["2026-11-20..2026-11-19", "367d", "2025-01-01..2026-11-20"] {
            assert_eq!(Days::parse(text, TODAY), Err(TOO_MANY), "{text}");
        }
        assert_eq!(Days::parse("366d", TODAY).map(Days::len), Ok(366));
    }

    #[test]
    fn a_range_moves_by_its_own_length() {
        let week = Days { first: date(2026, 11, 14), last: TODAY };
        assert_eq!(week.moved(-1), Days { first: date(2026, 11, 7), last: date(2026, 11, 13) });
        assert_eq!(week.moved(-1).moved(1), week);
        assert_eq!(Days::one(Date::MIN).moved(-1), Days::one(Date::MIN));
    }
}
