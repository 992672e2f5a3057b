//! `tidings mail`: the mail that the service sends to members.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_core::mail::{List, Retry, Test};

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::output::{Column, Table, dated, local};
use crate::session::{Session, unknown};

#[derive(Debug, Subcommand)]
pub(crate) enum Mail {
    /// List the mail that waits or was given up, latest first
    #[command(after_help = "Example: tidings mail list")]
    List,
    /// Send a mail again that waits or was given up
    #[command(after_help = "Example: tidings mail retry 6560c1a2ffeeddccbbaa0001")]
    Retry {
        /// The id of the mail
        #[arg(add = ids(Kind::Mail))]
        mail: String,
    },
    /// Send a test to an address, and say what the mail server answers
    #[command(after_help = "Example: tidings mail test ann@example.org")]
    Test {
        /// The address
        address: String,
    },
}

pub(crate) fn run(session: &Session, command: &Mail) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    match command {
        Mail::List => list(session),
        Mail::Retry { mail } => {
            let retried = service.call(Retry { mail_obi: mail.clone() });
            retried.map_err(|error| unknown(error, "mail", mail))?;
            out.answer(&(), |page| page.line(format!("The mail {mail} is sent again.")))
        }
        Mail::Test { address } => {
            let result = service.call(Test { email: address.clone() })?;
            match &result.error {
                None => out.answer(&result, |page| {
                    page.line(format!("The mail server has taken a mail to {address}."));
                }),
                Some(error) => out.answer_with_result("fail", &result, |page| {
                    page.line(format!("No mail was sent: {error}."));
                }),
            }
        }
    }
}

fn list(session: &Session) -> Result<ExitCode, Failure> {
    let waiting = session.service.call(List {})?;
    session.out.list(&waiting, &waiting.mails, |page| {
        let columns = [
            Column::whole("Id"),
            Column::whole("Kind"),
            Column::text("Member"),
            Column::whole("Date").optional(),
            Column::number("Attempts"),
            Column::whole(dated("Next")),
            Column::text("Error"),
        ];
        let mut table = Table::new(columns);
        for mail in &waiting.mails {
            table.row([
                mail.id.clone(),
                mail.kind.to_string(),
                mail.user_id.clone().unwrap_or_default(),
                local(mail.date),
                mail.attempts.to_string(),
                mail.next_attempt.map_or_else(|| "given up".to_owned(), local),
                mail.error.clone().unwrap_or_default(),
            ]);
        }
        page.table(&table, "No mail waits, and none was given up.");
    })
}
