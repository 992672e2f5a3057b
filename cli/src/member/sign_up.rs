//! `tidings member sign-up`.

use std::process::ExitCode;

use clap::Args;
use tidings_core::account::{SignUp, SignUpInvited};

use crate::failure::Failure;
use crate::password::{self, Password};
use crate::session::Session;

/// A new member.
#[derive(Debug, Args)]
pub(crate) struct Options {
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

pub(crate) fn run(session: &Session, options: &Options) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    let Options { id, nickname, email, code: has_code, token: prints_token, password } = options;
    let form = |pw: &str| SignUp {
        id: id.clone(),
        pw: pw.to_owned(),
        pw_check: pw.to_owned(),
        nickname: nickname.clone(),
        email: email.clone(),
    };
    let token = if *has_code {
        let [code, pw] = password::change("Code", password, || service.password_rule())?;
        service.as_guest().call(SignUpInvited { form: form(&pw), code: code.to_string() })?
    } else {
        let pw = password::new(password, || service.password_rule())?;
        // On a database, the caller is the operator, who may always sign members up.
        let guest = service.server().map(|_| service.as_guest());
        guest.as_ref().unwrap_or(service).call(form(&pw))?
    };
    out.answer(&token, |page| {
        if *prints_token {
            page.line(&token.access_token);
        } else {
            page.line(format!("{id} is signed up."));
        }
    })
}
