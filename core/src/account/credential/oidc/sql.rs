//! The table of linked people, and the codes for apps.

use serde_json::json;

use super::LinkedPerson;
use crate::account::credential::code::{self, Code, Kind};
use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Topic, Tx};

pub(super) type Person<'a> = (&'a str, &'a str);

pub(super) fn member(
    tx: &mut dyn Tx,
    (issuer, subject): Person<'_>,
) -> Result<Option<MemberKey>, StoreError> {
    let sql = "SELECT member FROM oidc_identity WHERE issuer = $1 AND subject = $2";
    tx.row(sql, &[issuer.into(), subject.into()])?.map(|mut row| row.take(0)).transpose()
}

/// Replaces an earlier link of the member. From now on, the issuer names the member unless the university does.
pub(super) fn link(
    tx: &mut dyn Tx,
    member: MemberKey,
    (issuer, subject): Person<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO oidc_identity (member, issuer, subject, date, names)
               SELECT key, $2, $3, $4, CASE WHEN name IS NULL THEN 1 ELSE 0 END FROM member WHERE key = $1
               ON CONFLICT (member) DO UPDATE SET issuer = excluded.issuer, subject = excluded.subject, date = excluded.date";
    tx.run(sql, &[member.into(), issuer.into(), subject.into(), now.into()]).map(drop)
}

/// Unless it is empty.
pub(super) fn name(tx: &mut dyn Tx, member: MemberKey, name: &str) -> Result<(), StoreError> {
    let sql = "UPDATE member SET name = coalesce(nullif($2, ''), name, ''), major = coalesce(major, '')
               WHERE key = $1 AND EXISTS (SELECT 1 FROM oidc_identity WHERE member = $1 AND names = 1)";
    tx.run(sql, &[member.into(), name.into()])?;
    tx.touch(Topic::Members);
    Ok(())
}

/// Also removes the name that came with the link.
pub(in crate::account) fn unlink(tx: &mut dyn Tx, member: MemberKey) -> Result<bool, StoreError> {
    let sql = "UPDATE member SET name = NULL, major = NULL
               WHERE key = $1 AND EXISTS (SELECT 1 FROM oidc_identity WHERE member = $1 AND names = 1)";
    tx.run(sql, &[member.into()])?;
    tx.touch(Topic::Members);
    Ok(tx.run("DELETE FROM oidc_identity WHERE member = $1", &[member.into()])? > 0)
}

pub(crate) fn linked(tx: &mut dyn Tx, member: MemberKey) -> Result<Option<LinkedPerson>, StoreError> {
    let row =
        tx.row("SELECT issuer, subject, date FROM oidc_identity WHERE member = $1", &[member.into()])?;
    row.map(|mut row| Ok(LinkedPerson { issuer: row.take(0)?, subject: row.take(1)?, date: row.take(2)? }))
        .transpose()
}

/// Stores the code with which the app goes on. Unless `is_linked`, the person has to prove with a password that the account is
/// theirs.
pub(super) fn insert(
    tx: &mut dyn Tx,
    hash: &str,
    member: MemberKey,
    (issuer, subject): Person<'_>,
    is_linked: bool,
    expires: Timestamp,
) -> Result<(), StoreError> {
    let data = json!([issuer, subject, is_linked]).to_string();
    code::insert(tx, Kind::SignOn, member, hash, &data, expires)
}

pub(super) struct Pending {
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) member: MemberKey,
    pub(super) is_linked: bool,
}

/// The code of a sign-in needs the link that the member had when the code was made.
pub(super) fn pending(tx: &mut dyn Tx, hash: &str, now: Timestamp) -> Result<Option<Pending>, StoreError> {
    let Some(Code { member, data }) = code::find(tx, &[Kind::SignOn], hash, now)? else { return Ok(None) };
    let damaged = |_| StoreError::Damaged("the person of a single sign-on cannot be read".into());
    let (issuer, subject, is_linked): (String, String, bool) =
        serde_json::from_str(&data).map_err(damaged)?;
    if is_linked && self::member(tx, (&issuer, &subject))? != Some(member) {
        return Ok(None);
    }
    Ok(Some(Pending { issuer, subject, member, is_linked }))
}

pub(super) fn take(tx: &mut dyn Tx, hash: &str, now: Timestamp) -> Result<Option<Pending>, StoreError> {
    let pending = pending(tx, hash, now)?;
    tx.run("DELETE FROM code WHERE hash = $1", &[hash.into()])?;
    Ok(pending)
}
