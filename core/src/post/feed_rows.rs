//! Reads the posts, without their texts, that newsfeeds need, and the changes to them.

use super::{Tx, change, texts_in};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::PostKey;
use crate::store::Row;

/// The data of a post that newsfeeds need.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FeedRow {
    /// The key in the store. A key is never reused for another post.
    pub(crate) key: PostKey,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) url: String,
    /// The site of the post.
    pub(crate) host: String,
    pub(crate) img: String,
    pub(crate) topic: Vec<String>,
    pub(crate) tag: Vec<String>,
    /// The keywords of title and text, most significant first, separated by blanks.
    pub(crate) keyword: String,
    pub(crate) date: Timestamp,
    pub(crate) end_date: Option<Timestamp>,
    pub(crate) view: i64,
    pub(crate) fav: i64,
    /// The popularity, see [`super::heat`]; `None` without views and likes.
    pub(crate) heat: Option<f64>,
}

/// The columns of a row in the order that [`feed_row`] reads.
const COLUMNS: &str =
    "p.key, p.id, p.title, p.url, p.host, p.img, p.topic, p.tag, p.keyword, p.date, p.end_date,
                       s.view, s.fav, s.heat";

/// Returns the posts that changed after the [change](super::change) `since`, newest first. Views and likes also count
/// as changes. Returns `None` if earlier changes are no longer known.
///
/// # Errors
/// Fails if the store fails.
pub(crate) fn changed(tx: &mut dyn Tx, since: i64) -> Result<Option<Vec<FeedRow>>> {
    if !change::knows_since(tx, since)? {
        return Ok(None);
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM (SELECT DISTINCT post FROM post_change WHERE key > $1) c
         JOIN post p ON p.key = c.post JOIN post_stats s ON s.post = p.key ORDER BY p.date DESC, p.id DESC"
    );
    let rows = tx.rows(&sql, &[since.into()])?;
    rows.into_iter().map(feed_row).collect::<Result<_>>().map(Some)
}

/// Returns the newest posts with a date not after `at`, at most `posts`, newest first.
///
/// # Errors
/// Fails if the store fails.
pub(crate) fn until(tx: &mut dyn Tx, at: Timestamp, posts: usize) -> Result<Vec<FeedRow>> {
    let limit = i64::try_from(posts).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT {COLUMNS} FROM post p JOIN post_stats s ON s.post = p.key
         WHERE p.date <= $1 ORDER BY p.date DESC, p.id DESC LIMIT $2"
    );
    tx.rows(&sql, &[at.into(), limit.into()])?.into_iter().map(feed_row).collect()
}

/// Returns the keys of the posts that were removed after the revision `since`.
///
/// # Errors
/// Fails if the store fails.
pub(crate) fn removed(tx: &mut dyn Tx, since: i64) -> Result<Vec<PostKey>> {
    let rows = tx.rows("SELECT post FROM removed_post WHERE revision > $1", &[since.into()])?;
    rows.into_iter().map(|mut row| Ok(row.take(0)?)).collect()
}

fn feed_row(mut row: Row) -> Result<FeedRow> {
    let (topic, tag): (String, String) = (row.take(6)?, row.take(7)?);
    Ok(FeedRow {
        key: row.take(0)?,
        id: row.take(1)?,
        title: row.take(2)?,
        url: row.take(3)?,
        host: row.take(4)?,
        img: row.take(5)?,
        topic: texts_in(&topic)?,
        tag: texts_in(&tag)?,
        keyword: row.take(8)?,
        date: row.take(9)?,
        end_date: row.take(10)?,
        view: row.take(11)?,
        fav: row.take(12)?,
        heat: row.take(13)?,
    })
}
