use tidings_core::analysis::PeriodReport;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Days,
    /// Visitors in each hour of each weekday.
    Hours,
    Terms,
    Devices,
    Topics,
    Posts,
}

impl Table {
    /// In the order of the page.
    pub const ALL: [Self; 6] =
        [Self::Days, Self::Hours, Self::Terms, Self::Devices, Self::Topics, Self::Posts];

    /// `days.csv`.
    pub const fn file_name(self) -> &'static str {
        ["days.csv", "hours.csv", "terms.csv", "devices.csv", "topics.csv", "posts.csv"][self as usize]
    }

    pub fn of_file_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.file_name() == name)
    }

    /// UTF-8, with the names of the columns in the first line. A text that a spreadsheet would take for a formula begins with `'`.
    pub fn csv(self, report: &PeriodReport) -> String {
        let mut lines = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        let mut add = |fields: &[&dyn ToString]| {
            let fields = fields.iter().map(|field| field.to_string());
            lines.write_record(fields).expect("memory takes every line, and all lines have the same length");
        };
        match self {
            Self::Days => {
                add(&[&"date", &"visitors", &"visits", &"views", &"likes", &"searches", &"communications"]);
                for of in &report.days {
                    add(&[
                        &of.date,
                        &of.visitor,
                        &of.visit,
                        &of.view,
                        &of.like,
                        &of.search,
                        &of.communication,
                    ]);
                }
            }
            Self::Hours => {
                add(&[&"weekday", &"hour", &"days", &"visitors"]);
                for of in &report.weekdays {
                    for (hour, visitors) in of.hours.iter().enumerate() {
                        add(&[&of.weekday, &hour, &of.days, visitors]);
                    }
                }
            }
            Self::Terms => {
                add(&[&"term", &"searches"]);
                for of in report.terms.iter().flatten() {
                    add(&[&inert(&of.term), &of.count]);
                }
            }
            Self::Devices => {
                let devices = &report.devices;
                add(&[&"device", &"reports"]);
                add(&[&"pc", &devices.pc]);
                add(&[&"tablet", &devices.tablet]);
                add(&[&"mobile", &devices.mobile]);
            }
            Self::Topics => {
                add(&[&"topic", &"posts", &"views", &"likes"]);
                for of in &report.topics {
                    add(&[&inert(&of.topic), &of.post, &of.view, &of.like]);
                }
            }
            Self::Posts => {
                add(&[&"id", &"date", &"title", &"url", &"views", &"likes"]);
                for of in &report.posts {
                    add(&[&of.id, &of.date, &inert(&of.title), &inert(&of.url), &of.view, &of.like]);
                }
            }
        }
        let bytes = lines.into_inner().expect("memory takes every line");
        String::from_utf8(bytes).expect("all fields are UTF-8")
    }
}

/// No spreadsheet takes the result for a formula. Source: OWASP, *CSV Injection*, which also names the full-width forms.
fn inert(text: &str) -> String {
    let is_formula = text
        .starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}
