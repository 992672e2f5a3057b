//! The posts that changed, in the order of the changes, so that a cache reads only these.
//!
//! Views and likes are changes too, so rows are added often: at the end of a small table, where the changes of many acts
//! share a page. Only the latest changes stay. A cache that has missed earlier ones loads all posts.

use crate::error::Result;
use crate::id::PostKey;
use crate::store::{StoreError, Tx};

/// The number of changes that stay.
const STAYING: i64 = 65_536;
/// Earlier changes are deleted in about every 16th transaction, so that most write only one page of the table.
const PRUNE_EVERY: i64 = 16;

/// Records that a post changed.
pub(crate) fn add(tx: &mut dyn Tx, post: PostKey) -> Result<(), StoreError> {
    tx.run("INSERT INTO post_change (post) VALUES ($1)", &[post.into()])?;
    if tx.revision() % PRUNE_EVERY == 0 {
        let sql = "DELETE FROM post_change WHERE key <= (SELECT max(key) FROM post_change) - $1";
        tx.run(sql, &[STAYING.into()])?;
    }
    Ok(())
}

/// Records that all posts may have changed: every cache loads all posts.
pub(super) fn add_all(tx: &mut dyn Tx) -> Result<(), StoreError> {
    let last = last(tx)?;
    tx.run("DELETE FROM post_change", &[])?;
    // A cache knows the changes up to `last` at most, so it misses the next one.
    tx.run("INSERT INTO post_change (key, post) VALUES ($1, 0)", &[(last + 2).into()])?;
    Ok(())
}

/// Returns the number of the last change, in this transaction's view; 0 before the first.
pub(crate) fn last(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    tx.one("SELECT coalesce(max(key), 0) FROM post_change", &[])?.take(0)
}

/// Returns whether all changes after the change `since` are recorded.
pub(super) fn knows_since(tx: &mut dyn Tx, since: i64) -> Result<bool, StoreError> {
    let first: Option<i64> = tx.one("SELECT min(key) FROM post_change", &[])?.take(0)?;
    Ok(first.is_none_or(|first| first <= since + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::service;

    #[test]
    fn the_latest_changes_stay_and_a_cache_knows_what_it_missed() {
        let service = service();
        let known = |since| service.store().read(|tx| knows_since(tx, since)).unwrap();
        let last = || service.store().read(last).unwrap();
        assert!(known(0) && last() == 0);
        let add_many = |n: i64| {
            service.store().write(move |tx| (0..n).try_for_each(|_| add(tx, PostKey::new(7)))).unwrap();
        };
        add_many(100);
        assert!(known(0) && known(100) && last() == 100);
        add_many(STAYING);
        (0..PRUNE_EVERY).for_each(|_| add_many(1));
        assert!(!known(0) && known(200), "the first 100 were deleted");
        let count = |tx: &mut dyn Tx| tx.one("SELECT count(*) FROM post_change", &[])?.take::<i64>(0);
        assert!(service.store().read(count).unwrap() <= STAYING + PRUNE_EVERY);
        let before = last();
        service.store().write(add_all).unwrap();
        assert!(!known(before) && known(last()), "every cache misses a change");
        add_many(1);
        assert!(!known(before) && known(last() - 1));
    }
}
