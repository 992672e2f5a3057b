//! The form of the editor that says when, where and to whom a notice is visible.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::placing::{NO_TIME, Placing};
use crate::screen::Ctx;
use crate::text::wrap;
use crate::theme::Theme;
use crate::widget::input::Input;
use crate::widget::put;

/// The labels of the fields, in their order, and their names in an answer that refuses one.
const FIELDS: [(&str, &str); 5] = [
    ("Visible from", "visible_from"),
    ("Visible until", "visible_until"),
    ("Topic", "topic"),
    ("Pinned", "pinned"),
    ("Members only", "members_only"),
];
/// The number of the fields that are texts, which come first.
const TEXTS: usize = 3;
/// The column of the values.
const VALUES: u16 = 15;

/// The fields, one of which has the focus.
#[derive(Debug)]
pub(super) struct Form {
    texts: [Input; TEXTS],
    pinned: bool,
    members_only: bool,
    focus: usize,
}

impl Form {
    pub(super) fn new(placing: &Placing) -> Self {
        let Placing { from, until, topic, pinned, members_only } = placing;
        let texts = [from, until, topic].map(|text| Input::new(text));
        Self { texts, pinned: *pinned, members_only: *members_only, focus: 0 }
    }

    /// Returns the typed fields.
    pub(super) fn placing(&self) -> Placing {
        let [from, until, topic] = self.texts.each_ref().map(|input| input.text().to_owned());
        Placing { from, until, topic, pinned: self.pinned, members_only: self.members_only }
    }

    /// Moves the focus to the field with this name. Returns its label.
    pub(super) fn focus_on(&mut self, name: &str) -> Option<&'static str> {
        let field = FIELDS.iter().position(|(_, field)| *field == name)?;
        self.focus = field;
        Some(FIELDS[field].0)
    }

    /// Moves the focus to the next field.
    pub(super) const fn next(&mut self) {
        self.focus = (self.focus + 1) % FIELDS.len();
    }

    /// Handles a key. Returns whether it changed a field.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Up => self.focus = self.focus.checked_sub(1).unwrap_or(FIELDS.len() - 1),
            KeyCode::Down | KeyCode::Enter => self.next(),
            KeyCode::Char(' ') | KeyCode::Left | KeyCode::Right if self.focus >= TEXTS => {
                let value = if self.focus == TEXTS { &mut self.pinned } else { &mut self.members_only };
                *value = !*value;
                return true;
            }
            _ => return self.texts.get_mut(self.focus).is_some_and(|text| text.key(key)),
        }
        false
    }

    /// Inserts a pasted text. Returns whether it changed a field.
    pub(super) fn paste(&mut self, text: &str) -> bool {
        self.texts.get_mut(self.focus).is_some_and(|input| input.paste(text))
    }

    /// Focuses the clicked field.
    pub(super) fn click(&mut self, at: Position, area: Rect) {
        let row = usize::from(at.y.saturating_sub(area.y));
        if area.contains(at) && row < FIELDS.len() {
            self.focus = row;
        }
    }

    pub(super) fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        let hint = format!(
            "{NO_TIME} Times are in {}; an empty field sets no limit. Space changes yes and no.",
            ctx.zone.iana_name().unwrap_or("UTC")
        );
        let hint = wrap(&hint, area.width.into());
        for (y, field) in (area.y..area.bottom()).zip(0..FIELDS.len()) {
            let is_focused = field == self.focus;
            let style = if is_focused { Theme::strong() } else { Theme::faint() };
            put(Rect { y, height: 1, ..area }, buf, FIELDS[field].0, style);
            let wide = area.width.saturating_sub(VALUES);
            let value = Rect { x: area.right() - wide, y, width: wide, height: 1 };
            if let Some(text) = self.texts.get(field) {
                text.draw(value, buf, is_focused);
            } else {
                let is_set = if field == TEXTS { self.pinned } else { self.members_only };
                let style = if is_focused { Theme::selected() } else { Theme::strong() };
                let width = value.width.min(3);
                put(Rect { width, ..value }, buf, if is_set { "yes" } else { "no" }, style);
            }
        }
        for (y, line) in (area.y..area.bottom()).skip(FIELDS.len() + 1).zip(hint) {
            put(Rect { y, height: 1, ..area }, buf, &line, Theme::faint());
        }
    }
}
