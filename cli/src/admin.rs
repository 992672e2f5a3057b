//! `tidings admin`: administrators.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_client::Error;
use tidings_core::admin;
use tidings_core::operation::Operation;

use crate::complete::MemberId;
use crate::failure::Failure;
use crate::output::{Column, Style, Table, dated, local};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Admin {
    /// Make a member an administrator
    #[command(after_help = "Example: tidings admin grant ann")]
    Grant(MemberId),
    /// Revoke a member's administrator rights
    #[command(after_help = "Example: tidings admin revoke ann")]
    Revoke(MemberId),
    /// Check whether a member is an administrator
    #[command(after_help = "Example: tidings admin check ann && echo yes")]
    Check(MemberId),
    /// List the administrators
    #[command(after_help = "Example: tidings admin list")]
    List,
}

pub(crate) fn run(session: &Session, command: &Admin) -> Result<ExitCode, Failure> {
    match command {
        Admin::Grant(MemberId { id }) => {
            let grant = admin::Grant { user_id: id.clone() };
            change(session, id, grant, "is an administrator.", "sign up first")
        }
        Admin::Revoke(MemberId { id }) => {
            let revoke = admin::Revoke { user_id: id.clone() };
            let list = "tidings admin list names the administrators";
            change(session, id, revoke, "is no longer an administrator.", list)
        }
        Admin::Check(MemberId { id }) => {
            let id = session.member(id)?;
            session.service.check_admin_of(&id).map_err(|error| {
                if error.is_forbidden() {
                    Failure::refused(&error, format!("{id:?} is no administrator"))
                } else {
                    error.into()
                }
            })?;
            session.out.answer(&(), |page| page.line(format!("{id} is an administrator.")))
        }
        Admin::List => list(session),
    }
}

/// `advice` is for an id that no member has.
fn change(
    session: &Session,
    id: &str,
    operation: impl Operation<Answer = ()>,
    done: &str,
    advice: &str,
) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    let explained = |error: Error| {
        if error.is_not_found() {
            Failure::refused(&error, format!("there is no member {id:?}: {advice}"))
        } else {
            error.into()
        }
    };
    service.call(operation).map_err(explained)?;
    let id = service.registered(id).map_err(explained)?;
    out.answer(&(), |page| page.line(format!("{id} {done}")))
}

fn list(session: &Session) -> Result<ExitCode, Failure> {
    let admins = session.service.call(admin::List {})?;
    let kept_out = session.service.call(admin::GetBlacklist {})?.blacklist;
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
