//! Posts, which administrators publish or import and which members and guests view and like. Views and likes are frequent, so they
//! run few small statements on a table separate from the texts, and return a [`Pending`] for a server that must not block.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{Caller, Identity};
use crate::analysis::Guest;
use crate::analysis::calendar::Calendar;
use crate::base::clock::Timestamp;
use crate::profile::JsonList;
use crate::record::error::{Error, Pending, Result};
use crate::record::id::ObjectId;
use crate::record::schema::Word;
use crate::store::{Row, Store, StoreError, Tx};

pub(crate) mod acts;
pub(crate) mod arrive;
pub(crate) mod change;
mod draft;
mod export;
pub(crate) mod feed_rows;
pub(crate) mod heat;
pub(crate) mod import;
pub(crate) mod index;
mod list;
pub(crate) mod news;
mod operations;
pub(crate) mod origin;
pub(crate) mod recount;
pub(crate) mod reindex;
mod rows;
mod stats;
pub(crate) mod texts;
mod token_fields;
mod viewer;

pub use draft::{Draft, NAME, NAMES_MAX, POST, TITLE, URL_MAX};
pub(crate) use draft::{tags, topics};
pub use export::{ExportPosts, PostExport};
pub use import::{FEED_MAX, Format, ImportPosts, ImportReport, import};
pub use list::{LIST_MAX, List, PostList};
pub use news::NewPost;
pub use operations::{Get, Hide, Insert, Like, ListCategories, Remove, Unhide, Unlike, Update, View};
pub use origin::PostSource;

use acts::{Act, Kind};
pub(crate) use stats::PostStats;
pub(crate) use viewer::counted_hour;

pub(crate) struct State {
    pub(crate) acts: acts::Acts,
    pub(crate) term_frequencies: index::TermFrequencies,
}

impl State {
    pub(crate) fn new(store: &Arc<Store>, calendar: &Arc<Calendar>) -> Self {
        let term_frequencies = index::TermFrequencies::new(Arc::clone(store));
        Self { acts: acts::Acts::new(store, calendar), term_frequencies }
    }
}

/// A post as newsfeeds and searches return it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Post {
    /// The id of the post.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// The title of the post.
    #[schema(max_length = 300, examples("An eclipse over the lake"))]
    pub title: String,
    /// The time of publication.
    pub date: Timestamp,
    /// The address of the image, `""` if there is none.
    #[schema(max_length = 2_000, examples("https://news.example.org/lake.jpg"))]
    pub img: String,
    /// The number of members who like the post.
    pub fav_cnt: i64,
    /// The number of views.
    pub view: i64,
    /// The address of the post.
    #[schema(format = "uri", max_length = 2_000, examples("https://news.example.org/eclipse"))]
    pub url: String,
    /// The time from which the post is no longer shown; `null` for never.
    #[schema(required = true)]
    pub end_date: Option<Timestamp>,
}

impl Post {
    /// The columns that [`Post::take`] reads, of `post p` and `post_stats s`.
    pub(crate) const COLUMNS: &str = "p.id, p.title, p.date, p.img, s.fav, s.view, p.url, p.end_date";
    pub(crate) const WIDTH: usize = 8;

    /// The row begins with [`Post::COLUMNS`].
    pub(crate) fn take(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.take(0)?,
            title: row.take(1)?,
            date: row.take(2)?,
            img: row.take(3)?,
            fav_cnt: row.take(4)?,
            view: row.take(5)?,
            url: row.take(6)?,
            end_date: row.take(7)?,
        })
    }
}

/// A complete post.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct PostDetail {
    /// The part that newsfeeds show.
    #[serde(flatten)]
    pub shown: Post,
    /// The text of the post.
    #[schema(max_length = 100_000, examples("On Friday evening the moon covers the sun."))]
    pub post: String,
    /// The topics of the post.
    #[schema(value_type = Vec<Word>, max_items = 50)]
    pub topic: JsonList,
    /// The tags of the post.
    #[schema(value_type = Vec<Word>, max_items = 50)]
    pub tag: JsonList,
    /// The source that has brought the post, if one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source: Option<PostSource>,
}

/// The answer to getting a post.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct GetPost {
    /// The post.
    pub post: PostDetail,
}

/// A category and the number of its posts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Category {
    /// The name of the category: the topic that its posts have.
    #[schema(max_length = 2_000, examples("science"))]
    pub category_name: String,
    /// The number of posts that have this topic.
    pub posts: i64,
}

/// The answer to listing the categories.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Categories {
    /// The categories with posts, ordered by the number of posts, greatest first, then by name.
    pub categories: Vec<Category>,
}

/// Counts a view like [`view_from`], for callers that cannot tell guests apart, such as the command line: every view
/// that is not by a member counts for the popularity of the post.
///
/// # Errors
/// `Not found`; `overloaded`.
pub fn view(tidings: &Tidings, caller: &Caller, id: &str) -> Pending<()> {
    view_from(tidings, caller, None, id)
}

/// Counts a view of a member or a guest. A view of a member is also recorded in the member's list of viewed posts.
/// `guest` identifies the viewer if the caller is not a member.
///
/// For the popularity of a post, a viewer counts once an hour, and the guests of one network count 30 times an hour.
///
/// # Errors
/// `Not found`; `overloaded`.
pub fn view_from(tidings: &Tidings, caller: &Caller, guest: Option<Guest>, id: &str) -> Pending<()> {
    let id = match known(ObjectId::parse(id)) {
        Ok(id) => id,
        Err(error) => return Pending::given(Err(error)),
    };
    submit(tidings, caller.identify(tidings), id, Kind::View { guest, counts: None })
}

/// Likes a post, as [`Like`] does, without waiting.
///
/// # Errors
/// `bad token`; `Not found`; `overloaded`.
pub fn like(tidings: &Tidings, caller: &Caller, id: &str) -> Pending<()> {
    by_member(tidings, caller, id, Kind::Like)
}

/// Takes a like back, as [`Unlike`] does, without waiting.
///
/// # Errors
/// `bad token`; `Not found`; `overloaded`.
pub fn unlike(tidings: &Tidings, caller: &Caller, id: &str) -> Pending<()> {
    by_member(tidings, caller, id, Kind::Unlike)
}

/// Hides a post, as [`Hide`] does, without waiting.
///
/// # Errors
/// `bad token`; `Not found`; `overloaded`.
pub fn hide(tidings: &Tidings, caller: &Caller, id: &str) -> Pending<()> {
    by_member(tidings, caller, id, Kind::Hide)
}

/// Shows a hidden post again, as [`Unhide`] does, without waiting.
///
/// # Errors
/// `bad token`; `Not found`; `overloaded`.
pub fn unhide(tidings: &Tidings, caller: &Caller, id: &str) -> Pending<()> {
    by_member(tidings, caller, id, Kind::Unhide)
}

fn by_member(tidings: &Tidings, caller: &Caller, id: &str, kind: Kind) -> Pending<()> {
    let identity = caller.identify(tidings);
    let Some(member) = identity.named() else {
        return Pending::given(Err(Error::BadToken));
    };
    // No post has an empty id.
    let id = ObjectId::parse(id).map(|id| id.to_string()).unwrap_or_default();
    if let Kind::Like = kind {
        tidings.profile().recent_likes.added(tidings.store());
    }
    if let Kind::Like | Kind::Unlike = kind {
        tidings.feeds().own_likes().note(member, &id, tidings.clock().monotonic());
    }
    submit(tidings, identity, id, kind)
}

fn submit(tidings: &Tidings, identity: Identity, post: String, kind: Kind) -> Pending<()> {
    tidings.post().acts.submit(tidings.store(), Act { identity, post, kind, at: tidings.now() })
}

pub(crate) fn known(id: Option<ObjectId>) -> Result<String> {
    id.map(|id| id.to_string()).ok_or(Error::NotFound)
}

/// Among the fields of a post, only the url can belong to another post.
fn duplicate_url(error: Error) -> Error {
    if let Error::Store(StoreError::Duplicate) = error { Error::DuplicateUrl } else { error }
}

fn texts_in(json: &str) -> Result<Vec<String>> {
    serde_json::from_str(json).map_err(|cause| Error::Internal(cause.into()))
}

mod sql {
    use super::{Category, Error, GetPost, JsonList, Post, PostDetail, Result, Tx, origin};

    pub(super) fn get(tx: &mut dyn Tx, id: &str) -> Result<GetPost> {
        let sql = format!(
            "SELECT {}, p.post, p.topic, p.tag, p.key FROM post p JOIN post_stats s ON s.post = p.key WHERE p.id = $1",
            Post::COLUMNS
        );
        let mut row = tx.row(&sql, &[id.into()])?.ok_or(Error::NotFound)?;
        let source = origin::sources(tx, std::iter::once(row.take(Post::WIDTH + 3)?))?.pop().flatten();
        let post = PostDetail {
            source,
            shown: Post::take(&mut row)?,
            post: row.take(Post::WIDTH)?,
            topic: JsonList(row.take(Post::WIDTH + 1)?),
            tag: JsonList(row.take(Post::WIDTH + 2)?),
        };
        Ok(GetPost { post })
    }

    pub(super) fn categories(tx: &mut dyn Tx) -> Result<Vec<Category>> {
        let rows = tx.rows("SELECT name, posts FROM category ORDER BY posts DESC, name", &[])?;
        let category =
            |mut row: super::Row| Ok(Category { category_name: row.take(0)?, posts: row.take(1)? });
        rows.into_iter().map(category).collect()
    }
}

#[cfg(test)]
mod tests;
