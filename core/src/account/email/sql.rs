//! The table of addresses.

use super::{Address, EmailAddress, Waiting};
use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{Row, StoreError, Tx};

pub(crate) fn id(tx: &mut dyn Tx, member: MemberKey) -> Result<Option<String>, StoreError> {
    tx.row("SELECT id FROM member WHERE key = $1", &[member.into()])?.map(|mut row| row.take(0)).transpose()
}

pub(crate) fn addresses(tx: &mut dyn Tx, member: MemberKey) -> Result<EmailAddress, StoreError> {
    let row = tx.row("SELECT address, pending FROM member_email WHERE member = $1", &[member.into()])?;
    let Some(mut row) = row else { return Ok(EmailAddress { email: None, pending_email: None }) };
    Ok(EmailAddress { email: row.take(0)?, pending_email: row.take(1)? })
}

pub(crate) fn confirmed(tx: &mut dyn Tx, member: MemberKey) -> Result<Option<String>, StoreError> {
    Ok(addresses(tx, member)?.email)
}

pub(in crate::account) fn owner(tx: &mut dyn Tx, folded: &str) -> Result<Option<MemberKey>, StoreError> {
    let row = tx.row("SELECT member FROM member_email WHERE folded = $1", &[folded.into()])?;
    row.map(|mut row| row.take(0)).transpose()
}

/// `asked` is a folded id or address. The owner of an address comes first: the id of another member may look like it.
pub(crate) fn reachable(tx: &mut dyn Tx, asked: &str) -> Result<Option<MemberKey>, StoreError> {
    let sql = "SELECT m.key FROM member m JOIN member_email e ON e.member = m.key
               WHERE (m.folded = $1 OR e.folded = $1) AND e.address IS NOT NULL AND m.blacklisted IS NULL
               ORDER BY e.folded = $1 DESC LIMIT 1";
    tx.row(sql, &[asked.into()])?.map(|mut row| row.take(0)).transpose()
}

pub(super) fn propose(tx: &mut dyn Tx, member: MemberKey, address: &str) -> Result<(), StoreError> {
    let sql = "INSERT INTO member_email (member, pending) VALUES ($1, $2)
               ON CONFLICT (member) DO UPDATE SET pending = excluded.pending, link = NULL, code = NULL, expires = NULL";
    tx.run(sql, &[member.into(), address.into()]).map(drop)
}

pub(super) fn set_codes(
    tx: &mut dyn Tx,
    member: MemberKey,
    link: &str,
    code: &str,
    expires: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE member_email SET link = $2, code = $3, expires = $4, wrong = 0 WHERE member = $1";
    tx.run(sql, &[member.into(), link.into(), code.into(), expires.into()]).map(drop)
}

const WAITING: &str = "SELECT member, pending, address, link, code FROM member_email
                       WHERE pending IS NOT NULL AND link IS NOT NULL AND code IS NOT NULL";

fn waiting_row(mut row: Row) -> Result<Waiting, StoreError> {
    Ok(Waiting {
        member: row.take(0)?,
        address: row.take(1)?,
        had: row.take(2)?,
        link: row.take(3)?,
        code: row.take(4)?,
    })
}

pub(super) fn of_link(tx: &mut dyn Tx, link: &str, now: Timestamp) -> Result<Option<Waiting>, StoreError> {
    let sql = format!("{WAITING} AND link = $1 AND expires > $2");
    tx.row(&sql, &[link.into(), now.into()])?.map(waiting_row).transpose()
}

pub(super) fn waiting(
    tx: &mut dyn Tx,
    member: MemberKey,
    wrong: i64,
    now: Timestamp,
) -> Result<Option<Waiting>, StoreError> {
    let sql = format!("{WAITING} AND member = $1 AND wrong < $2 AND expires > $3");
    tx.row(&sql, &[member.into(), wrong.into(), now.into()])?.map(waiting_row).transpose()
}

pub(super) fn count_wrong(tx: &mut dyn Tx, member: MemberKey) -> Result<(), StoreError> {
    tx.run("UPDATE member_email SET wrong = wrong + 1 WHERE member = $1", &[member.into()]).map(drop)
}

pub(super) fn confirm(
    tx: &mut dyn Tx,
    member: MemberKey,
    address: &Address,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE member_email SET address = $2, folded = $3, confirmed = $4, pending = NULL, link = NULL, code = NULL,
                   expires = NULL WHERE member = $1";
    tx.run(sql, &[member.into(), address.as_str().into(), (&address.folded()).into(), now.into()]).map(drop)
}

pub(super) fn remove(tx: &mut dyn Tx, member: MemberKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM member_email WHERE member = $1", &[member.into()]).map(drop)
}

/// Stores an address as confirmed, because the operator or the issuer vouches for it. Does nothing if another member has it.
pub(crate) fn import(
    tx: &mut dyn Tx,
    member: MemberKey,
    address: &Address,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO member_email (member, address, folded, confirmed) VALUES ($1, $2, $3, $4)
               ON CONFLICT (folded) DO NOTHING";
    tx.run(sql, &[member.into(), address.as_str().into(), (&address.folded()).into(), now.into()]).map(drop)
}
