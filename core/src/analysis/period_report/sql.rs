use std::ops::Range;

use super::{POSTS_READ, PostFigures, RANKED_MAX, TopicFigures};
use crate::base::clock::Timestamp;
use crate::store::{Row, StoreError, Tx};

/// The index of dates has all these columns, so no post is read.
const NEWEST: &str =
    "(SELECT key FROM post WHERE date >= $1 AND date < $2 ORDER BY date DESC, id DESC LIMIT $3)";

/// Also returns the number of posts of the period.
pub(super) fn topics(
    tx: &mut dyn Tx,
    dates: &Range<Timestamp>,
) -> Result<(i64, Vec<TopicFigures>), StoreError> {
    let period = [dates.start.into(), dates.end.into(), POSTS_READ.into()];
    let posts = tx.one(&format!("SELECT count(*) FROM {NEWEST} n"), &period)?.take(0)?;
    let sql = format!(
        "SELECT l.name, count(*), sum(s.view), sum(s.fav) FROM {NEWEST} n
         JOIN label l ON l.post = n.key AND l.topic = 1 JOIN post_stats s ON s.post = n.key
         GROUP BY l.name ORDER BY count(*) DESC, sum(s.view) DESC, l.name LIMIT $4"
    );
    let [from, until, most] = period;
    let rows = tx.rows(&sql, &[from, until, most, RANKED_MAX.into()])?;
    let topic = |mut row: Row| {
        Ok(TopicFigures { topic: row.take(0)?, post: row.take(1)?, view: row.take(2)?, like: row.take(3)? })
    };
    Ok((posts, rows.into_iter().map(topic).collect::<Result<_, StoreError>>()?))
}

pub(super) fn next(tx: &mut dyn Tx, dates: &Range<Timestamp>) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT min(date) FROM post WHERE date >= $1 AND date < $2";
    tx.one(sql, &[dates.start.into(), dates.end.into()])?.take(0)
}

/// Most views first. `day` returns the text of the day of a date.
pub(super) fn posts(
    tx: &mut dyn Tx,
    dates: &Range<Timestamp>,
    day: impl Fn(Timestamp) -> String,
) -> Result<Vec<PostFigures>, StoreError> {
    // The ten posts are found before their titles are read.
    let sql = format!(
        "SELECT p.id, p.title, p.url, p.date, r.view, r.fav FROM (
             SELECT s.post, s.view, s.fav FROM {NEWEST} n JOIN post_stats s ON s.post = n.key
             ORDER BY s.view DESC, s.fav DESC, s.post DESC LIMIT $4) r
         JOIN post p ON p.key = r.post ORDER BY r.view DESC, r.fav DESC, r.post DESC"
    );
    let rows =
        tx.rows(&sql, &[dates.start.into(), dates.end.into(), POSTS_READ.into(), RANKED_MAX.into()])?;
    let post = |mut row: Row| {
        Ok(PostFigures {
            id: row.take(0)?,
            title: row.take(1)?,
            url: row.take(2)?,
            date: day(row.take(3)?),
            view: row.take(4)?,
            like: row.take(5)?,
        })
    };
    rows.into_iter().map(post).collect()
}
