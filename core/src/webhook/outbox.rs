//! The outbox of webhooks: the deliveries to other systems.
//!
//! An operation appends to it in the transaction of its change, so that a crash loses no event, and no delivery tells of a change
//! that was rolled back.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::audit::trail::hex;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::record::schema::{one_of, schemas};
use crate::store::{StoreError, Topic, Tx};

/// Per webhook. With [`webhook::WEBHOOKS_MAX`](crate::webhook::WEBHOOKS_MAX) webhooks, 100,000 deliveries wait at most.
pub(crate) const PENDING_MAX: i64 = 2_000;
/// Per webhook.
const DEAD_MAX: i64 = 2_000;
const DEAD_MS: i64 = 30 * DAY_MS;
const ID: usize = 24;

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// What a webhook is told about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Event {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Event {
            /// All events that webhooks subscribe to.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns its name, which never changes.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

events! {
    /// A notice has become visible to guests for the first time.
    NoticePublished = "notice.published",
    /// A member has sent feedback.
    FeedbackCreated = "feedback.created",
    /// A source has failed for two weeks.
    SourceFailing = "source.failing",
}

schemas! {
    Event = one_of(Event::ALL.iter().map(|one| one.name()));
}

pub(crate) const PING: &str = "ping";

/// There is no event with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEvent;

impl FromStr for Event {
    type Err = UnknownEvent;

    fn from_str(name: &str) -> Result<Self, UnknownEvent> {
        Self::ALL.iter().copied().find(|event| event.name() == name).ok_or(UnknownEvent)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Event {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        name.parse().map_err(|_| serde::de::Error::custom("no event has this name"))
    }
}

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

/// Returns the id of the delivery. If too many wait for the webhook, the oldest one is given up.
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
        give_up(tx, webhook, &oldest, "too many deliveries wait", now)?;
    }
    tx.touch(Topic::Webhooks);
    Ok(id)
}

/// Beyond [`DEAD_MAX`], the oldest deliveries are removed.
pub(crate) fn give_up(
    tx: &mut dyn Tx,
    webhook: &str,
    id: &str,
    reason: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE webhook_delivery SET dead = $2, last_error = $3 WHERE id = $1";
    tx.run(sql, &[id.into(), now.into(), reason.into()])?;
    let sql = "SELECT key FROM webhook_delivery WHERE webhook = $1 AND dead IS NOT NULL ORDER BY key DESC LIMIT 1 OFFSET $2";
    if let Some(mut row) = tx.row(sql, &[webhook.into(), DEAD_MAX.into()])? {
        let sql = "DELETE FROM webhook_delivery WHERE webhook = $1 AND dead IS NOT NULL AND key <= $2";
        tx.run(sql, &[webhook.into(), row.take::<i64>(0)?.into()])?;
    }
    Ok(())
}

/// Removes at most `limit` deliveries that were given up long ago. Returns whether there may be more.
pub(crate) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
    let sql = "DELETE FROM webhook_delivery WHERE key IN
               (SELECT key FROM webhook_delivery WHERE dead IS NOT NULL AND dead <= $1 LIMIT $2)";
    Ok(tx.run(sql, &[(now - DEAD_MS).into(), limit.cast_signed().into()])? == limit)
}
