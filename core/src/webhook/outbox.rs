//! The outbox of webhooks: the deliveries to other systems. An operation appends to it in the transaction of its change, so that a
//! crash loses no event, and no delivery tells of a change that was rolled back.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::audit::trail::hex;
use crate::base::clock::Timestamp;
use crate::record::jobs::Table;
use crate::record::schema::{one_of, schemas};
use crate::store::{StoreError, Topic, Tx};

/// Per webhook. With [`webhook::WEBHOOKS_MAX`](crate::webhook::WEBHOOKS_MAX) webhooks, 100,000 deliveries wait at most.
pub(crate) const PENDING_MAX: i64 = 2_000;
const ID: usize = 24;

pub(crate) static DELIVERIES: Table = Table {
    name: "webhook_delivery",
    receiver: "webhook",
    dead_max: 2_000,
    spreads: true,
    job: "a delivery to a webhook",
};

/// What a webhook is told about.
#[derive(
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
)]
pub enum Event {
    /// A notice has become visible to guests for the first time.
    #[serde(rename = "notice.published")]
    #[strum(serialize = "notice.published")]
    NoticePublished,
    /// A member has sent feedback.
    #[serde(rename = "feedback.created")]
    #[strum(serialize = "feedback.created")]
    FeedbackCreated,
    /// A source has failed for two weeks.
    #[serde(rename = "source.failing")]
    #[strum(serialize = "source.failing")]
    SourceFailing,
}

impl Event {
    /// All events that webhooks subscribe to.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Returns its name, which never changes.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

schemas! {
    Event = one_of(Event::ALL.iter().map(|one| one.name()));
}

pub(crate) const PING: &str = "ping";

pub(crate) fn body(event: &str, at: Timestamp, data: &impl Serialize) -> Result<String, StoreError> {
    #[derive(Serialize)]
    struct Body<'a, T> {
        r#type: &'a str,
        timestamp: Timestamp,
        data: &'a T,
    }
    serde_json::to_string(&Body { r#type: event, timestamp: at, data }).map_err(StoreError::other)
}

/// The id is the same whenever and wherever it is computed, so a receiver recognises repeated deliveries, also from a restored
/// backup.
fn id(webhook: &str, event: &str, subject: &str) -> String {
    let hash = Sha256::new_with_prefix("tidings delivery 1\0").chain_update(webhook);
    let hash = hash.chain_update("\0").chain_update(event).chain_update("\0").chain_update(subject);
    let mut id = hex(&hash.finalize());
    id.truncate(ID);
    id
}

/// Appends an event for each webhook that subscribes to it. `subject` is the id of the record that the event is about. The
/// transaction must run alone. Without a `body`, the body is made when the delivery is sent.
pub(crate) fn enqueue(
    tx: &mut dyn Tx,
    event: Event,
    subject: &str,
    body: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    for mut webhook in tx.rows("SELECT id, events FROM webhook ORDER BY id", &[])? {
        let (id, events): (String, String) = (webhook.take(0)?, webhook.take(1)?);
        if events.split(' ').any(|name| name == event.name()) {
            insert(tx, &id, event.name(), subject, body, now)?;
        }
    }
    Ok(())
}

pub(crate) fn has_webhooks(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    Ok(tx.row("SELECT id FROM webhook LIMIT 1", &[])?.is_some())
}

/// If too many wait for the webhook, the oldest one is given up.
pub(crate) fn insert(
    tx: &mut dyn Tx,
    webhook: &str,
    event: &str,
    subject: &str,
    body: Option<&str>,
    now: Timestamp,
) -> Result<String, StoreError> {
    let id = id(webhook, event, subject);
    let sql = "INSERT INTO webhook_delivery (id, webhook, event, subject, body, date, next_attempt)
               VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (id) DO NOTHING";
    let args = [(&id).into(), webhook.into(), event.into(), subject.into(), body.into(), now.into()];
    tx.run(sql, &args)?;
    let count = "SELECT count(*) FROM webhook_delivery WHERE webhook = $1 AND dead IS NULL";
    if tx.one(count, &[webhook.into()])?.take::<i64>(0)? > PENDING_MAX {
        let oldest =
            "SELECT id FROM webhook_delivery WHERE webhook = $1 AND dead IS NULL ORDER BY key LIMIT 1";
        let oldest: String = tx.one(oldest, &[webhook.into()])?.take(0)?;
        DELIVERIES.give_up(tx, &oldest, "too many deliveries wait", now)?;
    }
    tx.touch(Topic::Webhooks);
    Ok(id)
}
