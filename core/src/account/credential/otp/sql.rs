use data_encoding::BASE32_NOPAD;
use zeroize::Zeroizing;

use crate::account::Member;
use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Tx};

pub(super) struct Stored {
    pub(super) secret: Zeroizing<Vec<u8>>,
    pub(super) is_enabled: bool,
    pub(super) last_step: i64,
    /// When the secret was made with an enrolment code.
    pub(super) admitted: Option<Timestamp>,
}

pub(super) fn factor(tx: &mut dyn Tx, member: MemberKey) -> Result<Option<Stored>, StoreError> {
    let sql = "SELECT secret, enabled IS NOT NULL, last_step, admitted FROM second_factor WHERE member = $1";
    let Some(mut row) = tx.row(sql, &[member.into()])? else { return Ok(None) };
    let digits = Zeroizing::new(row.take::<String>(0)?);
    let secret = BASE32_NOPAD.decode(digits.as_bytes()).map(Zeroizing::new);
    let secret = secret.map_err(|_| StoreError::Damaged("a stored secret is not base 32".into()))?;
    let (is_enabled, last_step, admitted) = (row.take(1)?, row.take(2)?, row.take(3)?);
    Ok(Some(Stored { secret, is_enabled, last_step, admitted }))
}

pub(crate) fn is_enabled(tx: &mut dyn Tx, member: MemberKey) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM second_factor WHERE member = $1 AND enabled IS NOT NULL";
    Ok(tx.row(sql, &[member.into()])?.is_some())
}

pub(super) fn begin(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    secret: &str,
    admitted: Option<Timestamp>,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO second_factor (member, secret, last_step, admitted) VALUES ($1, $2, 0, $3)
               ON CONFLICT (member) DO UPDATE SET secret = excluded.secret, last_step = 0, admitted = excluded.admitted";
    tx.run(sql, &[member.key.into(), secret.into(), admitted.into()]).map(drop)
}

pub(super) fn enable(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    now: Timestamp,
    step: i64,
) -> Result<(), StoreError> {
    let sql = "UPDATE second_factor SET enabled = $2, last_step = $3 WHERE member = $1";
    tx.run(sql, &[member.key.into(), now.into(), step.into()]).map(drop)
}

pub(super) fn disable(tx: &mut dyn Tx, member: MemberKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM second_factor WHERE member = $1", &[member.into()])?;
    tx.run("DELETE FROM recovery_code WHERE member = $1", &[member.into()])?;
    // A passkey replaces the factor whose code it was added with, and no later one.
    tx.run("UPDATE passkey SET gave_code = 0 WHERE member = $1", &[member.into()]).map(drop)
}

pub(super) fn recovery_codes(tx: &mut dyn Tx, member: MemberKey) -> Result<i64, StoreError> {
    tx.one("SELECT count(*) FROM recovery_code WHERE member = $1", &[member.into()])?.take(0)
}

pub(super) fn replace_recovery_codes(
    tx: &mut dyn Tx,
    member: MemberKey,
    hashes: &[String],
) -> Result<(), StoreError> {
    tx.run("DELETE FROM recovery_code WHERE member = $1", &[member.into()])?;
    for hash in hashes {
        tx.run("INSERT INTO recovery_code (member, hash) VALUES ($1, $2)", &[member.into(), hash.into()])?;
    }
    Ok(())
}
