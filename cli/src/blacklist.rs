//! `tidings blacklist`: members who may not sign in.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_core::admin;

use crate::complete::MemberId;
use crate::failure::Failure;
use crate::output::{Column, Table, dated, local};
use crate::session::{Session, unknown};

#[derive(Debug, Subcommand)]
pub(crate) enum Blacklist {
    /// List the members who may not sign in, newest first
    #[command(after_help = "Example: tidings blacklist list")]
    List,
    /// Blacklist a member: the member is signed out everywhere and cannot sign in
    #[command(after_help = "Example: tidings blacklist add mallory")]
    Add(MemberId),
    /// Remove a member from the blacklist; the member has to sign in again
    #[command(after_help = "Example: tidings blacklist remove mallory")]
    Remove(MemberId),
}

pub(crate) fn run(session: &Session, command: &Blacklist) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    match command {
        Blacklist::List => list(session),
        Blacklist::Add(MemberId { id }) => {
            let push = admin::PushBlacklist { user_id: id.clone() };
            service.call(push).map_err(|error| unknown(error, "member", id))?;
            out.answer(&(), |page| page.line(format!("{id} is blacklisted.")))
        }
        Blacklist::Remove(MemberId { id }) => {
            let pop = admin::PopBlacklist { user_id: id.clone() };
            service.call(pop).map_err(|error| unknown(error, "member", id))?;
            out.answer(&(), |page| page.line(format!("{id} may sign in again.")))
        }
    }
}

fn list(session: &Session) -> Result<ExitCode, Failure> {
    let blacklist = session.service.call(admin::GetBlacklist {})?;
    session.out.list(&blacklist, &blacklist.blacklist, |page| {
        let mut table = Table::new([Column::whole("ID"), Column::whole(dated("Since"))]);
        for member in &blacklist.blacklist {
            table.row([member.user_id.clone(), local(member.date)]);
        }
        page.table(&table, "No member is blacklisted.");
    })
}
