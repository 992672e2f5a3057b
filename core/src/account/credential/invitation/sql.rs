use super::{Draft, Invitation};
use crate::account::{Admin, Scopes};
use crate::base::clock::Timestamp;
use crate::store::{StoreError, Tx};

/// Whether an invitation works at the time `$1`.
const IS_OPEN: &str = "(uses > 0 AND expires > $1 AND (member IS NULL OR member IN (
    SELECT key FROM member WHERE admin IS NOT NULL AND blacklisted IS NULL)))";

pub(super) fn count(tx: &mut dyn Tx) -> Result<usize, StoreError> {
    let count: i64 = tx.one("SELECT count(*) FROM invitation", &[])?.take(0)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

pub(super) fn prune(tx: &mut dyn Tx, now: Timestamp) -> Result<(), StoreError> {
    tx.run("DELETE FROM invitation WHERE uses = 0 OR expires <= $1", &[now.into()]).map(drop)
}

pub(super) fn insert(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    id: &str,
    hash: &str,
    draft: &Draft,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO invitation (id, hash, member, uses, scopes, note, date, expires)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let scopes = draft.scopes.stored();
    tx.run(
        sql,
        &[
            id.into(),
            hash.into(),
            admin.member().into(),
            draft.uses.into(),
            scopes.as_ref().into(),
            draft.note.as_ref().into(),
            now.into(),
            draft.expires.into(),
        ],
    )
    .map(drop)
}

pub(super) fn list(tx: &mut dyn Tx, _: &Admin<'_>, now: Timestamp) -> Result<Vec<Invitation>, StoreError> {
    let sql = format!(
        "SELECT i.id, i.note, i.uses, i.scopes, m.id, i.date, i.expires, {IS_OPEN}
         FROM invitation i LEFT JOIN member m ON m.key = i.member ORDER BY i.date DESC, i.id DESC"
    );
    let rows = tx.rows(&sql, &[now.into()])?.into_iter();
    rows.map(|mut row| {
        Ok(Invitation {
            id: row.take(0)?,
            note: row.take(1)?,
            uses: row.take(2)?,
            scopes: Scopes::of_stored(row.take::<Option<String>>(3)?.as_deref()).into(),
            made_by: row.take(4)?,
            date: row.take(5)?,
            expires: row.take(6)?,
            open: u8::from(row.take::<bool>(7)?),
        })
    })
    .collect()
}

pub(super) fn is_open(tx: &mut dyn Tx, hash: &str, now: Timestamp) -> Result<bool, StoreError> {
    let sql = format!("SELECT 1 FROM invitation WHERE hash = $2 AND {IS_OPEN}");
    Ok(tx.row(&sql, &[now.into(), hash.into()])?.is_some())
}

pub(super) fn count_use(
    tx: &mut dyn Tx,
    hash: &str,
    now: Timestamp,
) -> Result<Option<(String, Scopes)>, StoreError> {
    let sql =
        format!("UPDATE invitation SET uses = uses - 1 WHERE hash = $2 AND {IS_OPEN} RETURNING id, scopes");
    let Some(mut row) = tx.row(&sql, &[now.into(), hash.into()])? else { return Ok(None) };
    let scopes = row.take::<Option<String>>(1)?;
    Ok(Some((row.take(0)?, Scopes::of_stored(scopes.as_deref()))))
}

pub(super) fn set_hash(tx: &mut dyn Tx, id: &str, hash: &str, now: Timestamp) -> Result<bool, StoreError> {
    let sql = format!("UPDATE invitation SET hash = $3 WHERE id = $2 AND {IS_OPEN}");
    Ok(tx.run(&sql, &[now.into(), id.into(), hash.into()])? > 0)
}

pub(super) fn remove(tx: &mut dyn Tx, _: &Admin<'_>, id: &str) -> Result<bool, StoreError> {
    Ok(tx.run("DELETE FROM invitation WHERE id = $1", &[id.into()])? > 0)
}

/// Removes the mail of invitations that no longer work, because it has people's addresses.
pub(crate) fn forget_mail(tx: &mut dyn Tx, now: Timestamp) -> Result<(), StoreError> {
    let sql = format!(
        "DELETE FROM mail WHERE kind = 'invite'
         AND NOT EXISTS (SELECT 1 FROM invitation WHERE id = mail.asked AND {IS_OPEN})"
    );
    tx.run(&sql, &[now.into()]).map(drop)
}

pub(in crate::account) fn remove_all(tx: &mut dyn Tx) -> Result<(), StoreError> {
    tx.run("DELETE FROM mail WHERE kind = 'invite'", &[])?;
    tx.run("DELETE FROM invitation", &[]).map(drop)
}
