//! `tidings member passkeys` and `remove-passkey`: the passkeys of the member who is acting. Browsers add and use them.

use std::process::ExitCode;

use tidings_core::account::{GetPasskeys, RemovePasskey};

use crate::failure::Failure;
use crate::output::{Column, Table, dated, local};
use crate::session::{Session, unknown};

pub(crate) fn list(Session { service, out }: &Session) -> Result<ExitCode, Failure> {
    let listed = service.call(GetPasskeys {})?;
    out.list(&listed, &listed.passkeys, |page| {
        let columns = [
            Column::whole("ID"),
            Column::text("Name"),
            Column::whole(dated("Added")),
            Column::whole(dated("Last used")).optional(),
        ];
        let mut table = Table::new(columns);
        for passkey in &listed.passkeys {
            let used = passkey.last_used.map(local).unwrap_or_default();
            table.row([passkey.id.clone(), passkey.name.clone(), local(passkey.date), used]);
        }
        page.table(&table, "You have no passkey: an app adds one.");
    })
}

pub(crate) fn remove(Session { service, out }: &Session, id: &str) -> Result<ExitCode, Failure> {
    let remove = RemovePasskey { passkey_obi: id.to_owned() };
    service.call(remove).map_err(|error| unknown(error, "passkey", id))?;
    out.answer(&(), |page| page.line("The passkey is removed."))
}
