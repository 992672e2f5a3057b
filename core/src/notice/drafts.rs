use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Change, Draft, change_in, insert_in, sql as notices};

use crate::account::{Admin, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::clock::Timestamp;
use crate::record::answer::Inserted;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Spec};
use crate::record::scope::Scope;
use crate::store::{StoreError, Tx};

/// The maximum number of saved drafts.
pub const DRAFTS_MAX: usize = 200;

const TOO_MANY: Problem =
    Problem::new(Code::NotPossible, "there are 200 drafts: publish or remove one before you save another");

/// A saved draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SavedDraft {
    /// Its id.
    #[serde(rename = "_id")]
    pub id: ObjectId,
    /// The id of the notice that it changes, which may have been removed; `null` for a new notice.
    #[schema(required = true)]
    pub notice: Option<ObjectId>,
    /// The date when it was saved last.
    pub date: Timestamp,
    /// The fields as they were saved; `null` for those that are not given.
    #[serde(flatten)]
    pub fields: Draft,
}

/// The answer to listing the drafts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DraftList {
    /// The drafts of all administrators, the one that was saved last first.
    #[schema(max_items = 200)]
    pub drafts: Vec<SavedDraft>,
}

/// Save a notice draft
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

impl Transaction for SaveDraft {
    type By = Admin<'static>;
    type Answer = Inserted;
    const SPEC: Spec =
        Spec::post("notice", "/save_notice_draft", Access::Admins(Scope::Notices)).or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<Inserted> {
        Change::parse(&self.fields)?.require_any()?;
        let content = serde_json::to_string(&self.fields).map_err(|error| Error::Internal(error.into()))?;
        let known = |id: &String| ObjectId::parse(id).ok_or(Error::NotFound);
        let notice = self.notice.as_ref().map(known).transpose()?;
        if let Some(notice) = notice {
            notices::content(tx, notice)?.ok_or(Error::NotFound)?;
        }
        let now = identity.now();
        let id = match self.draft.as_ref().map(known).transpose()? {
            Some(id) => {
                if !sql::replace(tx, admin, id, notice, &content, now)? {
                    return Err(Error::NotFound);
                }
                id
            }
            None if sql::count(tx, admin)? >= DRAFTS_MAX => return Err(Error::BadRequest(TOO_MANY)),
            None => {
                let id = ObjectId::at(now);
                sql::insert(tx, admin, id, notice, &content, now)?;
                id
            }
        };
        record(tx, admin, Action::NoticeDraftSave, id)?;
        Ok(Inserted { id })
    }
}

fn record(tx: &mut dyn Tx, admin: &Admin<'_>, action: Action, id: ObjectId) -> Result<(), StoreError> {
    admin.record(tx, Entry::new(action).on(&id.to_string()))
}

/// List notice drafts, latest first
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListDrafts {}

impl Transaction for ListDrafts {
    type By = Admin<'static>;
    type Answer = DraftList;
    const SPEC: Spec = Spec::get("notice", "/get_notice_drafts", Access::Admins(Scope::Notices));

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<DraftList> {
        Ok(DraftList { drafts: sql::all(tx, admin)? })
    }
}

/// Remove a draft
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RemoveDraft {
    /// The `_id` of the draft
    #[schema(value_type = ObjectId)]
    pub draft_obi: String,
}

impl Transaction for RemoveDraft {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get("notice", "/remove_notice_draft/{draft_obi}", Access::Admins(Scope::Notices))
            .writes()
            .or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let id = ObjectId::parse(&self.draft_obi);
        let id = id.ok_or(Error::NotFound)?;
        if !sql::remove(tx, admin, id)? {
            return Err(Error::NotFound);
        }
        Ok(record(tx, admin, Action::NoticeDraftRemove, id)?)
    }
}

/// Publish and remove a draft
///
/// Inserts the notice, or changes the notice that the draft names, and returns the `_id` of the notice.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PublishDraft {
    /// The `_id` of the draft
    #[schema(value_type = ObjectId)]
    pub draft_obi: String,
}

impl Transaction for PublishDraft {
    type By = Admin<'static>;
    type Answer = Inserted;
    const SPEC: Spec =
        Spec::get("notice", "/publish_notice_draft/{draft_obi}", Access::Admins(Scope::Notices))
            .writes()
            .or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<Inserted> {
        let id = ObjectId::parse(&self.draft_obi);
        let (new, now) = (ObjectId::at(identity.now()), identity.now());
        let draft = sql::get(tx, admin, id.ok_or(Error::NotFound)?)?.ok_or(Error::NotFound)?;
        let change = Change::parse(&draft.fields)?;
        let notice = if let Some(notice) = draft.notice {
            change_in(tx, admin, notice, &change, now)?;
            notice
        } else {
            insert_in(tx, admin, new, &change.of_new()?, now)?;
            new
        };
        sql::remove(tx, admin, draft.id)?;
        Ok(Inserted { id: notice })
    }
}

mod sql {
    use super::{Error, ObjectId, Result, SavedDraft, Timestamp};
    use crate::account::Admin;
    use crate::store::{Row, StoreError, Tx};

    pub(super) fn insert(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        id: ObjectId,
        notice: Option<ObjectId>,
        content: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO notice_draft (id, notice, content, date) VALUES ($1, $2, $3, $4)";
        let (id, notice) = (id.to_string(), notice.map(|notice| notice.to_string()));
        tx.run(sql, &[(&id).into(), notice.as_deref().into(), content.into(), now.into()])?;
        Ok(())
    }

    pub(super) fn replace(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        id: ObjectId,
        notice: Option<ObjectId>,
        content: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE notice_draft SET notice = $2, content = $3, date = $4 WHERE id = $1";
        let (id, notice) = (id.to_string(), notice.map(|notice| notice.to_string()));
        Ok(tx.run(sql, &[(&id).into(), notice.as_deref().into(), content.into(), now.into()])? > 0)
    }

    pub(super) fn remove(tx: &mut dyn Tx, _: &Admin<'_>, id: ObjectId) -> Result<bool, StoreError> {
        let id = id.to_string();
        Ok(tx.run("DELETE FROM notice_draft WHERE id = $1", &[(&id).into()])? > 0)
    }

    pub(super) fn count(tx: &mut dyn Tx, _: &Admin<'_>) -> Result<usize, StoreError> {
        let count: i64 = tx.one("SELECT count(*) FROM notice_draft", &[])?.take(0)?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    pub(super) fn get(tx: &mut dyn Tx, _: &Admin<'_>, id: ObjectId) -> Result<Option<SavedDraft>> {
        let sql = "SELECT id, notice, content, date FROM notice_draft WHERE id = $1";
        let id = id.to_string();
        tx.row(sql, &[(&id).into()])?.map(draft).transpose()
    }

    pub(super) fn all(tx: &mut dyn Tx, _: &Admin<'_>) -> Result<Vec<SavedDraft>> {
        let sql = "SELECT id, notice, content, date FROM notice_draft ORDER BY date DESC, key DESC";
        tx.rows(sql, &[])?.into_iter().map(draft).collect()
    }

    fn draft(mut row: Row) -> Result<SavedDraft> {
        let id = |text: &str| {
            ObjectId::parse(text).ok_or_else(|| Error::Internal("a stored id of a draft is invalid".into()))
        };
        Ok(SavedDraft {
            id: id(&row.take::<String>(0)?)?,
            notice: row.take::<Option<String>>(1)?.map(|notice| id(&notice)).transpose()?,
            fields: serde_json::from_str(&row.take::<String>(2)?)
                .map_err(|error| Error::Internal(error.into()))?,
            date: row.take(3)?,
        })
    }
}
