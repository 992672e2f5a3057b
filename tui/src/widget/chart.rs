use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::text;
use crate::theme::Theme;
use tidings_client::shown::number::number;

const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The distance between the starts of `n` bars that share `width` columns.
pub(crate) fn pitch(width: u16, n: u16) -> u16 {
    width.checked_div(n).unwrap_or(1).max(1)
}

/// A bar of the value `most` has the full height. The first begins at `offset`, the others `pitch` columns after the previous one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bars<'v> {
    pub(crate) values: &'v [i64],
    pub(crate) most: i64,
    pub(crate) pitch: u16,
    pub(crate) offset: u16,
    pub(crate) wide: u16,
    /// `None` for eighths of a line.
    pub(crate) fill: Option<&'static str>,
    pub(crate) style: Style,
}

impl Bars<'_> {
    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let most = self.most.max(1);
        for (i, value) in (0_u16..).zip(self.values) {
            let left = area.x.saturating_add(i.saturating_mul(self.pitch)).saturating_add(self.offset);
            let eighths = (value.max(&0).saturating_mul(i64::from(area.height) * 8) + most - 1) / most;
            for y in 0..area.height {
                let below = i64::from(area.height - 1 - y) * 8;
                let part = usize::try_from((eighths - below).clamp(0, 8)).unwrap_or_default();
                let symbol = match self.fill {
                    Some(fill) if part >= 4 || (part > 0 && below == 0) => fill,
                    Some(_) => " ",
                    None => EIGHTHS[part],
                };
                for x in left..left.saturating_add(self.wide).min(area.right()) {
                    if symbol != " " {
                        buf[(x, area.y + y)].set_symbol(symbol).set_style(self.style);
                    }
                }
            }
        }
    }
}

pub(crate) fn horizontal(area: Rect, buf: &mut Buffer, rows: &[(String, i64)], theme: Theme) {
    let most = rows.iter().map(|(_, n)| *n).max().unwrap_or_default().max(1);
    let names = rows.iter().map(|(name, _)| text::width(&text::line(name))).max().unwrap_or_default();
    let numbers = rows.iter().map(|(_, n)| number(*n).len()).max().unwrap_or_default();
    let width = usize::from(area.width);
    let names = names.min(width.saturating_sub(numbers + 2) * 2 / 3);
    let room = width.saturating_sub(names + numbers + 2);
    for (y, (name, n)) in (area.y..area.bottom()).zip(rows) {
        let number = text::fit(&number(*n), numbers, true);
        let begin = format!("{} {number} ", text::fit(name, names, false));
        let (x, _) = buf.set_stringn(area.x, y, &begin, width, Style::new());
        buf.set_stringn(x, y, bar(*n, most, room), area.right().saturating_sub(x).into(), theme.accent());
    }
}

/// In halves of a column; a bar of the value `most` is `room` columns long.
pub(crate) fn bar(n: i64, most: i64, room: usize) -> String {
    let halves = n.max(0).saturating_mul(i64::try_from(room * 2).unwrap_or(i64::MAX)) / most.max(1);
    let halves = usize::try_from(halves).unwrap_or_default();
    "━".repeat(halves / 2) + if halves % 2 == 1 { "╸" } else { "" }
}
