//! The callers that see different notices.

use super::placement::Audience;
use crate::Tidings;
use crate::account::{Admin, Caller, Identity, Member};
use crate::error::{Error, Result};

/// A caller who reads notices.
pub(super) enum Reader<'tx> {
    /// A guest, or a caller with an invalid token.
    Guest,
    /// A member who is not an administrator.
    Member(#[expect(dead_code, reason = "the proof that the token is valid")] Member<'tx>),
    /// An administrator, who sees every notice.
    Admin(Admin<'tx>),
}

impl Reader<'_> {
    /// Returns the audience that the reader belongs to; `None` for an administrator.
    pub(super) const fn audience(&self) -> Option<Audience> {
        match self {
            Self::Guest => Some(Audience::Everyone),
            Self::Member(_) => Some(Audience::Members),
            Self::Admin(_) => None,
        }
    }
}

/// Calls `read` with the caller as a reader. Guests are recognised without reading the database.
pub(super) fn read_as<T: Send>(
    tidings: &Tidings,
    caller: &Caller,
    read: impl FnOnce(&Reader<'_>) -> T + Send,
) -> Result<T> {
    let identity = caller.identify(tidings);
    if matches!(identity, Identity::Guest) {
        return Ok(read(&Reader::Guest));
    }
    tidings.store().read(|tx| {
        let reader = match identity.admin(tx) {
            Ok(admin) => Reader::Admin(admin),
            Err(Error::Forbidden) => Reader::Member(identity.member(tx)?),
            Err(Error::BadToken) => Reader::Guest,
            Err(error) => return Err(error),
        };
        Ok(read(&reader))
    })
}
