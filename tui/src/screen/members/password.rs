//! The form that sets a new password of a member.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tidings_core::account::MemberEntry;
use tidings_core::config::{Bounds, Config};

use crate::effect::{Act, Changed, Secret};
use crate::keys::{self, Action, Table};
use crate::screen::form::{Form, Handled, below_title};
use crate::screen::{Ctx, Out, Question};
use crate::theme::Theme;
use crate::widget::fields::{Field, Fields};
use crate::widget::input::Input;
use crate::widget::{put, put_wrapped};

/// The new password, typed twice.
#[derive(Debug)]
pub(super) struct PasswordForm {
    /// The member.
    id: String,
    admin: bool,
    fields: Fields,
}

/// The numbers of the fields.
const NEW: usize = 0;
const AGAIN: usize = 1;

impl PasswordForm {
    pub(super) fn of(entry: &MemberEntry) -> Self {
        let field = |label| Field::new(label, Input::hidden(), "");
        Self {
            id: entry.user_id.clone(),
            admin: entry.admin == 1,
            fields: Fields::new(vec![field("Password"), field("Once more")]),
        }
    }

    /// Returns the rule of a password.
    fn rule(&self, ctx: &Ctx) -> String {
        let Bounds { min, max } = ctx.password.unwrap_or(Config::default().password_length);
        let unknown = if ctx.password.is_some() { "" } else { ", unless the server has another rule" };
        let common = if self.admin { " An administrator's is none of the most common ones." } else { "" };
        format!("A password has {min} to {max} characters{unknown}.{common}")
    }

    fn ask(&mut self, out: &mut Out) {
        let (pw, again) = (self.fields.text(NEW), self.fields.text(AGAIN));
        if pw.is_empty() {
            return self.fields.refuse(NEW, "Type the new password.");
        }
        if pw != again {
            return self.fields.refuse(AGAIN, "The passwords differ.");
        }
        out.question = Some(Question::yes_or_no(
            format!("Set a new password for {}?", self.id),
            "They are signed out everywhere, and sign in with the new password.",
            "set it",
            Act::SetPassword { id: self.id.clone(), pw: Secret::new(pw) },
        ));
    }
}

impl Form for PasswordForm {
    fn keys(&self) -> Vec<&'static Table> {
        vec![&keys::INPUT]
    }

    fn act(&mut self, action: Action, _: &Ctx, out: &mut Out) -> Handled {
        match action {
            Action::Back => return Handled::Closes,
            Action::Quit => return Handled::No,
            Action::Open if self.fields.focus() == NEW => self.fields.set_focus(AGAIN),
            Action::Open => self.ask(out),
            Action::Up => self.fields.set_focus(NEW),
            Action::Down => self.fields.set_focus(AGAIN),
            _ => {}
        }
        Handled::Yes
    }

    fn key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Tab | KeyCode::BackTab => self.fields.step(1),
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
        if !matches!(act, Act::SetPassword { id, .. } if *id == self.id) {
            return false;
        }
        if let Err(problem) = result {
            self.fields.refuse(NEW, problem.text.clone());
        }
        result.is_ok()
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        put(area, buf, &format!("A new password for {}", self.id), Theme::strong());
        let fields = below_title(area);
        self.fields.draw(fields, buf, ctx.theme);
        let below = fields.y + self.fields.lines() + 1;
        let below = Rect { y: below, height: area.bottom().saturating_sub(below), ..area };
        put_wrapped(below, buf, &self.rule(ctx), Theme::faint());
    }
}
