//! `tidings member sessions` and `sign-out`: where a member is signed in.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::output::{Column, Table, dated, local};
use crate::session::{Session, partial_id, unknown};

pub(super) fn list(session: &Session, id: &str) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    let sessions = service.sessions(id).map_err(|error| unknown(error, "member", id))?;
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
    let Session { service, out } = session;
    service.sign_out(id, of).map_err(|error| match of {
        Some(of) if error.is_not_found() => {
            let partial = partial_id(of);
            let advice = format!("{id:?} has no session {of:?}{partial}: see tidings member sessions {id}");
            Failure::refused(&error, advice)
        }
        _ => unknown(error, "member", id),
    })?;
    let place = if of.is_some() { "of the session" } else { "everywhere" };
    out.answer(&(), |page| page.line(format!("{id} is signed out {place}.")))
}
