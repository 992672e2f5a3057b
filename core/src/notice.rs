//! Notices: texts that administrators publish for all callers, for members, or for the page of a topic. All notices are cached in
//! memory, because only administrators write them, so they are few, and their length is bounded. Views are also counted in memory,
//! and written together with other commits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{Admin, Member};
use crate::audit::trail::{Action, Entry};
use crate::base::clock::Timestamp;
use crate::base::config::Bounds;
use crate::record::activation::activation;
use crate::record::answer::{self, Encoded};
use crate::record::error::{Error, Result};
use crate::record::id::ObjectId;
use crate::record::schema::Switch;
use crate::record::scope::Scope;
use crate::store::{Store, Topic, Tx};

mod announce;
mod cache;
mod draft;
mod drafts;
mod follow;
mod full;
mod markdown;
mod operations;
mod others;
mod placement;
mod reader;
mod reads;
mod sql;
mod views;

pub(crate) use announce::{announce, mark_announced, next_announcement};
pub(crate) use cache::NoticeCache;
use cache::{CachedNotice, Snapshot};
pub use draft::Draft;
use draft::{Change, Content};
pub use drafts::{DRAFTS_MAX, DraftList, ListDrafts, PublishDraft, RemoveDraft, SaveDraft, SavedDraft};
pub use follow::NoticeChange;
pub(crate) use follow::SeenNotices;
pub use full::{FullList, FullNotice};
pub use operations::{Get, Insert, List, ListFull, Remove, Update};
pub(crate) use others::OtherViews;
pub use placement::{Audience, Pin, Placement, State};
use reader::Reader;
pub use reads::{DAYS, DayReads, GetReads, Reads};

pub(crate) struct Shared {
    pub(crate) cache: NoticeCache,
    pub(crate) other_views: OtherViews,
}

impl Shared {
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        let cache = NoticeCache::default();
        Self { other_views: OtherViews::new(Arc::clone(store), &cache), cache }
    }
}

/// The length of a title in characters.
pub const TITLE: Bounds = Bounds { min: 1, max: 200 };
/// The length of a text in characters.
pub const POST: Bounds = Bounds { min: 1, max: 20_000 };

activation! {
    /// Whether all callers or only administrators see a notice.
    Visibility {
        /// Administrators only.
        Hidden,
        /// All callers.
        Shown
    }
}

impl Visibility {
    /// Returns [`Visibility::Shown`] or, when `is_shown` is false, [`Visibility::Hidden`].
    pub const fn shown_if(is_shown: bool) -> Self {
        if is_shown { Self::Shown } else { Self::Hidden }
    }
}

/// Returns the length of a title or a text in characters of its NFC form, which is the unit of its bounds.
///
/// ```
/// use tidings_core::notice::{TITLE, length};
///
/// assert_eq!(length("도서관"), 3);
/// assert!(length("Library hours") <= TITLE.max);
/// ```
pub fn length(text: &str) -> usize {
    tidings_tokens::compose(text).chars().count()
}

/// A notice. The names and the order of its fields are those of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Notice {
    /// Its id.
    #[serde(rename = "_id")]
    pub id: ObjectId,
    /// Its title, one line.
    #[schema(value_type = String, max_length = 200, examples("Closed on Monday"))]
    pub title: Arc<str>,
    /// Its text.
    #[schema(value_type = String, max_length = 20_000, examples("The library opens again on Tuesday."))]
    pub post: Arc<str>,
    /// The number of calls of `get_notice` for it.
    pub view: i64,
    /// The date when it was inserted.
    pub date: Timestamp,
    /// 1 if everybody sees it, 0 if only administrators see it.
    #[schema(value_type = Switch)]
    pub activation: Visibility,
    /// The text as HTML, if the caller asked for it: a safe subset of Markdown, without scripts, images and raw HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false, max_length = 1_000_000, examples("<p>The library opens again on <em>Tuesday</em>.</p>\n"))]
    pub html: Option<Arc<str>>,
}

/// Several notices, newest first. Cheap to clone.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NoticeList {
    /// The notices, newest first.
    #[schema(value_type = Vec<Notice>)]
    notice_list: Arc<[Notice]>,
    #[serde(skip)]
    answer: Arc<Encoded>,
}

impl NoticeList {
    fn new(notices: impl Iterator<Item = Notice>) -> Self {
        #[derive(Serialize)]
        struct Body<'a> {
            notice_list: &'a [Notice],
        }
        let notice_list: Arc<[Notice]> = notices.collect();
        let answer = answer::success(&Body { notice_list: &notice_list });
        Self { notice_list, answer: Arc::new(Encoded::new(answer)) }
    }

    /// Returns the notices.
    pub fn notices(&self) -> &[Notice] {
        &self.notice_list
    }

    /// Returns the complete answer, `{"result":"success","notice_list":[…]}`. The lists of all guests share one
    /// answer until a notice or a view changes it.
    pub fn answer(&self) -> &Arc<Encoded> {
        &self.answer
    }
}

impl<'de> Deserialize<'de> for NoticeList {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Body {
            notice_list: Vec<Notice>,
        }
        Ok(Self::new(Body::deserialize(deserializer)?.notice_list.into_iter()))
    }
}

/// The answer to getting a notice.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OneNotice {
    /// The notice. It is one notice and not a list; existing clients expect this name.
    pub notice_list: Notice,
}

/// The transaction must run alone.
fn insert_in(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    id: ObjectId,
    content: &Content,
    now: Timestamp,
) -> Result<()> {
    sql::insert(tx, admin, id, content, now)?;
    tx.touch(Topic::Notices);
    announce(tx, now)?;
    let entry = Entry::new(Action::NoticeInsert);
    Ok(admin.record(tx, entry.on(&id.to_string()).after(&content.summary()))?)
}

#[cfg(feature = "demo")]
pub(crate) struct DemoNotice {
    pub(crate) id: ObjectId,
    pub(crate) title: &'static str,
    pub(crate) post: &'static str,
    pub(crate) is_shown: bool,
    pub(crate) view: i64,
    pub(crate) date: Timestamp,
}

#[cfg(feature = "demo")]
pub(crate) fn insert_demo(tx: &mut dyn Tx, admin: &Admin<'_>, notice: &DemoNotice) -> Result<()> {
    let content = Content {
        title: notice.title.into(),
        post: notice.post.into(),
        activation: Visibility::shown_if(notice.is_shown),
        placement: Placement::default(),
    };
    sql::insert(tx, admin, notice.id, &content, notice.date)?;
    sql::add_views(tx, notice.id, notice.view)?;
    tx.touch(Topic::Notices);
    Ok(())
}

/// The transaction must run alone.
fn change_in(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    id: ObjectId,
    change: &Change,
    now: Timestamp,
) -> Result<()> {
    let old = sql::content(tx, id)?.ok_or(Error::NotFound)?;
    let before = old.summary();
    let new = change.onto(old)?;
    sql::update(tx, admin, id, &new)?;
    tx.touch(Topic::Notices);
    announce(tx, now)?;
    let (id, entry) = (id.to_string(), Entry::new(Action::NoticeUpdate));
    Ok(admin.record(tx, entry.on(&id).change(Some(&before), Some(&new.summary())))?)
}

/// Returns the answer of [`List`] for a guest, or `None` if the notices are not in memory or are out of date. Never blocks.
pub fn try_list(tidings: &Tidings) -> Option<NoticeList> {
    let snapshot = tidings.notice().cache.snapshot_in_memory(tidings.store())?;
    Some(snapshot.list(&Reader::Guest, tidings.now()))
}

/// Never blocks: returns `None` if the notices are not in memory or are out of date.
fn try_get(tidings: &Tidings, id: &str) -> Option<Result<OneNotice>> {
    let snapshot = tidings.notice().cache.snapshot_in_memory(tidings.store())?;
    let found = ObjectId::parse(id).and_then(|id| snapshot.find(&Reader::Guest, id, tidings.now()));
    Some(view(tidings, &snapshot, found))
}

fn view(tidings: &Tidings, snapshot: &Snapshot, found: Option<&CachedNotice>) -> Result<OneNotice> {
    let notice = found.ok_or(Error::NotFound)?;
    Ok(OneNotice { notice_list: snapshot.view(notice, tidings.store(), today(tidings)) })
}

fn snapshot(tidings: &Tidings) -> Result<Arc<Snapshot>> {
    tidings.notice().cache.snapshot(tidings.store())
}

fn today(tidings: &Tidings) -> i64 {
    tidings.analysis().calendar.today()
}

/// The stored form; `None` if the member sees no such notice at the time `now`.
pub(crate) fn visible(
    tx: &mut dyn Tx,
    id: &str,
    member: &Member<'_>,
    now: Timestamp,
) -> Result<Option<String>> {
    let Some(id) = ObjectId::parse(id) else { return Ok(None) };
    let Some(Content { activation, placement, .. }) = sql::content(tx, id)? else { return Ok(None) };
    let is_visible = member.may(Scope::Notices) || State::of(activation, &placement, now) == State::Shown;
    Ok(is_visible.then(|| id.to_string()))
}

#[cfg(test)]
mod tests;
