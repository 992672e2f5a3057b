//! The form of the editor that says when, where and to whom a notice is visible.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::placing::{NO_TIME, Placing};
use crate::screen::Ctx;
use crate::theme::Theme;
use crate::widget::fields::{Field, Fields};
use crate::widget::input::Input;
use crate::widget::put_wrapped;

/// The labels of the fields, in their order, and their names in an answer that refuses one.
const FIELDS: [(&str, &str); 5] = [
    ("Visible from", "visible_from"),
    ("Visible until", "visible_until"),
    ("Topic", "topic"),
    ("Pinned", "pinned"),
    ("Members only", "members_only"),
];

/// The fields, one of which has the focus.
pub(super) struct Form(Fields);

impl Form {
    pub(super) fn new(placing: &Placing) -> Self {
        let Placing { from, until, topic, pinned, members_only } = placing;
        let labels = FIELDS.map(|(label, _)| label);
        let texts = labels.into_iter().zip([from, until, topic]);
        let texts = texts.map(|(label, text)| Field::new(label, Input::new(text), ""));
        let toggles = labels[3..].iter().zip([pinned, members_only]);
        let toggles = toggles.map(|(label, is_set)| Field::toggle(label, *is_set));
        Self(Fields::new(texts.chain(toggles).collect()).at_column(15))
    }

    /// Returns the typed fields.
    pub(super) fn placing(&self) -> Placing {
        let [from, until, topic] = [0, 1, 2].map(|field| self.0.text(field).to_owned());
        Placing { from, until, topic, pinned: self.0.is_set(3), members_only: self.0.is_set(4) }
    }

    /// Moves the focus to the field with this name. Returns its label.
    pub(super) fn focus_on(&mut self, name: &str) -> Option<&'static str> {
        let field = FIELDS.iter().position(|(_, field)| *field == name)?;
        self.0.set_focus(field);
        Some(FIELDS[field].0)
    }

    /// Moves the focus by a number of fields; the first field follows the last.
    pub(super) fn step(&mut self, by: usize) {
        self.0.set_focus((self.0.focus() + by) % FIELDS.len());
    }

    pub(super) fn key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Up => self.step(FIELDS.len() - 1),
            KeyCode::Down | KeyCode::Enter => self.step(1),
            _ => drop(self.0.key(key)),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.0.paste(text);
    }

    /// Focuses the clicked field.
    pub(super) fn click(&mut self, at: Position, area: Rect) {
        self.0.click(at, area);
    }

    pub(super) fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        self.0.draw(area, buf, ctx.theme);
        let hint = format!(
            "{NO_TIME} Times are in {}; an empty field sets no limit. Space changes yes and no.",
            ctx.zone.iana_name().unwrap_or("UTC")
        );
        let below = Rect { y: area.y + 6, height: area.height.saturating_sub(6), ..area };
        put_wrapped(below, buf, &hint, Theme::faint());
    }
}
