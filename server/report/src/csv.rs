//! The tables of a report as CSV.

use serde::Serialize;
use tidings_core::analysis::{Devices, PeriodReport};

/// A table of a report, which is a file of CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The figures of each day.
    Days,
    /// The visitors in each hour of each weekday.
    Hours,
    /// The search terms.
    Terms,
    /// The devices.
    Devices,
    /// The topics.
    Topics,
    /// The posts.
    Posts,
}

impl Table {
    /// All tables, in the order of the page.
    pub const ALL: [Self; 6] =
        [Self::Days, Self::Hours, Self::Terms, Self::Devices, Self::Topics, Self::Posts];

    /// Returns the name of the file: `days.csv`.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Days => "days.csv",
            Self::Hours => "hours.csv",
            Self::Terms => "terms.csv",
            Self::Devices => "devices.csv",
            Self::Topics => "topics.csv",
            Self::Posts => "posts.csv",
        }
    }

    /// Returns the table with this [file name](Table::file_name).
    pub fn of_file_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.file_name() == name)
    }

    /// Returns the table as CSV: UTF-8, with the names of the columns in the first line.
    ///
    /// A text that a spreadsheet would take for a formula has an apostrophe before it.
    pub fn csv(self, report: &PeriodReport) -> String {
        match self {
            Self::Days => {
                let header = ["date", "visitors", "visits", "views", "likes", "searches", "communications"];
                let days = report.days.iter().map(|of| {
                    (&of.date, of.visitor, of.visit, of.view, of.like, of.search, of.communication)
                });
                lines(&header, days)
            }
            Self::Hours => {
                let hours = report.weekdays.iter().flat_map(|of| {
                    let row = move |(hour, visitors)| (&of.weekday, hour, of.days, visitors);
                    of.hours.iter().enumerate().map(row)
                });
                lines(&["weekday", "hour", "days", "visitors"], hours)
            }
            Self::Terms => {
                let terms = report.terms.iter().flatten();
                lines(&["term", "searches"], terms.map(|of| (inert(&of.term), of.count)))
            }
            Self::Devices => {
                let Devices { pc, tablet, mobile } = report.devices;
                let devices = [("pc", pc), ("tablet", tablet), ("mobile", mobile)];
                lines(&["device", "reports"], devices.into_iter())
            }
            Self::Topics => {
                let topics = report.topics.iter();
                let topics = topics.map(|of| (inert(&of.topic), of.post, of.view, of.like));
                lines(&["topic", "posts", "views", "likes"], topics)
            }
            Self::Posts => {
                let posts = report
                    .posts
                    .iter()
                    .map(|of| (&of.id, &of.date, inert(&of.title), inert(&of.url), of.view, of.like));
                lines(&["id", "date", "title", "url", "views", "likes"], posts)
            }
        }
    }
}

fn lines(header: &[&str], rows: impl Iterator<Item = impl Serialize>) -> String {
    let mut lines = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    lines.write_record(header).expect("memory takes every line");
    for row in rows {
        lines.serialize(row).expect("memory takes every line, and all lines have the same length");
    }
    let bytes = lines.into_inner().expect("memory takes every line");
    String::from_utf8(bytes).expect("all fields are UTF-8")
}

/// No spreadsheet takes the result for a formula. Source: OWASP, *CSV Injection*, which also names the full-width forms.
fn inert(text: &str) -> String {
    let is_formula = text
        .starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}
