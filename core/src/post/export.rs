//! The export of all posts, in the format that the import reads.

use std::ops::ControlFlow;

use serde::Serialize;

use crate::Tidings;
use crate::account::{AdminReader, Caller};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::PostKey;
use crate::profile::JsonList;
use crate::scope::Scope;
use crate::store::{Moment, Row, StoreError, Tx};

/// The number of posts that one transaction reads. It bounds the memory of an export.
const PAGE: i64 = 100;

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The number of exported posts.
    pub posts: u64,
}

/// A post as a line of an export.
#[derive(Serialize)]
struct Line {
    #[serde(skip)]
    key: PostKey,
    #[serde(rename = "_id")]
    id: String,
    title: String,
    post: String,
    url: String,
    img: String,
    topic: JsonList,
    tag: JsonList,
    date: Timestamp,
    end_date: Option<Timestamp>,
    view: i64,
    fav_cnt: i64,
}

/// Exports all posts in the order of their insertion, as lines of JSON that [`import`](super::import) reads. `take`
/// receives one or more complete lines, and the number of posts exported so far including these; it can cancel the
/// export.
///
/// Importing an export into an empty database and exporting it again gives the same bytes. Posts that are inserted or
/// removed during the export may or may not be part of it.
///
/// # Errors
/// `bad token`, `Not admin`.
pub fn export(
    tidings: &Tidings,
    caller: &Caller,
    take: &mut dyn FnMut(&[u8], u64) -> ControlFlow<()>,
) -> Result<Exported> {
    let identity = caller.identify(tidings);
    let (mut behind, mut posts, mut lines) = (PostKey::MIN, 0, Vec::new());
    let seen = Moment::now();
    loop {
        let page = tidings.store().read_stale_after(
            None,
            seen,
            |tx| identity.admin_reader(tx, Scope::Posts),
            |tx, admin| Ok(sql::page(tx, admin, behind)?),
        )?;
        let Some(last) = page.last() else { return Ok(Exported { posts }) };
        behind = last.key;
        lines.clear();
        for line in &page {
            serde_json::to_writer(&mut lines, line).map_err(|cause| Error::Internal(cause.into()))?;
            lines.push(b'\n');
        }
        posts += page.len() as u64;
        if take(&lines, posts).is_break() {
            return Ok(Exported { posts });
        }
    }
}

mod sql {
    use super::{AdminReader, JsonList, Line, PAGE, PostKey, Row, StoreError, Tx};

    pub(super) fn page(tx: &mut dyn Tx, _: &AdminReader, behind: PostKey) -> Result<Vec<Line>, StoreError> {
        let sql = "SELECT p.key, p.id, p.title, p.post, p.url, p.img, p.topic, p.tag, p.date, p.end_date, s.view, s.fav
                   FROM post p JOIN post_stats s ON s.post = p.key WHERE p.key > $1 ORDER BY p.key LIMIT $2";
        let rows = tx.rows(sql, &[behind.into(), PAGE.into()])?;
        let line = |mut row: Row| {
            Ok(Line {
                key: row.take(0)?,
                id: row.take(1)?,
                title: row.take(2)?,
                post: row.take(3)?,
                url: row.take(4)?,
                img: row.take(5)?,
                topic: JsonList(row.take(6)?),
                tag: JsonList(row.take(7)?),
                date: row.take(8)?,
                end_date: row.take(9)?,
                view: row.take(10)?,
                fav_cnt: row.take(11)?,
            })
        };
        rows.into_iter().map(line).collect()
    }
}
