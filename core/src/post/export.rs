//! The export of all posts, in the format that the import reads.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{AdminReader, Caller, Identity};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::PostKey;
use crate::operation::{Access, NDJSON, Spec, Stream};
use crate::profile::JsonList;
use crate::scope::Scope;
use crate::store::{Moment, Row, StoreError, Tx};

/// Returns all posts in the format that `/import_posts` reads
///
/// The response is a download of any length with one JSON object on each line, in the order of the insertions, sent as it is
/// read: posts may change meanwhile. At most 16 downloads run at the same time, four of one caller, each for at most
/// ten minutes; the client reads at least 64 KiB in 20 seconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ExportPosts {}

impl Stream for ExportPosts {
    type Line = String;
    type Answer = String;
    const SPEC: Spec = Spec::get("post", "/export_posts", Access::Admins(Scope::Posts)).file();
    const GIVES: &'static [&'static str] = &[NDJSON];
}

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
    let mut export = PostExport::new(tidings, caller);
    while let Some(lines) = export.next(tidings)? {
        if take(&lines, export.posts).is_break() {
            break;
        }
    }
    Ok(Exported { posts: export.posts })
}

/// Reads the lines of [`export`] page by page. It holds no transaction between two pages, and each page checks the caller.
pub struct PostExport {
    identity: Identity,
    seen: Moment,
    behind: PostKey,
    posts: u64,
}

impl PostExport {
    /// Returns an export from the first post on.
    pub fn new(tidings: &Tidings, caller: &Caller) -> Self {
        Self { identity: caller.identify(tidings), seen: Moment::now(), behind: PostKey::MIN, posts: 0 }
    }

    /// Returns the next lines; `None` after the last one. After an error, another call reads the same lines.
    ///
    /// # Errors
    /// Those of [`export`].
    pub fn next(&mut self, tidings: &Tidings) -> Result<Option<Vec<u8>>> {
        let page = tidings.store().read_stale_after(
            None,
            self.seen,
            |tx| self.identity.admin_reader(tx, Scope::Posts),
            |tx, admin| Ok(sql::page(tx, admin, self.behind)?),
        )?;
        let Some(last) = page.last() else { return Ok(None) };
        let mut lines = Vec::new();
        for line in &page {
            serde_json::to_writer(&mut lines, line).map_err(|cause| Error::Internal(cause.into()))?;
            lines.push(b'\n');
        }
        self.behind = last.key;
        self.posts += page.len() as u64;
        Ok(Some(lines))
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
