//! Passwords of members.

use serde::Serialize;
use tidings_core::account::{self, AccessToken, NewPassword};
use tidings_core::error::Problem;

use crate::Service;
use crate::error::Result;

impl Service {
    /// Sets a member's password and signs the member out everywhere.
    ///
    /// # Errors
    /// Those of [`account::set_password`].
    pub fn set_password(&self, id: &str, pw: &str) -> Result<()> {
        #[derive(Serialize)]
        struct Form<'a> {
            new_pw: &'a str,
        }
        self.run(
            |tidings, caller| account::set_password(tidings, caller, id, pw),
            |server| server.posted(&["set_member_password", id], &Form { new_pw: pw }),
        )
    }

    /// Changes the password of the acting member, whose tokens all fail from then on, and returns a new token.
    ///
    /// # Errors
    /// Those of [`account::change_pw`].
    pub fn change_password(&self, form: &NewPassword) -> Result<AccessToken> {
        #[derive(Serialize)]
        struct Form<'a> {
            pw: &'a str,
            new_pw: &'a str,
            new_pw_check: &'a str,
        }
        let NewPassword { pw, new_pw, new_pw_check } = form;
        self.run(
            |tidings, caller| account::change_pw(tidings, caller, form, None),
            |server| server.post(&["change_pw"], &Form { pw, new_pw, new_pw_check }),
        )
    }

    /// Returns the rule of passwords in words; `None` if this is a server, which does not tell its settings.
    pub fn password_rule(&self) -> Option<String> {
        let (tidings, _) = self.database()?;
        Some(Problem::password("pw", tidings.config().password_length).message().into_owned())
    }
}
