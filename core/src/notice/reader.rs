use super::placement::Audience;
use crate::Tidings;
use crate::account::{Admin, Caller, Member};
use crate::record::error::{Error, Result};
use crate::record::scope::Scope;

pub(super) enum Reader<'tx> {
    /// A guest, or a caller with an invalid token.
    Guest,
    Member(#[expect(dead_code, reason = "the proof that the token is valid")] Member<'tx>),
    Admin(#[expect(dead_code, reason = "the proof of the right")] Admin<'tx>),
}

impl Reader<'_> {
    /// `None` for an administrator.
    pub(super) const fn audience(&self) -> Option<Audience> {
        match self {
            Self::Guest => Some(Audience::Everyone),
            Self::Member(_) => Some(Audience::Members),
            Self::Admin(_) => None,
        }
    }
}

/// Guests are recognised without reading the database.
pub(super) fn read_as<T: Send>(
    tidings: &Tidings,
    caller: &Caller,
    read: impl FnOnce(&Reader<'_>) -> T + Send,
) -> Result<T> {
    let identity = caller.identify(tidings);
    if identity.is_guest() {
        return Ok(read(&Reader::Guest));
    }
    tidings.store().read(|tx| {
        let reader = match identity.with_scope(tx, Scope::Notices) {
            Ok(admin) => Reader::Admin(admin),
            // A key without the scope is no member.
            Err(Error::MissingScope(_)) if identity.is_key() => Reader::Guest,
            Err(Error::Forbidden | Error::MissingScope(_) | Error::SecondFactorNeeded) => {
                Reader::Member(identity.member(tx)?)
            }
            Err(Error::BadToken) => Reader::Guest,
            Err(error) => return Err(error),
        };
        Ok(read(&reader))
    })
}
