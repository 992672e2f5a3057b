//! Notices: texts that administrators publish for all callers.
//!
//! All notices are cached in memory (`notice/cache.rs`), so that reading them needs no database access. This is
//! possible because only administrators write them, so they are few, and their length is bounded. Views are also
//! counted in memory and written together with other commits (`notice/views.rs`).

use std::sync::Arc;

use serde::Serialize;

use crate::Tidings;
use crate::account::{Admin, Caller, Member};
use crate::activation::activation;
use crate::answer::{self, Encoded, Inserted};
use crate::clock::Timestamp;
use crate::config::Bounds;
use crate::error::{BrokenRule, Code, Error, Outcome, Problem, Result};
use crate::id::ObjectId;
use crate::scope::Scope;
use crate::store::{Isolation, StoreError, Topic, Tx};
use crate::text;
use crate::trail::{Action, Entry};

mod cache;
mod follow;
mod views;

pub(crate) use cache::NoticeCache;
use cache::{CachedNotice, Snapshot};
pub use follow::NoticeChange;
pub(crate) use follow::SeenNotices;

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
    tidings_text::compose(text).chars().count()
}

/// A notice. The names and the order of its fields are those of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Notice {
    /// Its id.
    #[serde(rename = "_id")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ObjectId,
    /// Its title, one line.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub title: Arc<str>,
    /// Its text.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub post: Arc<str>,
    /// The number of calls of `get_notice` for it.
    pub view: i64,
    /// The date when it was inserted.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub date: Timestamp,
    /// 1 if everybody sees it, 0 if only administrators see it.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub activation: Visibility,
}

impl Notice {
    fn is_hidden(&self) -> bool {
        self.activation == Visibility::Hidden
    }
}

/// The input of [`insert`] and [`update`].
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The title, 1 to 200 characters on one line.
    pub title: Option<String>,
    /// The text, 1 to 20,000 characters.
    pub post: Option<String>,
    /// 1 shown, 0 hidden; a new notice is shown by default.
    pub activation: Option<i64>,
}

impl Draft {
    /// Checks the given fields and returns them in the form in which they are stored.
    fn checked(&self) -> Result<Checked, BrokenRule> {
        let title = self.title.as_ref().map(|title| {
            text::line(title, TITLE)
                .ok_or(BrokenRule(Problem::invalid("title", "title is one line of 1 to 200 characters")))
        });
        let post = self.post.as_ref().map(|post| {
            let rule =
                "post has 1 to 20,000 characters and no control characters except tabs and line breaks";
            text::block(post, POST).ok_or(BrokenRule(Problem::invalid("post", rule)))
        });
        let activation = self.activation.map(|activation| {
            Visibility::from_activation(activation).ok_or(BrokenRule(crate::activation::RULE))
        });
        Ok(Checked {
            activation: activation.transpose()?,
            title: title.transpose()?,
            post: post.transpose()?,
        })
    }
}

const TITLE_MISSING: Problem = Problem::missing("title", "title and post must be given");
const POST_MISSING: Problem = Problem::missing("post", "title and post must be given");

/// A draft whose given fields are valid.
struct Checked {
    title: Option<String>,
    post: Option<String>,
    activation: Option<Visibility>,
}

/// Several notices, newest first. Cheap to clone.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NoticeList {
    /// The notices, newest first.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Notice>))]
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

/// The answer to getting a notice.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OneNotice {
    /// The notice. It is one notice and not a list; existing clients expect this name.
    pub notice_list: Notice,
}

/// Publishes a notice.
///
/// # Errors
/// `Not admin`; `bad request` if the title or the text is missing, or a field breaks its rule.
pub fn insert(tidings: &Tidings, caller: &Caller, draft: &Draft) -> Result<Inserted> {
    let (identity, checked) = (caller.identify(tidings), draft.checked());
    let (id, now) = (ObjectId::new(tidings.clock()), tidings.now());
    let written = tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Notices)?;
        let Checked { title, post, activation } = checked.as_ref()?;
        let title = title.as_ref().ok_or(Error::BadRequest(TITLE_MISSING))?;
        let post = post.as_ref().ok_or(Error::BadRequest(POST_MISSING))?;
        sql::insert(tx, &admin, id, title, post, activation.unwrap_or(Visibility::Shown), now)?;
        record(tx, &admin, Action::NoticeInsert, id, None)?;
        tx.touch(Topic::Notices);
        Ok(Inserted { id })
    });
    written.map_err(|e: Error| e.unless_authorised(Outcome::NotAdmin))
}

/// A notice of the demo data, with its views.
#[cfg(feature = "demo")]
pub(crate) struct DemoNotice {
    pub(crate) id: ObjectId,
    pub(crate) title: &'static str,
    pub(crate) post: &'static str,
    pub(crate) is_shown: bool,
    pub(crate) view: i64,
    pub(crate) date: Timestamp,
}

/// Inserts a notice of the demo data.
#[cfg(feature = "demo")]
pub(crate) fn insert_demo(tx: &mut dyn Tx, admin: &Admin<'_>, notice: &DemoNotice) -> Result<()> {
    sql::insert(
        tx,
        admin,
        notice.id,
        notice.title,
        notice.post,
        Visibility::shown_if(notice.is_shown),
        notice.date,
    )?;
    sql::add_views(tx, notice.id, notice.view)?;
    tx.touch(Topic::Notices);
    Ok(())
}

/// Changes the fields of a notice that the draft contains; the date and the views do not change.
///
/// # Errors
/// `Not admin`; `bad request` if the draft is empty or a field breaks its rule; `Not found`.
pub fn update(tidings: &Tidings, caller: &Caller, id: &str, draft: &Draft) -> Result<()> {
    let (identity, checked, id) = (caller.identify(tidings), draft.checked(), ObjectId::parse(id));
    let written = tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Notices)?;
        let checked = checked.as_ref()?;
        if let Checked { title: None, post: None, activation: None } = checked {
            return Err(Error::BadRequest(Problem::new(
                Code::NothingGiven,
                "title, post or activation must be given",
            )));
        }
        let id = id.ok_or(Error::NotFound)?;
        let before = sql::summary(tx, id)?;
        if !sql::update(tx, &admin, id, checked)? {
            return Err(Error::NotFound);
        }
        record(tx, &admin, Action::NoticeUpdate, id, before)?;
        tx.touch(Topic::Notices);
        Ok(())
    });
    written.map_err(|e: Error| e.unless_authorised(Outcome::NotAdmin))
}

/// Removes a notice; feedback on it remains.
///
/// # Errors
/// `Not admin`, `Not found`.
pub fn remove(tidings: &Tidings, caller: &Caller, id: &str) -> Result<()> {
    let (identity, id) = (caller.identify(tidings), ObjectId::parse(id));
    let written = tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Notices)?;
        let id = id.ok_or(Outcome::NotFound)?;
        let before = sql::summary(tx, id)?;
        if !sql::remove(tx, &admin, id)? {
            return Err(Outcome::NotFound.into());
        }
        record(tx, &admin, Action::NoticeRemove, id, before)?;
        tx.touch(Topic::Notices);
        Ok(())
    });
    written.map_err(|e: Error| e.unless_authorised(Outcome::NotAdmin))
}

/// Returns the notices that the caller may see, newest first. Administrators also see hidden ones.
///
/// Views that another process counts appear only after the next change of a notice. A caller with an invalid token is
/// answered as a guest.
///
/// # Errors
/// An error of the store.
pub fn list(tidings: &Tidings, caller: &Caller) -> Result<NoticeList> {
    let snapshot = tidings.notice_cache().snapshot(tidings.store())?;
    // The identity of the caller is relevant only if a notice is hidden.
    if snapshot.has_hidden()
        && let Some(all) =
            caller.identify(tidings).if_admin(tidings, Scope::Notices, |admin| snapshot.all(admin))?
    {
        return Ok(all);
    }
    Ok(snapshot.shown())
}

/// Returns the answer of [`list`] for a guest, or `None` if the notices are not in memory or are out of date. Never
/// blocks.
pub fn try_list(tidings: &Tidings) -> Option<NoticeList> {
    Some(tidings.notice_cache().snapshot_in_memory(tidings.store())?.shown())
}

/// Counts a view of a notice and returns the notice. A caller with an invalid token is answered as a guest.
///
/// # Errors
/// `Not found` if no notice that the caller may see has this id.
pub fn get(tidings: &Tidings, caller: &Caller, id: &str) -> Result<OneNotice> {
    let snapshot = tidings.notice_cache().snapshot(tidings.store())?;
    let id = ObjectId::parse(id).ok_or(Error::NotFound)?;
    let found = match snapshot.find_shown(id) {
        None if snapshot.has_hidden() => {
            let any = caller
                .identify(tidings)
                .if_admin(tidings, Scope::Notices, |admin| snapshot.find(admin, id))?;
            any.flatten()
        }
        shown => shown,
    };
    read(tidings, &snapshot, found)
}

/// Does the same as [`get`] for a guest, or returns `None` if the notices are not in memory or are out of date. Never
/// blocks.
pub fn try_get(tidings: &Tidings, id: &str) -> Option<Result<OneNotice>> {
    let snapshot = tidings.notice_cache().snapshot_in_memory(tidings.store())?;
    let found = ObjectId::parse(id).and_then(|id| snapshot.find_shown(id));
    Some(read(tidings, &snapshot, found))
}

fn read(tidings: &Tidings, snapshot: &Snapshot, found: Option<&CachedNotice>) -> Result<OneNotice> {
    let notice = found.ok_or(Error::NotFound)?;
    Ok(OneNotice { notice_list: snapshot.view(notice, tidings.store()) })
}

/// Returns the id of a notice in its stored form, or `None` if no notice that the member may see has this id.
pub(crate) fn visible(tx: &mut dyn Tx, id: &str, member: &Member<'_>) -> Result<Option<String>> {
    let Some(id) = ObjectId::parse(id) else { return Ok(None) };
    let visibility = sql::visibility(tx, id)?;
    let visible = visibility.is_some_and(|visibility| member.admin || visibility == Visibility::Shown);
    Ok(visible.then(|| id.to_string()))
}

/// Appends a change of a notice to the audit trail, with what the notice was before and is now.
fn record(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    action: Action,
    id: ObjectId,
    before: Option<String>,
) -> Result<(), StoreError> {
    let (subject, after) = (id.to_string(), sql::summary(tx, id)?);
    admin.record(tx, Entry::new(action).on(&subject).change(before.as_deref(), after.as_deref()))
}

mod sql {
    use super::{Admin, Checked, Error, Notice, ObjectId, Result, Timestamp, Tx, Visibility};
    use crate::store::{Row, StoreError};

    pub(super) fn insert(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        id: ObjectId,
        title: &str,
        post: &str,
        visibility: Visibility,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO notice (id, title, post, activation, date) VALUES ($1, $2, $3, $4, $5)";
        let id = id.to_string();
        tx.run(sql, &[(&id).into(), title.into(), post.into(), visibility.into(), now.into()])?;
        Ok(())
    }

    /// Changes a notice; returns false if no notice has this id.
    pub(super) fn update(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        id: ObjectId,
        fields: &Checked,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE notice SET title = COALESCE($2, title), post = COALESCE($3, post),
                   activation = COALESCE($4, activation) WHERE id = $1";
        let (id, Checked { title, post, activation }) = (id.to_string(), fields);
        let (title, post) = (title.as_deref(), post.as_deref());
        Ok(tx.run(sql, &[(&id).into(), title.into(), post.into(), (*activation).into()])? > 0)
    }

    /// Removes a notice; returns false if no notice has this id.
    pub(super) fn remove(tx: &mut dyn Tx, _: &Admin<'_>, id: ObjectId) -> Result<bool, StoreError> {
        let id = id.to_string();
        Ok(tx.run("DELETE FROM notice WHERE id = $1", &[(&id).into()])? > 0)
    }

    /// Describes a notice in one line.
    pub(super) fn summary(tx: &mut dyn Tx, id: ObjectId) -> Result<Option<String>, StoreError> {
        let id = id.to_string();
        let sql = "SELECT title, length(post), activation FROM notice WHERE id = $1";
        let Some(mut row) = tx.row(sql, &[(&id).into()])? else { return Ok(None) };
        let (title, length): (String, i64) = (row.take(0)?, row.take(1)?);
        let state = if row.take::<Visibility>(2)? == Visibility::Shown { "shown" } else { "hidden" };
        Ok(Some(format!("{title} ({state}, {length} characters)")))
    }

    pub(super) fn visibility(tx: &mut dyn Tx, id: ObjectId) -> Result<Option<Visibility>, StoreError> {
        let id = id.to_string();
        let row = tx.row("SELECT activation FROM notice WHERE id = $1", &[(&id).into()])?;
        row.map(|mut row| row.take(0)).transpose()
    }

    /// Returns all notices, newest first.
    pub(super) fn all(tx: &mut dyn Tx) -> Result<Vec<Notice>> {
        let sql = "SELECT id, title, post, view, date, activation FROM notice ORDER BY date DESC, key DESC";
        let notice = |mut row: Row| {
            let id: String = row.take(0)?;
            Ok(Notice {
                id: ObjectId::parse(&id)
                    .ok_or_else(|| Error::Internal("a stored notice id is invalid".into()))?,
                title: row.take::<String>(1)?.into(),
                post: row.take::<String>(2)?.into(),
                view: row.take(3)?,
                date: row.take(4)?,
                activation: row.take(5)?,
            })
        };
        tx.rows(sql, &[])?.into_iter().map(notice).collect()
    }

    /// Adds to the views of a notice unless it has been removed.
    pub(super) fn add_views(tx: &mut dyn Tx, id: ObjectId, views: i64) -> Result<(), StoreError> {
        let id = id.to_string();
        tx.run("UPDATE notice SET view = view + $2 WHERE id = $1", &[(&id).into(), views.into()])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
