use tidings_client::{Error, Service};
use tidings_core::account::{
    BeginOtp, DisableOtp, EnableOtp, GetOtp, OtpSecret, RecoveryCodes, RenewRecoveryCodes,
};
use tidings_core::error::Code;

use crate::output;
use crate::password::{self, Password, ask_if_possible};
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(crate) enum Otp {
    /// Show whether the second factor is enabled
    #[command(after_help = "Example: tidings otp status --server https://tidings.example.org")]
    Status,
    /// Enable the second factor: shows a QR code for an authenticator, and asks for its first code
    #[command(
        after_help = "Examples:\n  tidings otp enable --server https://tidings.example.org\n  tidings otp enable --server https://tidings.example.org --password-file pw.txt\n  tidings otp enable --server https://tidings.example.org --otp 287082"
    )]
    Enable {
        #[command(flatten)]
        password: Password,
        /// The code that tidings member otp has issued, where administrators need a second factor
        #[arg(long, value_name = "CODE")]
        enrolment_code: Option<String>,
        /// The first code of the authenticator, for the secret that an earlier call has shown
        #[arg(
            long, value_name = "CODE", allow_hyphen_values = true,
            conflicts_with_all = ["password_stdin", "password_file", "enrolment_code"]
        )]
        otp: Option<String>,
    },
    /// Disable the second factor
    #[command(after_help = "Example: tidings otp disable --server https://tidings.example.org")]
    Disable(Confirmation),
    /// Replace the recovery codes
    #[command(after_help = "Example: tidings otp renew --server https://tidings.example.org")]
    Renew(Confirmation),
}

#[derive(Debug, Args)]
pub(crate) struct Confirmation {
    #[command(flatten)]
    password: Password,
    /// A code of the authenticator, or a recovery code
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    otp: Option<String>,
}

impl Confirmation {
    fn get(&self, out: &Output) -> Result<(String, String), Failure> {
        let pw = password::present(&self.password)?.to_string();
        let otp = match &self.otp {
            Some(otp) => otp.clone(),
            None => {
                ask_if_possible(out, "Code of the authenticator, or a recovery code: ")?.unwrap_or_default()
            }
        };
        if otp.is_empty() {
            return Err(Failure::usage(
                "give the code of the authenticator, or a recovery code, with --otp CODE",
            ));
        }
        Ok((pw, otp))
    }
}

pub(crate) fn run(session: &Session, command: &Otp) -> Exit {
    let Session { service, out } = session;
    if service.database().is_some() {
        // On a server, the member is the one who has signed in.
        let _ = session.acting_member()?;
    }
    match command {
        Otp::Status => {
            let status = service.call(GetOtp {})?;
            out.answer(&status, |page| {
                page.line(if status.enabled == 1 {
                    format!(
                        "The second factor is enabled; {} recovery codes are left.",
                        status.recovery_codes
                    )
                } else {
                    "The second factor is not enabled.".to_owned()
                });
            })
        }
        Otp::Enable { otp: Some(otp), .. } => {
            let codes = service.call(EnableOtp { otp: otp.clone() }).map_err(explained)?;
            show(out, &codes, ENABLED)
        }
        Otp::Enable { password, enrolment_code, otp: None } => {
            enable(session, password, enrolment_code.as_deref())
        }
        Otp::Disable(confirmation) => {
            let (pw, otp) = confirmation.get(out)?;
            service.call(DisableOtp { pw, otp }).map_err(explained)?;
            session.done("The second factor is disabled, and every other session has ended.")
        }
        Otp::Renew(confirmation) => {
            let (pw, otp) = confirmation.get(out)?;
            let codes = service.call(RenewRecoveryCodes { pw, otp }).map_err(explained)?;
            show(out, &codes, "The new recovery codes, each of which works once:")
        }
    }
}

/// Shows a secret, and enables the second factor if the command can ask for the first code.
fn enable(session: &Session, password: &Password, code: Option<&str>) -> Exit {
    let Session { service, out } = session;
    let pw = password::present(password)?.to_string();
    let secret = begin(service, out, &BeginOtp { pw, enrolment_code: code.map(str::to_owned) })?;
    let can_ask = output::is_interactive() && !out.is_for_programs();
    let shown = out.answer(&secret, |page| {
        page.qr(&secret.uri);
        page.line(format!("Secret: {}", *secret.secret));
        if !can_ask {
            page.note("Scan the code, or type the secret, and confirm it: tidings otp enable --otp CODE");
        }
    })?;
    if !can_ask {
        return Ok(shown);
    }
    loop {
        let Some(otp) = ask_if_possible(out, "The code that the authenticator shows: ")? else {
            return Err(Failure::declined("the second factor is not enabled"));
        };
        match service.call(EnableOtp { otp }) {
            Ok(codes) => return show(out, &codes, ENABLED),
            Err(error) if error.code() == Some(Code::WrongOtp) => {
                output::note("this is not the code: wait for the next one, and look at the clocks");
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn begin(service: &Service, out: &Output, form: &BeginOtp) -> Result<OtpSecret, Failure> {
    let begun = service.call(form.clone());
    let needs_code = begun.as_ref().is_err_and(|error| error.code() == Some(Code::OtpRequired));
    let question = "Enrolment code, from the operator or another administrator: ";
    let code = if needs_code { ask_if_possible(out, question)? } else { None };
    let begun = match code {
        Some(_) => service.call(BeginOtp { enrolment_code: code, ..form.clone() }),
        None => begun,
    };
    begun.map_err(explained)
}

fn explained(error: Error) -> Failure {
    let advice = match (error.code(), error.field()) {
        (Some(Code::OtpRequired), _) => {
            "this server needs an enrolment code: let the operator or another administrator issue one with tidings member \
             otp, and give it with --enrolment-code CODE"
        }
        (Some(Code::WrongOtp), Some("enrolment_code")) => {
            "the enrolment code is wrong, was used before, has expired, or a later one was issued"
        }
        (Some(Code::WrongOtp), _) => "the code is wrong, or was used before",
        _ => return error.into(),
    };
    Failure::refused(&error, advice)
}

const ENABLED: &str = "The second factor is enabled, and every other session has ended.\n\
                       The recovery codes, each of which replaces a code once:";

fn show(out: &Output, codes: &RecoveryCodes, heading: &str) -> Exit {
    out.answer(codes, |page| {
        page.block(heading);
        codes.recovery_codes.iter().for_each(|code| page.line(code));
        page.note("Keep them in a safe place: they are not shown again.");
    })
}
