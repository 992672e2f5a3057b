//! The people of the issuer who are members, and the codes for apps, in the database.

use super::LinkedPerson;
use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{Arg, StoreError, Topic, Tx};

/// A person at an issuer.
pub(super) struct Identity<'a> {
    pub(super) issuer: &'a str,
    pub(super) subject: &'a str,
}

/// Returns the member who is this person.
pub(super) fn member(tx: &mut dyn Tx, of: &Identity<'_>) -> Result<Option<MemberKey>, StoreError> {
    let sql = "SELECT member FROM oidc_identity WHERE issuer = $1 AND subject = $2";
    tx.row(sql, &[of.issuer.into(), of.subject.into()])?.map(|mut row| row.take(0)).transpose()
}

/// Stores that a member is this person, and nobody else at any issuer. The issuer names a member whom the university does not.
pub(super) fn link(
    tx: &mut dyn Tx,
    member: MemberKey,
    to: &Identity<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO oidc_identity (member, issuer, subject, date, names)
               SELECT key, $2, $3, $4, CASE WHEN name IS NULL THEN 1 ELSE 0 END FROM member WHERE key = $1
               ON CONFLICT (member) DO UPDATE SET issuer = excluded.issuer, subject = excluded.subject, date = excluded.date";
    tx.run(sql, &[member.into(), to.issuer.into(), to.subject.into(), now.into()]).map(drop)
}

/// Stores the name and the major of a member whom the issuer names, unless they are empty.
pub(super) fn name(tx: &mut dyn Tx, member: MemberKey, name: &str, major: &str) -> Result<(), StoreError> {
    let sql = "UPDATE member SET name = coalesce(nullif($2, ''), name, ''), major = coalesce(nullif($3, ''), major, '')
               WHERE key = $1 AND EXISTS (SELECT 1 FROM oidc_identity WHERE member = $1 AND names = 1)";
    tx.run(sql, &[member.into(), name.into(), major.into()])?;
    tx.touch(Topic::Members);
    Ok(())
}

/// Removes the link of a member, and the name that came with it; returns whether there was one.
pub(in crate::account) fn unlink(tx: &mut dyn Tx, member: MemberKey) -> Result<bool, StoreError> {
    let sql = "UPDATE member SET name = NULL, major = NULL
               WHERE key = $1 AND EXISTS (SELECT 1 FROM oidc_identity WHERE member = $1 AND names = 1)";
    tx.run(sql, &[member.into()])?;
    tx.touch(Topic::Members);
    Ok(tx.run("DELETE FROM oidc_identity WHERE member = $1", &[member.into()])? > 0)
}

/// Returns the person who signs in to the account of a member.
pub(crate) fn linked(tx: &mut dyn Tx, member: MemberKey) -> Result<Option<LinkedPerson>, StoreError> {
    let row =
        tx.row("SELECT issuer, subject, date FROM oidc_identity WHERE member = $1", &[member.into()])?;
    row.map(|mut row| Ok(LinkedPerson { issuer: row.take(0)?, subject: row.take(1)?, date: row.take(2)? }))
        .transpose()
}

/// Removes flows that came back and cannot come back again.
pub(super) fn forget(tx: &mut dyn Tx, now: Timestamp) -> Result<(), StoreError> {
    tx.run("DELETE FROM oidc_sign_in WHERE kept <= $1", &[now.into()]).map(drop)
}

/// A flow that has come back.
pub(super) struct Returned<'a> {
    pub(super) state: &'a str,
    /// The hash of the code for the app.
    pub(super) code: &'a str,
    pub(super) person: Identity<'a>,
    pub(super) member: MemberKey,
    /// Whether the member is this person; otherwise they have to show it.
    pub(super) is_linked: bool,
    /// The time at which the code expires, and until which the flow is kept.
    pub(super) expires: Timestamp,
    pub(super) kept: Timestamp,
}

pub(super) fn has_returned(tx: &mut dyn Tx, state: &str) -> Result<bool, StoreError> {
    Ok(tx.row("SELECT 1 FROM oidc_sign_in WHERE state = $1", &[state.into()])?.is_some())
}

pub(super) fn insert(tx: &mut dyn Tx, returned: &Returned<'_>) -> Result<(), StoreError> {
    let Returned { state, code, person, member, is_linked, expires, kept } = returned;
    let sql = "INSERT INTO oidc_sign_in (state, code, issuer, subject, member, linked, expires, kept)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let (issuer, subject) = (person.issuer.into(), person.subject.into());
    let args: [Arg<'_>; 8] = [
        (*state).into(),
        (*code).into(),
        issuer,
        subject,
        (*member).into(),
        i64::from(*is_linked).into(),
        (*expires).into(),
        (*kept).into(),
    ];
    tx.run(sql, &args).map(drop)
}

/// What a code is for.
pub(super) struct Pending {
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) member: MemberKey,
    pub(super) is_linked: bool,
}

/// Returns what the code with this hash is for. That of a sign-in needs the link that the member had when it was made.
pub(super) fn pending(tx: &mut dyn Tx, code: &str, now: Timestamp) -> Result<Option<Pending>, StoreError> {
    let sql = "SELECT issuer, subject, member, linked FROM oidc_sign_in s WHERE code = $1 AND expires > $2
               AND (linked = 0 OR EXISTS (SELECT 1 FROM oidc_identity i
                    WHERE i.member = s.member AND i.issuer = s.issuer AND i.subject = s.subject))";
    let Some(mut row) = tx.row(sql, &[code.into(), now.into()])? else { return Ok(None) };
    let (issuer, subject, member) = (row.take(0)?, row.take(1)?, row.take(2)?);
    Ok(Some(Pending { issuer, subject, member, is_linked: row.take::<i64>(3)? != 0 }))
}

/// Uses the code with this hash up, and returns what it was for.
pub(super) fn take(tx: &mut dyn Tx, code: &str, now: Timestamp) -> Result<Option<Pending>, StoreError> {
    let pending = pending(tx, code, now)?;
    tx.run("UPDATE oidc_sign_in SET code = NULL WHERE code = $1", &[code.into()])?;
    Ok(pending)
}
