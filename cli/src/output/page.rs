use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use jiff::tz::TimeZone;
use tidings_client::shown::{escape, time};
use tidings_core::clock::Timestamp;
use unicode_width::UnicodeWidthStr as _;

use super::table::Table;
use super::{Style, paint, table};

const INDENT: &str = "  ";

/// Escapes every text that is added to it.
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

    /// Adds a note that names the zone of typed times, unless it was named.
    pub(super) fn into_parts(mut self) -> (String, Vec<String>) {
        if IS_TYPED.load(Ordering::Relaxed) && !IS_NAMED.swap(true, Ordering::Relaxed) {
            self.note(&format!("Times are in {}.", zone()));
        }
        (self.text, self.notes)
    }

    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.styled(Style::Plain, line);
    }

    pub(crate) fn styled(&mut self, style: Style, line: impl AsRef<str>) {
        let line = paint(&escape::line(line.as_ref()), style, self.colour);
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// Black on white where there are colours; otherwise as a dark terminal shows it.
    pub(crate) fn qr(&mut self, text: &str) {
        for line in tidings_client::shown::qr::lines(text, !self.colour).unwrap_or_default() {
            let (on, off) = if self.colour { ("\u{1b}[30;107m", "\u{1b}[0m") } else { ("", "") };
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "{on}{line}{off}");
        }
    }

    pub(crate) fn block(&mut self, block: &str) {
        self.text.push_str(&escape::block(block));
        self.text.push('\n');
    }

    /// Wraps the text to the terminal. The indentation shows that the text is quoted.
    pub(crate) fn indented(&mut self, block: &str) {
        let width = self.width.map(|width| width.saturating_sub(INDENT.len()).max(1));
        for line in table::wrapped(&escape::block(block), width).lines() {
            let line = format!("{INDENT}{line}");
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    pub(crate) fn fields(&mut self, fields: &[(&str, String)]) {
        let widest = fields.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
        for (name, value) in fields {
            let pad = " ".repeat(widest - name.width());
            let name = paint(name, Style::Strong, self.colour);
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "{}", format!("{name}{pad}  {}", escape::line(value)).trim_end());
        }
    }

    /// A table without rows is replaced by the note `empty`.
    pub(crate) fn table<T>(&mut self, table: &Table<'_, T>, empty: &str) {
        if table.is_empty() {
            return self.note(empty);
        }
        self.text.push_str(&table.render(self.width, self.colour));
    }

    /// Notes go to standard error.
    pub(crate) fn note(&mut self, note: &str) {
        self.notes.push(escape::block(note).into_owned());
    }
}

type AskedZone = LazyLock<TimeZone, Box<dyn FnOnce() -> TimeZone + Send>>;

/// The zone of the service, which is asked for it only when a time is read or shown.
static ZONE: OnceLock<AskedZone> = OnceLock::new();
static IS_TYPED: AtomicBool = AtomicBool::new(false);
/// Once is enough.
static IS_NAMED: AtomicBool = AtomicBool::new(false);

/// From now on times are in the zone that `ask` returns, or else in that of this machine.
pub(crate) fn use_zone(ask: impl FnOnce() -> Option<String> + Send + 'static) {
    let ask = || ask().and_then(|name| TimeZone::get(&name).ok()).unwrap_or_else(TimeZone::system);
    // A command has one service.
    let _ = ZONE.set(LazyLock::new(Box::new(ask)));
}

fn time_zone() -> TimeZone {
    ZONE.get().map_or_else(TimeZone::system, |zone| TimeZone::clone(zone))
}

/// To the minute. The first one names the zone, unless [`dated`] has named it.
pub(crate) fn local(at: Timestamp) -> String {
    let text = time::stamp(at, &time_zone());
    if IS_NAMED.swap(true, Ordering::Relaxed) { text } else { format!("{text} ({})", zone()) }
}

pub(crate) fn local_to_second(at: Timestamp) -> String {
    time::formatted(at, &time_zone(), "%Y-%m-%d %H:%M:%S")
}

/// To RFC 3339, which operations take. Any other text is returned unchanged: the operation has the rule.
pub(crate) fn typed_time(text: &str) -> String {
    let at = time::parse(text, &time_zone());
    IS_TYPED.fetch_or(at.is_some(), Ordering::Relaxed);
    at.map_or_else(|| text.to_owned(), |at| at.to_string())
}

/// The first title names the zone: `Date, Asia/Seoul`.
pub(crate) fn dated(name: &str) -> String {
    let is_named = IS_NAMED.swap(true, Ordering::Relaxed);
    if is_named { name.to_owned() } else { format!("{name}, {}", zone()) }
}

pub(crate) fn zone() -> String {
    let zone = time_zone();
    match zone.iana_name() {
        // Without a configured zone the system uses UTC.
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
    fn quoted_text_is_indented_however_narrow_the_terminal_is() {
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
    fn untrusted_text_is_escaped() {
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
