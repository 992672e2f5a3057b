//! Who may read which lines of the access log.

use super::LogMember;
use crate::Tidings;
use crate::account::{self, Identity, fold};
use crate::error::{Error, Result};
use crate::store::Tx;

/// Permission to read the log: all of it, or the lines of one id.
pub(in crate::analysis) struct LogAccess<'a>(Option<&'a str>);

impl<'a> LogAccess<'a> {
    /// Lets an administrator read everything, and a member their own lines; where the settings make logs public,
    /// everybody reads everything. `of` is the id whose lines are asked for, folded.
    ///
    /// # Errors
    /// `bad token`; `Not admin` for all but the member's own lines.
    pub(in crate::analysis) fn check(
        tx: &mut dyn Tx,
        tidings: &Tidings,
        identity: &Identity,
        of: Option<&'a str>,
    ) -> Result<Self> {
        if tidings.config().analysis.public_logs {
            return Ok(Self(of));
        }
        match identity.admin(tx) {
            Ok(_) => Ok(Self(of)),
            Err(Error::Forbidden) if Some(fold(&identity.member(tx)?.id).as_str()) == of => Ok(Self(of)),
            Err(error) => Err(error),
        }
    }

    /// The lines that may be read.
    ///
    /// # Errors
    /// `Not found` when there is no such member.
    pub(in crate::analysis) fn scope(&self, tx: &mut dyn Tx) -> Result<LogScope> {
        let member = match self.0 {
            None => None,
            Some(account::GUEST) => Some(LogMember::Guest),
            Some(account::REMOVED) => Some(LogMember::Removed),
            Some(id) => Some(LogMember::Member(account::find(tx, id)?.ok_or(Error::NotFound)?.key)),
        };
        Ok(LogScope { member })
    }
}

/// Lines of the log that a caller may read; only [`LogAccess`] makes it.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct LogScope {
    member: Option<LogMember>,
}

impl LogScope {
    /// Returns the member, the guests or the removed members whose lines these are; `None` for all lines.
    pub(super) const fn member(self) -> Option<LogMember> {
        self.member
    }
}
