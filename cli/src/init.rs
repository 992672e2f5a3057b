//! `tidings init`: the database and its first administrator.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use tidings_core::account::SignUp;
use tidings_core::{Error, admin, analysis};

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::next_steps;
use crate::output::is_interactive;
use crate::password::{self, Password};
use crate::session::{Session, refused_to_members};

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Make this member an administrator, signing the member up first if necessary
    #[arg(long, value_name = "ID", add = ids(Kind::Member))]
    admin: Option<String>,
    #[command(flatten)]
    pub(crate) password: Password,
}

#[derive(Serialize)]
struct Answer {
    /// `""` if the command made no administrator.
    admin: String,
}

pub(crate) fn run(session: &Session, args: &Init) -> Result<ExitCode, Failure> {
    // This fails before the command asks for an id or a password.
    let (tidings, caller) = session.database()?;
    caller.operator().map_err(refused_to_members)?;
    let asked = match &args.admin {
        None if is_interactive() && !session.out.is_for_programs() => {
            password::ask("Id of the first administrator (empty for none yet): ")?
        }
        given => given.clone(),
    };
    let zone = analysis::timezone(tidings)?.zone;
    let zone = format!("Its time zone is {zone}.");
    let Some(id) = asked else {
        let tidings = next_steps::tidings(tidings.location());
        let text =
            format!("The database is ready. {zone} Make an administrator with: {tidings} init --admin ID");
        return session.out.answer(&Answer { admin: String::new() }, |page| page.line(text));
    };
    match tidings.call(caller, admin::Grant { user_id: id.clone() }) {
        Err(Error::NotFound) => sign_up(session, &id, args)?,
        granted => granted?,
    }
    let id = session.member(&id)?;
    let text = format!("The database is ready, and {id} is an administrator. {zone}");
    session.out.answer(&Answer { admin: id }, |page| page.line(text))
}

fn sign_up(session: &Session, id: &str, args: &Init) -> Result<(), Failure> {
    let pw = password::new(&args.password, || session.service.password_rule())?;
    let form = SignUp {
        id: id.to_owned(),
        pw: pw.to_string(),
        pw_check: pw.to_string(),
        nickname: id.to_owned(),
        email: None,
    };
    let (tidings, caller) = session.database()?;
    Ok(admin::sign_up(tidings, caller, &form)?)
}
