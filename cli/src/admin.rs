//! `tidings admin`: administrators.

use std::process::ExitCode;

use tidings_core::{Error, Tidings, admin};

use crate::args::{Admin, Global};
use crate::output::{self, Failure};

pub(crate) fn run(tidings: &Tidings, global: &Global, command: &Admin) -> Result<ExitCode, Failure> {
    let (id, done, text) = match command {
        Admin::Grant { id } => (id, admin::grant(tidings, id), format!("{id} is an administrator.")),
        Admin::Revoke { id } => {
            (id, admin::revoke(tidings, id), format!("{id} is an administrator no longer."))
        }
    };
    done.map_err(|error| match error {
        Error::NotFound => Failure::refused(&error, format!("there is no member {id:?}: sign up first")),
        Error::LastAdministrator => Failure::refused(&error, "make another member an administrator first"),
        error => error.into(),
    })?;
    Ok(output::success(global.json, &(), &text))
}
