//! How members sign up and in: passwords, e-mail addresses, single sign-on, passkeys and sessions.

use tidings_client::Error;
use tidings_core::account::{
    AccessToken, ChangePassword, ConfirmEmail, GetEmail, GetPasskeys, LinkOidc, RemovePasskey, RequestReset,
    ResetPassword, SetEmail, SignInOidc, SignUp, SignUpInvited, UnlinkOidc,
};
use tidings_core::error::Code;
use tidings_core::member;
use tidings_core::operation::Operation;

use crate::password::{self, Password};
use crate::prelude::*;
use crate::profile::credentials;
use crate::session::partial_id;

#[derive(Debug, Args)]
pub(crate) struct NewMember {
    /// The id: letters, digits, _ - and ., a letter or digit first
    id: String,
    /// The displayed name
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    nickname: String,
    /// An e-mail address, which a mail with a code confirms
    #[arg(long)]
    email: Option<String>,
    /// Sign up with the code of an invitation
    #[arg(long)]
    code: bool,
    /// Print the member's access token
    #[arg(long)]
    token: bool,
    #[command(flatten)]
    password: Password,
}

pub(super) fn sign_up(Session { service, out }: &Session, new: &NewMember) -> Exit {
    let NewMember { id, nickname, email, code: has_code, token: prints_token, password } = new;
    let form = |pw: &str| SignUp {
        id: id.clone(),
        pw: pw.to_owned(),
        pw_check: pw.to_owned(),
        nickname: nickname.clone(),
        email: email.clone(),
    };
    let token = if *has_code {
        let [code, pw] = password::change("Code", password, service)?;
        service.as_guest().call(SignUpInvited { form: form(&pw), code: code.to_string() })?
    } else {
        let pw = password::new(password, service)?;
        // On a database, the caller is the operator, who may always sign members up.
        let guest = service.server().map(|_| service.as_guest());
        guest.as_ref().unwrap_or(service).call(form(&pw))?
    };
    out.answer(&token, |page| {
        page.line(if *prints_token { token.access_token.clone() } else { format!("{id} is signed up.") });
    })
}

pub(super) fn password(session: &Session, global: &Global, id: &str, source: &Password) -> Exit {
    let Session { service, out } = session;
    let is_refused = |error: &Error| matches!(error.code(), Some(Code::NotAdmin | Code::SecondFactorNeeded));
    let changes_own = match service.check_admin() {
        Ok(()) => false,
        Err(error) if is_refused(&error) && service.acts_as_member() => true,
        Err(error) => return Err(error.into()),
    };
    // An unknown member is reported before the command asks for a password.
    let id = session.member(id)?;
    if !changes_own {
        let pw = password::new(source, service)?;
        service.call(member::SetPassword { user_id: id.clone(), new_pw: pw.to_string() })?;
        return session.done(format!("{id} has a new password and is signed out everywhere."));
    }
    let [pw, new_pw] =
        password::change("Current password", source, service)?.map(|pw| pw.as_str().to_owned());
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

pub(super) fn new_password(session: &Session, source: &Password) -> Exit {
    let [code, new_pw] =
        password::change("Code", source, &session.service)?.map(|text| text.as_str().to_owned());
    session.service.as_guest().call(ResetPassword { code, new_pw_check: new_pw.clone(), new_pw })?;
    session.done("You have a new password, and are signed out everywhere.")
}

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

pub(super) fn email(Session { service, out }: &Session) -> Exit {
    let answer = service.call(GetEmail {})?;
    out.answer(&answer, |page| match (&answer.email, &answer.pending_email) {
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

pub(super) fn set_email(session: &Session, NewEmail { email, password, otp }: &NewEmail) -> Exit {
    let pw = password::present(password)?.to_string();
    session.service.call(SetEmail { pw, email: email.clone(), otp: otp.clone() })?;
    session.done(if email.trim().is_empty() {
        "You have no address any more.".to_owned()
    } else {
        format!("A mail to {email} has a code: tidings member confirm-email")
    })
}

pub(super) fn confirm_email(session: &Session, source: &Password) -> Exit {
    session.service.call(ConfirmEmail { code: password::code(source)?.to_string() })?;
    session.done("The address is confirmed.")
}

pub(super) fn forgotten(Session { service, out }: &Session, id: &str) -> Exit {
    service.as_guest().call(RequestReset { id: id.to_owned() })?;
    out.answer(&(), |page| {
        page.line("If there is such a member with a confirmed address, a mail with a code is on its way.");
        page.note("Choose a new password with it: tidings member new-password");
    })
}

#[derive(Debug, Args)]
pub(crate) struct OidcCode {
    #[command(flatten)]
    code: Password,
    /// A code of the authenticator or a recovery code, for a member who has enabled the second factor
    #[arg(long, value_name = "CODE")]
    otp: Option<String>,
}

pub(super) fn sign_in_oidc(session: &Session, OidcCode { code, otp }: &OidcCode) -> Exit {
    token(session, SignInOidc { code: password::code(code)?.to_string(), otp: otp.clone() })
}

pub(super) fn token(
    Session { service, out }: &Session,
    sign_in: impl Operation<Answer = AccessToken>,
) -> Exit {
    let token = service.as_guest().call(sign_in)?;
    out.answer(&token, |page| page.line(&token.access_token))
}

pub(super) fn link_oidc(session: &Session, source: &Password) -> Exit {
    let [code, pw] = password::code_and_present(source)?.map(|text| text.as_str().to_owned());
    session.service.call(LinkOidc { code, pw })?;
    session.done("The account is linked.")
}

pub(super) fn unlink_oidc(session: &Session, source: &Password) -> Exit {
    session.service.call(UnlinkOidc { pw: password::present(source)?.to_string() })?;
    session.done("The account is not linked any more.")
}

pub(super) fn passkeys(Session { service, out }: &Session) -> Exit {
    let listed = service.call(GetPasskeys {})?;
    out.table(&listed, &listed.passkeys, "You have no passkey: an app adds one.", |table| {
        table
            .whole("ID", |passkey| passkey.id.clone())
            .text("Name", |passkey| passkey.name.clone())
            .whole(dated("Added"), |passkey| local(passkey.date))
            .optional_whole(dated("Last used"), |passkey| passkey.last_used.map(local).unwrap_or_default())
    })
}

pub(super) fn remove_passkey(session: &Session, id: &str) -> Exit {
    let remove = RemovePasskey { passkey_obi: id.to_owned() };
    session.change("passkey", id, remove, "The passkey is removed.")
}

pub(super) fn sessions(Session { service, out }: &Session, id: &str) -> Exit {
    let found = service.sessions(id).map_err(|error| unknown(error, "member", id))?;
    out.table(&found, &found.sessions, "The member is not signed in.", |table| {
        table
            .whole("ID", |session| session.id.clone())
            .text("Device", |session| session.device.clone())
            .whole(dated("Last seen"), |session| local(session.last_seen))
            .optional_whole(dated("Since"), |session| local(session.date))
    })
}

pub(super) fn sign_out(session: &Session, id: &str, of: Option<&str>) -> Exit {
    session.service.sign_out(id, of).map_err(|error| match of {
        Some(of) if error.is_not_found() => {
            let partial = partial_id(of);
            let advice = format!("{id:?} has no session {of:?}{partial}: see tidings member sessions {id}");
            Failure::refused(&error, advice)
        }
        _ => unknown(error, "member", id),
    })?;
    let place = if of.is_some() { "of the session" } else { "everywhere" };
    session.done(format!("{id} is signed out {place}."))
}
