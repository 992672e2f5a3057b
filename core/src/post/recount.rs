//! Checks and repairs the data that is derived from posts and from members' lists.
//!
//! Some of it cannot be recomputed completely. The counts of likes and views include those of guests, imports and
//! removed members, so the lists of members give only a minimum. The acts behind heats are not stored, so heats are only
//! lowered to the possible maximum.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::heat::{self, Decay, HALF_LIVES, VIEW_WEIGHT};
use super::{PostStats, change, rows, texts_in};
use crate::analysis::counters::Counter;
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::record::error::{Error, Result};
use crate::record::id::PostKey;
use crate::store::inspect::Inspected;
use crate::store::{Row, StoreError, Topic, Tx};

/// The number of posts that one read transaction compares.
const PAGE: i64 = 1_000;
/// The maximum number of posts that one transaction repairs, so that other writers can run in between.
const BATCH: usize = 100;
/// The time after which a transaction repairs no further post, if each takes long.
const BATCH_TIME: Duration = Duration::from_secs(1);

/// Describes a wrong counter of posts; empty if the counter is right.
pub(crate) fn wrong_count(database: &dyn Inspected) -> Result<Vec<String>> {
    let (counted, actual) = database.read(|tx| sql::counts(tx))?;
    Ok(if counted == actual {
        Vec::new()
    } else {
        vec![format!("{counted} are counted, and {actual} are there")]
    })
}

/// Corrects the counter of posts.
pub(crate) fn count(database: &dyn Inspected) -> Result<()> {
    database.write(|tx| {
        let (counted, actual) = sql::counts(tx)?;
        tx.count(Counter::Posts as i64, None, actual - counted);
        Ok(())
    })
}

/// Returns the ids of posts whose labels differ from their topics and tags.
pub(crate) fn wrong_labels(database: &dyn Inspected) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut after = PostKey::MIN;
    while let Some(page) = Labelled::page(database, after)? {
        wrong.extend(page.posts.iter().filter(|post| !post.is_right()).map(|post| post.id.clone()));
        after = page.last;
    }
    Ok(wrong)
}

/// Replaces wrong labels of posts.
pub(crate) fn label(database: &dyn Inspected) -> Result<()> {
    let mut after = PostKey::MIN;
    while let Some(page) = Labelled::page(database, after)? {
        after = page.last;
        let wrong: Vec<&Labelled> = page.posts.iter().filter(|post| !post.is_right()).collect();
        for batch in wrong.chunks(BATCH) {
            database.write(|tx| {
                for post in batch {
                    // The post may have changed since the check.
                    if let Some((topic, tag)) = sql::lists(tx, post.key)? {
                        rows::relabel(tx, post.key, &texts_in(&topic)?, &texts_in(&tag)?)?;
                        change::add(tx, post.key)?;
                    }
                }
                tx.touch(Topic::Posts);
                Ok::<_, Error>(())
            })?;
        }
    }
    Ok(())
}

/// A post with its lists and its labels.
struct Labelled {
    key: PostKey,
    id: String,
    topic: Vec<String>,
    tag: Vec<String>,
    labels: BTreeSet<(String, bool)>,
}

struct Page {
    posts: Vec<Labelled>,
    last: PostKey,
}

impl Labelled {
    /// Returns the next page of posts; `None` after the last post.
    fn page(database: &dyn Inspected, after: PostKey) -> Result<Option<Page>> {
        database.read(|tx| {
            let mut posts = sql::labelled(tx, after)?;
            let Some(last) = posts.last().map(|post| post.key) else { return Ok(None) };
            let mut labels = sql::labels(tx, after, last)?;
            for post in &mut posts {
                post.labels = labels.remove(&post.key).unwrap_or_default();
            }
            Ok(Some(Page { posts, last }))
        })
    }

    fn is_right(&self) -> bool {
        let labels = rows::labels(&self.topic, &self.tag);
        let labels: BTreeSet<(String, bool)> = labels.map(|(name, topic)| (name.clone(), topic)).collect();
        labels == self.labels
    }
}

/// Returns the names of categories with a wrong number of posts.
pub(crate) fn wrong_categories(database: &dyn Inspected) -> Result<Vec<String>> {
    database.read(|tx| {
        let (counted, actual) = (sql::categories(tx)?, sql::topics(tx)?);
        let names: BTreeSet<&String> = counted.keys().chain(actual.keys()).collect();
        Ok(names.into_iter().filter(|name| counted.get(*name) != actual.get(*name)).cloned().collect())
    })
}

/// Corrects the numbers of posts of categories.
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

/// Returns the ids of posts with fewer likes or views than members' lists have, or without stats.
pub(crate) fn wrong_stats(database: &dyn Inspected) -> Result<Vec<String>> {
    database.read(|tx| Ok(sql::wrong_stats(tx)?.into_iter().map(|wrong| wrong.id).collect()))
}

/// Raises the likes and views of posts to the numbers in members' lists.
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

/// The tolerated difference between the clocks of machines, in milliseconds.
const SKEW_MS: i64 = 60 * 60 * SECOND_MS;

/// Returns the ids of posts whose heats are greater than they would be if all their acts had happened at `now`, because
/// some acts have dates in the future.
pub(crate) fn wrong_heats(database: &dyn Inspected, like_weight: f64, now: Timestamp) -> Result<Vec<String>> {
    database.read(|tx| Ok(hot(tx, like_weight, now)?.into_iter().map(|hot| hot.id).collect()))
}

/// Lowers the heats of posts to the maximum that their acts can have at `now`.
pub(crate) fn bound_heats(database: &dyn Inspected, like_weight: f64, now: Timestamp) -> Result<()> {
    let wrong = database.read(|tx| hot(tx, like_weight, now))?;
    for batch in wrong.chunks(BATCH) {
        database.write(|tx| {
            for hot in batch {
                if let Some(stats) = PostStats::of_key(tx, hot.key)? {
                    stats.update(tx, like_weight, now)?;
                }
            }
            Ok::<_, StoreError>(())
        })?;
    }
    Ok(())
}

/// Returns the posts whose heat is above the possible maximum.
fn hot(tx: &mut dyn Tx, like_weight: f64, now: Timestamp) -> Result<Vec<Wrong>, StoreError> {
    // Acts with dates in the future exceed the bound most with the shortest half-life.
    let decay = Decay::new(HALF_LIVES[0]);
    let late = now + SKEW_MS;
    let bound = |weight| decay.bounded(Some(f64::MAX), weight, late);
    let Some(least) = bound(VIEW_WEIGHT) else { return Ok(Vec::new()) };
    let found = sql::hotter_than(tx, least)?.into_iter();
    let wrong = found.filter(|(_, view, fav, heat)| {
        bound(heat::weight_of(*view, *fav, like_weight)).is_none_or(|bound| *heat > bound)
    });
    Ok(wrong.map(|(post, ..)| post).collect())
}

/// Returns the number of posts.
pub(crate) fn number(database: &dyn Inspected) -> Result<u64> {
    Ok(database.read(|tx| sql::counts(tx))?.1.unsigned_abs())
}

/// Marks all posts as changed for caches.
pub(crate) fn all_changed(tx: &mut dyn Tx) -> Result<(), StoreError> {
    change::add_all(tx)
}

/// A post with wrong counts or a wrong heat.
struct Wrong {
    key: PostKey,
    id: String,
}

mod sql {
    use super::{
        BTreeMap, BTreeSet, Counter, Labelled, PAGE, PostKey, Result, Row, StoreError, Tx, Wrong, texts_in,
    };

    /// Returns the counter of posts and the number of posts.
    pub(super) fn counts(tx: &mut dyn Tx) -> Result<(i64, i64), StoreError> {
        let sql = "SELECT coalesce((SELECT sum(n) FROM total_count WHERE counter = $1), 0), (SELECT count(*) FROM post)";
        let mut row = tx.one(sql, &[(Counter::Posts as i64).into()])?;
        Ok((row.take(0)?, row.take(1)?))
    }

    pub(super) fn labelled(tx: &mut dyn Tx, after: PostKey) -> Result<Vec<Labelled>> {
        let sql = "SELECT key, id, topic, tag FROM post WHERE key > $1 ORDER BY key LIMIT $2";
        let post = |mut row: Row| {
            let (topic, tag): (String, String) = (row.take(2)?, row.take(3)?);
            Ok(Labelled {
                key: row.take(0)?,
                id: row.take(1)?,
                topic: texts_in(&topic)?,
                tag: texts_in(&tag)?,
                labels: BTreeSet::new(),
            })
        };
        tx.rows(sql, &[after.into(), PAGE.into()])?.into_iter().map(post).collect()
    }

    type Labels = BTreeMap<PostKey, BTreeSet<(String, bool)>>;

    pub(super) fn labels(tx: &mut dyn Tx, after: PostKey, last: PostKey) -> Result<Labels, StoreError> {
        let sql = "SELECT post, name, topic FROM label WHERE post > $1 AND post <= $2";
        let mut labels = Labels::new();
        for mut row in tx.rows(sql, &[after.into(), last.into()])? {
            labels.entry(row.take(0)?).or_default().insert((row.take(1)?, row.take(2)?));
        }
        Ok(labels)
    }

    /// Returns the topics and tags of a post as stored, as JSON.
    pub(super) fn lists(tx: &mut dyn Tx, key: PostKey) -> Result<Option<(String, String)>, StoreError> {
        let row = tx.row("SELECT topic, tag FROM post WHERE key = $1", &[key.into()])?;
        row.map(|mut row| Ok((row.take(0)?, row.take(1)?))).transpose()
    }

    pub(super) fn categories(tx: &mut dyn Tx) -> Result<BTreeMap<String, i64>, StoreError> {
        counted(tx, "SELECT name, posts FROM category")
    }

    /// Returns the topics with their numbers of posts.
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

    /// Returns the posts with a heat above `heat` for the shortest half-life, with their views, likes and that heat. Views and likes are at least the
    /// numbers in members' lists.
    pub(super) fn hotter_than(tx: &mut dyn Tx, heat: f64) -> Result<Vec<(Wrong, i64, i64, f64)>, StoreError> {
        let sql = "SELECT p.key, p.id, s.view, s.fav, coalesce(v.n, 0), coalesce(l.n, 0), s.heat_0
                   FROM post_stats s JOIN post p ON p.key = s.post
                   LEFT JOIN (SELECT post, count(*) AS n FROM liked GROUP BY post) l ON l.post = p.key
                   LEFT JOIN (SELECT post, count(*) AS n FROM viewed GROUP BY post) v ON v.post = p.key
                   WHERE s.heat_0 > $1 ORDER BY p.key";
        let post = |mut row: Row| {
            let wrong = Wrong { key: row.take(0)?, id: row.take(1)? };
            let (view, fav): (i64, i64) = (row.take(2)?, row.take(3)?);
            let (viewed, liked): (i64, i64) = (row.take(4)?, row.take(5)?);
            Ok((wrong, view.max(viewed), fav.max(liked), row.take(6)?))
        };
        tx.rows(sql, &[heat.into()])?.into_iter().map(post).collect()
    }

    pub(super) fn raise_stats(tx: &mut dyn Tx, wrong: &Wrong) -> Result<(), StoreError> {
        // The lists are ordered by member, so each count reads all of them. This is acceptable because few posts are
        // wrong.
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
