use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::Widget as _;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};

use crate::keys;
use crate::theme::Theme;

pub(crate) fn text_area(text: &str) -> TextArea<'static> {
    let lines = text.split('\n').map(|line| line.trim_end_matches('\r').to_owned());
    let mut area = TextArea::new(lines.collect());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::new());
    area.set_selection_style(Theme::selected());
    area
}

/// Removes control characters other than line breaks and tabs.
pub(crate) fn pasted(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

pub(crate) fn jump(text: &mut TextArea<'static>, area: Rect, at: Position) {
    let top = text.scroll_offset();
    let row = usize::from(top.0 + (at.y - area.y));
    let place = text.screen_to_data(row, usize::from(top.1 + (at.x - area.x)));
    let jump = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
    text.cancel_selection();
    text.move_cursor(CursorMove::Jump(jump(place.0), jump(place.1)));
}

pub(crate) fn draw_text(text: &TextArea<'static>, area: Rect, buf: &mut Buffer, is_focused: bool) {
    if area.is_empty() {
        return;
    }
    let mut shown = text.clone();
    if !is_focused {
        shown.set_cursor_style(Style::new());
    }
    shown.render(area, buf);
}

#[derive(Clone, Debug)]
pub(crate) struct Input(TextArea<'static>);

impl Default for Input {
    fn default() -> Self {
        Self::new("")
    }
}

impl Input {
    pub(crate) fn new(text: &str) -> Self {
        let mut area = TextArea::new(vec![one_line(text)]);
        area.set_cursor_line_style(Style::new());
        area.move_cursor(CursorMove::End);
        Self(area)
    }

    pub(crate) fn hidden() -> Self {
        let mut input = Self::default();
        input.0.set_mask_char('•');
        input
    }

    pub(crate) fn text(&self) -> &str {
        self.0.lines().first().map_or("", String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// Ctrl-U clears the field, as in a shell; other keys edit it. Returns whether the text has changed.
    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        if keys::name(&key) != "Ctrl-U" {
            return self.0.input(key);
        }
        self.0.move_cursor(CursorMove::End);
        self.0.delete_line_by_head()
    }

    /// Replaces control characters with spaces. Returns whether the text has changed.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        self.0.insert_str(one_line(text))
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer, typing: bool) {
        if area.is_empty() {
            return;
        }
        if typing {
            self.0.render(area, buf);
        } else {
            let text = match self.0.mask_char() {
                Some(mask) => self.text().chars().map(|_| mask).collect(),
                None => crate::text::line(self.text()),
            };
            buf.set_stringn(area.x, area.y, text, area.width.into(), Theme::strong());
        }
    }
}

/// Replaces control characters with spaces and removes line breaks at the end.
fn one_line(text: &str) -> String {
    text.trim_end_matches(['\r', '\n']).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    #[test]
    fn ctrl_u_clears_the_field_wherever_the_cursor_is() {
        let mut input = Input::new("도서관 hours");
        let clear = KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL);
        input.key(KeyEvent::from(KeyCode::Left));
        assert_eq!((input.key(clear), input.text()), (true, ""));
        assert!(!input.key(clear), "there is nothing to remove");
    }

    #[test]
    fn pasted_line_breaks_become_spaces() {
        let mut input = Input::new("도서");
        assert!(input.paste("관\n열람실\u{1b}\n"));
        assert_eq!(input.text(), "도서관 열람실 ");
    }
}
