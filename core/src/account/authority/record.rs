//! The rows of members and of their sessions, as a check of authority reads them.

use crate::account::{Scopes, Token, fold};
use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{Row, StoreError, Tx};

/// A member's row, which is not a proof of the caller's identity.
#[derive(Clone, Debug)]
pub struct MemberRecord {
    pub(crate) key: MemberKey,
    /// The id as registered.
    pub(crate) id: String,
    pub(crate) generation: i64,
    pub(crate) admin: bool,
    pub(crate) blacklisted: bool,
    /// Those of the member's role; they have no effect while the member is an administrator.
    pub(crate) scopes: Scopes,
    /// Interest counts acts from this time on.
    pub(crate) measured: Timestamp,
}

const FIND: &str =
    "SELECT key, id, generation, admin IS NOT NULL, blacklisted IS NOT NULL, scopes, measured_since
                    FROM member WHERE folded = $1";
pub(super) const FIND_IN_SESSION: &str =
    "SELECT m.key, m.id, m.generation, m.admin IS NOT NULL, m.blacklisted IS NOT NULL, m.scopes, m.measured_since,
            s.last_seen, s.otp IS NOT NULL, m.sessions_from
     FROM member m LEFT JOIN session s ON s.id = $2 AND s.member = m.key WHERE m.folded = $1";

pub(super) struct Found {
    pub(super) record: MemberRecord,
    /// `None` if the session does not exist.
    pub(super) last_seen: Option<Timestamp>,
    pub(super) gave_code: bool,
    /// The time before which tokens without a session are revoked.
    sessions_from: Option<Timestamp>,
}

impl Found {
    pub(super) fn of(mut row: Row) -> Result<Self, StoreError> {
        let (last_seen, gave_code, sessions_from) = (row.take(7)?, row.take(8)?, row.take(9)?);
        Ok(Self { record: MemberRecord::of(row)?, last_seen, gave_code, sessions_from })
    }

    /// A token without a session must have been signed after the last change of the second factor.
    pub(super) fn is_open_for(&self, token: &Token) -> bool {
        match (token.session(), self.sessions_from) {
            (Some(_), _) => self.last_seen.is_some(),
            (None, Some(from)) => token.signed().is_some_and(|signed| signed > from),
            (None, None) => true,
        }
    }
}

impl MemberRecord {
    pub(super) fn of(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            key: row.take(0)?,
            id: row.take(1)?,
            generation: row.take(2)?,
            admin: row.take(3)?,
            blacklisted: row.take(4)?,
            scopes: Scopes::of_stored(row.take::<Option<String>>(5)?.as_deref()),
            measured: row.take(6)?,
        })
    }
}

pub(crate) fn find(tx: &mut dyn Tx, id: &str) -> Result<Option<MemberRecord>, StoreError> {
    tx.row(FIND, &[(&fold(id)).into()])?.map(MemberRecord::of).transpose()
}
