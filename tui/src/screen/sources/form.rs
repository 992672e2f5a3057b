//! The form of a source: its address, and what its posts get.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tidings_core::source::{Add, Source};

use crate::effect::{Act, Changed};
use crate::keys::{self, Action, Table};
use crate::screen::form::{Form, Handled, below_title, names};
use crate::screen::{Ctx, Out};
use crate::theme::Theme;
use crate::widget::fields::{Field, Fields};
use crate::widget::input::Input;
use crate::widget::put;

/// The labels of the fields and what an empty one means, and their names in an answer that refuses one.
const FIELDS: [(&str, &str, &str); 5] = [
    ("Address", "", "url"),
    ("Name", "the title of the feed", "name"),
    ("Topics", "none; separated by commas", "topic"),
    ("Tags", "those of the feed; others are separated by commas", "tag"),
    ("Every", "as often as suits it; in minutes", "every"),
];
/// The numbers of the first and the last field.
const ADDRESS: usize = 0;
const EVERY: usize = FIELDS.len() - 1;

/// A source in the form.
#[derive(Debug)]
pub(super) struct SourceForm {
    /// The source that is changed; `None` for a new one.
    target: Option<String>,
    /// The fields before the change.
    before: [String; FIELDS.len()],
    fields: Fields,
    is_saving: bool,
}

impl SourceForm {
    /// Opens a source, or a new one.
    pub(super) fn of(source: Option<Source>) -> Self {
        let target = source.as_ref().map(|source| source.id.clone());
        let before = source.map_or_else(Default::default, |source| {
            let Source { url, name, topic, tag, every, .. } = source;
            let every = every.map_or_else(String::new, |every| every.to_string());
            [url, name, topic.join(", "), tag.join(", "), every]
        });
        let fields = FIELDS.iter().zip(&before);
        let fields =
            fields.map(|((label, hint, _), text)| Field::new(label, Input::new(text), hint)).collect();
        Self { target, before, fields: Fields::new(fields), is_saving: false }
    }

    /// Returns the text of a field if it was changed.
    fn changed(&self, field: usize) -> Option<&str> {
        Some(self.fields.text(field).trim()).filter(|text| *text != self.before[field])
    }

    fn save(&mut self, out: &mut Out) -> Handled {
        if self.target.is_some() && (ADDRESS..=EVERY).all(|field| self.changed(field).is_none()) {
            out.say("Nothing was changed.");
            return Handled::Closes;
        }
        let every = match self.changed(EVERY) {
            Some("") => Some(Ok(0)),
            text => text.map(str::parse),
        };
        let Ok(every) = every.transpose() else {
            self.fields.refuse(EVERY, "Type a number, or nothing.");
            return Handled::Yes;
        };
        let fields = Add {
            url: self.fields.text(ADDRESS).trim().to_owned(),
            name: self.changed(1).map(str::to_owned),
            topic: self.changed(2).map(names),
            tag: self.changed(3).map(names),
            every,
        };
        self.is_saving = true;
        out.act(Act::SaveSource { target: self.target.clone(), fields: Box::new(fields) });
        Handled::Yes
    }
}

impl Form for SourceForm {
    fn keys(&self) -> Vec<&'static Table> {
        vec![&keys::INPUT]
    }

    fn act(&mut self, action: Action, _: &Ctx, out: &mut Out) -> Handled {
        match action {
            Action::Back => return Handled::Closes,
            Action::Quit => return Handled::No,
            Action::Open if !self.is_saving => return self.save(out),
            Action::Up => self.fields.step(EVERY),
            Action::Down => self.fields.step(1),
            _ => {}
        }
        Handled::Yes
    }

    fn key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Tab => self.fields.step(1),
            KeyCode::BackTab => self.fields.step(EVERY),
            _ => drop(self.fields.key(key)),
        }
    }

    fn paste(&mut self, text: &str) {
        self.fields.paste(text);
    }

    fn click(&mut self, at: Position, area: Rect) {
        self.fields.click(at, below_title(area));
    }

    fn change_done(&mut self, act: &Act, result: Changed) -> bool {
        if !matches!(act, Act::SaveSource { target, .. } if *target == self.target) || !self.is_saving {
            return false;
        }
        self.is_saving = false;
        if let Err(problem) = result {
            let name = problem.field.as_deref();
            let field = FIELDS.iter().position(|(_, _, field)| Some(*field) == name);
            self.fields.refuse(field.unwrap_or(ADDRESS), problem.text.clone());
        }
        result.is_ok()
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        let what = match (self.is_saving, &self.target) {
            (true, _) => "Saving …",
            (false, Some(_)) => "Edit the source",
            (false, None) => "A new source: an RSS, Atom or JSON feed",
        };
        put(area, buf, what, Theme::strong());
        self.fields.draw(below_title(area), buf, ctx.theme);
    }
}
