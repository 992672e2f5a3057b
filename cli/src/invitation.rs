//! `tidings invitation`: codes with which people sign up where others may not.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_client::shown::number::count;
use tidings_core::account::invitation::{self, Add, Remove};
use tidings_core::account::key::Scope;

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::key::{self, scope_names};
use crate::output::{Column, Table, dated, local};
use crate::session::{Session, unknown};

#[derive(Debug, Subcommand)]
pub(crate) enum Invitation {
    /// Make an invitation and print its code; it is not shown again
    #[command(
        after_help = key::scopes_help(
            "Examples:\n  tidings invitation add\n  tidings invitation add --uses 30 --days 14 --note \"the library's team\"\n  \
             tidings invitation add --role notices,feedback"
        )
    )]
    Add {
        /// How many members can sign up with the code
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..=1_000))]
        uses: i64,
        /// The number of days for which it works
        #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(i64).range(1..=90))]
        days: i64,
        /// What these members may administer: one or more scopes, separated by commas [default: nothing]
        #[arg(long, value_name = "SCOPE", value_delimiter = ',', value_parser = key::scope, add = ids(Kind::Scope))]
        role: Vec<Scope>,
        /// By what you recognise the invitation
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        note: Option<String>,
        /// Mail the code to this address, and do not print it
        #[arg(long, value_name = "ADDRESS")]
        email: Option<String>,
    },
    /// List the invitations, the latest first
    #[command(after_help = "Example: tidings invitation list")]
    List,
    /// Remove an invitation: its code no longer works
    #[command(after_help = "Example: tidings invitation remove 6560c1a2ffeeddccbbaa0099")]
    Remove {
        /// The id of the invitation
        #[arg(add = ids(Kind::Invitation))]
        id: String,
    },
}

pub(crate) fn run(session: &Session, command: &Invitation) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    match command {
        Invitation::Add { uses, days, role, note, email } => {
            let new = service.call(Add {
                uses: Some(*uses),
                days: Some(*days),
                scopes: Some(role.iter().map(ToString::to_string).collect()),
                note: note.clone(),
                email: email.clone(),
            })?;
            out.answer(&new, |page| {
                let (until, members) = (format!("Until {}", local(new.expires)), count(*uses, "member"));
                if let Some(code) = &new.code {
                    page.line(code);
                    page.note(&format!(
                        "{until}, {members} can sign up with the code: tidings member sign-up --code. It is not shown again."
                    ));
                } else {
                    page.line(new.id.to_string());
                    page.note(&format!("{until}, {members} can sign up with the code that is mailed."));
                }
            })
        }
        Invitation::List => list(session),
        Invitation::Remove { id } => {
            let removed = service.call(Remove { invitation_obi: id.clone() });
            removed.map_err(|error| unknown(error, "invitation", id))?;
            out.answer(&(), |page| page.line(format!("The invitation {id} is removed.")))
        }
    }
}

fn list(session: &Session) -> Result<ExitCode, Failure> {
    let found = session.service.call(invitation::List {})?;
    session.out.list(&found, &found.invitations, |page| {
        let columns = [
            Column::whole("Id"),
            Column::text("Note"),
            Column::number("Uses left"),
            Column::text("Role").optional(),
            Column::whole(dated("Expires")),
            Column::text("Made by").optional(),
        ];
        let mut table = Table::new(columns);
        for invitation in &found.invitations {
            let expires = if invitation.open == 1 { local(invitation.expires) } else { "ended".to_owned() };
            table.row([
                invitation.id.clone(),
                invitation.note.clone().unwrap_or_default(),
                invitation.uses.to_string(),
                scope_names(&invitation.scopes),
                expires,
                invitation.made_by.clone().unwrap_or_else(|| "the operator".to_owned()),
            ]);
        }
        page.table(&table, "There is no invitation: tidings invitation add");
    })
}
