//! Mail to members. An operation appends a mail to the outbox in its own transaction, and a thread of the service writes and sends
//! it. A code is made when it is sent, so the database never has one, and a repeated mail has a later one. A mail contains only
//! texts of the service and ids, so callers cannot send texts of their own.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::clock::Timestamp;
use crate::record::id::ObjectId;
use crate::record::schema::{one_of, schemas};

pub(crate) mod address;
pub(crate) mod letter;
pub(crate) mod limit;
mod operations;
pub(crate) mod outbox;
mod queue;
mod smtp;
mod templates;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use operations::latest;
pub use operations::{List, Retry, Test, TestResult};
pub use outbox::Kind;
pub(crate) use queue::start;
pub use smtp::check;

const LIST_MAX: i64 = 1_000;

/// The state of a mail that was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits, or waits to be tried again.
    Pending,
    /// It was given up.
    Dead,
}

schemas! {
    State = one_of(["pending", "dead"]);
}

/// The mail that was not sent.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Mails {
    /// At most 1,000, latest first.
    #[schema(max_items = 1_000)]
    pub mails: Vec<Mail>,
}

/// A mail that was not sent. Its address is not shown.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Mail {
    /// Its id, which is part of its `Message-ID`.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// What it is for.
    #[schema(value_type = Kind)]
    pub kind: Kind,
    /// The id of the member; null before it is known whether there is one.
    #[schema(max_length = 1_000, examples("ann"))]
    pub user_id: Option<String>,
    /// The date when it was asked for.
    pub date: Timestamp,
    /// `pending`, or `dead` if it was given up.
    #[schema(value_type = State)]
    pub state: State,
    /// The number of failed attempts.
    pub attempts: i64,
    /// The date of the next attempt; null if it was given up.
    pub next_attempt: Option<Timestamp>,
    /// Why the latest attempt failed; null before the first one.
    #[schema(max_length = 1_000, examples("the mail server answered 421"))]
    pub error: Option<String>,
}
