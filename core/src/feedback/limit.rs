//! Limits on feedback: how much a member may send, how much may be open, and how long done feedback is kept.

use super::Member;
use crate::base::clock::{HOUR_MS, SECOND_MS, Timestamp};
use crate::record::error::{Error, Result};
use crate::store::{StoreError, Topic, Tx};

const HOURLY: u32 = 60;
/// Feedback that may be open, and how much of it by one member.
const OPEN: u32 = 10_000;
const OPEN_OF_ONE: u32 = OPEN / 50;

/// `too many requests` if the member has sent too much in the last hour, or too much is open.
pub(super) fn check(tx: &mut dyn Tx, member: &Member<'_>, now: Timestamp) -> Result<()> {
    let wait_ms = match sql::nth_latest(tx, member, HOURLY)? {
        // The clock may have been set back.
        Some(date) => (date + HOUR_MS - now).min(HOUR_MS),
        None => 0,
    };
    if wait_ms > 0 {
        return Err(Error::TooManyRequests { retry_after_s: (wait_ms / SECOND_MS).unsigned_abs() + 1 });
    }
    if sql::is_open(tx, OPEN)? || sql::is_open_of(tx, member, OPEN_OF_ONE)? {
        return Err(Error::TooManyRequests { retry_after_s: (HOUR_MS / SECOND_MS).unsigned_abs() });
    }
    Ok(())
}

/// Returns whether there may be more. Feedback that an earlier version marked as done counts as done from now on.
pub(crate) fn prune(
    tx: &mut dyn Tx,
    now: Timestamp,
    before: Timestamp,
    limit: u64,
) -> Result<bool, StoreError> {
    let rows = limit.cast_signed();
    let sql = "UPDATE feedback SET done = $1 WHERE key IN
               (SELECT key FROM feedback WHERE activation = 0 AND done IS NULL LIMIT $2)";
    let dated = tx.run(sql, &[now.into(), rows.into()])?;
    let sql = "DELETE FROM feedback WHERE key IN
               (SELECT key FROM feedback WHERE activation = 0 AND done < $1 LIMIT $2)";
    let removed = tx.run(sql, &[before.into(), rows.into()])?;
    if removed > 0 {
        tx.touch(Topic::Feedback);
    }
    Ok(dated == limit || removed == limit)
}

mod sql {
    use super::{Member, StoreError, Timestamp, Tx};

    /// `number` counts from the latest, which is 1; `None` for 0.
    pub(super) fn nth_latest(
        tx: &mut dyn Tx,
        member: &Member<'_>,
        number: u32,
    ) -> Result<Option<Timestamp>, StoreError> {
        let Some(before) = number.checked_sub(1) else { return Ok(None) };
        let sql = "SELECT date FROM feedback WHERE member = $1 ORDER BY key DESC LIMIT 1 OFFSET $2";
        let row = tx.row(sql, &[member.key.into(), i64::from(before).into()])?;
        row.map(|mut row| row.take(0)).transpose()
    }

    /// False for 0.
    pub(super) fn is_open(tx: &mut dyn Tx, number: u32) -> Result<bool, StoreError> {
        let Some(before) = number.checked_sub(1) else { return Ok(false) };
        let sql = "SELECT key FROM feedback WHERE activation = 1 ORDER BY key LIMIT 1 OFFSET $1";
        Ok(tx.row(sql, &[i64::from(before).into()])?.is_some())
    }

    /// False for 0.
    pub(super) fn is_open_of(tx: &mut dyn Tx, member: &Member<'_>, number: u32) -> Result<bool, StoreError> {
        let Some(before) = number.checked_sub(1) else { return Ok(false) };
        let sql =
            "SELECT key FROM feedback WHERE member = $1 AND activation = 1 ORDER BY key LIMIT 1 OFFSET $2";
        Ok(tx.row(sql, &[member.key.into(), i64::from(before).into()])?.is_some())
    }
}
