//! `tidings init`: the database and its first administrator.

use std::process::ExitCode;

use serde::Serialize;
use tidings_core::account::{self, SignUp};
use tidings_core::{Error, Outcome, Tidings, admin};

use crate::args::{Global, Init};
use crate::output::{self, Failure, is_interactive};
use crate::password;

#[derive(Serialize)]
struct Answer {
    /// The administrator, `""` when none was made.
    admin: String,
}

pub(crate) fn run(tidings: &Tidings, global: &Global, args: &Init) -> Result<ExitCode, Failure> {
    let asked = match &args.admin {
        None if is_interactive() && !global.json => {
            password::ask("Id of the first administrator (empty for none yet): ")?
        }
        given => given.clone(),
    };
    let Some(id) = asked else {
        let text = "The database is ready. Make an administrator with: tidings init --admin ID";
        return Ok(output::success(global.json, &Answer { admin: String::new() }, text));
    };
    match admin::grant(tidings, &id) {
        Err(Error::NotFound) => sign_up(tidings, &id, args)?,
        granted => granted?,
    }
    let text = format!("The database is ready, and {id} is an administrator.");
    Ok(output::success(global.json, &Answer { admin: id }, &text))
}

fn sign_up(tidings: &Tidings, id: &str, args: &Init) -> Result<(), Failure> {
    let pw = password::read(&args.password)?;
    let form =
        SignUp { id: id.to_owned(), pw: pw.to_string(), pw_check: pw.to_string(), nickname: id.to_owned() };
    account::sign_up(tidings, &form).map_err(|error| match error {
        Error::Documented(Outcome::WrongUserInfo) => {
            let (id, pw) = (tidings.config().id_length, tidings.config().password_length);
            Failure::refused(
                &error,
                format!(
                    "an id has {} to {} ASCII letters, digits, _ - or ., a password {} to {} characters",
                    id.min, id.max, pw.min, pw.max
                ),
            )
        }
        error => error.into(),
    })?;
    Ok(admin::grant(tidings, id)?)
}
