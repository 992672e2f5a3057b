//! Turns the entries of a feed into posts.

use std::collections::HashSet;
use std::sync::Arc;

use tidings_feeds::{Entry, Feed};

use super::seen::{self, Known, Seen};
use super::sql::{self, Record};
use super::{ARRIVED_MAX, ArrivedPost, Fetched, address};
use crate::account::Admin;
use crate::base::clock::Clock;
use crate::post::arrive::{self, Arrival, Arrived};
use crate::post::import::entry_draft;
use crate::record::answer::LineError;
use crate::record::error::{Error, Result};
use crate::store::{Isolation, Store};

/// The number of entries that a transaction writes, so that other writes wait for a moment only.
const BATCH: usize = 100;

/// Writes the entries of a feed that are new or have changed, and adds all that are there to `seen`.
///
/// # Errors
/// When the store fails. What is written stays, and the next fetch goes on.
pub(super) fn write(
    store: &Store,
    clock: &Clock,
    record: &Record,
    feed: Feed,
    seen: &mut Seen,
) -> Result<Fetched> {
    let mut fetched = Fetched { warnings: feed.warnings, ..Fetched::default() };
    fetched.warnings.truncate(ARRIVED_MAX);
    let mut arrivals = Vec::new();
    for entry in feed.entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(fault) => {
                refuse(&mut fetched, fault.line, fault.reason);
                continue;
            }
        };
        let Some(url) = entry.url.as_deref().map(address::of_article) else {
            refuse(&mut fetched, entry.line, "it has no address".to_owned());
            continue;
        };
        let (key, content) = (seen::hash(&[&url]), content(&entry));
        // Of two entries with one address, the first is the newer one.
        if !seen.add(key, content) {
            continue;
        }
        let known = record.seen.of(key, content);
        if known == Known::Same {
            fetched.skipped += 1;
            continue;
        }
        let line = entry.line;
        let mut draft = entry_draft(entry, clock.now());
        draft.url = Some(url);
        draft.topic = Some(record.topic.clone());
        draft.tag = Some(with(&record.tag, draft.tag.take().unwrap_or_default()));
        match Arrival::new(&draft, known == Known::Changed) {
            Ok(arrival) => arrivals.push(arrival),
            Err(reason) => {
                // A new one counts as new again when it is corrected.
                if known == Known::New {
                    seen.forget(key);
                }
                refuse(&mut fetched, line, reason);
            }
        }
    }
    // Two addresses of entries may be written differently, and be stored alike.
    let mut urls = HashSet::new();
    arrivals.retain(|arrival| urls.insert(arrival.url().to_owned()));
    while !arrivals.is_empty() {
        let rest = arrivals.split_off(BATCH.min(arrivals.len()));
        let batch = Arc::new(std::mem::replace(&mut arrivals, rest));
        let (clock, key) = (clock.clone(), record.key);
        let of = record.clone();
        let written = store.write_long(Isolation::Alone, move |tx| {
            if !sql::is_same(tx, &of)? {
                return Err(Error::NotFound);
            }
            let admin = Admin::service(tx, clock.now());
            let written = arrive::write(tx, &admin, key, &clock, &batch)?;
            let inserted = written.iter().filter(|one| matches!(one, Arrived::Inserted { .. })).count();
            if inserted > 0 {
                // Counted with the posts, because a process may end before the others.
                sql::add_posts(tx, key, inserted, clock.now())?;
            }
            Ok(written)
        })?;
        for one in written {
            match one {
                Arrived::Inserted { id, title } => {
                    fetched.inserted += 1;
                    if fetched.posts.len() < ARRIVED_MAX {
                        fetched.posts.push(ArrivedPost { id, title });
                    }
                }
                Arrived::Updated => fetched.updated += 1,
                Arrived::Skipped => fetched.skipped += 1,
            }
        }
    }
    Ok(fetched)
}

/// Returns a hash of what a post shows of an entry.
fn content(entry: &Entry) -> u64 {
    seen::hash(&[&entry.title, &entry.text, entry.image.as_deref().unwrap_or_default()])
}

fn refuse(fetched: &mut Fetched, line: u64, reason: String) {
    if fetched.errors.len() < ARRIVED_MAX {
        fetched.errors.push(LineError { line, reason });
    }
}

/// Returns the tags of a source and those of an entry, as many as a post may have.
fn with(own: &[String], tags: Vec<String>) -> Vec<String> {
    let mut all = own.to_vec();
    let is_own = |tag: &String| own.iter().any(|own| own.to_lowercase() == tag.to_lowercase());
    all.extend(tags.into_iter().filter(|tag| !is_own(tag)));
    all.truncate(crate::post::NAMES_MAX);
    all
}
