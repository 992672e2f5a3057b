use zeroize::Zeroizing;

use super::{Delivery, DeliveryState, Event, Webhook};
use crate::account::Admin;
use crate::base::clock::Timestamp;
use crate::store::{Row, StoreError, Tx};

pub(super) fn count(tx: &mut dyn Tx, _: &Admin<'_>) -> Result<usize, StoreError> {
    let count: i64 = tx.one("SELECT count(*) FROM webhook", &[])?.take(0)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

#[expect(clippy::too_many_arguments, reason = "one for each column")]
pub(super) fn insert(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    id: &str,
    name: &str,
    url: &str,
    events: &str,
    secret: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO webhook (id, name, url, events, secret, date) VALUES ($1, $2, $3, $4, $5, $6)";
    tx.run(sql, &[id.into(), name.into(), url.into(), events.into(), secret.into(), now.into()])?;
    Ok(())
}

/// Returns the id and the name of the webhook. An id comes before a name.
pub(super) fn find(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    webhook: &str,
) -> Result<Option<(String, String)>, StoreError> {
    let sql = "SELECT id, name FROM webhook WHERE id = $1 OR name = $1 ORDER BY id = $1 DESC LIMIT 1";
    tx.row(sql, &[webhook.into()])?.map(|mut row| Ok((row.take(0)?, row.take(1)?))).transpose()
}

pub(super) fn list(tx: &mut dyn Tx, _: &Admin<'_>) -> Result<Vec<Webhook>, StoreError> {
    let sql = "SELECT id, name, url, events, date,
                      (SELECT count(*) FROM webhook_delivery d WHERE d.webhook = w.id AND d.dead IS NULL),
                      (SELECT count(*) FROM webhook_delivery d WHERE d.webhook = w.id AND d.dead IS NOT NULL)
               FROM webhook w ORDER BY name";
    let webhook = |mut row: Row| {
        // An event of a newer program is not sent by this one.
        let events: String = row.take(3)?;
        let events = events.split(' ').filter_map(|name| name.parse::<Event>().ok()).collect();
        Ok(Webhook {
            id: row.take(0)?,
            name: row.take(1)?,
            url: row.take(2)?,
            events,
            date: row.take(4)?,
            pending: row.take(5)?,
            dead: row.take(6)?,
        })
    };
    tx.rows(sql, &[])?.into_iter().map(webhook).collect()
}

pub(super) fn remove(tx: &mut dyn Tx, _: &Admin<'_>, id: &str) -> Result<(), StoreError> {
    tx.run("DELETE FROM webhook_delivery WHERE webhook = $1", &[id.into()])?;
    tx.run("DELETE FROM webhook WHERE id = $1", &[id.into()])?;
    Ok(())
}

pub(super) fn rotate(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    id: &str,
    secret: &str,
    until: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE webhook SET old_secret = secret, old_until = $3, secret = $2 WHERE id = $1";
    tx.run(sql, &[id.into(), secret.into(), until.into()])?;
    Ok(())
}

pub(super) fn deliveries(tx: &mut dyn Tx, _: &Admin<'_>, limit: i64) -> Result<Vec<Delivery>, StoreError> {
    let sql = "SELECT d.id, w.name, d.event, d.date, d.dead, d.attempts, d.next_attempt, d.last_error
               FROM webhook_delivery d JOIN webhook w ON w.id = d.webhook ORDER BY d.key DESC LIMIT $1";
    let delivery = |mut row: Row| {
        let is_dead = row.take::<Option<i64>>(4)?.is_some();
        let next_attempt = row.take(6)?;
        Ok(Delivery {
            id: row.take(0)?,
            webhook: row.take(1)?,
            event: row.take(2)?,
            date: row.take(3)?,
            state: if is_dead { DeliveryState::Dead } else { DeliveryState::Pending },
            attempts: row.take(5)?,
            next_attempt: if is_dead { None } else { next_attempt },
            error: row.take(7)?,
        })
    };
    tx.rows(sql, &[limit.into()])?.into_iter().map(delivery).collect()
}

pub(super) fn next_attempts(tx: &mut dyn Tx) -> Result<Vec<(String, Option<Timestamp>)>, StoreError> {
    let sql = "SELECT id, (SELECT min(d.next_attempt) FROM webhook_delivery d WHERE d.webhook = w.id AND d.dead IS NULL)
               FROM webhook w ORDER BY id";
    let rows = tx.rows(sql, &[])?.into_iter();
    rows.map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
}

pub(super) fn totals(tx: &mut dyn Tx) -> Result<(i64, i64), StoreError> {
    let sql =
        "SELECT count(*), coalesce(sum(CASE WHEN dead IS NULL THEN 0 ELSE 1 END), 0) FROM webhook_delivery";
    let mut row = tx.one(sql, &[])?;
    let (all, dead): (i64, i64) = (row.take(0)?, row.take(1)?);
    Ok((all - dead, dead))
}

pub(super) struct Due {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) event: String,
    pub(super) subject: String,
    pub(super) body: Option<String>,
    pub(super) date: Timestamp,
    pub(super) attempts: i64,
    pub(super) url: String,
    pub(super) secrets: Vec<Zeroizing<String>>,
}

/// The delivery that has been due the longest.
pub(super) fn due(tx: &mut dyn Tx, webhook: &str, now: Timestamp) -> Result<Option<Due>, StoreError> {
    let sql = "SELECT d.id, w.name, d.event, d.subject, d.body, d.date, d.attempts, w.url, w.secret,
                      CASE WHEN w.old_until > $2 THEN w.old_secret END
               FROM webhook_delivery d JOIN webhook w ON w.id = d.webhook
               WHERE d.webhook = $1 AND d.dead IS NULL AND d.next_attempt <= $2
               ORDER BY d.next_attempt, d.key LIMIT 1";
    let due = |mut row: Row| {
        let secrets = [Some(row.take(8)?), row.take::<Option<String>>(9)?];
        Ok(Due {
            id: row.take(0)?,
            name: row.take(1)?,
            event: row.take(2)?,
            subject: row.take(3)?,
            body: row.take(4)?,
            date: row.take(5)?,
            attempts: row.take(6)?,
            url: row.take(7)?,
            secrets: secrets.into_iter().flatten().map(Zeroizing::new).collect(),
        })
    };
    tx.row(sql, &[webhook.into(), now.into()])?.map(due).transpose()
}
