//! Reads the posts, without their texts, that newsfeeds need, and the changes to them.

use super::heat::{self, Decay};
use super::{Tx, change, texts_in};
use crate::base::clock::Timestamp;
use crate::record::error::Result;
use crate::record::id::{PostKey, SourceKey};
use crate::store::{Row, StoreError, row_each};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FeedRow {
    pub(crate) key: PostKey,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) url: String,
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
    /// See [`super::heat`]; `None` without views and likes.
    pub(crate) heat: Option<f64>,
    pub(crate) source: Option<SourceKey>,
}

impl FeedRow {
    /// Limits the heat to that of the post's acts, as if they had all happened at `now`: an act has a future date if
    /// the clock was ahead when it happened.
    pub(crate) fn bound_heat(&mut self, decay: Decay, now: Timestamp) {
        self.heat = decay.bounded(self.heat, heat::weight_of(self.view, self.fav), now);
    }
}

/// `None` for a removed post.
pub(crate) fn likes_of(
    tx: &mut dyn Tx,
    posts: impl Iterator<Item = PostKey>,
) -> Result<Vec<Option<i64>>, StoreError> {
    let keys: Vec<_> = posts.map(|post| [post.into()]).collect();
    let rows = row_each(tx, "SELECT fav FROM post_stats WHERE post = $1", &keys)?;
    rows.into_iter().map(|row| row.map(|mut row| row.take(0)).transpose()).collect()
}

/// In the order that [`feed_row`] reads.
fn columns(decay: Decay) -> String {
    let of_heat = decay.columns();
    format!(
        "p.key, p.id, p.title, p.url, p.host, p.img, p.topic, p.tag, p.keyword, p.date, p.end_date, s.view, s.fav,
         (SELECT source FROM post_source WHERE post = p.key), {of_heat}"
    )
}

/// Newest first. Views and likes also count as changes. Returns `None` if some changes after the horizon `since` are no longer
/// recorded.
pub(crate) fn changed(tx: &mut dyn Tx, since: i64, decay: Decay) -> Result<Option<Vec<FeedRow>>> {
    if !change::knows_since(tx, since)? {
        return Ok(None);
    }
    let sql = format!(
        "SELECT {} FROM (SELECT DISTINCT post FROM post_change WHERE revision > $1) c
         JOIN post p ON p.key = c.post JOIN post_stats s ON s.post = p.key ORDER BY p.date DESC, p.id DESC",
        columns(decay)
    );
    let rows = tx.rows(&sql, &[since.into()])?;
    rows.into_iter().map(|mut row| feed_row(&mut row, decay)).collect::<Result<_>>().map(Some)
}

/// In ascending order.
pub(crate) fn newest(tx: &mut dyn Tx, posts: usize) -> Result<Vec<PostKey>> {
    let mut keys = Vec::new();
    let sql = "SELECT key FROM post ORDER BY date DESC, id DESC LIMIT $1";
    tx.for_each(sql, &[limit(posts).into()], &mut |row| {
        keys.push(row.take(0)?);
        Ok(())
    })?;
    keys.sort_unstable();
    Ok(keys)
}

/// `keys` are in ascending order, like the rows of the store, so that each page is read once.
pub(crate) fn of_keys(
    tx: &mut dyn Tx,
    keys: &[PostKey],
    decay: Decay,
    take: &mut dyn FnMut(FeedRow),
) -> Result<()> {
    let sql = format!(
        "SELECT {} FROM post p JOIN post_stats s ON s.post = p.key
         WHERE p.key BETWEEN $1 AND $2 ORDER BY p.key",
        columns(decay)
    );
    // The newest posts usually have consecutive keys, so there are few statements.
    for run in keys.chunk_by(|a, b| a.as_i64() + 1 == b.as_i64()) {
        let mut failed = Ok(());
        tx.for_each(&sql, &[run[0].into(), run[run.len() - 1].into()], &mut |row| {
            match feed_row(row, decay) {
                Ok(row) => take(row),
                Err(error) => failed = Err(error),
            }
            Ok(())
        })?;
        failed?;
    }
    Ok(())
}

fn limit(posts: usize) -> i64 {
    i64::try_from(posts).unwrap_or(i64::MAX)
}

/// Newest first, with the heat of the default half-life.
#[cfg(any(test, feature = "evaluation"))]
pub(crate) fn until(tx: &mut dyn Tx, at: Timestamp, posts: usize) -> Result<Vec<FeedRow>> {
    let decay = Decay::new(heat::DEFAULT_HALF_LIFE_DAYS);
    let sql = format!(
        "SELECT {} FROM post p JOIN post_stats s ON s.post = p.key
         WHERE p.date <= $1 ORDER BY p.date DESC, p.id DESC LIMIT $2",
        columns(decay)
    );
    let rows = tx.rows(&sql, &[at.into(), limit(posts).into()])?;
    rows.into_iter().map(|mut row| feed_row(&mut row, decay)).collect()
}

/// With a revision greater than the horizon `since`.
pub(crate) fn removed(tx: &mut dyn Tx, since: i64) -> Result<Vec<PostKey>> {
    let rows = tx.rows("SELECT post FROM removed_post WHERE revision > $1", &[since.into()])?;
    rows.into_iter().map(|mut row| Ok(row.take(0)?)).collect()
}

fn feed_row(row: &mut Row, decay: Decay) -> Result<FeedRow> {
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
        source: row.take(13)?,
        heat: decay.take_from(row, 14)?,
    })
}
