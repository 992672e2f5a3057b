//! The SQL of subscriptions.

use zeroize::Zeroizing;

use super::{Offer, Subscription};
use crate::base::clock::Timestamp;
use crate::record::id::SourceKey;
use crate::source::seen::Seen;
use crate::store::{Row, StoreError, Tx};

/// A subscription is one at this hub for this address.
pub(in crate::source) fn set_offer(
    tx: &mut dyn Tx,
    source: SourceKey,
    offer: Option<&Offer>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(Offer { hub, topic }) = offer else {
        return tx.run("DELETE FROM source_hub WHERE source = $1", &[source.into()]).map(drop);
    };
    let sql = "INSERT INTO source_hub (source, hub, topic, next_request) VALUES ($1, $2, $3, $4)
               ON CONFLICT (source) DO UPDATE SET hub = excluded.hub, topic = excluded.topic, token = NULL, secret = NULL,
                   subscribed_until = NULL, next_request = excluded.next_request
               WHERE source_hub.hub <> excluded.hub OR source_hub.topic <> excluded.topic";
    tx.run(sql, &[source.into(), hub.into(), topic.into(), now.into()]).map(drop)
}

/// The subscriptions that have waited longest come first, each with its hub.
pub(in crate::source) fn due(
    tx: &mut dyn Tx,
    now: Timestamp,
) -> Result<Vec<(SourceKey, String)>, StoreError> {
    let sql = "SELECT h.source, h.hub FROM source_hub h JOIN source s ON s.key = h.source
               WHERE h.next_request <= $1 AND s.state = 0 ORDER BY h.next_request";
    let due = |mut row: Row| Ok((row.take(0)?, row.take(1)?));
    tx.rows(sql, &[now.into()])?.into_iter().map(due).collect()
}

pub(in crate::source) fn next_request(
    tx: &mut dyn Tx,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    tx.one("SELECT min(next_request) FROM source_hub WHERE next_request > $1", &[now.into()])?.take(0)
}

/// `None` if the source is not active or names no hub any more.
pub(in crate::source) fn begin(
    tx: &mut dyn Tx,
    source: SourceKey,
    now: Timestamp,
) -> Result<Option<Subscription>, StoreError> {
    let sql = "UPDATE source_hub SET token = coalesce(token, $2), secret = coalesce(secret, $3), next_request = $4
               WHERE source = (SELECT key FROM source WHERE key = $1 AND state = 0) RETURNING hub, topic, token, secret";
    let (token, secret) = (super::secret(), super::secret());
    let args = [source.into(), token.as_str().into(), secret.as_str().into(), super::retry(now).into()];
    tx.row(sql, &args)?.map(|mut row| subscription(&mut row)).transpose()
}

fn subscription(row: &mut Row) -> Result<Subscription, StoreError> {
    let offer = Offer { hub: row.take(0)?, topic: row.take(1)? };
    Ok(Subscription { offer, token: row.take(2)?, secret: Zeroizing::new(row.take(3)?) })
}

/// The source must be active.
pub(in crate::source) fn find(
    tx: &mut dyn Tx,
    token: &str,
) -> Result<Option<(SourceKey, Subscription)>, StoreError> {
    let sql = "SELECT h.hub, h.topic, h.token, h.secret, h.source FROM source_hub h JOIN source s ON s.key = h.source
               WHERE h.token = $1 AND s.state = 0";
    let found = tx.row(sql, &[token.into()])?;
    found.map(|mut row| Ok((row.take(4)?, subscription(&mut row)?))).transpose()
}

/// The subscription lasts until `until` and is renewed at `renewal`.
pub(super) fn set_confirmed(
    tx: &mut dyn Tx,
    source: SourceKey,
    until: Timestamp,
    renewal: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE source_hub SET subscribed_until = $2, next_request = $3 WHERE source = $1";
    tx.run(sql, &[source.into(), until.into(), renewal.into()]).map(drop)
}

/// The subscription is requested again at `next`. The source is fetched as without it.
pub(super) fn set_refused(
    tx: &mut dyn Tx,
    source: SourceKey,
    now: Timestamp,
    next: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE source_hub SET subscribed_until = NULL, next_request = $2 WHERE source = $1";
    tx.run(sql, &[source.into(), next.into()])?;
    let sql = "UPDATE source SET next_fetch = $2 + wait WHERE key = $1 AND next_fetch > $2 + wait";
    tx.run(sql, &[source.into(), now.into()]).map(drop)
}

pub(in crate::source) fn seen(tx: &mut dyn Tx, source: SourceKey) -> Result<Seen, StoreError> {
    let seen: String = tx.one("SELECT seen FROM source WHERE key = $1", &[source.into()])?.take(0)?;
    Ok(Seen::unpack(&seen))
}

pub(in crate::source) fn set_seen(tx: &mut dyn Tx, source: SourceKey, seen: &Seen) -> Result<(), StoreError> {
    let seen = seen.pack();
    tx.run("UPDATE source SET seen = $2 WHERE key = $1", &[source.into(), (&seen).into()]).map(drop)
}
