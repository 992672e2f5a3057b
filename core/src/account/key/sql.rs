use std::sync::Arc;

use super::{Key, KeyHash, KeyRecord, Scopes};
use crate::account::Admin;
use crate::base::clock::Timestamp;
use crate::store::{StoreError, Tx};

/// The key may have expired.
pub(crate) fn find(tx: &mut dyn Tx, key: KeyHash) -> Result<Option<KeyRecord>, StoreError> {
    let sql = "SELECT id, name, scopes, expires, last_used FROM api_key WHERE hash = $1";
    let Some(mut row) = tx.row(sql, &[(&key.digits()).into()])? else { return Ok(None) };
    let (id, name): (String, String) = (row.take(0)?, row.take(1)?);
    Ok(Some(KeyRecord {
        id: Arc::from(id),
        name: Arc::from(name),
        scopes: Scopes::of_stored(row.take::<Option<String>>(2)?.as_deref()),
        expires: row.take(3)?,
        last_used: row.take(4)?,
    }))
}

pub(super) fn count(tx: &mut dyn Tx) -> Result<usize, StoreError> {
    let count: i64 = tx.one("SELECT count(*) FROM api_key", &[])?.take(0)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

#[expect(clippy::too_many_arguments, reason = "one for each column")]
pub(super) fn insert(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    id: &str,
    name: &str,
    hash: KeyHash,
    scopes: &str,
    now: Timestamp,
    expires: Option<Timestamp>,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO api_key (id, name, hash, scopes, date, expires) VALUES ($1, $2, $3, $4, $5, $6)";
    let hash = hash.digits();
    tx.run(sql, &[id.into(), name.into(), (&hash).into(), scopes.into(), now.into(), expires.into()])?;
    // A later key with the name has the same number.
    let sql = "INSERT INTO logged_key (number, name) SELECT coalesce(max(number), 0) + 1, $1 FROM logged_key WHERE true
               ON CONFLICT (name) DO NOTHING";
    tx.run(sql, &[name.into()])?;
    Ok(())
}

/// The key's number in the access log.
pub(crate) fn logged(tx: &mut dyn Tx, key: KeyHash) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT k.number FROM api_key a JOIN logged_key k ON k.name = a.name WHERE a.hash = $1";
    tx.row(sql, &[(&key.digits()).into()])?.map(|mut row| row.take(0)).transpose()
}

/// Like [`logged`], by the name, which is compared as ids are.
pub(crate) fn logged_name(tx: &mut dyn Tx, folded: &str) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT number FROM logged_key WHERE lower(name) = $1 ORDER BY number LIMIT 1";
    tx.row(sql, &[folded.into()])?.map(|mut row| row.take(0)).transpose()
}

pub(super) fn list(tx: &mut dyn Tx, _: &Admin<'_>) -> Result<Vec<Key>, StoreError> {
    let sql = "SELECT id, name, scopes, date, expires, last_used FROM api_key ORDER BY name";
    let rows = tx.rows(sql, &[])?.into_iter();
    rows.map(|mut row| {
        Ok(Key {
            id: row.take(0)?,
            name: row.take(1)?,
            scopes: Scopes::of_stored(row.take::<Option<String>>(2)?.as_deref()).into(),
            date: row.take(3)?,
            expires: row.take(4)?,
            last_used: row.take(5)?,
        })
    })
    .collect()
}

/// Returns the name of the removed key. An id takes precedence over a name.
pub(super) fn remove(tx: &mut dyn Tx, _: &Admin<'_>, key: &str) -> Result<Option<String>, StoreError> {
    let sql = "SELECT id, name FROM api_key WHERE id = $1 OR name = $1 ORDER BY id = $1 DESC LIMIT 1";
    let Some(mut row) = tx.row(sql, &[key.into()])? else { return Ok(None) };
    let id: String = row.take(0)?;
    tx.run("DELETE FROM api_key WHERE id = $1", &[(&id).into()])?;
    Ok(Some(row.take(1)?))
}

pub(crate) fn used(tx: &mut dyn Tx, id: &str, at: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE api_key SET last_used = $2 WHERE id = $1 AND (last_used IS NULL OR last_used < $2)";
    tx.run(sql, &[id.into(), at.into()])?;
    Ok(())
}
