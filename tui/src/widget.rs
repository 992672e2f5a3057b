//! Widgets that several screens share.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::text::{cut, line, wrap};

pub(crate) mod browser;
pub(crate) mod chart;
pub(crate) mod cursor;
pub(crate) mod cycle;
pub(crate) mod fields;
pub(crate) mod input;
pub(crate) mod table;

/// In the first line of the area, cut to its width.
pub(crate) fn put(area: Rect, buf: &mut Buffer, text: &str, style: Style) {
    if area.height > 0 {
        let room = usize::from(area.width);
        buf.set_stringn(area.x, area.y, cut(&line(text), room), room, style);
    }
}

/// Cut to the rest of the line.
pub(crate) fn put_at(area: Rect, (x, y): (u16, u16), buf: &mut Buffer, text: &str, style: Style) {
    let (x, y) = (x.min(area.width), y.min(area.height));
    let rest = Rect::new(area.x + x, area.y + y, area.width - x, area.height - y);
    put(rest, buf, text, style);
}

/// Wrapped at the width of the area.
pub(crate) fn put_wrapped(area: Rect, buf: &mut Buffer, text: &str, style: Style) {
    for (y, line) in (area.y..area.bottom()).zip(wrap(text, area.width.into())) {
        put(Rect { y, height: 1, ..area }, buf, &line, style);
    }
}
