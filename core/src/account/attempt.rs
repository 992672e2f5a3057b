//! Attempts to prove an identity, which sign-in slowing counts.

use super::throttle::Attempt;
use crate::Tidings;
use crate::client::Client;
use crate::error::{Error, Outcome, Result};

/// Begins an attempt, or returns `None` if this client is not slowed. `id` is `None` if no account can have the id.
pub(super) fn begin<'t>(
    tidings: &'t Tidings,
    id: Option<&str>,
    client: Option<Client>,
) -> Result<Option<Attempt<'t>>> {
    let Some(client) = client.filter(|_| tidings.config().sign_in_slowing) else { return Ok(None) };
    tidings.throttle().begin(id, client).map(Some)
}

pub(super) fn succeeded(attempt: Option<Attempt<'_>>) {
    if let Some(attempt) = attempt {
        attempt.succeeded();
    }
}

pub(super) fn failed(attempt: Option<Attempt<'_>>, outcome: Outcome) -> Error {
    if let Some(attempt) = attempt {
        attempt.failed();
    }
    outcome.into()
}
