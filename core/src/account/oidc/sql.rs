//! The people of the issuer who are members, and the codes for apps, in the database.

use super::LinkedPerson;
use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Tx};

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

/// Stores that a member is this person, and nobody else at any issuer.
pub(super) fn link(
    tx: &mut dyn Tx,
    member: MemberKey,
    to: &Identity<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO oidc_identity (member, issuer, subject, date) VALUES ($1, $2, $3, $4)
               ON CONFLICT (member) DO UPDATE SET issuer = excluded.issuer, subject = excluded.subject, date = excluded.date";
    tx.run(sql, &[member.into(), to.issuer.into(), to.subject.into(), now.into()]).map(drop)
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
    /// The member; `None` if one has to show that the account is theirs.
    pub(super) member: Option<MemberKey>,
    /// The time at which the code expires, and until which the flow is kept.
    pub(super) expires: Timestamp,
    pub(super) kept: Timestamp,
}

/// Returns whether the flow with this state has come back.
pub(super) fn has_returned(tx: &mut dyn Tx, state: &str) -> Result<bool, StoreError> {
    Ok(tx.row("SELECT 1 FROM oidc_sign_in WHERE state = $1", &[state.into()])?.is_some())
}

/// Stores a flow that has come back.
pub(super) fn insert(tx: &mut dyn Tx, returned: &Returned<'_>) -> Result<(), StoreError> {
    let Returned { state, code, person, member, expires, kept } = returned;
    let sql = "INSERT INTO oidc_sign_in (state, code, issuer, subject, member, expires, kept)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let (issuer, subject) = (person.issuer.into(), person.subject.into());
    let args = [
        (*state).into(),
        (*code).into(),
        issuer,
        subject,
        (*member).into(),
        (*expires).into(),
        (*kept).into(),
    ];
    tx.run(sql, &args).map(drop)
}

/// What a code is for.
pub(super) struct Pending {
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) member: Option<MemberKey>,
}

/// Returns what the code with this hash is for.
pub(super) fn pending(tx: &mut dyn Tx, code: &str, now: Timestamp) -> Result<Option<Pending>, StoreError> {
    let sql = "SELECT issuer, subject, member FROM oidc_sign_in WHERE code = $1 AND expires > $2";
    let row = tx.row(sql, &[code.into(), now.into()])?;
    row.map(|mut row| Ok(Pending { issuer: row.take(0)?, subject: row.take(1)?, member: row.take(2)? }))
        .transpose()
}

/// Uses the code with this hash up; returns whether it was there.
pub(super) fn take(tx: &mut dyn Tx, code: &str, now: Timestamp) -> Result<bool, StoreError> {
    let sql = "UPDATE oidc_sign_in SET code = NULL WHERE code = $1 AND expires > $2";
    Ok(tx.run(sql, &[code.into(), now.into()])? > 0)
}
