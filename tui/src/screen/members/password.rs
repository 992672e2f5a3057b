//! The form that sets a new password of a member, typed twice.

use tidings_core::account::MemberEntry;
use tidings_core::config::{Bounds, Config};

use crate::effect::{Act, Secret};
use crate::screen::form::{Kind, Page, Request, Typed};
use crate::screen::{Ctx, Question};
use crate::widget::fields::{Field, Fields};
use crate::widget::input::Input;

/// A member whose password is set.
struct PasswordForm {
    id: String,
    admin: bool,
}

const NEW: usize = 0;
const AGAIN: usize = 1;

pub(super) fn of(entry: &MemberEntry) -> Page {
    let field = |label| Field::new(label, Input::hidden(), "");
    let fields = Fields::new(vec![field("Password"), field("Once more")]);
    Page::new(PasswordForm { id: entry.user_id.clone(), admin: entry.admin == 1 }, fields, None)
}

impl Kind for PasswordForm {
    fn names(&self) -> &'static [&'static str] {
        &["new_pw"]
    }

    fn asks(&self) -> bool {
        true
    }

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

    fn request(&self, typed: &Typed<'_>, _: &Ctx) -> Result<Request, (usize, &'static str)> {
        let pw = &typed.texts[NEW];
        if pw.is_empty() {
            return Err((NEW, "Type the new password."));
        }
        if *pw != typed.texts[AGAIN] {
            return Err((AGAIN, "The passwords differ."));
        }
        Ok(Request::Ask(Question::yes_or_no(
            format!("Set a new password for {}?", self.id),
            "They are signed out everywhere, and sign in with the new password.",
            "set it",
            Act::SetPassword { id: self.id.clone(), pw: Secret::new(pw) },
        )))
    }

    fn is_own(&self, act: &Act) -> bool {
        matches!(act, Act::SetPassword { id, .. } if *id == self.id)
    }
}
