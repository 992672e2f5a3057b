use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cache::CachedNotice;
use super::draft::Change;
use super::full::ListQuery;
use super::placement::Audience;
use super::reader::{Reader, read_as};
use super::{Draft, FullList, NoticeList, OneNotice, change_in, insert_in, sql};
use crate::Tidings;
use crate::account::{Admin, Call, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::config::Config;
use crate::record::activation::is_on;
use crate::record::answer::{self, Encoded, Inserted};
use crate::record::error::{Error, Outcome, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::record::schema::{FeedFormat, Switch};
use crate::record::scope::Scope;
use crate::store::{Topic, Tx};

const GROUP: &str = "notice";
const ADMINS: Access = Access::Admins(Scope::Notices);

/// List all notices, newest first
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

    fn run(self, call: &Call<'_>) -> Result<NoticeList> {
        let (snapshot, now) = (super::snapshot(call.tidings())?, call.now());
        // The identity of the caller is relevant only if not everybody sees everything.
        if !snapshot.has_restricted() {
            return Ok(snapshot.list(&Reader::Guest, now));
        }
        read_as(call.tidings(), call.caller(), |reader| snapshot.list(reader, now))
    }

    fn shared(answer: &NoticeList) -> Option<&Arc<Encoded>> {
        Some(answer.answer())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        super::try_list(tidings).map(|list| Ok(Arc::clone(list.answer())))
    }
}

/// List notices of a page
///
/// Returns the notices of the general page or of a topic, with all fields. The notices that the caller sees now, pinned ones first,
/// then the newest first. Administrators see every notice, without a `topic` also those of all topics. With `html=1` each notice
/// has its text as HTML: a safe subset of Markdown, without scripts, images and raw HTML.
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
        Ok(ListQuery { topic: self.topic.as_deref(), html: is_on(self.html, HTML_RULE)? })
    }
}

impl Operation for ListFull {
    type Answer = FullList;
    const SPEC: Spec = Spec::get(GROUP, "/get_notices", Access::Anyone).public();

    fn run(self, call: &Call<'_>) -> Result<FullList> {
        let query = self.query()?;
        // `refresh` sets the views of the notices in memory, so they are loaded first.
        super::snapshot(call.tidings())?;
        call.tidings().notice().other_views.refresh()?;
        let snapshot = super::snapshot(call.tidings())?;
        if !snapshot.has_restricted() {
            return Ok(snapshot.full_list(&Reader::Guest, &query, call.now()));
        }
        read_as(call.tidings(), call.caller(), |reader| snapshot.full_list(reader, &query, call.now()))
    }

    fn shared(answer: &FullList) -> Option<&Arc<Encoded>> {
        Some(answer.answer())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        let query = self.query().ok()?;
        let snapshot = tidings.notice().cache.snapshot_in_memory(tidings.store())?;
        let list = snapshot.cached_full_list(Audience::Everyone, &query, tidings.now())?;
        Some(Ok(Arc::clone(list.answer())))
    }
}

/// Get a notice
///
/// Counts a view. With `html=1` the notice has its text as HTML: a safe subset of Markdown, without scripts, images and raw HTML.
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

    fn run(self, call: &Call<'_>) -> Result<OneNotice> {
        let tidings = call.tidings();
        let html = is_on(self.html, HTML_RULE)?;
        let (snapshot, now) = (super::snapshot(tidings)?, call.now());
        let id = ObjectId::parse(&self.notice_obi).ok_or(Error::NotFound)?;
        let found = match snapshot.find(&Reader::Guest, id, now) {
            None if snapshot.has_restricted() => {
                read_as(tidings, call.caller(), |reader| snapshot.find(reader, id, now))?
            }
            shown => shown,
        };
        let mut answer = if call.client().is_prefetch {
            OneNotice { notice_list: found.ok_or(Error::NotFound)?.now() }
        } else {
            super::view(tidings, &snapshot, found)?
        };
        answer.notice_list.html = found.filter(|_| html).map(CachedNotice::html);
        Ok(answer)
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        if is_on(self.html, HTML_RULE).unwrap_or(true) {
            return None;
        }
        let notice = super::try_get(tidings, &self.notice_obi)?;
        Some(notice.map(|notice| Arc::new(Encoded::new(answer::success(&notice)))))
    }
}

const HTML_RULE: Problem = Problem::invalid("html", "html is 0 or 1");

/// Publish a notice
///
/// `title` and `post` are required. `result` is `success`; or `Not admin`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = NoticeFields)]
pub struct Insert {
    /// Its fields.
    #[serde(rename = "..")]
    pub draft: Draft,
}

impl Transaction for Insert {
    type By = Admin<'static>;
    type Answer = Inserted;
    const SPEC: Spec = Spec::post(GROUP, "/insert_notice", ADMINS)
        .requiring(&["title", "post"])
        .refused_with(Outcome::NotAdmin);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<Inserted> {
        let content = Change::parse(&self.draft).and_then(|change| change.of_new());
        let (id, now) = (ObjectId::at(identity.now()), identity.now());
        insert_in(tx, admin, id, content.as_ref()?, now)?;
        Ok(Inserted { id })
    }
}

/// Change a notice
///
/// Fields that are not given stay as they are. `result` is `success`; or `Not admin`.
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

impl Transaction for Update {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/update_notice/{notice_obi}", ADMINS)
        .or(&[Failure::Missing])
        .refused_with(Outcome::NotAdmin);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<()> {
        let (id, now) = (ObjectId::parse(&self.notice_obi), identity.now());
        let change = Change::parse(&self.draft).and_then(|change| change.require_any().map(|()| change));
        change_in(tx, admin, id.ok_or(Error::NotFound)?, change.as_ref()?, now)
    }
}

/// Remove a notice
///
/// `result` is `success`; or `Not admin`, `Not found`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The `_id` of the notice
    #[schema(value_type = ObjectId)]
    pub notice_obi: String,
}

impl Transaction for Remove {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/remove_notice/{notice_obi}", ADMINS).writes().refused_with(Outcome::NotAdmin);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.into()]
    }

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let id = ObjectId::parse(&self.notice_obi);
        let id = id.ok_or(Outcome::NotFound)?;
        let old = sql::content(tx, id)?.ok_or(Outcome::NotFound)?;
        sql::remove(tx, admin, id)?;
        tx.touch(Topic::Notices);
        let (id, entry) = (id.to_string(), Entry::new(Action::NoticeRemove));
        Ok(admin.record(tx, entry.on(&id).change(Some(&old.summary()), None))?)
    }
}
