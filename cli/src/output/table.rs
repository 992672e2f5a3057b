//! Widths count the terminal cells of characters.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row};
use tidings_client::shown::escape;
use unicode_width::UnicodeWidthStr as _;

use super::{Style, paint};

const GAP: u16 = 2;
/// The minimum and the maximum of the longest bar, in cells.
const BAR: (usize, usize) = (4, 60);
/// With bars, in cells, when the output is not a terminal.
const LINE: usize = 80;
/// In cells; optional columns are left out to reach it.
const TEXT_MIN: usize = 14;
/// In cells; ids and dates are cut to reach it.
const TEXT_LEAST: usize = 6;
/// In cells; a shorter text would not be useful.
const OPTIONAL_MIN: usize = 24;

/// A row for each item. If the terminal is too narrow, the last optional column is left out first.
pub(crate) struct Table<'a, T> {
    items: &'a [T],
    columns: Vec<Column>,
    styles: Vec<Style>,
}

struct Column {
    name: String,
    kind: Kind,
    is_optional: bool,
    cells: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Never cut, such as an id.
    Whole,
    /// Never cut, aligned to the right.
    Number,
    /// Cut with an ellipsis if it does not fit.
    Text,
    Bar,
}

impl Column {
    /// If nothing is cut, in cells.
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.width()).max().unwrap_or_default().max(self.name.width())
    }

    fn needed(&self) -> usize {
        match self.kind {
            Kind::Text if self.is_optional => self.width().min(OPTIONAL_MIN),
            Kind::Text => self.width().min(TEXT_MIN),
            Kind::Bar => BAR.0,
            Kind::Whole | Kind::Number => self.width(),
        }
    }

    fn bars(&self, cells: usize) -> Vec<String> {
        let numbers = self.cells.iter().map(|cell| cell.parse::<i64>().unwrap_or_default());
        let most = numbers.clone().max().unwrap_or_default();
        numbers.map(|number| bar(number, most, cells)).collect()
    }
}

impl<'a, T> Table<'a, T> {
    pub(crate) fn of(items: &'a [T]) -> Self {
        Self { items, columns: Vec::new(), styles: vec![Style::Plain; items.len()] }
    }

    fn column(
        mut self,
        (kind, is_optional): (Kind, bool),
        name: impl Into<String>,
        cell: impl Fn(&T) -> String,
    ) -> Self {
        let cells = self.items.iter().map(|item| escape::line(&cell(item)).into_owned()).collect();
        self.columns.push(Column { name: name.into(), kind, is_optional, cells });
        self
    }

    pub(crate) fn whole(self, name: impl Into<String>, cell: impl Fn(&T) -> String) -> Self {
        self.column((Kind::Whole, false), name, cell)
    }

    pub(crate) fn optional_whole(self, name: impl Into<String>, cell: impl Fn(&T) -> String) -> Self {
        self.column((Kind::Whole, true), name, cell)
    }

    pub(crate) fn text(self, name: impl Into<String>, cell: impl Fn(&T) -> String) -> Self {
        self.column((Kind::Text, false), name, cell)
    }

    pub(crate) fn optional_text(self, name: impl Into<String>, cell: impl Fn(&T) -> String) -> Self {
        self.column((Kind::Text, true), name, cell)
    }

    pub(crate) fn number(self, name: impl Into<String>, cell: impl Fn(&T) -> String) -> Self {
        self.column((Kind::Number, false), name, cell)
    }

    pub(crate) fn optional_number(self, name: impl Into<String>, cell: impl Fn(&T) -> String) -> Self {
        self.column((Kind::Number, true), name, cell)
    }

    /// The bars are as wide as the other columns allow.
    pub(crate) fn bars(self, number: impl Fn(&T) -> i64) -> Self {
        self.column((Kind::Bar, true), "", |item| number(item).to_string())
    }

    pub(crate) fn styled(mut self, style: impl Fn(&T) -> Style) -> Self {
        self.styles = self.items.iter().map(style).collect();
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn render(&self, width: Option<usize>, colour: bool) -> String {
        let (shown, fits) = self.shown(width);
        let others = shown.iter().filter(|column| column.kind != Kind::Bar);
        let others: usize = others.map(|column| column.width() + usize::from(GAP)).sum();
        let bar_cells = width.unwrap_or(LINE).saturating_sub(others).clamp(BAR.0, BAR.1);
        let cells = |column: &&Column| match column.kind {
            Kind::Bar => column.bars(bar_cells),
            _ => column.cells.clone(),
        };
        let cells: Vec<_> = shown.iter().map(cells).collect();
        let row = |cells: Vec<&str>| {
            let mut row = Row::from(cells);
            row.max_height(1);
            row
        };
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING);
        table.set_header(row(shown.iter().map(|column| &*column.name).collect()));
        table.add_rows((0..self.items.len()).map(|n| row(cells.iter().map(|cells| &*cells[n]).collect())));
        if let Some(width) = width {
            let cells = u16::try_from(width).unwrap_or(u16::MAX);
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(cells);
        }
        for (place, Column { kind, .. }) in shown.iter().enumerate() {
            let Some(column) = table.column_mut(place) else { continue };
            let gap = if place + 1 < shown.len() { GAP } else { 0 };
            // A delimiter that no text contains makes texts break between any two characters, not between words.
            column.set_padding((0, gap)).set_delimiter('\0');
            if *kind == Kind::Number {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if matches!(kind, Kind::Whole | Kind::Number) && fits {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let styles = std::iter::once(&Style::Strong).chain(&self.styles);
        let lines = table.trim_fmt();
        lines.lines().zip(styles).map(|(line, style)| paint(line.trim_end(), *style, colour) + "\n").collect()
    }

    /// And whether all uncut columns fit.
    fn shown(&self, width: Option<usize>) -> (Vec<&Column>, bool) {
        let mut shown: Vec<_> = self.columns.iter().collect();
        let Some(width) = width else { return (shown, true) };
        let fit = |cells: &mut dyn Iterator<Item = usize>| {
            cells.map(|cells| cells + usize::from(GAP)).sum::<usize>() <= width + usize::from(GAP)
        };
        while !fit(&mut shown.iter().map(|column| column.needed())) {
            let Some(place) = shown.iter().rposition(|column| column.is_optional) else {
                // A short text is better than half an id.
                let least = |column: &&Column| match column.kind {
                    Kind::Text => column.width().min(TEXT_LEAST),
                    _ => column.needed(),
                };
                let fits = fit(&mut shown.iter().map(least));
                return (shown, fits);
            };
            shown.remove(place);
        }
        (shown, true)
    }
}

/// Between words where possible.
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

/// Covers `value / most` of `cells`, to an eighth of a cell, and at most `cells`.
fn bar(value: i64, most: i64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = |n: i64| u64::try_from(n).unwrap_or_default();
    let whole = (cells as u64) * 8;
    // Even a small number is visible.
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

    const ROWS: [[&str; 4]; 3] = [
        ["1", "A library that is open until ten at night", "1,234", "all of it\nhere"],
        ["22", "도서관은 밤 열 시까지 열려 있습니다", "5", "모두"],
        ["333", "👩‍👩‍👧 🇰🇷 🦀🦀🦀🦀🦀🦀🦀🦀🦀", "67", "🦀"],
    ];

    fn table() -> Table<'static, [&'static str; 4]> {
        Table::of(&ROWS)
            .whole("ID", |row| row[0].into())
            .text("Title", |row| row[1].into())
            .number("Views", |row| row[2].into())
            .optional_whole("Date", |_| "2026-11-20".into())
            .optional_text("Text", |row| row[3].into())
            .styled(|row| if row[0] == "333" { Style::Faint } else { Style::Plain })
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
        let table = Table::of(&["/get_newsfeed_of_recommendation"])
            .whole("Date", |_| "2026-11-20 17:36".into())
            .whole("Member", |_| "s2026001".into())
            .text("Path", |path| (*path).into());
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
        let table = Table::of(&[("00", 5), ("01", 10), ("02", 0)])
            .text("Hour", |(hour, _)| (*hour).into())
            .number("Visitors", |(_, visitors)| visitors.to_string())
            .bars(|(_, visitors)| *visitors);
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

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_longer() {
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(5, 10, 4), "██");
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(20, 10, 4), "████");
        assert_eq!(bar(1, 1_000, 4), "▏", "a small number is visible");
        assert_eq!(bar(5, 8, 1), "▋");
        assert_eq!(bar(3, 0, 2), "██");
    }
}
