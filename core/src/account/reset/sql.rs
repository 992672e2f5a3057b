//! The codes in the database.

use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Tx};

/// The member to whom a code was issued.
pub(super) struct Holder {
    pub(super) key: MemberKey,
    pub(super) generation: i64,
    pub(super) admin: bool,
}

/// Stores the code of a member, in place of an earlier one.
pub(super) fn insert(
    tx: &mut dyn Tx,
    member: MemberKey,
    hash: &str,
    expires: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO reset_code (member, hash, expires) VALUES ($1, $2, $3)
               ON CONFLICT (member) DO UPDATE SET hash = excluded.hash, expires = excluded.expires";
    tx.run(sql, &[member.into(), hash.into(), expires.into()]).map(drop)
}

/// Returns the member whose code it is; `None` if it is nobody's, or has expired.
pub(super) fn holder(tx: &mut dyn Tx, hash: &str, now: Timestamp) -> Result<Option<Holder>, StoreError> {
    let sql =
        "SELECT m.key, m.generation, m.admin IS NOT NULL FROM reset_code r JOIN member m ON m.key = r.member
               WHERE r.hash = $1 AND r.expires > $2";
    let Some(mut row) = tx.row(sql, &[hash.into(), now.into()])? else { return Ok(None) };
    Ok(Some(Holder { key: row.take(0)?, generation: row.take(1)?, admin: row.take(2)? }))
}

/// Removes the code of a member.
pub(in crate::account) fn remove(tx: &mut dyn Tx, member: MemberKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM reset_code WHERE member = $1", &[member.into()]).map(drop)
}

/// Removes the codes of all members.
pub(in crate::account) fn remove_everybodys(tx: &mut dyn Tx) -> Result<(), StoreError> {
    tx.run("DELETE FROM reset_code", &[]).map(drop)
}
