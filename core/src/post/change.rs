//! The posts that changed, by the revisions of the changes, so that a cache reads only those beyond its horizon, some of which may
//! have been visible before or become visible later than others with greater revisions. Only the latest changes stay: a cache that
//! has missed earlier ones loads all posts.

use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::{StoreError, Tx, run_each, send_each};

const STAYING: i64 = 65_536;
/// Earlier changes are deleted with about every 4,096th change, because finding them reads those that stay.
const PRUNE_EVERY: u64 = 1 << 12;
/// The maximum number of changes that are deleted at once. It exceeds the number of changes between two deletions.
const PRUNE_MAX: i64 = 8_192;
/// The key of the lock of a transaction that deletes changes: "tdngprun" as a number.
const PRUNE_LOCK: i64 = 0x7464_6e67_7072_756e;
/// Stands for a post in a row which says that all posts may have changed.
const ALL: i64 = 0;

/// The changes beyond a horizon that a transaction sees. They differ whenever another change is visible, unless earlier
/// changes were deleted at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ahead {
    changes: i64,
    last: Option<i64>,
}

pub(crate) fn add(tx: &mut dyn Tx, post: PostKey) -> Result<(), StoreError> {
    add_each(tx, &[post])
}

/// `posts` are distinct.
pub(super) fn add_each(tx: &mut dyn Tx, posts: &[PostKey]) -> Result<(), StoreError> {
    let revision = tx.revision();
    insert(tx, revision, posts.iter().map(|post| post.as_i64()))?;
    prune_sometimes(tx, revision, posts)
}

/// This transaction must not have recorded another change of them.
pub(super) fn add_new(tx: &mut dyn Tx, posts: &[PostKey]) -> Result<(), StoreError> {
    let revision = tx.revision();
    let rows: Vec<_> = posts.iter().map(|post| [revision.into(), post.as_i64().into()]).collect();
    run_each(tx, "INSERT INTO post_change (revision, post) VALUES ($1, $2)", &rows)?;
    prune_sometimes(tx, revision, posts)
}

/// Every cache then loads all posts.
pub(super) fn add_all(tx: &mut dyn Tx) -> Result<(), StoreError> {
    let revision = tx.revision();
    insert(tx, revision, [ALL].into_iter())
}

fn insert(tx: &mut dyn Tx, revision: i64, posts: impl Iterator<Item = i64>) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO post_change (revision, post) VALUES ($1, $2) ON CONFLICT (revision, post) DO NOTHING";
    send_each(tx, sql, &posts.map(|post| [revision.into(), post.into()]).collect::<Vec<_>>())
}

fn prune_sometimes(tx: &mut dyn Tx, revision: i64, posts: &[PostKey]) -> Result<(), StoreError> {
    let decides = posts.iter().any(|post| must_prune(revision, post.as_i64()));
    if decides && may_prune(tx)? { prune(tx, STAYING) } else { Ok(()) }
}

/// A hash of the change decides, so that the rate does not depend on which revisions have changes, and a repeated run of the same
/// write decides the same.
fn must_prune(revision: i64, post: i64) -> bool {
    // Fibonacci hashing: Knuth, *The Art of Computer Programming*, volume 3, section 6.4.
    let hash = (revision ^ post.rotate_left(32)).cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash >> (u64::BITS - PRUNE_EVERY.ilog2()) == 0
}

/// Returns false while another transaction deletes changes; a later transaction deletes the rest.
fn may_prune(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    tx.dialect().try_lock(PRUNE_LOCK).map_or(Ok(true), |sql| tx.one(&sql, &[])?.take(0))
}

fn prune(tx: &mut dyn Tx, staying: i64) -> Result<(), StoreError> {
    let newest = "SELECT revision, post FROM post_change ORDER BY revision DESC, post DESC LIMIT 1 OFFSET $1";
    let Some(mut row) = tx.row(newest, &[staying.into()])? else { return Ok(()) };
    let mut last: (i64, i64) = (row.take(0)?, row.take(1)?);
    let oldest = "SELECT revision, post FROM post_change ORDER BY revision, post LIMIT 1 OFFSET $1";
    if let Some(mut row) = tx.row(oldest, &[(PRUNE_MAX - 1).into()])? {
        last = last.min((row.take(0)?, row.take(1)?));
    }
    // Only the oldest rows are deleted, which `knows_since` relies on.
    let sql = "DELETE FROM post_change WHERE (revision, post) <= ($1, $2)";
    tx.run(sql, &[last.0.into(), last.1.into()]).map(drop)
}

/// Returns whether every change with a revision greater than the horizon `since` is recorded. A transaction that deletes changes
/// deletes the oldest first. If it began after all changes up to `since` were committed, it has deleted a later change only if it
/// has deleted all of these. If it began before, the cache with this horizon has seen what it deleted. So every later change is
/// recorded as long as one up to `since` is.
pub(super) fn knows_since(tx: &mut dyn Tx, since: i64) -> Result<bool, StoreError> {
    let sql = "SELECT (SELECT min(revision) FROM post_change),
                      (SELECT max(revision) FROM post_change WHERE revision > $1 AND post = $2)";
    let mut row = tx.one(sql, &[since.into(), ALL.into()])?;
    let (first, all): (Option<i64>, Option<i64>) = (row.take(0)?, row.take(1)?);
    Ok(first.is_some_and(|first| first <= since) && all.is_none())
}

pub(crate) fn ahead(tx: &mut dyn Tx, horizon: i64) -> Result<Ahead, StoreError> {
    let sql = "SELECT count(*), max(revision) FROM post_change WHERE revision > $1";
    let mut row = tx.one(sql, &[horizon.into()])?;
    Ok(Ahead { changes: row.take(0)?, last: row.take(1)? })
}

#[cfg(test)]
mod tests;
