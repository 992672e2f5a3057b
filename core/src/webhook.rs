//! Webhooks: other systems that are told about published notices and feedback. An operation appends an event to the outbox in its
//! own transaction. A thread of the service sends it, signed as Standard Webhooks does, and only to public addresses. A receiver
//! gets each delivery at least once, and recognises repeated ones by their id.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Bounds;
use crate::record::error::{Code, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::schema::{one_of, schemas};

mod operations;
pub(crate) mod outbox;
mod queue;
mod send;
mod sql;
#[cfg(test)]
mod tests;

pub use operations::{Add, List, ListDeliveries, Remove, Retry, Rotate, Test};
pub use outbox::Event;
pub use queue::Figures;
pub(crate) use queue::{Counters, start};

/// The length of a name in characters.
pub const NAME: Bounds = Bounds { min: 1, max: 50 };
/// The maximum number of webhooks.
pub const WEBHOOKS_MAX: usize = 50;
/// A replaced secret also signs for this time.
const ROTATION_MS: i64 = DAY_MS;
const LIST_MAX: i64 = 1_000;

const NAME_RULE: Problem = Problem::invalid("name", "name is 1 to 50 visible characters on one line");
const NAME_TAKEN: Problem =
    Problem::new(Code::NameTaken, "another webhook has this name: remove it first, or choose another name")
        .of("name");
/// The problem of an event that does not exist.
pub const EVENT_RULE: Problem =
    Problem::invalid("events", "an event is notice.published, feedback.created or source.failing");
const NO_EVENT: Problem = Problem::missing("events", "a webhook needs at least one event");
const TOO_MANY: Problem =
    Problem::new(Code::NotPossible, "there are 50 webhooks already: remove one before you add another");

/// The answer to adding a webhook, or to replacing its secret.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct WebhookSecret {
    /// The id of the webhook.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// The secret with which deliveries are signed. It is not shown again.
    #[serde(serialize_with = "text_of")]
    #[schema(value_type = String, pattern = "^whsec_[A-Za-z0-9+/]{43}=$", examples("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="))]
    pub secret: Zeroizing<String>,
}

fn text_of<S: serde::Serializer>(secret: &Zeroizing<String>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(secret)
}

/// The webhooks.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhooks {
    /// The webhooks by name.
    #[schema(max_items = 50)]
    pub webhooks: Vec<Webhook>,
}

/// A webhook, without its secret.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// Its id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// What it is for.
    #[schema(max_length = 50, examples("chat"))]
    pub name: String,
    /// The address of the receiver.
    #[schema(max_length = 1_000, examples("https://chat.example.org/hooks/news"))]
    pub url: String,
    /// What it is told about.
    #[schema(value_type = Vec<Event>)]
    pub events: Vec<Event>,
    /// The date when it was added.
    pub date: Timestamp,
    /// The number of deliveries that wait, or wait to be tried again.
    pub pending: i64,
    /// The number of deliveries that were given up in the last 30 days.
    pub dead: i64,
}

/// The answer to testing a webhook.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Queued {
    /// The id of the delivery.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
}

/// The deliveries that no receiver has accepted.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deliveries {
    /// At most 1,000, latest first.
    #[schema(max_items = 1_000)]
    pub deliveries: Vec<Delivery>,
}

/// A delivery that its receiver has not accepted.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// Its id, which the receiver gets as `webhook-id`.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// The name of the webhook.
    #[schema(max_length = 50, examples("chat"))]
    pub webhook: String,
    /// The event.
    #[schema(max_length = 50, examples("notice.published"))]
    pub event: String,
    /// The date of the event.
    pub date: Timestamp,
    /// `pending`, or `dead` if it was given up.
    pub state: DeliveryState,
    /// The number of failed attempts.
    pub attempts: i64,
    /// The date of the next attempt; null if it was given up.
    pub next_attempt: Option<Timestamp>,
    /// Why the latest attempt failed; null before the first one.
    #[schema(max_length = 1_000, examples("status 503"))]
    pub error: Option<String>,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// It waits, or waits to be tried again.
    Pending,
    /// It was given up.
    Dead,
}

schemas! {
    DeliveryState = one_of(["pending", "dead"]);
}
