use std::collections::BTreeMap;

use tidings_core::account::SignUp;
use tidings_core::{Error, admin, analysis};

use crate::database;
use crate::password::{self, Password};
use crate::prelude::*;
use crate::session::refused_to_members;

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Make this member an administrator, signing the member up first if necessary
    #[arg(long, value_name = "ID", add = ids(Kind::Member))]
    admin: Option<String>,
    #[command(flatten)]
    pub(crate) password: Password,
}

pub(crate) fn run(session: &Session, args: &Init) -> Exit {
    let Session { service, out } = session;
    // This fails before the command asks for an id or a password.
    let (tidings, caller) = session.database()?;
    caller.operator().map_err(refused_to_members)?;
    let question = "Id of the first administrator (empty for none yet): ";
    let asked = match &args.admin {
        None => password::ask_if_possible(out, question)?,
        given => given.clone(),
    };
    let zone = format!("Its time zone is {}.", analysis::timezone(tidings)?.zone);
    let Some(id) = asked else {
        let tidings = database::next_command(tidings.location());
        let text =
            format!("The database is ready. {zone} Make an administrator with: {tidings} init --admin ID");
        return out.answer(&BTreeMap::from([("admin", "")]), |page| page.line(text));
    };
    match tidings.call(caller, admin::Grant { user_id: id.clone() }) {
        Err(Error::NotFound) => {
            let pw = password::new(&args.password, service)?.to_string();
            let form = SignUp { id: id.clone(), pw_check: pw.clone(), pw, nickname: id.clone(), email: None };
            admin::sign_up(tidings, caller, &form)?;
        }
        granted => granted?,
    }
    let id = session.member(&id)?;
    let text = format!("The database is ready, and {id} is an administrator. {zone}");
    out.answer(&BTreeMap::from([("admin", &id)]), |page| page.line(text))
}
