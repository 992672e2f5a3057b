//! The format is that which the import reads.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{Admin, Caller, Identity};
use crate::base::clock::Timestamp;
use crate::profile::JsonList;
use crate::record::error::{Error, Result};
use crate::record::export::{self, Export, ExportLines, Part};
use crate::record::id::PostKey;
use crate::record::operation::{Access, NDJSON, Spec, Stream};
use crate::record::scope::Scope;
use crate::store::{Row, StoreError, Tx};

/// Export posts
///
/// The lines have the format that `/import_posts` reads. The response is a download of any length with one JSON object on each
/// line, in the order of the insertions, sent as it is read: posts may change meanwhile. At most 16 downloads run at the same time,
/// four of one caller, each for at most ten minutes; the client reads at least 64 KiB in 20 seconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ExportPosts {}

impl Stream for ExportPosts {
    type Line = String;
    type Answer = String;
    const SPEC: Spec = Spec::get("post", "/export_posts", Access::Admins(Scope::Posts)).file();
    const GIVES: &'static [&'static str] = &[NDJSON];
}

const PAGE: i64 = 100;

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

/// Importing an export into an empty database and exporting it again gives the same bytes. Posts that are inserted or
/// removed during the export may or may not be part of it.
impl ExportLines for ExportPosts {
    type Export = PostExport;
    const FILE: &'static str = "posts.jsonl";

    fn export(&self, tidings: &Tidings, caller: &Caller) -> PostExport {
        PostExport { identity: caller.identify(tidings), behind: PostKey::MIN }
    }
}

/// An export of all posts in the order of their insertion.
pub struct PostExport {
    identity: Identity,
    behind: PostKey,
}

impl Export for PostExport {
    fn next(&mut self, tidings: &Tidings) -> Result<Option<Part>> {
        let page = tidings.store().read(|tx| {
            let admin = self.identity.with_scope(tx, Scope::Posts)?;
            Ok::<_, Error>(sql::page(tx, &admin, self.behind)?)
        })?;
        let Some(last) = page.last() else { return Ok(None) };
        let lines = export::lines(&page)?;
        self.behind = last.key;
        Ok(Some(lines))
    }
}

mod sql {
    use super::{Admin, JsonList, Line, PAGE, PostKey, Row, StoreError, Tx};

    pub(super) fn page(tx: &mut dyn Tx, _: &Admin<'_>, behind: PostKey) -> Result<Vec<Line>, StoreError> {
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
