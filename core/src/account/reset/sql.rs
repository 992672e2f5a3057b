//! The table of codes.

use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Tx};

pub(super) struct Holder {
    pub(super) key: MemberKey,
    pub(super) generation: i64,
    pub(super) admin: bool,
}

/// The latest mailed codes of a member that work: several, so that a request of another person does not end the member's.
const MAILED_MAX: i64 = 3;

/// A code of an administrator replaces an earlier one; of those in mail, the latest remain.
pub(super) fn insert(
    tx: &mut dyn Tx,
    member: MemberKey,
    hash: &str,
    is_issued: bool,
    expires: Timestamp,
) -> Result<(), StoreError> {
    let issued = i64::from(is_issued);
    let sql = "INSERT INTO reset_code (member, hash, issued, expires) VALUES ($1, $2, $3, $4)";
    tx.run(sql, &[member.into(), hash.into(), issued.into(), expires.into()])?;
    let sql = "DELETE FROM reset_code WHERE member = $1 AND issued = $2 AND key NOT IN (
                   SELECT key FROM reset_code WHERE member = $1 AND issued = $2 ORDER BY key DESC LIMIT $3)";
    let most = if is_issued { 1 } else { MAILED_MAX };
    tx.run(sql, &[member.into(), issued.into(), most.into()]).map(drop)
}

pub(super) fn holder(tx: &mut dyn Tx, hash: &str, now: Timestamp) -> Result<Option<Holder>, StoreError> {
    let sql =
        "SELECT m.key, m.generation, m.admin IS NOT NULL FROM reset_code r JOIN member m ON m.key = r.member
               WHERE r.hash = $1 AND r.expires > $2";
    let Some(mut row) = tx.row(sql, &[hash.into(), now.into()])? else { return Ok(None) };
    Ok(Some(Holder { key: row.take(0)?, generation: row.take(1)?, admin: row.take(2)? }))
}

/// For a member whose address changes.
pub(in crate::account) fn remove_mailed(tx: &mut dyn Tx, member: MemberKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM reset_code WHERE member = $1 AND issued = 0", &[member.into()]).map(drop)
}
