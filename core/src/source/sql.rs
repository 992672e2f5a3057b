use super::fetch::Validators;
use super::schedule::Wishes;
use super::seen::Seen;
use super::{Source, SourceState};
use crate::account::Admin;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::post::origin::shown_name;
use crate::profile::history::json_list;
use crate::record::id::SourceKey;
use crate::store::{Row, StoreError, Tx};

pub(super) const DAY_POSTS: i64 = 300;
/// Posts that a new source brings until its first fetch is over.
pub(super) const FIRST_POSTS: i64 = 100;
const REMOVED_MAX: i64 = 10_000;

const COLUMNS: &str =
    "id, name, title, url, home, topic, tag, every, state, date, posts, next_fetch, last_fetch,
                       last_success, last_news, failures, failing_since, error, (SELECT hub FROM source_hub WHERE source = key),
                       (SELECT subscribed_until FROM source_hub WHERE source = key)";

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) url: String,
    /// The address by http that counts if this one cannot be read at first.
    pub(super) plain: Option<String>,
    pub(super) name: String,
    pub(super) topic: Vec<String>,
    pub(super) tag: Vec<String>,
    /// In milliseconds.
    pub(super) every: Option<i64>,
}

#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) key: SourceKey,
    pub(super) source: Source,
    /// Between two fetches, in milliseconds.
    pub(super) wait: i64,
    pub(super) is_told: bool,
    pub(super) known: Validators,
    pub(super) moved: Option<(String, Timestamp)>,
    /// The address by http that counts if that of the source cannot be read.
    pub(super) plain: Option<String>,
    pub(super) gone_since: Option<Timestamp>,
    pub(super) wishes: Wishes,
    pub(super) seen: Seen,
}

#[derive(Clone, Debug)]
pub(super) struct Success {
    pub(super) now: Timestamp,
    pub(super) wait: i64,
    pub(super) next: Timestamp,
    /// The time, if there are new posts.
    pub(super) news: Option<Timestamp>,
    pub(super) moved: Option<(String, Timestamp)>,
    /// Set after the feed has been there for some days.
    pub(super) url: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) title: String,
    pub(super) home: Option<String>,
    pub(super) hub: Option<Offer>,
    pub(super) known: Validators,
    pub(super) seen: Seen,
    pub(super) wishes: Wishes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) hub: String,
    pub(super) topic: String,
}

fn list(json: &str) -> Result<Vec<String>, StoreError> {
    serde_json::from_str(json).map_err(StoreError::other)
}

fn hours(text: &str) -> Vec<u8> {
    text.split(' ').filter_map(|hour| hour.parse().ok()).collect()
}

fn source(row: &mut Row) -> Result<Source, StoreError> {
    let (name, title, url): (String, String, String) = (row.take(1)?, row.take(2)?, row.take(3)?);
    let state =
        usize::try_from(row.take::<i64>(8)?).ok().and_then(|state| SourceState::ALL.get(state).copied());
    Ok(Source {
        id: row.take(0)?,
        name: shown_name(&name, &title, &url),
        url,
        home: row.take(4)?,
        topic: list(&row.take::<String>(5)?)?,
        tag: list(&row.take::<String>(6)?)?,
        every: row.take::<Option<i64>>(7)?.map(|ms| ms / super::MINUTE_MS),
        state: state.ok_or_else(|| StoreError::other("a source has an unknown state"))?,
        date: row.take(9)?,
        posts: row.take(10)?,
        next_fetch: row.take(11)?,
        last_fetch: row.take(12)?,
        last_success: row.take(13)?,
        last_news: row.take(14)?,
        failures: row.take(15)?,
        failing_since: row.take(16)?,
        error: row.take(17)?,
        hub: row.take(18)?,
        subscribed_until: row.take(19)?,
    })
}

/// In the order of their addresses.
pub(super) fn list_all(tx: &mut dyn Tx, _: &Admin<'_>) -> Result<Vec<Source>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM source ORDER BY url");
    tx.rows(&sql, &[])?.iter_mut().map(source).collect()
}

pub(super) fn count(tx: &mut dyn Tx, _: &Admin<'_>) -> Result<usize, StoreError> {
    let count: i64 = tx.one("SELECT count(*) FROM source", &[])?.take(0)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// An id comes before an address.
pub(super) fn find(tx: &mut dyn Tx, _: &Admin<'_>, source: &str) -> Result<Option<SourceKey>, StoreError> {
    let sql = "SELECT key FROM source WHERE id = $1 OR url = $1 ORDER BY id = $1 DESC LIMIT 1";
    tx.row(sql, &[source.into()])?.map(|mut row| row.take(0)).transpose()
}

pub(super) fn get(tx: &mut dyn Tx, key: SourceKey) -> Result<Source, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM source WHERE key = $1");
    source(&mut tx.one(&sql, &[key.into()])?)
}

pub(super) fn settings(tx: &mut dyn Tx, key: SourceKey) -> Result<Settings, StoreError> {
    let mut row = tx.one("SELECT url, name, topic, tag, every FROM source WHERE key = $1", &[key.into()])?;
    Ok(Settings {
        url: row.take(0)?,
        plain: None,
        name: row.take(1)?,
        topic: list(&row.take::<String>(2)?)?,
        tag: list(&row.take::<String>(3)?)?,
        every: row.take(4)?,
    })
}

/// The first fetch is at `next`. Fails with `Duplicate` if another source has the address.
pub(super) fn insert(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    id: &str,
    settings: &Settings,
    now: Timestamp,
    next: Timestamp,
) -> Result<(), StoreError> {
    let Settings { url, plain, name, topic, tag, every } = settings;
    let sql = "INSERT INTO source (id, url, name, title, topic, tag, every, state, date, posts, wait, next_fetch, failures,
                                   told, seen, skip_hours, moved_to)
               VALUES ($1, $2, $3, '', $4, $5, $6, 0, $7, 0, $8, $9, 0, 0, '', '', $10)";
    let (topic, tag) = (json_list(topic), json_list(tag));
    let wait = every.unwrap_or(super::schedule::FIRST_MS);
    let args = [
        id.into(),
        url.into(),
        name.into(),
        (&topic).into(),
        (&tag).into(),
        (*every).into(),
        now.into(),
        wait.into(),
        next.into(),
        plain.as_ref().into(),
    ];
    tx.run(sql, &args).map(drop)
}

/// Fails with `Duplicate` if another source has the address. With another address the source is as new, and everything that is
/// known of the old one is forgotten. With another address or another time between fetches it is fetched at `next`. If it
/// `adopts` posts, its next fetch looks at all entries again.
pub(super) fn update(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    key: SourceKey,
    old: &Settings,
    settings: &Settings,
    next: Timestamp,
    adopts: bool,
) -> Result<(), StoreError> {
    let Settings { url, plain, name, topic, tag, every } = settings;
    let (topic, tag) = (json_list(topic), json_list(tag));
    let sql = "UPDATE source SET url = $2, name = $3, topic = $4, tag = $5, every = $6,
                   wait = coalesce($6, wait) WHERE key = $1";
    let args = [key.into(), url.into(), name.into(), (&topic).into(), (&tag).into(), (*every).into()];
    tx.run(sql, &args)?;
    let moves = old.url != *url;
    if moves {
        let sql = "UPDATE source SET etag = NULL, modified = NULL, moved_to = $2, moved_since = NULL, gone_since = NULL, ttl = NULL,
                       skip_hours = '', failures = 0, failing_since = NULL, error = NULL, told = 0,
                       state = CASE WHEN state = 2 THEN 0 ELSE state END WHERE key = $1";
        tx.run(sql, &[key.into(), plain.as_ref().into()])?;
        set_offer(tx, key, None, next)?;
    }
    if adopts {
        let seen = seen(tx, key)?.outdated();
        set_seen(tx, key, &seen)?;
        tx.run("UPDATE source SET etag = NULL, modified = NULL WHERE key = $1", &[key.into()])?;
    }
    if moves || adopts || old.every != *every {
        let sql = "UPDATE source SET next_fetch = $2 WHERE key = $1 AND state = 0";
        tx.run(sql, &[key.into(), next.into()])?;
    }
    Ok(())
}

pub(super) fn remove(tx: &mut dyn Tx, _: &Admin<'_>, key: SourceKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM source WHERE key = $1", &[key.into()]).map(drop)
}

/// Pauses the source without `next`.
pub(super) fn set_next(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    key: SourceKey,
    next: Option<Timestamp>,
) -> Result<(), StoreError> {
    let state = i64::from(next.is_none());
    // Failures before the pause say nothing about the time after it.
    let sql = "UPDATE source SET state = $2, next_fetch = $3, failures = 0, failing_since = NULL, told = 0, error = NULL,
                   gone_since = NULL WHERE key = $1";
    tx.run(sql, &[key.into(), state.into(), next.into()]).map(drop)
}

/// The sources that have waited longest come first.
pub(super) fn due(tx: &mut dyn Tx, now: Timestamp) -> Result<Vec<(SourceKey, String)>, StoreError> {
    // All of them: if there were a limit, many of one host could fill it.
    let sql = "SELECT key, url FROM source WHERE next_fetch <= $1 ORDER BY next_fetch";
    let due = |mut row: Row| Ok((row.take(0)?, row.take(1)?));
    tx.rows(sql, &[now.into()])?.into_iter().map(due).collect()
}

pub(super) fn is_same(tx: &mut dyn Tx, record: &Record) -> Result<bool, StoreError> {
    let (key, Source { id, url, .. }) = (record.key, &record.source);
    let sql = "SELECT 1 FROM source WHERE key = $1 AND id = $2 AND url = $3";
    Ok(tx.row(sql, &[key.into(), id.into(), url.into()])?.is_some())
}

pub(super) fn next_fetch(tx: &mut dyn Tx, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    tx.one("SELECT min(next_fetch) FROM source WHERE next_fetch > $1", &[now.into()])?.take(0)
}

pub(crate) fn failing(tx: &mut dyn Tx, since: Timestamp) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT url FROM source WHERE failing_since <= $1 AND state = 0 ORDER BY url";
    tx.rows(sql, &[since.into()])?.into_iter().map(|mut row| row.take(0)).collect()
}

pub(super) fn record(tx: &mut dyn Tx, key: SourceKey) -> Result<Option<Record>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, wait, told, etag, modified, moved_to, moved_since, seen, ttl, skip_hours, gone_since
         FROM source WHERE key = $1"
    );
    let Some(mut row) = tx.row(&sql, &[key.into()])? else { return Ok(None) };
    let (moved, since): (Option<String>, Option<Timestamp>) = (row.take(24)?, row.take(25)?);
    let (moved, plain) = since.map_or((None, moved.clone()), |since| (moved.map(|to| (to, since)), None));
    Ok(Some(Record {
        key,
        source: source(&mut row)?,
        wait: row.take(20)?,
        is_told: row.take(21)?,
        known: Validators { etag: row.take(22)?, modified: row.take(23)? },
        moved,
        plain,
        gone_since: row.take(29)?,
        seen: Seen::unpack(&row.take::<String>(26)?),
        wishes: Wishes { fresh: row.take(27)?, skip_hours: hours(&row.take::<String>(28)?) },
    }))
}

pub(super) fn room(tx: &mut dyn Tx, key: SourceKey, now: Timestamp) -> Result<usize, StoreError> {
    let sql = "SELECT CASE news_day WHEN $2 THEN day_posts ELSE 0 END, last_success FROM source
               WHERE key = $1";
    let Some(mut row) = tx.row(sql, &[key.into(), (now.as_millis() / DAY_MS).into()])? else { return Ok(0) };
    let (brought, success): (i64, Option<Timestamp>) = (row.take(0)?, row.take(1)?);
    let most = if success.is_none() { FIRST_POSTS } else { DAY_POSTS };
    Ok(usize::try_from(most - brought).unwrap_or_default())
}

pub(super) fn add_posts(
    tx: &mut dyn Tx,
    key: SourceKey,
    inserted: usize,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (inserted, day) = (i64::try_from(inserted).unwrap_or(i64::MAX), now.as_millis() / DAY_MS);
    let sql = "UPDATE source SET posts = posts + $2, last_news = $3, news_day = $4,
                   day_posts = $2 + CASE news_day WHEN $4 THEN day_posts ELSE 0 END WHERE key = $1";
    tx.run(sql, &[key.into(), inserted.into(), now.into(), day.into()]).map(drop)
}

pub(super) fn succeeded(tx: &mut dyn Tx, key: SourceKey, success: &Success) -> Result<(), StoreError> {
    let Success { now, wait, next, news, moved, url } = success;
    let sql = "UPDATE source SET last_fetch = $2, last_success = $2, wait = $3, next_fetch = CASE state WHEN 0 THEN CAST($4 AS bigint) END,
                   last_news = coalesce($7, last_news), moved_to = $5, moved_since = $6, failures = 0, failing_since = NULL, gone_since = NULL, error = NULL, told = 0
               WHERE key = $1";
    let (to, since) = moved.as_ref().map(|(to, since)| (to, *since)).unzip();
    let times = [(*now).into(), (*wait).into(), (*next).into()];
    tx.run(sql, &[key.into(), times[0], times[1], times[2], to.into(), since.into(), (*news).into()])?;
    if let Some(url) = url {
        // If another source has the address already, both stay.
        let sql = "UPDATE source SET url = $2, moved_to = NULL, moved_since = NULL
                   WHERE key = $1 AND NOT EXISTS (SELECT 1 FROM source WHERE url = $2)";
        tx.run(sql, &[key.into(), url.into()])?;
    }
    Ok(())
}

pub(super) fn set_content(
    tx: &mut dyn Tx,
    key: SourceKey,
    content: &Content,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Content { title, home, hub, known, seen, wishes } = content;
    let sql = "UPDATE source SET title = $2, home = $3, etag = $4, modified = $5, seen = $6, ttl = $7, skip_hours = $8
               WHERE key = $1";
    let seen = seen.pack();
    let hours = wishes.skip_hours.iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
    let args = [
        key.into(),
        title.into(),
        home.as_ref().into(),
        known.etag.as_ref().into(),
        known.modified.as_ref().into(),
        (&seen).into(),
        wishes.fresh.into(),
        (&hours).into(),
    ];
    tx.run(sql, &args)?;
    let sql = "DELETE FROM source_removed WHERE source = $1 AND key <=
                   (SELECT key FROM source_removed WHERE source = $1 ORDER BY key DESC LIMIT 1 OFFSET $2)";
    tx.run(sql, &[key.into(), REMOVED_MAX.into()])?;
    set_offer(tx, key, hub.as_ref(), now)
}

/// `is_told` is whether webhooks are told.
pub(super) fn failed(
    tx: &mut dyn Tx,
    key: SourceKey,
    error: &str,
    gone_since: Option<Timestamp>,
    is_told: bool,
    now: Timestamp,
    next: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE source SET last_fetch = $2, failures = failures + 1, failing_since = coalesce(failing_since, $2),
                   error = $3, next_fetch = CASE state WHEN 0 THEN CAST($4 AS bigint) END, gone_since = $5, told = $6 WHERE key = $1";
    let told = i64::from(is_told).into();
    tx.run(sql, &[key.into(), now.into(), error.into(), next.into(), gone_since.into(), told]).map(drop)
}

pub(super) fn end(tx: &mut dyn Tx, key: SourceKey, error: &str, now: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE source SET state = 2, next_fetch = NULL, last_fetch = $2, error = $3 WHERE key = $1";
    tx.run(sql, &[key.into(), now.into(), error.into()]).map(drop)
}

/// A subscription is one at this hub for this address.
pub(super) fn set_offer(
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

pub(super) fn seen(tx: &mut dyn Tx, source: SourceKey) -> Result<Seen, StoreError> {
    let seen: String = tx.one("SELECT seen FROM source WHERE key = $1", &[source.into()])?.take(0)?;
    Ok(Seen::unpack(&seen))
}

pub(super) fn set_seen(tx: &mut dyn Tx, source: SourceKey, seen: &Seen) -> Result<(), StoreError> {
    let seen = seen.pack();
    tx.run("UPDATE source SET seen = $2 WHERE key = $1", &[source.into(), (&seen).into()]).map(drop)
}
