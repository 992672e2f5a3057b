use super::{KEY_PREFIX, LogMember};
use crate::Tidings;
use crate::account::{self, Identity, key};
use crate::audit::trail::Action;
use crate::record::error::{Error, Result};
use crate::record::scope::Scope;
use crate::store::Tx;

/// `None` for all of the log, otherwise the lines of this id.
pub(in crate::analysis) struct LogAccess<'a>(Option<&'a str>);

impl<'a> LogAccess<'a> {
    /// Checks that the caller may read the lines of `of`, a folded id, or all lines if it is `None`. An administrator may read
    /// all lines, and a member their own lines. If the settings make logs public, every caller may read all lines.
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

/// The number of lines that a screen shows at first; a query of more lines is recorded.
pub(in crate::analysis) const READING: i64 = 200;

/// Members read their own lines, and everyone reads public ones, without a record.
pub(in crate::analysis) fn record_reading(tidings: &Tidings, identity: &Identity) -> Result<()> {
    if tidings.config().analysis.public_logs {
        return Ok(());
    }
    match identity.record_reading(tidings, Scope::AnalyticsRead, Action::LogRead) {
        Err(Error::Forbidden | Error::MissingScope(_)) => Ok(()),
        recorded => recorded,
    }
}

/// Only [`LogAccess`] creates it.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct LogScope {
    member: Option<LogMember>,
}

impl LogScope {
    /// `None` for all lines.
    pub(super) const fn member(self) -> Option<LogMember> {
        self.member
    }
}
