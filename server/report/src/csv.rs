//! The tables of a report as CSV.

use tidings_core::analysis::PeriodReport;

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
        let mut lines =
            Lines(csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new()));
        match self {
            Self::Days => {
                lines.add(["date", "visitors", "visits", "views", "likes", "searches", "communications"]);
                for day in &report.days {
                    let counts = [day.visitor, day.visit, day.view, day.like, day.search, day.communication];
                    lines.add([day.date.clone()].into_iter().chain(counts.map(|n| n.to_string())));
                }
            }
            Self::Hours => {
                lines.add(["weekday", "hour", "days", "visitors"]);
                for of in &report.weekdays {
                    for (hour, visitors) in of.hours.iter().enumerate() {
                        lines.add([
                            of.weekday.clone(),
                            hour.to_string(),
                            of.days.to_string(),
                            visitors.to_string(),
                        ]);
                    }
                }
            }
            Self::Terms => {
                lines.add(["term", "searches"]);
                for of in report.terms.iter().flatten() {
                    lines.add([inert(&of.term), of.count.to_string()]);
                }
            }
            Self::Devices => {
                lines.add(["device", "reports"]);
                let devices = &report.devices;
                for (name, n) in [("pc", devices.pc), ("tablet", devices.tablet), ("mobile", devices.mobile)]
                {
                    lines.add([name.to_owned(), n.to_string()]);
                }
            }
            Self::Topics => {
                lines.add(["topic", "posts", "views", "likes"]);
                for of in &report.topics {
                    let counts = [of.post, of.view, of.like].map(|n| n.to_string());
                    lines.add([inert(&of.topic)].into_iter().chain(counts));
                }
            }
            Self::Posts => {
                lines.add(["id", "date", "title", "url", "views", "likes"]);
                for of in &report.posts {
                    let texts = [of.id.clone(), of.date.clone(), inert(&of.title), inert(&of.url)];
                    lines.add(texts.into_iter().chain([of.view, of.like].map(|n| n.to_string())));
                }
            }
        }
        lines.text()
    }
}

struct Lines(csv::Writer<Vec<u8>>);

impl Lines {
    fn add<T: AsRef<[u8]>>(&mut self, fields: impl IntoIterator<Item = T>) {
        self.0.write_record(fields).expect("memory takes every line, and all lines have the same length");
    }

    fn text(self) -> String {
        let bytes = self.0.into_inner().expect("memory takes every line");
        String::from_utf8(bytes).expect("all fields are UTF-8")
    }
}

/// No spreadsheet takes the result for a formula. Source: OWASP, *CSV Injection*, which also names the full-width forms.
fn inert(text: &str) -> String {
    let is_formula = text
        .starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}
