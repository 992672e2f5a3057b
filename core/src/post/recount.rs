//! Checks and repairs the counters of posts, and of members' lists. The counts include guests, imports and removed members, so
//! the lists of members give only a minimum.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::change;
use crate::analysis::counters::Counter;
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::inspect::Inspected;
use crate::store::{Row, StoreError, Topic, Tx};

/// Other writers run between two transactions.
const BATCH: usize = 100;
/// The time after which a transaction repairs no further post, if each takes long.
const BATCH_TIME: Duration = Duration::from_secs(1);

/// Empty if the counter is right.
pub(crate) fn wrong_count(database: &dyn Inspected) -> Result<Vec<String>> {
    let (counted, actual) = database.read(|tx| sql::counts(tx))?;
    Ok(if counted == actual {
        Vec::new()
    } else {
        vec![format!("{counted} are counted, and {actual} are there")]
    })
}

pub(crate) fn count(database: &dyn Inspected) -> Result<()> {
    database.write(|tx| {
        let (counted, actual) = sql::counts(tx)?;
        tx.count(Counter::Posts as i64, None, actual - counted);
        Ok(())
    })
}

pub(crate) fn wrong_categories(database: &dyn Inspected) -> Result<Vec<String>> {
    database.read(|tx| {
        let (counted, actual) = (sql::categories(tx)?, sql::topics(tx)?);
        let names: BTreeSet<&String> = counted.keys().chain(actual.keys()).collect();
        Ok(names.into_iter().filter(|name| counted.get(*name) != actual.get(*name)).cloned().collect())
    })
}

pub(crate) fn count_categories(database: &dyn Inspected) -> Result<()> {
    for batch in wrong_categories(database)?.chunks(BATCH) {
        database.write(|tx| {
            batch.iter().try_for_each(|name| sql::count_category(tx, name))?;
            tx.touch(Topic::Posts);
            Ok::<_, StoreError>(())
        })?;
    }
    Ok(())
}

/// Includes posts without stats.
pub(crate) fn wrong_stats(database: &dyn Inspected) -> Result<Vec<String>> {
    database.read(|tx| Ok(sql::wrong_stats(tx)?.into_iter().map(|wrong| wrong.id).collect()))
}

/// To the numbers in members' lists.
pub(crate) fn raise_stats(database: &dyn Inspected) -> Result<()> {
    let wrong = database.read(|tx| sql::wrong_stats(tx))?;
    let mut rest = &wrong[..];
    while !rest.is_empty() {
        let raised = database.write(|tx| {
            let (began, mut raised) = (Instant::now(), 0);
            for wrong in rest.iter().take(BATCH) {
                sql::raise_stats(tx, wrong)?;
                change::add(tx, wrong.key)?;
                raised += 1;
                if began.elapsed() >= BATCH_TIME {
                    break;
                }
            }
            tx.touch(Topic::Posts);
            Ok::<_, StoreError>(raised)
        })?;
        rest = &rest[raised..];
    }
    Ok(())
}

pub(crate) fn number(database: &dyn Inspected) -> Result<u64> {
    Ok(database.read(|tx| sql::counts(tx))?.1.unsigned_abs())
}

pub(crate) fn all_changed(tx: &mut dyn Tx) -> Result<(), StoreError> {
    change::add_all(tx)
}

struct Wrong {
    key: PostKey,
    id: String,
}

mod sql {
    use std::collections::BTreeMap;

    use super::{Counter, Row, StoreError, Tx, Wrong};

    /// And the actual number.
    pub(super) fn counts(tx: &mut dyn Tx) -> Result<(i64, i64), StoreError> {
        let sql = "SELECT coalesce((SELECT sum(n) FROM total_count WHERE counter = $1), 0), (SELECT count(*) FROM post)";
        let mut row = tx.one(sql, &[(Counter::Posts as i64).into()])?;
        Ok((row.take(0)?, row.take(1)?))
    }

    pub(super) fn categories(tx: &mut dyn Tx) -> Result<BTreeMap<String, i64>, StoreError> {
        counted(tx, "SELECT name, posts FROM category")
    }

    pub(super) fn topics(tx: &mut dyn Tx) -> Result<BTreeMap<String, i64>, StoreError> {
        counted(tx, "SELECT name, count(*) FROM label WHERE topic = 1 GROUP BY name")
    }

    fn counted(tx: &mut dyn Tx, sql: &str) -> Result<BTreeMap<String, i64>, StoreError> {
        tx.rows(sql, &[])?.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
    }

    pub(super) fn count_category(tx: &mut dyn Tx, name: &str) -> Result<(), StoreError> {
        tx.run("DELETE FROM category WHERE name = $1", &[name.into()])?;
        let sql = "INSERT INTO category (name, posts)
                   SELECT name, count(*) FROM label WHERE name = $1 AND topic = 1 GROUP BY name";
        tx.run(sql, &[name.into()])?;
        Ok(())
    }

    pub(super) fn wrong_stats(tx: &mut dyn Tx) -> Result<Vec<Wrong>, StoreError> {
        let sql = "SELECT p.key, p.id FROM post p
                   LEFT JOIN post_stats s ON s.post = p.key
                   LEFT JOIN (SELECT post, count(*) AS n FROM liked GROUP BY post) l ON l.post = p.key
                   LEFT JOIN (SELECT post, count(*) AS n FROM viewed GROUP BY post) v ON v.post = p.key
                   WHERE s.post IS NULL OR s.fav < coalesce(l.n, 0) OR s.view < coalesce(v.n, 0)
                   ORDER BY p.key";
        let wrong = |mut row: Row| Ok(Wrong { key: row.take(0)?, id: row.take(1)? });
        tx.rows(sql, &[])?.into_iter().map(wrong).collect()
    }

    pub(super) fn raise_stats(tx: &mut dyn Tx, wrong: &Wrong) -> Result<(), StoreError> {
        // The lists are ordered by member, so each count reads all of them. This is acceptable because few posts are wrong.
        let sql = "INSERT INTO post_stats (post, view, fav)
                   SELECT key, (SELECT count(*) FROM viewed WHERE post = $1),
                          (SELECT count(*) FROM liked WHERE post = $1)
                   FROM post WHERE key = $1
                   ON CONFLICT (post) DO UPDATE SET
                       view = CASE WHEN post_stats.view < excluded.view THEN excluded.view ELSE post_stats.view END,
                       fav = CASE WHEN post_stats.fav < excluded.fav THEN excluded.fav ELSE post_stats.fav END";
        tx.run(sql, &[wrong.key.into()])?;
        Ok(())
    }
}
