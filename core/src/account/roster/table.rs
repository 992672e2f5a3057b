//! The roster's table in the database.

use super::RosterMember;
use crate::account::Admin;
use crate::store::{StoreError, Tx};

#[derive(PartialEq, Eq)]
pub(crate) struct RosterEntry {
    pub(crate) name: String,
    /// The subject that the member studies, or `""`.
    pub(crate) major: String,
    /// The hash of the member's password.
    pub(crate) password: String,
}

pub(crate) fn find(tx: &mut dyn Tx, folded: &str) -> Result<Option<RosterEntry>, StoreError> {
    let sql = "SELECT name, major, password FROM roster WHERE folded = $1";
    let row = tx.row(sql, &[folded.into()])?;
    let entry = row
        .map(|mut row| Ok(RosterEntry { name: row.take(0)?, major: row.take(1)?, password: row.take(2)? }));
    entry.transpose()
}

/// Returns at most `limit` members whose folded ids come after `after`, by folded id.
pub(super) fn list(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    after: &str,
    limit: i64,
) -> Result<Vec<RosterMember>, StoreError> {
    // No id has this character, which the engines compare in different ways.
    if after.contains('\0') {
        return Ok(Vec::new());
    }
    let sql = "SELECT id, name, major FROM roster WHERE folded > $1 ORDER BY folded LIMIT $2";
    let rows = tx.rows(sql, &[after.into(), limit.into()])?.into_iter();
    rows.map(|mut row| Ok(RosterMember { id: row.take(0)?, name: row.take(1)?, major: row.take(2)? }))
        .collect()
}

/// Inserts an entry, or replaces the one with its id.
pub(crate) fn insert(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    folded: &str,
    id: &str,
    entry: &RosterEntry,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO roster (folded, id, name, major, password) VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (folded) DO UPDATE SET id = excluded.id, name = excluded.name,
               major = excluded.major, password = excluded.password";
    let RosterEntry { name, major, password } = entry;
    tx.run(sql, &[folded, id, name, major, password].map(Into::into))?;
    Ok(())
}
