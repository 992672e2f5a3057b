//! Attempts to prove an identity, which sign-in slowing counts.

use super::throttle::Attempt;
use crate::Tidings;
use crate::account::{Call, Client, places};
use crate::record::error::{Error, Result};
use crate::record::id::MemberKey;
use crate::record::operation::{Access, Rate, Spec, Work};

pub(super) const fn with_password(path: &'static str) -> Spec {
    Spec::post("account", path, Access::Members).works(Work::Password).limited(Rate::General).attempt()
}

/// Returns `None` if the client is not slowed. `id` is `None` for an id that no account can have. While a client has to wait
/// because of other accounts, members who recently signed in from it do not.
pub(super) fn begin<'t>(call: &Call<'t>, id: Option<&str>) -> Result<Option<Attempt<'t>>> {
    begin_by(call.tidings(), id, call.client().client())
}

pub(super) fn begin_by<'t>(
    tidings: &'t Tidings,
    id: Option<&str>,
    client: Option<Client>,
) -> Result<Option<Attempt<'t>>> {
    let Some(client) = client.filter(|_| tidings.config().sign_in_slowing) else { return Ok(None) };
    let is_known = || id.map_or(Ok(false), |id| places::is_known(tidings, id, client));
    tidings.account().throttle.begin(id, client, is_known).map(Some)
}

/// For a member whose password was right. Returns `None` if the client is not slowed. Wrong codes count for the account, whatever
/// the client, because a code is short. Only callers who know the password get here, so nobody else can make the member wait.
pub(super) fn begin_code<'t>(call: &Call<'t>, member: MemberKey) -> Result<Option<Attempt<'t>>> {
    let tidings = call.tidings();
    if call.client().address.is_none() || !tidings.config().sign_in_slowing {
        return Ok(None);
    }
    tidings.account().throttle.begin_code(member).map(Some)
}

pub(super) fn succeeded(attempt: Option<Attempt<'_>>) {
    if let Some(attempt) = attempt {
        attempt.succeeded();
    }
}

pub(super) fn failed(attempt: Option<Attempt<'_>>, outcome: impl Into<Error>) -> Error {
    if let Some(attempt) = attempt {
        attempt.failed();
    }
    outcome.into()
}
