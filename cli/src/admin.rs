//! `tidings admin`: administrators.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_core::account::Caller;
use tidings_core::{Error, Outcome, Tidings, admin};

use crate::failure::Failure;
use crate::output::{Column, Style, Table, dated, local};
use crate::session::{Session, refused_to_members, registered};

#[derive(Debug, Subcommand)]
pub(crate) enum Admin {
    /// Make a member an administrator
    #[command(after_help = "Example: tidings admin grant ann")]
    Grant {
        /// The member
        id: String,
    },
    /// Revoke a member's administrator rights
    #[command(after_help = "Example: tidings admin revoke ann")]
    Revoke {
        /// The member
        id: String,
    },
    /// Check whether a member is an administrator
    #[command(after_help = "Example: tidings admin check ann && echo yes")]
    Check {
        /// The member
        id: String,
    },
    /// List the administrators
    #[command(after_help = "Example: tidings admin list")]
    List,
}

pub(crate) fn run(session: &Session, command: &Admin) -> Result<ExitCode, Failure> {
    match command {
        Admin::Grant { id } => change(session, id, admin::grant, "is an administrator."),
        Admin::Revoke { id } => change(session, id, admin::revoke, "is no longer an administrator."),
        Admin::Check { id } => {
            let member = session.member(id)?;
            let id = registered(&member, id);
            let checked = admin::check(&session.tidings, &member);
            checked.map_err(|error| match error {
                Error::Documented(Outcome::NotAdmin, _) => {
                    Failure::refused(&error, format!("{id:?} is no administrator"))
                }
                error => error.into(),
            })?;
            session.out.answer(&(), |page| page.line(format!("{id} is an administrator.")))
        }
        Admin::List => list(session),
    }
}

/// Grants or revokes administrator rights, and reports the result.
fn change(
    session: &Session,
    id: &str,
    act: impl FnOnce(&Tidings, &Caller, &str) -> tidings_core::Result<()>,
    done: &str,
) -> Result<ExitCode, Failure> {
    let Session { tidings, out, caller } = session;
    let explained = |error| match error {
        Error::NotFound => Failure::refused(&error, format!("there is no member {id:?}: sign up first")),
        error => refused_to_members(error),
    };
    act(tidings, caller, id).map_err(explained)?;
    // The caller may be an administrator, who does not act on behalf of others.
    let member = Caller::Operator.on_behalf_of(tidings, id).map_err(explained)?;
    let id = registered(&member, id);
    out.answer(&(), |page| page.line(format!("{id} {done}")))
}

fn list(session: &Session) -> Result<ExitCode, Failure> {
    let admins = admin::list(&session.tidings, &session.caller).map_err(refused_to_members)?;
    let kept_out = admin::blacklist(&session.tidings, &session.caller)?.blacklist;
    session.out.list(&admins, &admins.admins, |page| {
        let columns = [
            Column::whole("ID"),
            Column::text("Nickname"),
            Column::whole("Is"),
            Column::whole(dated("Since")).optional(),
        ];
        let mut table = Table::new(columns);
        for admin in &admins.admins {
            let blacklisted = kept_out.iter().any(|member| member.user_id == admin.user_id);
            let (is, style) = if blacklisted { ("blacklisted", Style::Faint) } else { ("", Style::Plain) };
            let cells = [admin.user_id.clone(), admin.nickname.clone(), is.to_owned(), local(admin.date)];
            table.styled_row(style, cells);
        }
        page.table(&table, "There is no administrator yet: tidings admin grant ID");
    })
}
