//! The acts of members before and after a time in the past.

use crate::account::Operator;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::{MemberKey, PostKey};
use crate::keyed::OwnSet;
use crate::profile::history::{self, Acts};
use crate::store::{Row, Store, StoreError};

/// Returns the time at or after which a fifth of all likes and views happened; `None` if there are no likes and views.
pub(super) fn fifth_from_last(store: &Store) -> Result<Option<Timestamp>> {
    store.read(|tx| {
        let count = "SELECT (SELECT count(*) FROM liked) + (SELECT count(*) FROM viewed)";
        let acts: i64 = tx.one(count, &[])?.take(0)?;
        // Both tables are sorted as one.
        let sql = "SELECT date FROM (SELECT date FROM liked UNION ALL SELECT date FROM viewed) AS act
                   ORDER BY date DESC LIMIT 1 OFFSET $1";
        let row = tx.row(sql, &[((acts / 5 - 1).max(0)).into()])?;
        Ok(row.map(|mut row| row.take(0)).transpose()?)
    })
}

/// A member whose feed is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) key: MemberKey,
    /// Interest counts acts from this time on.
    measured: Timestamp,
}

impl Asked {
    /// Returns the members with these keys who have not been removed in the meantime.
    pub(super) fn read(store: &Store, keys: OwnSet<MemberKey>) -> Result<Vec<Self>> {
        let mut keys: Vec<MemberKey> = keys.into_iter().collect();
        keys.sort_unstable();
        let asked = |key: MemberKey| -> Result<Option<Self>> {
            let row =
                store.read(|tx| tx.row("SELECT measured_since FROM member WHERE key = $1", &[key.into()]))?;
            Ok(row.map(|mut row| row.take(0).map(|measured| Self { key, measured })).transpose()?)
        };
        keys.into_iter().filter_map(|key| asked(key).transpose()).collect()
    }
}

/// The acts of a member before a time, and the posts that the member turned to from then on.
pub(super) struct Tested {
    pub(super) acts: Acts,
    /// The posts that the member had liked or viewed.
    pub(super) seen: Vec<PostKey>,
    /// The posts that the member liked or viewed from then on.
    pub(super) turned_to: Vec<PostKey>,
}

impl Tested {
    /// Reads the acts of a member before the time `at`, and those from then on and before `until`.
    pub(super) fn read(
        store: &Store,
        operator: Operator,
        member: Asked,
        at: Timestamp,
        until: Timestamp,
    ) -> Result<Self> {
        store.read(|tx| {
            let acts = history::acts_before(tx, operator, member.key, member.measured, at)?;
            let mut posts = |from: Timestamp, until: Timestamp| -> Result<Vec<PostKey>, StoreError> {
                let sql = "SELECT post FROM liked WHERE member = $1 AND date >= $2 AND date < $3
                           UNION SELECT post FROM viewed WHERE member = $1 AND date >= $2 AND date < $3";
                let rows = tx.rows(sql, &[member.key.into(), from.into(), until.into()])?;
                rows.into_iter().map(|mut row: Row| row.take(0)).collect()
            };
            let (seen, turned_to) = (posts(Timestamp::MIN, at)?, posts(at, until)?);
            Ok(Self { acts, seen, turned_to })
        })
    }
}
