//! A line that is typed.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;
use ratatui_textarea::{CursorMove, TextArea};

use crate::theme::Theme;

/// A line of text with a cursor.
#[derive(Clone, Debug)]
pub(crate) struct Input(TextArea<'static>);

impl Default for Input {
    fn default() -> Self {
        Self::new("")
    }
}

impl Input {
    /// With this text, and the cursor behind it.
    pub(crate) fn new(text: &str) -> Self {
        let mut area = TextArea::new(vec![one_line(text)]);
        area.set_cursor_line_style(ratatui::style::Style::new());
        area.move_cursor(CursorMove::End);
        Self(area)
    }

    /// What was typed.
    pub(crate) fn text(&self) -> &str {
        self.0.lines().first().map_or("", String::as_str)
    }

    /// Whether nothing was typed.
    pub(crate) fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// Takes a key that is no key of ours; whether the text has changed.
    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        self.0.input(key)
    }

    /// Inserts a text; its line breaks become blanks.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        self.0.insert_str(one_line(text))
    }

    /// Draws it, with its cursor where it is typed into.
    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer, typing: bool) {
        if typing {
            self.0.render(area, buf);
        } else {
            buf.set_stringn(
                area.x,
                area.y,
                crate::text::line(self.text()),
                area.width.into(),
                Theme::strong(),
            );
        }
    }
}

/// A text without its control characters, which a terminal sends as keys when they are typed.
fn one_line(text: &str) -> String {
    text.trim_end_matches(['\r', '\n']).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line() {
        let mut input = Input::new("도서");
        assert!(input.paste("관\n열람실\u{1b}\n"));
        assert_eq!(input.text(), "도서관 열람실 ");
    }
}
