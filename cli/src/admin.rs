use tidings_client::Error;
use tidings_core::admin;
use tidings_core::operation::Operation;

use crate::prelude::*;

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

pub(crate) fn run(session: &Session, command: &Admin) -> Exit {
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
            session.done(format!("{id} is an administrator."))
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
) -> Exit {
    let explained = |error: Error| {
        if error.is_not_found() {
            Failure::refused(&error, format!("there is no member {id:?}: {advice}"))
        } else {
            error.into()
        }
    };
    session.service.call(operation).map_err(explained)?;
    let id = session.service.registered(id).map_err(explained)?;
    session.done(format!("{id} {done}"))
}

fn list(Session { service, out }: &Session) -> Exit {
    let found = service.call(admin::List {})?;
    let kept_out = service.call(admin::GetBlacklist {})?.blacklist;
    let is_kept_out = |id: &str| kept_out.iter().any(|member| member.user_id == *id);
    out.table(&found, &found.admins, "There is no administrator yet: tidings admin grant ID", |table| {
        table
            .whole("ID", |admin| admin.user_id.clone())
            .text("Nickname", |admin| admin.nickname.clone())
            .whole("Is", |admin| if is_kept_out(&admin.user_id) { "blacklisted" } else { "" }.to_owned())
            .optional_whole(dated("Since"), |admin| local(admin.date))
            .styled(|admin| if is_kept_out(&admin.user_id) { Style::Faint } else { Style::Plain })
    })
}

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

pub(crate) fn blacklist(session: &Session, command: &Blacklist) -> Exit {
    match command {
        Blacklist::List => {
            let found = session.service.call(admin::GetBlacklist {})?;
            session.out.table(&found, &found.blacklist, "No member is blacklisted.", |table| {
                table
                    .whole("ID", |member| member.user_id.clone())
                    .whole(dated("Since"), |member| local(member.date))
            })
        }
        Blacklist::Add(MemberId { id }) => {
            let push = admin::PushBlacklist { user_id: id.clone() };
            session.change("member", id, push, format!("{id} is blacklisted."))
        }
        Blacklist::Remove(MemberId { id }) => {
            let pop = admin::PopBlacklist { user_id: id.clone() };
            session.change("member", id, pop, format!("{id} may sign in again."))
        }
    }
}
