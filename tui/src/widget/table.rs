use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::cursor::Cursor;
use crate::text::fit;
use crate::theme::Theme;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    title: &'static str,
    /// In terminal columns; 0 for the width that the other columns leave.
    pub(crate) width: u16,
    right: bool,
    /// The column is shown in tables of at least this width.
    pub(crate) from: u16,
}

impl Column {
    pub(crate) const fn new(title: &'static str, width: u16) -> Self {
        Self { title, width, right: false, from: 0 }
    }

    pub(crate) const fn right(self) -> Self {
        Self { right: true, ..self }
    }

    pub(crate) const fn from(self, from: u16) -> Self {
        Self { from, ..self }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }

    pub(crate) fn faint(text: impl Into<String>) -> Self {
        Self::styled(text, Theme::faint())
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), style: Style::new() }
    }
}

pub(crate) const HEAD: u16 = 1;

/// Scrolls so that the selected row is visible. `row` returns the cells of a row, which may depend on the visible row above it.
pub(crate) fn draw(
    area: Rect,
    buf: &mut Buffer,
    columns: &[Column],
    len: usize,
    cursor: &Cursor,
    row: impl Fn(usize, Option<usize>) -> Vec<Cell>,
) {
    let shown: Vec<(usize, &Column)> =
        columns.iter().enumerate().filter(|(_, c)| area.width >= c.from).collect();
    let gaps = u16::try_from(shown.len().saturating_sub(1)).unwrap_or_default();
    let fixed: u16 = shown.iter().map(|(_, column)| column.width).sum();
    let rest = area.width.saturating_sub(fixed).saturating_sub(gaps);
    let line = |y: u16, buf: &mut Buffer, style: Style, cell: &dyn Fn(usize) -> Option<Cell>| {
        let mut x = area.x;
        for (i, column) in &shown {
            let wide =
                if column.width == 0 { rest } else { column.width }.min(area.right().saturating_sub(x));
            let cell = cell(*i).unwrap_or_default();
            let text = fit(&cell.text, wide.into(), column.right);
            buf.set_stringn(x, y, text, wide.into(), style.patch(cell.style));
            x = x.saturating_add(wide + 1).min(area.right());
        }
    };
    if area.height == 0 {
        return;
    }
    let titles = |i: usize| columns.get(i).map(|column| Cell::from(column.title));
    line(area.y, buf, Theme::faint(), &titles);
    let lines = area.height - HEAD;
    let view = cursor.view(len, lines.into());
    for (y, i) in (area.y + HEAD..).zip(view.clone()) {
        let cells = row(i, (i > view.start).then(|| i - 1));
        if cursor.selected(len) == Some(i) {
            let whole = Rect { y, height: 1, ..area };
            // Coloured text may be unreadable on the reversed background.
            line(y, buf, Style::new(), &|i| cells.get(i).map(|cell| Cell::from(cell.text.clone())));
            buf.set_style(whole, Theme::selected());
        } else {
            line(y, buf, Style::new(), &|i| cells.get(i).cloned());
        }
    }
}
