//! Access control of the access log.

use super::{KEY_PREFIX, LogMember};
use crate::Tidings;
use crate::account::{self, Identity, key};
use crate::audit::trail::Action;
use crate::record::error::{Error, Result};
use crate::record::scope::Scope;
use crate::store::Tx;

/// The permission to read the log: all of it, or the lines of one id.
pub(in crate::analysis) struct LogAccess<'a>(Option<&'a str>);

impl<'a> LogAccess<'a> {
    /// Checks that the caller may read the lines of `of`, a folded id, or all lines if it is `None`. An administrator
    /// may read all lines, and a member their own lines. If the settings make logs public, every caller may read all
    /// lines.
    ///
    /// # Errors
    /// `bad token`; `Not admin` unless the lines are the member's own.
    pub(in crate::analysis) fn check(
        tx: &mut dyn Tx,
        tidings: &Tidings,
        identity: &Identity,
        of: Option<&'a str>,
    ) -> Result<Self> {
        if !tidings.config().analysis.public_logs {
            identity.admin_or_own(tx, Scope::AnalyticsRead, of)?;
        }
        Ok(Self(of))
    }

    /// Returns the lines that the caller may read.
    ///
    /// # Errors
    /// `Not found` if the member does not exist.
    pub(in crate::analysis) fn scope(&self, tx: &mut dyn Tx) -> Result<LogScope> {
        let member = match self.0 {
            None => None,
            Some(account::GUEST) => Some(LogMember::Guest),
            Some(account::REMOVED) => Some(LogMember::Removed),
            Some(id) => Some(match id.strip_prefix(KEY_PREFIX) {
                Some(name) => LogMember::Key(key::logged_name(tx, name)?.ok_or(Error::NotFound)?),
                None => LogMember::Member(account::find(tx, id)?.ok_or(Error::NotFound)?.key),
            }),
        };
        Ok(LogScope { member })
    }
}

/// The greatest number of lines of the log that are no mass reading: what a screen shows at first.
pub(in crate::analysis) const READING: i64 = 200;

/// Records that an administrator reads many lines of the log. Members read their own lines, and public ones, unrecorded.
///
/// # Errors
/// `bad token`; when the record cannot be written.
pub(in crate::analysis) fn record_reading(tidings: &Tidings, identity: &Identity) -> Result<()> {
    if tidings.config().analysis.public_logs {
        return Ok(());
    }
    match identity.record_reading(tidings, Scope::AnalyticsRead, Action::LogRead) {
        Err(Error::Forbidden | Error::MissingScope(_)) => Ok(()),
        recorded => recorded,
    }
}

/// The lines of the log that a caller may read. Only [`LogAccess`] creates it.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct LogScope {
    member: Option<LogMember>,
}

impl LogScope {
    /// Returns the owner of the lines: a member, an API key, the guests or the removed members; `None` for all lines.
    pub(super) const fn member(self) -> Option<LogMember> {
        self.member
    }
}
