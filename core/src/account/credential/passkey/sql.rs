use data_encoding::BASE64URL_NOPAD;
use webauthn_rp::bin::Encode as _;
use webauthn_rp::response::register::DynamicState;

use super::Passkey;
use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{Arg, StoreError, Tx};

pub(super) struct New {
    pub(super) id: String,
    pub(super) credential: String,
    pub(super) handle: String,
    pub(super) name: String,
    pub(super) key: String,
    pub(super) state: String,
    pub(super) gave_code: bool,
    pub(super) at: Timestamp,
}

pub(super) fn state(state: DynamicState) -> String {
    BASE64URL_NOPAD.encode(&state.encode().unwrap_or_else(|never| match never {}))
}

pub(super) fn insert(tx: &mut dyn Tx, member: MemberKey, new: &New) -> Result<bool, StoreError> {
    let sql = "INSERT INTO passkey (credential, id, member, handle, name, public_key, state, gave_code, date)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (credential) DO NOTHING";
    let args: [Arg<'_>; 9] = [
        (&new.credential).into(),
        (&new.id).into(),
        member.into(),
        (&new.handle).into(),
        (&new.name).into(),
        (&new.key).into(),
        (&new.state).into(),
        i64::from(new.gave_code).into(),
        new.at.into(),
    ];
    Ok(tx.run(sql, &args)? > 0)
}

pub(super) fn credentials(tx: &mut dyn Tx, member: MemberKey) -> Result<Vec<(String, String)>, StoreError> {
    let sql = "SELECT credential, handle FROM passkey WHERE member = $1 ORDER BY id";
    let rows = tx.rows(sql, &[member.into()])?.into_iter();
    rows.map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
}

pub(super) fn count(tx: &mut dyn Tx, member: MemberKey) -> Result<i64, StoreError> {
    tx.one("SELECT count(*) FROM passkey WHERE member = $1", &[member.into()])?.take(0)
}

pub(crate) fn list(tx: &mut dyn Tx, member: MemberKey) -> Result<Vec<Passkey>, StoreError> {
    let sql = "SELECT id, name, date, used FROM passkey WHERE member = $1 ORDER BY id DESC";
    let rows = tx.rows(sql, &[member.into()])?.into_iter();
    rows.map(|mut row| {
        Ok(Passkey { id: row.take(0)?, name: row.take(1)?, date: row.take(2)?, last_used: row.take(3)? })
    })
    .collect()
}

pub(super) fn remove(tx: &mut dyn Tx, member: MemberKey, id: &str) -> Result<bool, StoreError> {
    Ok(tx.run("DELETE FROM passkey WHERE member = $1 AND id = $2", &[member.into(), id.into()])? > 0)
}

pub(super) struct Stored {
    pub(super) credential: String,
    pub(super) member: MemberKey,
    pub(super) handle: String,
    pub(super) key: String,
    pub(super) state: String,
    /// Whether it was added with a code of the second factor.
    pub(super) gave_code: bool,
}

pub(super) fn find(tx: &mut dyn Tx, credential: &str) -> Result<Option<Stored>, StoreError> {
    let sql = "SELECT member, handle, public_key, state, gave_code FROM passkey WHERE credential = $1";
    let Some(mut row) = tx.row(sql, &[credential.into()])? else { return Ok(None) };
    Ok(Some(Stored {
        credential: credential.to_owned(),
        member: row.take(0)?,
        handle: row.take(1)?,
        key: row.take(2)?,
        state: row.take(3)?,
        gave_code: row.take::<i64>(4)? != 0,
    }))
}

/// Returns whether the passkey is still as it was found.
pub(super) fn used(tx: &mut dyn Tx, found: &Stored, state: &str, now: Timestamp) -> Result<bool, StoreError> {
    let sql =
        "UPDATE passkey SET state = $4, used = $5 WHERE credential = $1 AND state = $2 AND gave_code = $3";
    let Stored { credential, state: before, gave_code, .. } = found;
    let args = [credential.into(), before.into(), i64::from(*gave_code).into(), state.into(), now.into()];
    Ok(tx.run(sql, &args)? > 0)
}

pub(in crate::account) fn remove_all(tx: &mut dyn Tx, member: MemberKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM passkey WHERE member = $1", &[member.into()]).map(drop)
}
