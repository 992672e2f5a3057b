//! Fetches one source: asks for its content, writes what is new, and records how it went.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use tidings_feeds::Feed;
use url::Url;

use super::fetch::{About, Answer, Failure, Http, Validators};
use super::schedule::{self, IntervalBounds, Wishes};
use super::seen::Seen;
use super::sql::{self, Content, Offer, Record, Success};
use super::{FAILING_MS, Fetched, MINUTE_MS, Source, arrive};
use crate::base::clock::{Clock, DAY_MS, Timestamp};
use crate::base::config::{Config, SOURCE_INTERVAL_MAX};
use crate::base::text;
use crate::post::origin::public;
use crate::record::error::{Error, Result};
use crate::record::id::SourceKey;
use crate::record::outgoing;
use crate::store::{Isolation, Store, StoreError, Topic, Tx};
use crate::webhook::outbox::{self, Event};

/// A feed must have moved for this long before its new address counts.
const MOVED_MS: i64 = 3 * DAY_MS;
/// In characters.
pub(super) const TITLE_MAX: usize = 300;
/// In bytes.
const HOME_MAX: usize = 2_000;
/// A server must have said for this long that a feed is gone before the source ends: maintenance pages say so, too.
const GONE_MS: i64 = 3 * DAY_MS;
pub(super) const GONE: &str = "status 410: it has ended";

pub(crate) struct Reader {
    pub(super) store: Arc<Store>,
    pub(super) clock: Clock,
    config: Config,
    http: OnceLock<Arc<Http>>,
}

impl Reader {
    pub(crate) fn new(store: &Arc<Store>, clock: &Clock, config: &Config) -> Self {
        let (store, clock, config) = (Arc::clone(store), clock.clone(), config.clone());
        Self { store, clock, config, http: OnceLock::new() }
    }

    fn bounds(&self) -> IntervalBounds {
        let ms = |minutes: u64| i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(MINUTE_MS);
        IntervalBounds { min: ms(self.config.source_interval_min), max: ms(SOURCE_INTERVAL_MAX) }
    }

    /// The public address of the service, if hubs may send to it.
    pub(super) fn public_url(&self) -> Option<&Url> {
        self.config.public_url.as_ref()
    }

    pub(super) fn http(&self) -> Result<Arc<Http>> {
        if let Some(http) = self.http.get() {
            return Ok(Arc::clone(http));
        }
        let http = Arc::new(Http::new(&self.config)?);
        Ok(Arc::clone(self.http.get_or_init(|| http)))
    }

    /// Returns the result, or why the fetch failed. `may` is called again before anything is written. Fails with `Not found` if
    /// the source was removed or has another address meanwhile.
    pub(super) fn fetch(
        &self,
        source: SourceKey,
        may: impl FnOnce(&mut dyn Tx) -> Result<()> + Send,
    ) -> Result<Fetched> {
        let record = self.record(source)?;
        let asked = ask_record(self.http()?.as_ref(), &record, self.clock.now());
        self.store.read(may)?;
        self.take_in(&record, asked)
    }

    pub(super) fn record(&self, source: SourceKey) -> Result<Record> {
        self.store.read(|tx| sql::record(tx, source))?.ok_or(Error::NotFound)
    }

    pub(super) fn take_in(&self, record: &Record, asked: Result<Asked, Failure>) -> Result<Fetched> {
        match asked {
            Ok(Asked::Feed { feed, known, about }) => {
                let mut feed = *feed;
                let ttl = feed.ttl.map(|minutes| i64::from(minutes) * MINUTE_MS);
                let wishes = Wishes { fresh: ttl, skip_hours: std::mem::take(&mut feed.skip_hours) };
                let title = text::visible_line(&feed.title, TITLE_MAX);
                let hub = offer(&mut feed, &about);
                // This host is also that of the source.
                feed.self_address = Some(about.address.clone());
                let home = feed.link.clone().map(String::from).filter(|home| home.len() <= HOME_MAX);
                let mut seen = Seen::default();
                let fetched = arrive::write(&self.store, &self.clock, record, feed, &mut seen)?;
                let content = Content { title, home, hub, known, seen, wishes };
                self.succeeded(record, &about, &fetched, Some(content))?;
                Ok(fetched)
            }
            Ok(Asked::NotModified(about)) => {
                self.succeeded(record, &about, &Fetched::default(), None)?;
                Ok(Fetched { skipped: record.seen.len(), ..Fetched::default() })
            }
            Ok(Asked::Gone) => {
                let since = record.gone_since.unwrap_or(self.clock.now());
                if self.clock.now() - since >= GONE_MS {
                    return self.ended(record);
                }
                self.failed(record, &Failure::new("status 410: it says that it has ended"), Some(since))
            }
            Err(failure) => self.failed(record, &failure, None),
        }
    }

    fn succeeded(
        &self,
        record: &Record,
        about: &About,
        fetched: &Fetched,
        content: Option<Content>,
    ) -> Result<()> {
        let now = self.clock.now();
        let has_news = fetched.inserted + fetched.updated > 0;
        let every = record.source.every.map(|minutes| minutes * MINUTE_MS);
        let wait = schedule::wait(record.wait, has_news, every, self.bounds());
        let wishes = content.as_ref().map_or(&record.wishes, |content| &content.wishes);
        let mut wishes = Wishes { fresh: about.fresh.max(wishes.fresh), ..wishes.clone() };
        if record.source.subscribed_until.is_some_and(|until| until > now) {
            // New entries arrive without fetches.
            wishes.fresh = wishes.fresh.max(Some(self.bounds().max));
        }
        let (moved, url) = moved(record, about, now);
        let success = Success {
            now,
            wait,
            next: schedule::next(now, wait, every, &wishes),
            news: (fetched.inserted > 0).then_some(now),
            moved,
            url,
        };
        self.write(record, move |tx, record| {
            sql::succeeded(tx, record.key, &success)?;
            content.as_ref().map_or(Ok(()), |content| sql::set_content(tx, record.key, content, now))
        })
    }

    fn failed(&self, record: &Record, failure: &Failure, gone_since: Option<Timestamp>) -> Result<Fetched> {
        #[derive(Serialize)]
        struct Data<'a> {
            #[serde(rename = "_id")]
            id: &'a str,
            name: &'a str,
            url: &'a str,
            error: &'a str,
            failing_since: Timestamp,
        }
        let now = self.clock.now();
        let failures = record.source.failures + 1;
        // A source that was asked too often is not asked again before the usual time.
        let min = if failure.is_too_often { record.wait } else { self.bounds().min };
        let bounds = IntervalBounds { min, ..self.bounds() };
        let next = schedule::next_after_failure(now, failures, record.wait, failure.retry_after, bounds);
        let since = record.source.failing_since.unwrap_or(now);
        let must_tell = !record.is_told && now - since >= FAILING_MS;
        tracing::info!(source = record.source.id, error = failure.reason, "a source could not be fetched");
        let reason = failure.reason.clone();
        self.write(record, move |tx, record| {
            let Source { id, name, url, .. } = &record.source;
            sql::failed(tx, record.key, &reason, gone_since, must_tell || record.is_told, now, next)?;
            if must_tell {
                let url = &public(url);
                let data = Data { id, name, url, error: &reason, failing_since: since };
                let body = outbox::body(Event::SourceFailing.name(), now, &data)?;
                // Each new series of failures is another event.
                let subject = format!("{id} {}", since.as_millis());
                outbox::enqueue(tx, Event::SourceFailing, &subject, Some(&body), now)?;
                tx.touch(Topic::Webhooks);
            }
            Ok(())
        })?;
        Ok(Fetched { error: Some(failure.reason.clone()), ..Fetched::default() })
    }

    fn ended(&self, record: &Record) -> Result<Fetched> {
        let now = self.clock.now();
        tracing::warn!(source = record.source.id, "a source has ended");
        self.write(record, move |tx, record| sql::end(tx, record.key, GONE, now))?;
        Ok(Fetched { error: Some(GONE.to_owned()), ..Fetched::default() })
    }

    /// Fails with `Not found` if the source was removed or has another address meanwhile.
    pub(super) fn write(
        &self,
        record: &Record,
        work: impl Fn(&mut dyn Tx, &Record) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<()> {
        let record = record.clone();
        self.store.write(Isolation::Alone, move |tx| {
            if !sql::is_same(tx, &record)? {
                return Err(Error::NotFound);
            }
            work(tx, &record)?;
            tx.touch(Topic::Sources);
            Ok(())
        })
    }
}

pub(super) enum Asked {
    NotModified(About),
    Feed { feed: Box<Feed>, known: Validators, about: About },
    Gone,
}

/// Needs no database, so it may take its time.
pub(super) fn ask(http: &Http, url: &str, known: &Validators, now: Timestamp) -> Result<Asked, Failure> {
    let url = Url::parse(url).map_err(|_| Failure::new("its address cannot be read"))?;
    let (bytes, charset, validators, about) = match http.get(&url, known, now)? {
        Answer::NotModified(about) => return Ok(Asked::NotModified(about)),
        Answer::Gone => return Ok(Asked::Gone),
        Answer::Content { bytes, charset, validators, about } => (bytes, charset, validators, about),
    };
    let feed = Box::new(read(&bytes, charset.as_deref(), &about.address)?);
    Ok(Asked::Feed { feed, known: validators, about })
}

/// Like [`ask`]; in case of a failure also at the address by http, if the source may have one.
pub(super) fn ask_record(http: &Http, record: &Record, now: Timestamp) -> Result<Asked, Failure> {
    let asked = ask(http, &record.source.url, &record.known, now);
    match &record.plain {
        Some(plain) if asked.is_err() => ask(http, plain, &record.known, now).or(asked),
        _ => asked,
    }
}

pub(super) fn read(bytes: &[u8], charset: Option<&str>, address: &Url) -> Result<Feed, Failure> {
    let from = tidings_feeds::Source { charset, address: Some(address) };
    // A fault of the reader costs this source alone.
    match catch_unwind(AssertUnwindSafe(|| tidings_feeds::read(bytes, &from))) {
        Ok(Ok(feed)) => Ok(feed),
        Ok(Err(fault)) => Err(Failure::new(format!("it is no feed that can be read: {fault}"))),
        Err(_) => Err(Failure::new("reading it failed, for a cause that is in the log")),
    }
}

/// Returns the hub of a feed, and the address by which the hub knows the feed. Links in headers come first. Source: `WebSub`,
/// section 4.
fn offer(feed: &mut Feed, about: &About) -> Option<Offer> {
    let hub = about.link("hub").or_else(|| std::mem::take(&mut feed.hubs).into_iter().next())?;
    let topic = about.link("self").or_else(|| feed.self_address.take());
    let topic = topic.unwrap_or_else(|| about.address.clone());
    let url = |url: Url| outgoing::parse(url.as_str()).map(String::from);
    Some(Offer { hub: url(hub)?, topic: url(topic)? })
}

/// Returns the address to which a feed has moved, and since when; and its new address, if it has been there for long enough.
fn moved(record: &Record, about: &About, now: Timestamp) -> (Option<(String, Timestamp)>, Option<String>) {
    if let Some(plain) = record.plain.as_ref().filter(|_| about.address.scheme() == "http") {
        return (None, Some(plain.clone()));
    }
    if !about.has_moved {
        return (None, None);
    }
    let to = String::from(about.address.clone());
    let since = match &record.moved {
        Some((known, since)) if *known == to => *since,
        _ => now,
    };
    let url = (now - since >= MOVED_MS).then(|| to.clone());
    (Some((to, since)), url)
}
