//! The operations on notices.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Draft, DraftList, FullList, ListQuery, NoticeList, OneNotice, Reads};
use crate::answer::{self, Encoded, Inserted};
use crate::config::Config;
use crate::error::{Error, Outcome, Problem, Result};
use crate::id::ObjectId;
use crate::operation::{Access, Failure, Operation, Spec, Work};
use crate::schema::FeedFormat;
use crate::schema::Switch;
use crate::scope::Scope;
use crate::{Caller, Tidings};

const GROUP: &str = "notice";
const ADMINS: Access = Access::Admins(Scope::Notices);
/// The number of days of [`GetReads`] unless it says.
const READ_DAYS: i64 = 30;

/// Lists all notices, newest first
///
/// These are the notices of the general page that the caller sees now; `get_notices` also lists those of a topic.
/// Administrators see every notice.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {
    /// `json` for the object, `atom` or `json-feed` for feed readers. Without it, `Accept` can name `application/atom+xml` or
    /// `application/feed+json`.
    #[schema(value_type = Option<FeedFormat>)]
    pub format: Option<String>,
}

impl Operation for List {
    type Answer = NoticeList;
    const SPEC: Spec = Spec::get(GROUP, "/get_all_notice", Access::Anyone).public().with_formats();

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<NoticeList> {
        super::list(tidings, caller)
    }

    fn shared(answer: &NoticeList) -> Option<&Arc<Encoded>> {
        Some(answer.answer())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        super::try_list(tidings).map(|list| Ok(Arc::clone(list.answer())))
    }
}

/// Lists the notices of the general page or of a topic, with all fields
///
/// The notices that the caller sees now, pinned ones first, then the newest first. Administrators see every notice, without a
/// `topic` also those of all topics. With `html=1` each notice has its text as HTML: a safe subset of Markdown, without
/// scripts, images and raw HTML.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListFull {
    /// The topic whose notices are listed besides those without a topic.
    #[schema(examples("science"))]
    pub topic: Option<String>,
    /// 1: each notice has `html`.
    #[schema(value_type = Option<Switch>)]
    pub html: Option<i64>,
}

impl ListFull {
    fn query(&self) -> Result<ListQuery<'_>> {
        Ok(ListQuery { topic: self.topic.as_deref(), html: is_wanted(self.html)? })
    }
}

impl Operation for ListFull {
    type Answer = FullList;
    const SPEC: Spec = Spec::get(GROUP, "/get_notices", Access::Anyone).public();

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<FullList> {
        super::list_full_with_views(tidings, caller, &self.query()?)
    }

    fn shared(answer: &FullList) -> Option<&Arc<Encoded>> {
        Some(answer.answer())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        let list = super::try_list_full(tidings, &self.query().ok()?)?;
        Some(Ok(Arc::clone(list.answer())))
    }
}

/// Returns a notice and counts a view
///
/// With `html=1` the notice has its text as HTML: a safe subset of Markdown, without scripts, images and raw HTML.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Get {
    /// The `_id` of the notice
    #[schema(value_type = ObjectId)]
    pub notice_obi: String,
    /// 1: the notice has `html`.
    #[schema(value_type = Option<Switch>)]
    pub html: Option<i64>,
}

impl Operation for Get {
    type Answer = OneNotice;
    const SPEC: Spec =
        Spec::get(GROUP, "/get_notice/{notice_obi}", Access::Anyone).counts().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<OneNotice> {
        let get = if is_wanted(self.html)? { super::get_rendered } else { super::get };
        get(tidings, caller, &self.notice_obi)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        if is_wanted(self.html).unwrap_or(true) {
            return None;
        }
        let notice = super::try_get(tidings, &self.notice_obi)?;
        Some(notice.map(|notice| Arc::new(Encoded::new(answer::success(&notice)))))
    }
}

fn is_wanted(html: Option<i64>) -> Result<bool> {
    match html {
        None | Some(0) => Ok(false),
        Some(1) => Ok(true),
        Some(_) => Err(Error::BadRequest(Problem::invalid("html", "html is 0 or 1"))),
    }
}

/// Returns the failures of operations that answer everyone who may not call them with `Not admin`.
fn not_admin(_: &Config) -> Vec<Error> {
    Outcome::not_admin(Scope::Notices).into()
}

/// Publishes a notice
///
/// `title` and `post` are required. `result` is `success`; or `Not admin`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = NoticeFields)]
pub struct Insert {
    /// Its fields.
    #[serde(rename = "..")]
    pub draft: Draft,
}

impl Operation for Insert {
    type Answer = Inserted;
    const SPEC: Spec = Spec::post(GROUP, "/insert_notice", ADMINS).requiring(&["title", "post"]);

    fn refusals(settings: &Config) -> Vec<Error> {
        not_admin(settings)
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Inserted> {
        super::insert(tidings, caller, &self.draft)
    }
}

/// Changes the given fields of a notice
///
/// `result` is `success`; or `Not admin`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = NoticeFields)]
pub struct Update {
    /// The `_id` of the notice
    #[schema(value_type = ObjectId)]
    pub notice_obi: String,
    /// Its new fields.
    #[serde(rename = "..")]
    pub draft: Draft,
}

impl Operation for Update {
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/update_notice/{notice_obi}", ADMINS).or(&[Failure::Missing]);

    fn refusals(settings: &Config) -> Vec<Error> {
        not_admin(settings)
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::update(tidings, caller, &self.notice_obi, &self.draft)
    }
}

/// Removes a notice
///
/// `result` is `success`; or `Not admin`, `Not found`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The `_id` of the notice
    #[schema(value_type = ObjectId)]
    pub notice_obi: String,
}

impl Operation for Remove {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/remove_notice/{notice_obi}", ADMINS).writes();

    fn refusals(settings: &Config) -> Vec<Error> {
        let mut refusals = not_admin(settings);
        refusals.push(Outcome::NotFound.into());
        refusals
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::remove(tidings, caller, &self.notice_obi)
    }
}

/// Lists the saved drafts of all administrators, the one that was saved last first
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListDrafts {}

impl Operation for ListDrafts {
    type Answer = DraftList;
    const SPEC: Spec = Spec::get(GROUP, "/get_notice_drafts", ADMINS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<DraftList> {
        super::drafts(tidings, caller)
    }
}

/// Saves a draft of a notice
///
/// At least one field of the notice is required. There are at most 200 drafts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = NoticeDraftFields)]
pub struct SaveDraft {
    /// The `_id` of a saved draft, which is replaced. A new draft is saved by default.
    #[schema(value_type = Option<ObjectId>)]
    pub draft: Option<String>,
    /// The `_id` of the notice that the draft changes. A new notice by default.
    #[schema(value_type = Option<ObjectId>)]
    pub notice: Option<String>,
    /// The fields of the notice.
    #[serde(rename = "..")]
    pub fields: Draft,
}

impl Operation for SaveDraft {
    type Answer = Inserted;
    const SPEC: Spec = Spec::post(GROUP, "/save_notice_draft", ADMINS).or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Inserted> {
        super::save_draft(tidings, caller, self.draft.as_deref(), self.notice.as_deref(), &self.fields)
    }
}

/// Publishes a draft and removes it
///
/// Inserts the notice, or changes the notice that the draft names, and returns the `_id` of the notice.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PublishDraft {
    /// The `_id` of the draft
    #[schema(value_type = ObjectId)]
    pub draft_obi: String,
}

impl Operation for PublishDraft {
    type Answer = Inserted;
    const SPEC: Spec =
        Spec::get(GROUP, "/publish_notice_draft/{draft_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Inserted> {
        super::publish_draft(tidings, caller, &self.draft_obi)
    }
}

/// Removes a draft
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RemoveDraft {
    /// The `_id` of the draft
    #[schema(value_type = ObjectId)]
    pub draft_obi: String,
}

impl Operation for RemoveDraft {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/remove_notice_draft/{draft_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::remove_draft(tidings, caller, &self.draft_obi)
    }
}

/// Returns how often a notice was read on each of the last days
///
/// One entry for each calendar day, oldest first; the last one is today.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetReads {
    /// The `_id` of the notice
    #[schema(value_type = ObjectId)]
    pub notice_obi: String,
    /// The number of days, {notice-days}; 30 by default.
    pub days: Option<i64>,
}

impl Operation for GetReads {
    type Answer = Reads;
    const SPEC: Spec =
        Spec::get(GROUP, "/get_notice_reads/{notice_obi}", ADMINS).works(Work::Store).or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Reads> {
        super::reads(tidings, caller, &self.notice_obi, self.days.unwrap_or(READ_DAYS))
    }
}
