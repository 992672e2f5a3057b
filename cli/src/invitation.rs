use tidings_core::account::invitation::{self, Add, Remove};
use tidings_core::account::key::Scope;

use crate::key::{self, scope_names};
use crate::prelude::*;

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

pub(crate) fn run(session: &Session, command: &Invitation) -> Exit {
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
            let remove = Remove { invitation_obi: id.clone() };
            session.change("invitation", id, remove, format!("The invitation {id} is removed."))
        }
    }
}

fn list(Session { service, out }: &Session) -> Exit {
    let found = service.call(invitation::List {})?;
    out.table(&found, &found.invitations, "There is no invitation: tidings invitation add", |table| {
        table
            .whole("Id", |invitation| invitation.id.clone())
            .text("Note", |invitation| invitation.note.clone().unwrap_or_default())
            .number("Uses left", |invitation| invitation.uses.to_string())
            .optional_text("Role", |invitation| scope_names(&invitation.scopes))
            .whole(dated("Expires"), |invitation| match invitation.open {
                1 => local(invitation.expires),
                _ => "ended".to_owned(),
            })
            .optional_text("Made by", |invitation| {
                invitation.made_by.clone().unwrap_or_else(|| "the operator".to_owned())
            })
    })
}
