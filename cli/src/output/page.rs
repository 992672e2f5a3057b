//! What people read: lines, fields and tables, fitted to the terminal.

use std::fmt::Write as _;

use indicatif::HumanCount;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tidings_core::answer::LineError;
use tidings_core::clock::{Time, rfc3339};
use tidings_core::import::About;
use unicode_width::UnicodeWidthStr as _;

use super::table::Table;
use super::{Style, paint, table, text};

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
        let line = paint(&text::line(line.as_ref()), style, self.colour);
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// A text of several lines, as they are.
    pub(crate) fn block(&mut self, block: &str) {
        self.text.push_str(&text::block(block));
        self.text.push('\n');
    }

    /// A text of several lines, a step to the right: nothing in it passes for a line of ours. They go on below where
    /// the terminal is too narrow for them.
    pub(crate) fn indented(&mut self, block: &str) {
        let width = self.width.map(|width| width.saturating_sub(INDENT.len()).max(1));
        for line in table::wrapped(&text::block(block), width).lines() {
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
            let _ = writeln!(self.text, "{}", format!("{name}{pad}  {}", text::line(value)).trim_end());
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
        let updated = updated.map(|updated| format!("{} updated, ", HumanCount(updated))).unwrap_or_default();
        let (inserted, skipped) = (HumanCount(inserted), HumanCount(skipped));
        self.line(format!(
            "{inserted} inserted, {updated}{skipped} already the same, {} left out",
            HumanCount(about.left_out)
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
        self.notes.push(text::block(note).into_owned());
    }
}

/// A point in time, to the minute, in the zone that [`dated`] names.
pub(crate) fn local(time: Time) -> String {
    match Timestamp::from_millisecond(time.0) {
        Ok(moment) => moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => rfc3339(time.0),
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

/// A number in groups of three digits.
pub(crate) fn grouped(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", HumanCount(number.unsigned_abs()))
}

/// How many of a thing: `1 view`, `2 views`.
pub(crate) fn counted(number: i64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A bar as long as `value` is of `most`, at most `cells` long, to an eighth of a cell.
pub(super) fn bar(value: i64, most: i64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = |n: i64| u64::try_from(n).unwrap_or_default();
    let whole = (cells as u64) * 8;
    // What is there at all is seen.
    let eighths = match share(value) * whole / share(most).max(1) {
        0 if value > 0 => 1,
        eighths => eighths.min(whole),
    };
    let part = EIGHTHS[usize::try_from(eighths % 8).unwrap_or_default()];
    format!("{}{part}", "█".repeat(usize::try_from(eighths / 8).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let numbers = [0, 999, 1_000, -1_234_567, i64::MAX];
        let grouped: Vec<String> = numbers.into_iter().map(grouped).collect();
        assert_eq!(grouped, ["0", "999", "1,000", "-1,234,567", "9,223,372,036,854,775,807"]);
    }

    #[test]
    fn bars_are_as_long_as_their_share_and_never_longer() {
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(5, 10, 4), "██");
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(20, 10, 4), "████");
        assert_eq!(bar(1, 1_000, 4), "▏", "a little is seen");
        assert_eq!(bar(5, 8, 1), "▋");
        assert_eq!(bar(3, 0, 2), "██");
    }

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
