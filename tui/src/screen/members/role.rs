//! The form that sets what a member may administer without being an administrator.

use tidings_core::account::MemberEntry;
use tidings_core::account::key::Scope;

use crate::effect::Act;
use crate::screen::Ctx;
use crate::screen::form::{Kind, Page, Request, Typed};
use crate::widget::fields::{Field, Fields, YES};

/// The scopes of a member, each set or not.
struct RoleForm {
    /// The member.
    id: String,
    admin: bool,
}

pub(super) fn of(entry: &MemberEntry) -> Page {
    let field = |scope: &Scope| Field::toggle(scope.name(), entry.scopes.contains(scope));
    let fields = Fields::new(Scope::ALL.iter().map(field).collect()).at_column(16);
    Page::new(RoleForm { id: entry.user_id.clone(), admin: entry.admin == 1 }, fields, None)
}

impl Kind for RoleForm {
    fn title(&self) -> String {
        format!("The role of {}", self.id)
    }

    /// Returns what the focused scope allows, and what the form does.
    fn hint(&self, _: &Typed<'_>, focus: usize, _: &Ctx) -> String {
        let help = Scope::ALL.get(focus).map_or("", |scope| scope.help());
        let admin =
            if self.admin { " An administrator may do everything, whatever is chosen here." } else { "" };
        format!("“yes” allows to {help}. Space changes it, and Enter saves.{admin}")
    }

    fn is_new(&self) -> bool {
        false
    }

    fn request(&self, typed: &Typed<'_>, _: &Ctx) -> Result<Request, (usize, &'static str)> {
        let all = Scope::ALL.iter().zip(&typed.texts);
        let scopes = all.filter(|(_, text)| *text == YES).map(|(scope, _)| *scope).collect();
        Ok(Request::Act(Act::SetRole { id: self.id.clone(), scopes }))
    }

    fn is_own(&self, act: &Act) -> bool {
        matches!(act, Act::SetRole { id, .. } if *id == self.id)
    }
}
