//! How often mail is sent for an account, to an address, or at the request of a network.

use crate::base::clock::{HOUR_MS, Timestamp};
use crate::store::{StoreError, Tx};

/// Counts a request for mail about a subject, and returns whether it is one of the first `most` in an hour. The transaction must run
/// alone.
pub(crate) fn take(tx: &mut dyn Tx, subject: &str, most: i64, now: Timestamp) -> Result<bool, StoreError> {
    let sql = "INSERT INTO mail_limit (subject, since, count) VALUES ($1, $2, 1)
               ON CONFLICT (subject) DO UPDATE SET
                   count = CASE WHEN mail_limit.since <= $3 THEN 1 ELSE mail_limit.count + 1 END,
                   since = CASE WHEN mail_limit.since <= $3 THEN excluded.since ELSE mail_limit.since END
               RETURNING count";
    let count: i64 = tx.one(sql, &[subject.into(), now.into(), (now - HOUR_MS).into()])?.take(0)?;
    Ok(count <= most)
}

/// Removes numbers of past hours, at most `limit`. Returns whether there may be more.
pub(crate) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
    let sql = "DELETE FROM mail_limit WHERE subject IN
               (SELECT subject FROM mail_limit WHERE since <= $1 ORDER BY since LIMIT $2)";
    Ok(tx.run(sql, &[(now - HOUR_MS).into(), limit.cast_signed().into()])? == limit)
}
