//! Tables that fit the terminal. Widths count the terminal cells of characters.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row};
use tidings_client::shown::escape;
use unicode_width::UnicodeWidthStr as _;

use super::bar::bar;
use super::{Style, paint};

/// The cells between two columns.
const GAP: u16 = 2;
/// The minimum and the maximum width of the longest bar, in cells.
const BAR: (usize, usize) = (4, 60);
/// The width of a line with bars, in cells, when the output is not a terminal.
const LINE: usize = 80;
/// The minimum width of a text, in cells; optional columns are left out to reach it.
const TEXT_MIN: usize = 14;
/// The minimum width of a text, in cells; ids and dates are cut to reach it.
const TEXT_LEAST: usize = 6;
/// The minimum width of an optional text, in cells; a shorter text would not be useful.
const OPTIONAL_MIN: usize = 24;

pub(crate) struct Column {
    name: String,
    kind: Kind,
    optional: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Text that is never cut, such as an id.
    Whole,
    /// Text that is never cut and is aligned to the right.
    Number,
    /// Text that is cut with an ellipsis if it does not fit.
    Text,
    /// A number, drawn as a bar.
    Bar,
}

impl Column {
    pub(crate) fn whole(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Whole, optional: false }
    }

    pub(crate) fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Number, optional: false }
    }

    pub(crate) fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Text, optional: false }
    }

    /// The bars are as wide as the other columns allow.
    pub(crate) fn bars() -> Self {
        Self { name: String::new(), kind: Kind::Bar, optional: true }
    }

    /// If the terminal is too narrow, the last optional column is left out first.
    pub(crate) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<(Style, Vec<String>)>,
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.styled_row(Style::Plain, cells);
    }

    pub(crate) fn styled_row<const N: usize>(&mut self, style: Style, cells: [String; N]) {
        debug_assert_eq!(N, self.columns.len(), "a cell for each column");
        let fit = |cell: String| escape::line(&cell).into_owned();
        self.rows.push((style, cells.map(fit).into()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn render(&self, width: Option<usize>, colour: bool) -> String {
        let (shown, fits) = self.shown(width);
        let bars = self.bars(&shown, width.unwrap_or(LINE));
        let cell = |cells: &[String], n: usize| match self.columns[n].kind {
            Kind::Bar => bars(&cells[n]),
            _ => cells[n].clone(),
        };
        let pick = |cells: &[String]| shown.iter().map(|&n| cell(cells, n)).collect::<Vec<_>>();
        let row = |cells: Vec<String>| {
            let mut row = Row::from(cells);
            row.max_height(1);
            row
        };
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING);
        let names: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        table.set_header(row(pick(&names)));
        table.add_rows(self.rows.iter().map(|(_, cells)| row(pick(cells))));
        if let Some(width) = width {
            let cells = u16::try_from(width).unwrap_or(u16::MAX);
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(cells);
        }
        for (place, &n) in shown.iter().enumerate() {
            let Some(column) = table.column_mut(place) else { continue };
            let gap = if place + 1 < shown.len() { GAP } else { 0 };
            // A delimiter that no text contains makes texts break between any two characters, not between words.
            column.set_padding((0, gap)).set_delimiter('\0');
            if self.columns[n].kind == Kind::Number {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if matches!(self.columns[n].kind, Kind::Whole | Kind::Number) && fits {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let styles = std::iter::once(Style::Strong).chain(self.rows.iter().map(|(style, _)| *style));
        let lines = table.trim_fmt();
        lines.lines().zip(styles).map(|(line, style)| paint(line.trim_end(), style, colour) + "\n").collect()
    }

    /// Returns the indices of the columns that fit, and whether all uncut columns fit.
    fn shown(&self, width: Option<usize>) -> (Vec<usize>, bool) {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let Some(width) = width else { return (shown, true) };
        loop {
            let needed: usize = shown.iter().map(|&n| self.needed(n) + usize::from(GAP)).sum();
            if needed <= width + usize::from(GAP) {
                return (shown, true);
            }
            match shown.iter().rposition(|&n| self.columns[n].optional) {
                Some(place) => drop(shown.remove(place)),
                // A short text is better than half an id.
                None => return (shown, self.least(width)),
            }
        }
    }

    /// Returns a function that draws a cell of the bars, in the cells that the other columns leave.
    fn bars(&self, shown: &[usize], line: usize) -> impl Fn(&str) -> String {
        let number = |cell: &str| cell.parse::<i64>().unwrap_or_default();
        let is_bar = |n: &usize| self.columns[*n].kind == Kind::Bar;
        let others = shown.iter().filter(|n| !is_bar(n)).map(|&n| self.width(n) + usize::from(GAP)).sum();
        let cells = line.saturating_sub(others).clamp(BAR.0, BAR.1);
        let most =
            shown.iter().find(|n| is_bar(n)).map(|&n| self.rows.iter().map(move |row| number(&row.1[n])));
        let most = most.and_then(Iterator::max).unwrap_or_default();
        move |cell| bar(number(cell), most, cells)
    }

    /// Returns the minimum width of a column, in cells.
    fn needed(&self, n: usize) -> usize {
        match self.columns[n].kind {
            Kind::Text if self.columns[n].optional => self.width(n).min(OPTIONAL_MIN),
            Kind::Text => self.width(n).min(TEXT_MIN),
            Kind::Bar => BAR.0,
            Kind::Whole | Kind::Number => self.width(n),
        }
    }

    /// Returns whether `width` leaves room for a part of each text once all optional columns are left out and the
    /// others are uncut.
    fn least(&self, width: usize) -> bool {
        let kept = (0..self.columns.len()).filter(|&n| !self.columns[n].optional);
        let cells = kept.map(|n| match self.columns[n].kind {
            Kind::Text => self.width(n).min(TEXT_LEAST),
            _ => self.needed(n),
        });
        cells.map(|cells| cells + usize::from(GAP)).sum::<usize>() <= width + usize::from(GAP)
    }

    /// Returns the width in cells of a column whose texts are not cut.
    fn width(&self, n: usize) -> usize {
        let cells = self.rows.iter().map(|(_, cells)| cells[n].width());
        cells.max().unwrap_or_default().max(self.columns[n].name.width())
    }
}

/// Wraps a text at `width` cells, between words where possible.
pub(super) fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut table = comfy_table::Table::new();
    table.load_style(NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.add_row([text]);
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 0));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = [
            Column::whole("ID"),
            Column::text("Title"),
            Column::number("Views"),
            Column::whole("Date").optional(),
            Column::text("Text").optional(),
        ];
        let mut table = Table::new(columns);
        let row = |id: &str, title: &str, views: &str, text: &str| {
            [id.into(), title.into(), views.into(), "2026-11-20".into(), text.into()]
        };
        table.row(row("1", "A library that is open until ten at night", "1,234", "all of it\nhere"));
        table.row(row("22", "도서관은 밤 열 시까지 열려 있습니다", "5", "모두"));
        table.styled_row(Style::Faint, row("333", "👩‍👩‍👧 🇰🇷 🦀🦀🦀🦀🦀🦀🦀🦀🦀", "67", "🦀"));
        table
    }

    #[test]
    fn a_table_without_a_terminal_is_whole_and_plain() {
        insta::assert_snapshot!(table().render(None, false));
    }

    #[test]
    fn a_table_is_cut_to_the_width_of_the_terminal() {
        for width in [80, 60, 40, 20] {
            let text = table().render(Some(width), false);
            assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            assert_eq!(text.lines().count(), 4, "{width}:\n{text}");
        }
        insta::assert_snapshot!("80", table().render(Some(80), false));
        insta::assert_snapshot!("40", table().render(Some(40), false));
    }

    #[test]
    fn a_text_is_cut_before_a_date_is() {
        let mut table = Table::new([Column::whole("Date"), Column::whole("Member"), Column::text("Path")]);
        table.row(["2026-11-20 17:36".into(), "s2026001".into(), "/get_newsfeed_of_recommendation".into()]);
        let text = table.render(Some(40), false);
        assert!(text.contains("\n2026-11-20 17:36  s2026001  /get_newsfe…\n"), "{text}");
    }

    #[test]
    fn long_lines_are_wrapped() {
        let text = "A library that is open until ten\n\n도서관은 밤 열 시까지 열려 있습니다";
        assert_eq!(wrapped(text, None), text);
        let lines = "A library that\nis open until\nten\n\n도서관은 밤 열\n시까지 열려\n있습니다";
        assert_eq!(wrapped(text, Some(14)), lines);
        assert_eq!(wrapped("abcdefgh", Some(4)), "abcd\nefgh");
    }

    #[test]
    fn bars_take_the_width_that_the_other_columns_leave() {
        let mut table = Table::new([Column::text("Hour"), Column::number("Visitors"), Column::bars()]);
        for (hour, visitors) in [("00", 5), ("01", 10), ("02", 0)] {
            table.row([hour.into(), visitors.to_string(), visitors.to_string()]);
        }
        let text = table.render(Some(20), false);
        assert_eq!(text, "Hour  Visitors\n00           5  ██\n01          10  ████\n02           0\n");
        let longest = |width| {
            let text = table.render(width, false);
            text.lines().map(|line| line.matches('█').count()).max()
        };
        assert_eq!((longest(Some(40)), longest(None), longest(Some(500))), (Some(24), Some(60), Some(60)));
        assert_eq!(longest(Some(16)), Some(0), "left out where there is no room");
    }

    #[test]
    fn colour_covers_whole_lines_and_takes_no_cells() {
        let text = table().render(Some(40), true);
        let mut lines = text.lines();
        assert!(
            lines.next().is_some_and(|line| line.starts_with("\u{1b}[1m") && line.ends_with("\u{1b}[0m"))
        );
        assert!(lines.next().is_some_and(|line| !line.contains('\u{1b}')));
        assert!(lines.last().is_some_and(|line| line.starts_with("\u{1b}[2m")));
    }
}
