use super::{Address, EmailAddress};
use crate::account::credential::code::{self, Kind};
use crate::base::clock::Timestamp;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Tx};

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

pub(super) fn confirm(
    tx: &mut dyn Tx,
    member: MemberKey,
    address: &Address,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql =
        "UPDATE member_email SET address = $2, folded = $3, confirmed = $4, pending = NULL WHERE member = $1";
    tx.run(sql, &[member.into(), address.as_str().into(), (&address.folded()).into(), now.into()])?;
    code::remove(tx, Kind::Address, member)
}

pub(super) fn remove(tx: &mut dyn Tx, member: MemberKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM member_email WHERE member = $1", &[member.into()])?;
    code::remove(tx, Kind::Address, member)
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
