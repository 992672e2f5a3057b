//! `tidings member password`: new passwords, from administrators and from members themselves.

use std::process::ExitCode;

use tidings_client::Error;
use tidings_core::account::ChangePassword;
use tidings_core::error::Code;
use tidings_core::member;

use crate::failure::Failure;
use crate::global::Global;
use crate::password::{self, Password};
use crate::profile::credentials;
use crate::session::Session;

pub(super) fn run(
    session: &Session,
    global: &Global,
    id: &str,
    password: &Password,
) -> Result<ExitCode, Failure> {
    match session.service.check_admin() {
        Ok(()) => give(session, id, password),
        Err(error) if is_refused_to_members(&error) && session.service.acts_as_member() => {
            change_own(session, global, id, password)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns whether the caller is a member who administers nothing.
fn is_refused_to_members(error: &Error) -> bool {
    matches!(error.code(), Some(Code::NotAdmin | Code::SecondFactorNeeded))
}

fn give(session: &Session, id: &str, password: &Password) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    // An unknown member is reported before the command asks for a password.
    let id = session.member(id)?;
    let pw = password::new(password, || service.password_rule())?;
    service.call(member::SetPassword { user_id: id.clone(), new_pw: pw.to_string() })?;
    out.answer(&(), |page| page.line(format!("{id} has a new password and is signed out everywhere.")))
}

fn change_own(
    session: &Session,
    global: &Global,
    id: &str,
    password: &Password,
) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    let id = session.member(id)?;
    let [pw, new_pw] = password::change("Current password", password, || service.password_rule())?
        .map(|pw| pw.as_str().to_owned());
    let token = service.call(ChangePassword { pw, new_pw_check: new_pw.clone(), new_pw })?;
    // The token with which the command has signed in fails from now on.
    let renewed = credentials::renew(global, &token.access_token)?;
    out.answer(&token, |page| {
        page.line(format!("{id} has a new password and is signed out everywhere else."));
        if let Some(note) = &renewed {
            page.note(note);
        }
    })
}
