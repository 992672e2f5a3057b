//! What people read: lines, fields and tables, fitted to the terminal.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use tidings_core::answer::LineError;
use tidings_core::clock::Timestamp;
use tidings_core::import::About;
use tidings_tui::escape;
use tidings_tui::number::number;
use unicode_width::UnicodeWidthStr as _;

use super::table::Table;
use super::{Style, paint, table};

/// Stands before a text that is quoted.
const INDENT: &str = "  ";

/// A page that is being written. What is put on it is made fit for a terminal here, and nowhere else.
pub(crate) struct Page {
    width: Option<usize>,
    colour: bool,
    text: String,
    notes: Vec<String>,
}

impl Page {
    pub(super) fn new(width: Option<usize>, colour: bool) -> Self {
        Self { width, colour, text: String::new(), notes: Vec::new() }
    }

    /// The text, and what is said beside it.
    pub(super) fn into_parts(self) -> (String, Vec<String>) {
        (self.text, self.notes)
    }

    /// A line.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.styled(Style::Plain, line);
    }

    /// A line that stands out.
    pub(crate) fn styled(&mut self, style: Style, line: impl AsRef<str>) {
        let line = paint(&escape::line(line.as_ref()), style, self.colour);
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// A text of several lines, as they are.
    pub(crate) fn block(&mut self, block: &str) {
        self.text.push_str(&escape::block(block));
        self.text.push('\n');
    }

    /// A text of several lines, a step to the right: nothing in it passes for a line of ours. They go on below where
    /// the terminal is too narrow for them.
    pub(crate) fn indented(&mut self, block: &str) {
        let width = self.width.map(|width| width.saturating_sub(INDENT.len()).max(1));
        for line in table::wrapped(&escape::block(block), width).lines() {
            let line = format!("{INDENT}{line}");
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// Names and values, the values one below the other.
    pub(crate) fn fields(&mut self, fields: &[(&str, String)]) {
        let widest = fields.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
        for (name, value) in fields {
            let pad = " ".repeat(widest - name.width());
            let name = paint(name, Style::Strong, self.colour);
            // A text takes all that is written to it.
            let _ = writeln!(self.text, "{}", format!("{name}{pad}  {}", escape::line(value)).trim_end());
        }
    }

    /// A table; where it has no rows, `empty` is said beside the page instead.
    pub(crate) fn table(&mut self, table: &Table, empty: &str) {
        if table.is_empty() {
            return self.note(empty);
        }
        self.text.push_str(&table.render(self.width, self.colour));
    }

    /// What an import did, and, beside the page, what it left out and which columns it did not read; `updated` of one
    /// that updates.
    pub(crate) fn imported(
        &mut self,
        inserted: u64,
        updated: Option<u64>,
        skipped: u64,
        errors: &[LineError],
        about: &About,
    ) {
        let updated = updated.map(|updated| format!("{} updated, ", number(updated))).unwrap_or_default();
        let (inserted, skipped) = (number(inserted), number(skipped));
        self.line(format!(
            "{inserted} inserted, {updated}{skipped} already the same, {} left out",
            number(about.left_out)
        ));
        let what = if about.are_entries { "entry" } else { "line" };
        for LineError { line, reason } in errors {
            self.note(&format!("{what} {line}: {reason}"));
        }
        for column in &about.unknown_columns {
            self.note(&format!("the column {column:?} is not known and is not read"));
        }
    }

    /// Something that is said beside the page, on standard error.
    pub(crate) fn note(&mut self, note: &str) {
        self.notes.push(escape::block(note).into_owned());
    }
}

/// A point in time, to the minute, in the zone that [`dated`] names.
pub(crate) fn local(time: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(time.as_millis()) {
        Ok(moment) => moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => time.to_string(),
    }
}

/// The name of a column with times, and their zone: `Date, Asia/Seoul`.
pub(crate) fn dated(name: &str) -> String {
    format!("{name}, {}", zone())
}

/// The zone of local times.
pub(crate) fn zone() -> String {
    let zone = TimeZone::system();
    match zone.iana_name() {
        // A machine that does not say its zone is taken to be in UTC.
        _ if zone.is_unknown() => "UTC",
        Some("Etc/UTC") => "UTC",
        Some(zone) => zone,
        None => "local time",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_stands_apart_however_narrow_the_terminal_is() {
        let quoted = |width| {
            let mut page = Page::new(width, false);
            page.indented("open until ten\n\n0001  done");
            page.into_parts().0
        };
        assert_eq!(quoted(None), "  open until ten\n\n  0001  done\n");
        assert_eq!(quoted(Some(12)), "  open until\n  ten\n\n  0001  done\n");
        assert!(quoted(Some(1)).lines().all(|line| line.is_empty() || line.starts_with("  ")));
    }

    #[test]
    fn what_others_wrote_reaches_the_terminal_escaped() {
        let mut page = Page::new(None, false);
        page.line("\u{1b}[2J");
        page.fields(&[("Name", "a\nb".into()), ("한글", "c".into())]);
        page.block("one\n\u{7}");
        page.note("\u{9b}");
        let (text, notes) = page.into_parts();
        assert_eq!(text, "\\u{1b}[2J\nName  a\\nb\n한글  c\none\n\\u{7}\n");
        assert_eq!(notes, ["\\u{9b}"]);
    }
}
