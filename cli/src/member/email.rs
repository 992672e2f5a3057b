//! The e-mail address of a member, and mail with a code for a new password.

use std::process::ExitCode;

use clap::Args;
use tidings_core::account::{ConfirmEmail, GetEmail, RequestReset, SetEmail};

use crate::failure::Failure;
use crate::password::{self, Password};
use crate::session::Session;

/// Another address of the member who is acting.
#[derive(Debug, Args)]
pub(crate) struct NewEmail {
    /// The address; "" removes the one that the member has
    email: String,
    #[command(flatten)]
    password: Password,
    /// A code of the authenticator, or a recovery code, of a member who has enabled the second factor
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    otp: Option<String>,
}

pub(crate) fn show(session: &Session) -> Result<ExitCode, Failure> {
    let answer = session.service.call(GetEmail {})?;
    session.out.answer(&answer, |page| match (&answer.email, &answer.pending_email) {
        (None, None) => page.note("You have no address: tidings member set-email EMAIL"),
        (email, pending) => {
            if let Some(email) = email {
                page.line(email);
            }
            if let Some(pending) = pending {
                page.line(format!("{pending} waits for its confirmation: tidings member confirm-email"));
            }
        }
    })
}

pub(crate) fn set(session: &Session, new: &NewEmail) -> Result<ExitCode, Failure> {
    let (pw, email) = (password::present(&new.password)?.to_string(), &new.email);
    session.service.call(SetEmail { pw, email: email.clone(), otp: new.otp.clone() })?;
    session.out.answer(&(), |page| {
        if email.trim().is_empty() {
            page.line("You have no address any more.");
        } else {
            page.line(format!("A mail to {email} has a code: tidings member confirm-email"));
        }
    })
}

pub(crate) fn confirm(session: &Session, password: &Password) -> Result<ExitCode, Failure> {
    let code = password::code(password)?.to_string();
    session.service.call(ConfirmEmail { code })?;
    session.out.answer(&(), |page| page.line("The address is confirmed."))
}

pub(crate) fn forgotten(session: &Session, id: &str) -> Result<ExitCode, Failure> {
    session.service.as_guest().call(RequestReset { id: id.to_owned() })?;
    session.out.answer(&(), |page| {
        page.line("If there is such a member with a confirmed address, a mail with a code is on its way.");
        page.note("Choose a new password with it: tidings member new-password");
    })
}
