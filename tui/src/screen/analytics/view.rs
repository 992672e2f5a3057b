//! The views of the figures, as rows of a table.

use tidings_core::analysis::SearchBurst;

use super::days::Days;
use crate::effect::Figures;
use crate::sheet::Sheet;
use crate::widget::cycle::Cycle;
use crate::widget::table::Column;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    #[default]
    Hours,
    Days,
    Students,
    Terms,
    Devices,
}

const DAYS: [(&str, u16, u16); 6] = [
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

    /// Separated by tabs.
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
        match self {
            Self::Hours => "hours",
            Self::Days => "days",
            Self::Students => "students",
            Self::Terms => "terms",
            Self::Devices => "devices",
        }
    }

    /// For export.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Hours => &["hour", "visitors"],
            Self::Days => &["day", "visitors", "visits", "views", "likes", "searches", "requests"],
            Self::Students => &["student", "visits"],
            Self::Terms => &["term", "searches", "above_usual"],
            Self::Devices => &["device", "reported"],
        }
    }

    /// The name, the figures and the bar.
    pub(super) fn columns(self) -> Vec<Column> {
        // The name has a title and a width; each figure also the least width of the table.
        let (name, figures): (_, &[(&'static str, u16, u16)]) = match self {
            Self::Hours => (("Hour", 6), &[("Visitors", 9, 0)]),
            Self::Days => (("Day", 10), &DAYS),
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

    pub(super) fn rows(self, Figures { period, terms, bursts }: &Figures) -> Vec<Row> {
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
            head: self.names().to_vec(),
            rows: rows.iter().map(row).collect(),
        }
    }
}
