//! Webhooks: other systems that are told about published notices and feedback.
//!
//! An operation appends what they have to be told to the outbox (`outbox.rs`) in its own transaction. A thread of the service
//! sends it (`webhook/worker.rs`), signed as Standard Webhooks does (`webhook/sign.rs`), and only to public addresses
//! (`webhook/address.rs`). A receiver gets each delivery at least once, and recognises by its id one that it has received.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::Tidings;
use crate::account::Caller;
use crate::clock::{DAY_MS, Timestamp};
use crate::config::Bounds;
use crate::error::{Code, Error, Problem, Result};
use crate::id::ObjectId;
use crate::notice;
use crate::outbox::{self, PING};
pub use crate::outbox::{Event, UnknownEvent};
use crate::scope::Scope;
use crate::store::{Isolation, StoreError, Topic};
use crate::text;
use crate::trail::{Action, Entry};

mod address;
mod operations;
mod send;
mod sender;
mod sign;
mod sql;
#[cfg(test)]
mod tests;
mod turns;
mod worker;

pub use address::URL_RULE;
pub use operations::{Add, List, ListDeliveries, Remove, Retry, Rotate, Test};
pub use sender::Figures;
pub(crate) use sender::Sender;

/// The length of a name in characters.
pub const NAME: Bounds = Bounds { min: 1, max: 50 };
/// The maximum number of webhooks.
pub const WEBHOOKS_MAX: usize = 50;
/// The time for which a replaced secret also signs.
const ROTATION_MS: i64 = DAY_MS;
/// The maximum number of deliveries in a list.
const LIST_MAX: i64 = 1_000;

const NAME_RULE: Problem = Problem::invalid("name", "name is 1 to 50 visible characters on one line");
const NAME_TAKEN: Problem =
    Problem::new(Code::NameTaken, "another webhook has this name: remove it first, or choose another name")
        .of("name");
/// The problem of an event that does not exist.
pub const EVENT_RULE: Problem =
    Problem::invalid("events", "an event is notice.published or feedback.created");
const NO_EVENT: Problem = Problem::missing("events", "a webhook needs at least one event");
const TOO_MANY: Problem =
    Problem::new(Code::NotPossible, "there are 50 webhooks already: remove one before you add another");

/// The input of [`add`].
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// What the webhook is for, 1 to 50 characters on one line. No two webhooks have the same name.
    pub name: String,
    /// The address of the receiver.
    pub url: String,
    /// What it is told about, at least one.
    pub events: Vec<Event>,
}

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

/// Adds a webhook. It is told about what happens from now on.
///
/// # Errors
/// `bad token`, `Not admin`; `bad request` if the name breaks its rule or belongs to another webhook, the URL breaks its rule or
/// is private and the settings do not allow that, no event is given, or there are [`WEBHOOKS_MAX`] webhooks.
pub fn add(tidings: &Tidings, caller: &Caller, draft: &Draft) -> Result<WebhookSecret> {
    let (identity, now) = (caller.identify(tidings), tidings.now());
    let name = text::name(draft.name.trim(), NAME).ok_or(NAME_RULE);
    let url = address::parse(&draft.url, tidings.config().webhook_private);
    let mut events = draft.events.clone();
    events.sort_unstable();
    events.dedup();
    let (id, secret) = (ObjectId::new(tidings.clock()).to_string(), sign::generate());
    let answer = WebhookSecret { id: id.clone(), secret: secret.clone() };
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Webhooks)?;
        let name = name.as_ref().map_err(|rule| Error::BadRequest(*rule))?;
        let url = url.as_ref().map_err(|rule| Error::BadRequest(*rule))?;
        if events.is_empty() {
            return Err(Error::BadRequest(NO_EVENT));
        }
        if sql::count(tx, &admin)? >= WEBHOOKS_MAX {
            return Err(Error::BadRequest(TOO_MANY));
        }
        // What other webhooks have not been told about yet; this one is not told about it.
        notice::announce(tx, now)?;
        notice::mark_announced(tx, now)?;
        let names = events.iter().map(|event| event.name()).collect::<Vec<_>>().join(" ");
        match sql::insert(tx, &admin, &id, name, url, &names, &secret, now) {
            Err(StoreError::Duplicate) => return Err(Error::BadRequest(NAME_TAKEN)),
            inserted => inserted?,
        }
        tx.touch(Topic::Webhooks);
        let after = format!("{} {names}", address::origin(url));
        Ok(admin.record(tx, Entry::new(Action::WebhookAdd).on(name).after(&after))?)
    })?;
    Ok(answer)
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

/// Returns all webhooks.
///
/// # Errors
/// `bad token`, `Not admin`.
pub fn list(tidings: &Tidings, caller: &Caller) -> Result<Webhooks> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| {
        let admin = identity.admin(tx, Scope::Webhooks)?;
        Ok(Webhooks { webhooks: sql::list(tx, &admin)? })
    })
}

/// Removes the webhook with this id or name, and its deliveries.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found`.
pub fn remove(tidings: &Tidings, caller: &Caller, webhook: &str) -> Result<()> {
    let (identity, webhook) = (caller.identify(tidings), webhook.to_owned());
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Webhooks)?;
        let (id, name) = sql::find(tx, &admin, &webhook)?.ok_or(Error::NotFound)?;
        sql::remove(tx, &admin, &id)?;
        tx.touch(Topic::Webhooks);
        Ok(admin.record(tx, Entry::new(Action::WebhookRemove).on(&name))?)
    })
}

/// Gives the webhook with this id or name a new secret. For 24 hours, deliveries are also signed with the one before.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found`.
pub fn rotate(tidings: &Tidings, caller: &Caller, webhook: &str) -> Result<WebhookSecret> {
    let (identity, webhook) = (caller.identify(tidings), webhook.to_owned());
    let (secret, until) = (sign::generate(), tidings.now() + ROTATION_MS);
    let new = secret.clone();
    let id = tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Webhooks)?;
        let (id, name) = sql::find(tx, &admin, &webhook)?.ok_or(Error::NotFound)?;
        sql::rotate(tx, &admin, &id, &new, until)?;
        admin.record(tx, Entry::new(Action::WebhookRotate).on(&name))?;
        Ok::<_, Error>(id)
    })?;
    Ok(WebhookSecret { id, secret })
}

/// The answer to testing a webhook.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Queued {
    /// The id of the delivery.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
}

/// Queues a delivery of the event `ping` to the webhook with this id or name.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found`.
pub fn test(tidings: &Tidings, caller: &Caller, webhook: &str) -> Result<Queued> {
    #[derive(Serialize)]
    struct Data<'a> {
        webhook: &'a str,
    }
    let (identity, webhook, now) = (caller.identify(tidings), webhook.to_owned(), tidings.now());
    let subject = ObjectId::new(tidings.clock()).to_string();
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Webhooks)?;
        let (id, name) = sql::find(tx, &admin, &webhook)?.ok_or(Error::NotFound)?;
        let body = outbox::body(PING, now, &Data { webhook: &name })?;
        let id = outbox::insert(tx, &id, PING, &subject, Some(&body), now)?;
        admin.record(tx, Entry::new(Action::WebhookTest).on(&name))?;
        Ok(Queued { id })
    })
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

/// Returns the deliveries that wait, and those that were given up in the last 30 days.
///
/// # Errors
/// `bad token`, `Not admin`.
pub fn deliveries(tidings: &Tidings, caller: &Caller) -> Result<Deliveries> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| {
        let admin = identity.admin(tx, Scope::Webhooks)?;
        Ok(Deliveries { deliveries: sql::deliveries(tx, &admin, LIST_MAX)? })
    })
}

/// Sends the delivery with this id again, now and, if that fails, as often as a new one.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found`.
pub fn retry(tidings: &Tidings, caller: &Caller, delivery: &str) -> Result<()> {
    let (identity, delivery, now) = (caller.identify(tidings), delivery.to_owned(), tidings.now());
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Webhooks)?;
        if !sql::retry(tx, &admin, &delivery, now)? {
            return Err(Error::NotFound);
        }
        tx.touch(Topic::Webhooks);
        Ok(admin.record(tx, Entry::new(Action::WebhookRetry).on(&delivery))?)
    })
}
