use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::text::{cut, line, wrap};
use crate::theme::Theme;

pub(crate) mod browser;
pub(crate) mod chart;
pub(crate) mod cursor;
pub(crate) mod fields;
pub(crate) mod input;
pub(crate) mod table;

pub(crate) fn put(area: Rect, buf: &mut Buffer, text: &str, style: Style) {
    if area.height > 0 {
        let room = usize::from(area.width);
        buf.set_stringn(area.x, area.y, cut(&line(text), room), room, style);
    }
}

pub(crate) fn put_at(area: Rect, (x, y): (u16, u16), buf: &mut Buffer, text: &str, style: Style) {
    let (x, y) = (x.min(area.width), y.min(area.height));
    let rest = Rect::new(area.x + x, area.y + y, area.width - x, area.height - y);
    put(rest, buf, text, style);
}

pub(crate) fn put_wrapped(area: Rect, buf: &mut Buffer, text: &str, style: Style) {
    for (y, line) in (area.y..area.bottom()).zip(wrap(text, area.width.into())) {
        put(Rect { y, height: 1, ..area }, buf, &line, style);
    }
}

/// The area below the heading.
pub(crate) fn heading(text: &str, area: Rect, buf: &mut Buffer) -> Rect {
    if area.is_empty() {
        return Rect::default();
    }
    put(area, buf, text, Theme::strong());
    Rect { y: area.y + 1, height: area.height - 1, ..area }
}

pub(crate) trait Cycle: Copy + PartialEq + 'static {
    const ALL: &'static [Self];

    fn next(self) -> Self {
        step(self, 1)
    }

    fn previous(self) -> Self {
        step(self, Self::ALL.len() - 1)
    }
}

fn step<T: Cycle>(value: T, by: usize) -> T {
    let index = T::ALL.iter().position(|one| *one == value).unwrap_or_default();
    T::ALL[(index + by) % T::ALL.len()]
}
