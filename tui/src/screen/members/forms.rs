use tidings_core::account::MemberEntry;
use tidings_core::account::key::Scope;
use tidings_core::config::{Bounds, Config};
use tidings_core::member;

use super::change;
use crate::effect::Act;
use crate::screen::Ctx;
use crate::screen::form::{Form, Holds, Mistake, Page, Record, Spec, Typed};
use crate::widget::fields::YES;

struct PasswordForm {
    id: String,
    admin: bool,
}

pub(super) fn password(entry: &MemberEntry, ctx: &Ctx) -> Page {
    let specs = [("new_pw", "Password"), ("", "Once more")];
    let specs = specs.map(|(name, label)| Spec::new(name, label, Holds::Password, ""));
    let form = PasswordForm { id: entry.user_id.clone(), admin: entry.admin == 1 };
    Page::new(form, specs, &Record::new(), &Record::new(), ctx)
}

impl Form for PasswordForm {
    fn title(&self) -> String {
        format!("A new password for {}", self.id)
    }

    fn hint(&self, _: &Typed<'_>, _: usize, ctx: &Ctx) -> String {
        let Bounds { min, max } = ctx.password.unwrap_or(Config::default().password_length());
        let unknown = if ctx.password.is_some() { "" } else { ", unless the server has another rule" };
        let common = if self.admin { " An administrator's is none of the most common ones." } else { "" };
        format!("A password has {min} to {max} characters{unknown}.{common}")
    }

    fn is_new(&self) -> bool {
        true
    }

    fn request(&self, typed: &Typed<'_>, _: &Ctx) -> Result<Act, Mistake> {
        let [new_pw, again] = &typed.texts[..] else { unreachable!("there are two fields") };
        if new_pw.is_empty() {
            return Err((0, "Type the new password."));
        }
        if new_pw != again {
            return Err((1, "The passwords differ."));
        }
        let done = format!("{} has a new password and is signed out everywhere.", self.id);
        Ok(change(done, member::SetPassword { user_id: self.id.clone(), new_pw: new_pw.clone() }))
    }

    fn question(&self) -> Option<(String, &'static str, &'static str)> {
        let text = format!("Set a new password for {}?", self.id);
        Some((text, "They are signed out everywhere, and sign in with the new password.", "set it"))
    }
}

struct RoleForm {
    id: String,
    admin: bool,
}

pub(super) fn role(entry: &MemberEntry, ctx: &Ctx) -> Page {
    let specs = Scope::ALL.iter().map(|scope| Spec::new(scope.name(), scope.name(), Holds::Switch, ""));
    let scopes = entry.scopes.iter().map(|scope| (scope.name().to_owned(), 1.into())).collect();
    let form = RoleForm { id: entry.user_id.clone(), admin: entry.admin == 1 };
    Page::new(form, specs.collect::<Vec<_>>(), &scopes, &scopes, ctx)
}

impl Form for RoleForm {
    fn title(&self) -> String {
        format!("The role of {}", self.id)
    }

    fn hint(&self, _: &Typed<'_>, focus: usize, _: &Ctx) -> String {
        let help = Scope::ALL.get(focus).map_or("", |scope| scope.help());
        let admin =
            if self.admin { " An administrator may do everything, whatever is chosen here." } else { "" };
        format!("“yes” allows to {help}. Space changes it, and Enter saves.{admin}")
    }

    fn is_new(&self) -> bool {
        false
    }

    fn request(&self, typed: &Typed<'_>, _: &Ctx) -> Result<Act, Mistake> {
        let all = Scope::ALL.iter().zip(&typed.texts).filter(|(_, text)| *text == YES);
        let (id, scopes) = (&self.id, all.map(|(scope, _)| scope.to_string()).collect::<Vec<_>>());
        let done = if scopes.is_empty() { "has no role any more" } else { "has a new role" };
        Ok(change(format!("{id} {done}."), member::SetRole { user_id: id.clone(), scopes }))
    }
}
