//! Feedback: texts that members send to the administrators, on a notice or in general.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::{Admin, Member, REMOVED};
use crate::base::clock::Timestamp;
use crate::base::config::Bounds;
use crate::record::activation::activation;
use crate::record::error::{Code, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::schema::Switch;

pub(crate) use limit::prune;
pub use operations::{List, ListAll, Mark, Message, SendGeneral, SendOnNotice};
pub(crate) use sql::{get, insert, of_member};

mod limit;
mod operations;
#[cfg(test)]
mod tests;

/// The length of a type in characters.
pub const KIND: Bounds = Bounds { min: 1, max: 50 };
const GENERAL: &str = "general";
/// The length of a text in characters.
pub const POST: Bounds = Bounds { min: 1, max: 5_000 };
/// The maximum number of entries of a list.
pub const LIST_MAX: i64 = 1_000;
const LIST: i64 = 100;

/// The problem of feedback on a notice that the member cannot see.
pub const NO_NOTICE: Problem = Problem::new(Code::NotFound, "there is no such notice");
const KIND_RULE: Problem = Problem::invalid("type", "type is 1 to 50 visible characters on one line");
/// The rule of the text.
pub const POST_RULE: Problem = Problem::invalid("post", "post is 1 to 5,000 characters");

activation! {
    /// Whether administrators have dealt with feedback.
    FeedbackState {
    /// An administrator has marked the feedback as done.
    Done,
    /// No administrator has dealt with the feedback yet, or one has reopened it.
    Open
    }
}

/// The answer to listing the feedback.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedbackList {
    /// At most 1,000 entries, newest first.
    pub feedback_list: Vec<Feedback>,
}

/// Feedback of a member. The names of its fields are those of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Feedback {
    /// Its id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    #[schema(max_length = 50, examples("general"))]
    pub kind: String,
    /// Its text.
    #[schema(max_length = 5_000, examples("The search is fast."))]
    pub post: String,
    /// The id of the member who wrote it; `removed` if that member has been removed.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub author: String,
    /// The date when it was sent.
    pub date: Timestamp,
    /// The id of the notice that it is on, which may have been removed; `""` if it is on no notice.
    #[schema(pattern = "^([0-9a-f]{24})?$", examples(""))]
    pub notice: String,
    /// 1 if it is open, 0 if it is done.
    #[schema(value_type = Switch)]
    pub activation: FeedbackState,
}

/// A page of feedback.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedbackPage {
    /// At most 1,000 entries, newest first.
    pub feedback: Vec<Feedback>,
    /// The id after which the next page begins; `None` on the last page.
    #[schema(value_type = Option<ObjectId>)]
    pub next: Option<String>,
}

mod sql {
    use super::{Admin, Feedback, FeedbackState, Member, ObjectId, REMOVED, Timestamp};
    use crate::store::{Row, StoreError, Topic, Tx};

    /// `notice` is `""` if the feedback is on no notice.
    pub(crate) fn insert(
        tx: &mut dyn Tx,
        author: &Member<'_>,
        id: ObjectId,
        (kind, post): (&str, &str),
        notice: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO feedback (id, type, post, member, notice, activation, date)
                   VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let id = id.to_string();
        let (member, notice, now) = (author.key.into(), notice.into(), now.into());
        let state = FeedbackState::Open.into();
        tx.run(sql, &[(&id).into(), kind.into(), post.into(), member, notice, state, now])?;
        tx.touch(Topic::Feedback);
        Ok(())
    }

    /// Only open feedback unless `all`; newest first.
    pub(super) fn list(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        all: bool,
        before: i64,
        limit: i64,
    ) -> Result<Vec<Feedback>, StoreError> {
        tx.rows(&page(all), &[before.into(), limit.into()])?.into_iter().map(feedback).collect()
    }

    /// For the webhooks that administrators have added.
    pub(crate) fn get(tx: &mut dyn Tx, id: &str) -> Result<Option<Feedback>, StoreError> {
        let sql = format!("{SELECT} WHERE f.id = $1");
        tx.row(&sql, &[id.into()])?.map(feedback).transpose()
    }

    const SELECT: &str = "SELECT f.id, f.type, f.post, m.id, f.date, f.notice, f.activation
                          FROM feedback f LEFT JOIN member m ON m.key = f.member";

    fn feedback(mut row: Row) -> Result<Feedback, StoreError> {
        Ok(Feedback {
            id: row.take(0)?,
            kind: row.take(1)?,
            post: row.take(2)?,
            author: row.take::<Option<String>>(3)?.unwrap_or_else(|| REMOVED.to_owned()),
            date: row.take(4)?,
            notice: row.take(5)?,
            activation: row.take(6)?,
        })
    }

    /// Earliest first, with the key of the last one if more may follow.
    pub(crate) fn of_member(
        tx: &mut dyn Tx,
        author: &Member<'_>,
        after: i64,
        limit: i64,
    ) -> Result<(Vec<Feedback>, Option<i64>), StoreError> {
        let sql = "SELECT id, type, post, date, notice, activation, key FROM feedback
                   WHERE member = $1 AND key > $2 ORDER BY key LIMIT $3";
        let rows = tx.rows(sql, &[author.key.into(), after.into(), limit.into()])?;
        let (is_full, mut last) = (i64::try_from(rows.len()) == Ok(limit), None);
        let feedback = |mut row: Row| {
            last = Some(row.take(6)?);
            Ok(Feedback {
                id: row.take(0)?,
                kind: row.take(1)?,
                post: row.take(2)?,
                author: author.id.clone(),
                date: row.take(3)?,
                notice: row.take(4)?,
                activation: row.take(5)?,
            })
        };
        let sent = rows.into_iter().map(feedback).collect::<Result<_, StoreError>>()?;
        Ok((sent, last.filter(|_| is_full)))
    }

    pub(super) fn page(all: bool) -> String {
        // Keys increase with each insertion. Only a statement that names the state can use the index of open feedback.
        let state = if all { "" } else { "f.activation = 1 AND" };
        format!("{SELECT} WHERE {state} f.key < $1 ORDER BY f.key DESC LIMIT $2")
    }

    pub(super) fn key(tx: &mut dyn Tx, _: &Admin<'_>, id: &str) -> Result<Option<i64>, StoreError> {
        let found = tx.rows("SELECT key FROM feedback WHERE id = $1", &[id.into()])?;
        found.into_iter().next().map(|mut row| row.take(0)).transpose()
    }

    /// Returns false if no feedback has this id.
    pub(super) fn set_state(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        id: ObjectId,
        state: FeedbackState,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql =
            "UPDATE feedback SET activation = $2, done = CASE WHEN activation = $2 THEN done ELSE $3 END
                   WHERE id = $1";
        let (id, done) = (id.to_string(), (state == FeedbackState::Done).then_some(now));
        tx.touch(Topic::Feedback);
        Ok(tx.run(sql, &[(&id).into(), state.into(), done.into()])? > 0)
    }
}
