//! Widgets that several screens share.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::text::{cut, line};

pub(crate) mod browser;
pub(crate) mod chart;
pub(crate) mod cursor;
pub(crate) mod cycle;
pub(crate) mod fields;
pub(crate) mod input;
pub(crate) mod table;

/// Writes a text in the first line of an area, cut to its width.
pub(crate) fn put(area: Rect, buf: &mut Buffer, text: &str, style: Style) {
    if area.height > 0 {
        let room = usize::from(area.width);
        buf.set_stringn(area.x, area.y, cut(&line(text), room), room, style);
    }
}
