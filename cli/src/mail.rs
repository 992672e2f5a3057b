use tidings_core::mail::{List, Retry, Test};

use crate::prelude::*;

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

pub(crate) fn run(session: &Session, command: &Mail) -> Exit {
    let Session { service, out } = session;
    match command {
        Mail::List => list(session),
        Mail::Retry { mail } => {
            let retry = Retry { mail_obi: mail.clone() };
            session.change("mail", mail, retry, format!("The mail {mail} is sent again."))
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

fn list(Session { service, out }: &Session) -> Exit {
    let waiting = service.call(List {})?;
    out.table(&waiting, &waiting.mails, "No mail waits, and none was given up.", |table| {
        // The name of the zone is on this date, which is never left out.
        let next = dated("Next");
        table
            .whole("Id", |mail| mail.id.clone())
            .whole("Kind", |mail| mail.kind.to_string())
            .text("Member", |mail| mail.user_id.clone().unwrap_or_default())
            .optional_whole("Date", |mail| local(mail.date))
            .number("Attempts", |mail| mail.attempts.to_string())
            .whole(next, |mail| mail.next_attempt.map_or_else(|| "given up".to_owned(), local))
            .text("Error", |mail| mail.error.clone().unwrap_or_default())
    })
}
