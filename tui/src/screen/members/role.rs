//! The form that sets what a member may administer without being an administrator.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tidings_core::account::MemberEntry;
use tidings_core::account::key::Scope;

use crate::effect::{Act, Changed};
use crate::keys::{self, Action, Table};
use crate::screen::form::{Form, Handled, below_title};
use crate::screen::{Ctx, Out};
use crate::theme::Theme;
use crate::widget::fields::{Field, Fields};
use crate::widget::{put, put_wrapped};

/// The scopes of a member, each set or not.
#[derive(Debug)]
pub(super) struct RoleForm {
    /// The member.
    id: String,
    admin: bool,
    /// The scopes before the change.
    before: Vec<Scope>,
    fields: Fields,
    is_saving: bool,
}

impl RoleForm {
    pub(super) fn of(entry: &MemberEntry) -> Self {
        let field = |scope: &Scope| Field::toggle(scope.name(), entry.scopes.contains(scope));
        Self {
            id: entry.user_id.clone(),
            admin: entry.admin == 1,
            before: entry.scopes.clone(),
            fields: Fields::new(Scope::ALL.iter().map(field).collect()).at_column(16),
            is_saving: false,
        }
    }

    fn save(&mut self, out: &mut Out) -> Handled {
        let all = Scope::ALL.iter().copied().enumerate();
        let scopes: Vec<Scope> =
            all.filter(|(field, _)| self.fields.is_set(*field)).map(|(_, scope)| scope).collect();
        if scopes == self.before {
            out.say("Nothing was changed.");
            return Handled::Closes;
        }
        self.is_saving = true;
        out.act(Act::SetRole { id: self.id.clone(), scopes });
        Handled::Yes
    }

    /// Returns what the focused scope allows, and what the form does.
    fn hint(&self) -> String {
        let help = Scope::ALL.get(self.fields.focus()).map_or("", |scope| scope.help());
        let admin =
            if self.admin { " An administrator may do everything, whatever is chosen here." } else { "" };
        format!("“yes” allows to {help}. Space changes it, and Enter saves.{admin}")
    }
}

impl Form for RoleForm {
    fn keys(&self) -> Vec<&'static Table> {
        vec![&keys::INPUT]
    }

    fn act(&mut self, action: Action, _: &Ctx, out: &mut Out) -> Handled {
        match action {
            Action::Back => return Handled::Closes,
            Action::Quit => return Handled::No,
            Action::Open if !self.is_saving => return self.save(out),
            Action::Up => self.fields.step(Scope::ALL.len() - 1),
            Action::Down => self.fields.step(1),
            _ => {}
        }
        Handled::Yes
    }

    fn key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Tab => self.fields.step(1),
            KeyCode::BackTab => self.fields.step(Scope::ALL.len() - 1),
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
        if !matches!(act, Act::SetRole { id, .. } if *id == self.id) || !self.is_saving {
            return false;
        }
        self.is_saving = false;
        if let Err(problem) = result {
            self.fields.refuse(self.fields.focus(), problem.text.clone());
        }
        result.is_ok()
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        let title = if self.is_saving { "Saving …".to_owned() } else { format!("The role of {}", self.id) };
        put(area, buf, &title, Theme::strong());
        let fields = below_title(area);
        self.fields.draw(fields, buf, ctx.theme);
        let below = fields.y + self.fields.lines() + 1;
        let below = Rect { y: below, height: area.bottom().saturating_sub(below), ..area };
        put_wrapped(below, buf, &self.hint(), Theme::faint());
    }
}
