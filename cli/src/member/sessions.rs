//! `tidings member sessions` and `sign-out`: where a member is signed in.

use std::process::ExitCode;

use tidings_core::Error;
use tidings_core::account::{self, Caller};

use crate::failure::Failure;
use crate::output::{Column, Table, dated, local};
use crate::session::{Session, unknown};

pub(super) fn list(session: &Session, id: &str) -> Result<ExitCode, Failure> {
    let Session { tidings, out, caller } = session;
    let sessions = match own(session, id)? {
        Some(member) => account::sessions(tidings, &member)?,
        None => account::sessions_of(tidings, caller, id).map_err(|error| unknown(error, "member", id))?,
    };
    out.list(&sessions, &sessions.sessions, |page| {
        let columns = [
            Column::whole("ID"),
            Column::text("Device"),
            Column::whole(dated("Last seen")),
            Column::whole(dated("Since")).optional(),
        ];
        let mut table = Table::new(columns);
        for session in &sessions.sessions {
            let seen = local(session.last_seen);
            table.row([session.id.clone(), session.device.clone(), seen, local(session.date)]);
        }
        page.table(&table, "The member is not signed in.");
    })
}

pub(super) fn sign_out(session: &Session, id: &str, of: Option<&str>) -> Result<ExitCode, Failure> {
    let Session { tidings, out, caller } = session;
    let missing = |error| match (error, of) {
        (error @ Error::NotFound, Some(of)) => Failure::refused(
            &error,
            format!("{id:?} has no session {of:?}: see tidings member sessions {id}"),
        ),
        (error, _) => unknown(error, "member", id),
    };
    match (own(session, id)?, of) {
        (Some(member), Some(of)) => account::sign_out_session(tidings, &member, of).map_err(missing)?,
        (Some(member), None) => account::sign_out_all(tidings, &member)?,
        (None, _) => account::sign_out_member(tidings, caller, id, of).map_err(missing)?,
    }
    let place = if of.is_some() { "of the session" } else { "everywhere" };
    out.answer(&(), |page| page.line(format!("{id} is signed out {place}.")))
}

/// Returns the member `id` if `--as` names them, because members manage their own sessions.
fn own(session: &Session, id: &str) -> Result<Option<Caller>, Failure> {
    match &session.caller {
        Caller::Member(acting) if acting.eq_ignore_ascii_case(id) => session.member(id).map(Some),
        _ => Ok(None),
    }
}
