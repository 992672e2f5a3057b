//! A member may have millions of acts. The transaction that removes the account deletes the first of them, and records the key in
//! `removed_member`; retention deletes the others in batches. Until then no operation finds them, because acts are read by the key
//! of an existing member, and a key is never assigned again. Likes and views stay counted.

use crate::account::{Member, require_another_administrator};
use crate::analysis::log;
use crate::record::error::Result;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Topic, Tx};

/// The tables whose rows go with their `member`: the columns of the primary key, and the order in which an index has the rows
/// of a member.
const MEMBER_TABLES: [(&str, &str, &str); 19] = [
    // A few rows, which the removal deletes at once.
    ("audit_identity", "member", "member"),
    ("second_factor", "member", "member"),
    ("recovery_code", "member, hash", "member, hash"),
    ("session", "id", "member, last_seen"),
    ("code", "key", "member, key"),
    ("member_email", "member", "member"),
    ("mail", "key", "member"),
    ("passkey", "credential", "member, id"),
    ("oidc_identity", "member", "member"),
    ("invitation", "id", "member, id"),
    ("sign_in_place", "member, place", "member, place"),
    // Before the table to which recent likes move.
    ("recent_like", "member, post", "member, post"),
    ("settled_like", "member, post", "member, post"),
    ("member_acts", "member", "member"),
    ("viewed", "member, post", "member, post"),
    ("hidden", "member, post", "member, post"),
    ("searched", "key", "member, date"),
    ("opened", "key", "member, date"),
    ("moved_act", "member, date, act", "member, date, act"),
];

/// The weight of a row of feedback or of the log in a batch. Unlike acts, which are next to each other, each is on a page
/// of its own.
const SCATTERED: u64 = 8;

/// Returns the number of rows that it changed.
type Step = fn(&mut dyn Tx, MemberKey, u64) -> Result<u64, StoreError>;

const STEPS: [(Step, u64); 3] =
    [(delete_acts, 1), (sql::anonymise_feedback, SCATTERED), (log::anonymise, SCATTERED)];

/// Enough for all acts of many members.
const DELETED_AT_ONCE: u64 = 300;

pub(crate) fn remove(tx: &mut dyn Tx, member: &Member<'_>) -> Result<()> {
    require_another_administrator(tx, member)?;
    tx.run("DELETE FROM member WHERE key = $1", &[member.key.into()])?;
    tx.touch(Topic::Members);
    tx.run("INSERT INTO removed_member (key) VALUES ($1)", &[member.key.into()])?;
    delete_acts(tx, member.key, DELETED_AT_ONCE)?;
    // The access log and reports on past days, which name the day's visitors, show the member as `removed` from now on.
    tx.touch(Topic::History);
    tx.touch(Topic::Counts);
    Ok(())
}

/// Returns whether there may be more. A limit below [`SCATTERED`] may change nothing.
pub(crate) fn delete_leftovers(tx: &mut dyn Tx, limit: u64) -> Result<bool, StoreError> {
    let mut left = limit;
    while left > 0 {
        let Some(key) = sql::next(tx)? else { return Ok(false) };
        let (mut used, mut finished) = (0, true);
        for (step, weight) in STEPS {
            let most = (left - used) / weight;
            let rows = step(tx, key, most)?;
            used += rows * weight;
            finished &= rows < most;
        }
        if finished {
            sql::finish(tx, key)?;
        }
        // A member without rows counts as one, which bounds the members of a batch.
        left -= used.max(1);
    }
    Ok(true)
}

fn delete_acts(tx: &mut dyn Tx, member: MemberKey, limit: u64) -> Result<u64, StoreError> {
    let mut deleted = 0;
    for table in MEMBER_TABLES {
        deleted += sql::delete(tx, table, member, limit - deleted)?;
    }
    Ok(deleted)
}

mod sql {
    use super::{MemberKey, StoreError, Tx};

    pub(super) fn next(tx: &mut dyn Tx) -> Result<Option<MemberKey>, StoreError> {
        let row = tx.row("SELECT key FROM removed_member ORDER BY key LIMIT 1", &[])?;
        row.map(|mut row| row.take(0)).transpose()
    }

    pub(super) fn finish(tx: &mut dyn Tx, member: MemberKey) -> Result<(), StoreError> {
        tx.run("DELETE FROM removed_member WHERE key = $1", &[member.into()])?;
        Ok(())
    }

    pub(super) fn delete(
        tx: &mut dyn Tx,
        table: (&str, &str, &str),
        member: MemberKey,
        limit: u64,
    ) -> Result<u64, StoreError> {
        tx.run(&deletion(table), &[member.into(), limit.cast_signed().into()])
    }

    pub(super) fn deletion((table, key, order): (&str, &str, &str)) -> String {
        // Without the order, PostgreSQL may find all rows of the member before it takes the first of them.
        format!(
            "DELETE FROM {table} WHERE ({key}) IN (
                 SELECT {key} FROM {table} WHERE member = $1 ORDER BY {order} LIMIT $2)"
        )
    }

    pub(super) fn anonymise_feedback(
        tx: &mut dyn Tx,
        member: MemberKey,
        limit: u64,
    ) -> Result<u64, StoreError> {
        let sql = "UPDATE feedback SET member = NULL
                   WHERE key IN (SELECT key FROM feedback WHERE member = $1 LIMIT $2)";
        tx.run(sql, &[member.into(), limit.cast_signed().into()])
    }
}

#[cfg(test)]
mod tests;
