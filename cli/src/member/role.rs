//! `tidings member role`: what members may administer without being administrators.

use std::process::ExitCode;

use clap::Args;
use tidings_core::account::key::Scope;
use tidings_core::member::{GetRole, SetRole};

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::key;
use crate::session::{Session, unknown};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The member
    #[arg(add = ids(Kind::Member))]
    id: String,
    /// What the member may do from now on: one or more scopes; without any, the role is shown
    #[arg(value_name = "SCOPE", value_delimiter = ',', value_parser = key::scope, add = ids(Kind::Scope))]
    scopes: Vec<Scope>,
    /// Remove the role
    #[arg(long, conflicts_with = "scopes")]
    none: bool,
}

pub(super) fn run(session: &Session, Options { id, scopes, none }: &Options) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    if scopes.is_empty() && !none {
        let get = GetRole { user_id: id.clone() };
        let role = service.call(get).map_err(|error| unknown(error, "member", id))?;
        return out.answer(&role, |page| {
            page.line(match role.scopes.as_slice() {
                [] => format!("{id} has no role."),
                scopes => format!("{id} may: {}.", key::scope_names(scopes)),
            });
        });
    }
    let set = SetRole { user_id: id.clone(), scopes: scopes.iter().map(ToString::to_string).collect() };
    service.call(set).map_err(|error| unknown(error, "member", id))?;
    out.answer(&(), |page| {
        page.line(match scopes.as_slice() {
            [] => format!("{id} has no role any more."),
            scopes => format!("{id} may from now on: {}.", key::scope_names(scopes)),
        });
    })
}
