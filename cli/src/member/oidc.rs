//! Single sign-on, with the code that the page of an app got.

use std::process::ExitCode;

use clap::Args;
use tidings_core::account::{LinkOidc, SignInOidc, UnlinkOidc};

use crate::failure::Failure;
use crate::password::{self, Password};
use crate::session::Session;

/// The source of the code, and a code of the second factor.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    code: Password,
    /// A code of the authenticator or a recovery code, for a member who has enabled the second factor
    #[arg(long, value_name = "CODE")]
    otp: Option<String>,
}

pub(crate) fn sign_in(session: &Session, Options { code, otp }: &Options) -> Result<ExitCode, Failure> {
    let form = SignInOidc { code: password::code(code)?.to_string(), otp: otp.clone() };
    let token = session.service.as_guest().call(form)?;
    session.out.answer(&token, |page| page.line(&token.access_token))
}

pub(crate) fn link(session: &Session, source: &Password) -> Result<ExitCode, Failure> {
    let [code, pw] = password::code_and_present(source)?.map(|text| text.as_str().to_owned());
    session.service.call(LinkOidc { code, pw })?;
    session.out.answer(&(), |page| page.line("The account is linked."))
}

pub(crate) fn unlink(session: &Session, source: &Password) -> Result<ExitCode, Failure> {
    let pw = password::present(source)?.to_string();
    session.service.call(UnlinkOidc { pw })?;
    session.out.answer(&(), |page| page.line("The account is not linked any more."))
}
