//! Attempts to prove an identity, which sign-in slowing counts.

use super::throttle::Attempt;
use super::{SignInClient, places};
use crate::base::client::Client;
use crate::record::error::{Error, Result};
use crate::record::id::MemberKey;
use crate::record::operation::Operation;
use crate::{Caller, Tidings};

/// An operation that checks or hashes a password or checks a code, so that it matters which client calls it.
pub trait ForClient: Operation {
    /// Runs it for a client. Clients take turns when passwords wait to be hashed, and wait after failed attempts; without an
    /// address, the client is this machine, which does not wait.
    ///
    /// # Errors
    /// Those that it documents; `too many requests` after many failures; `overloaded` if too many passwords wait to be hashed.
    fn run_for(self, tidings: &Tidings, caller: &Caller, client: SignInClient) -> Result<Self::Answer>;
}

/// Returns `None` if the client is not slowed. `id` is `None` for an id that no account can have.
///
/// While a client has to wait because of other accounts, members who recently signed in from it do not.
pub(super) fn begin<'t>(
    tidings: &'t Tidings,
    id: Option<&str>,
    client: Option<Client>,
) -> Result<Option<Attempt<'t>>> {
    let Some(client) = client.filter(|_| tidings.config().sign_in_slowing) else { return Ok(None) };
    let is_known = || id.map_or(Ok(false), |id| places::is_known(tidings, id, client));
    tidings.throttle().begin(id, client, is_known).map(Some)
}

/// For a member whose password was right. Returns `None` if the client is not slowed.
///
/// Wrong codes count for the account, whatever the client, because a code is short. Only callers who know the password get here,
/// so nobody else can make the member wait.
pub(super) fn begin_code(
    tidings: &Tidings,
    member: MemberKey,
    client: Option<Client>,
) -> Result<Option<Attempt<'_>>> {
    if client.is_none() || !tidings.config().sign_in_slowing {
        return Ok(None);
    }
    tidings.throttle().begin_code(member).map(Some)
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
