use std::cmp::Reverse;
use std::sync::Arc;

use tidings_feeds::{Entry, Feed};

use super::identity::{Identified, identified};
use super::seen::{self, Known, Seen};
use super::sql::{self, Record};
use super::{ARRIVED_MAX, ArrivedPost, Fetched};
use crate::account::Admin;
use crate::base::clock::Clock;
use crate::import::shorten;
use crate::post::arrive::{self, Arrival, Arrived};
use crate::post::import::{date_fault, entry_draft};
use crate::record::answer::LineError;
use crate::record::error::{Error, Result};
use crate::store::{Isolation, Store};

/// Entries per transaction, so that other writes wait only for a moment.
const BATCH: usize = 100;

/// Writes the entries of a feed that are new or have changed, and adds all entries to `seen`. After a failure, the written
/// entries stay, and the next fetch goes on.
pub(super) fn write(
    store: &Store,
    clock: &Clock,
    record: &Record,
    mut feed: Feed,
    seen: &mut Seen,
) -> Result<Fetched> {
    let (mut fetched, now) = (Fetched::default(), clock.now());
    let mut errors: Vec<LineError> = Vec::new();
    let mut refuse = |line, reason| errors.push(LineError { line, reason });
    let entries = identified(&mut feed, record, &mut refuse);
    let mut warnings = feed.warnings;
    let mut arrivals = Vec::new();
    for one in entries {
        let (key, content, number) = (one.key, content(&one), one.number);
        // The first of two equal entries is the newer one.
        if !seen.add(key, content) {
            warnings.push(format!("entry {number}: an earlier one has the same id or address, and counts"));
            continue;
        }
        // Earlier versions knew an entry by its address alone.
        let known = match record.seen.of(key, content) {
            Known::New if !one.is_shared => record.seen.of(seen::hash(&[&one.page]), content),
            known => known,
        };
        if known == Known::Same {
            fetched.skipped += 1;
            continue;
        }
        if known == Known::New
            && let Some(fault) = date_fault(&one.entry, now)
        {
            warnings.push(format!("entry {number}: {fault}: the post gets the time of the fetch"));
        }
        let line = one.entry.line;
        match arrival(one, record, clock, known == Known::Changed) {
            Ok(arrival) => arrivals.push(arrival),
            Err(reason) => {
                // A new entry counts as new again when it is corrected.
                if known == Known::New {
                    seen.forget(key);
                }
                refuse(line, reason);
            }
        }
    }
    // Newest first; entries without a date are in the order of the file.
    arrivals.sort_by_key(|arrival| Reverse(arrival.date().unwrap_or(now)));
    let mut room = store.read(|tx| sql::room(tx, record.key, now))?;
    let mut left_out = 0_u64;
    arrivals.retain(|arrival| {
        let is_kept = arrival.is_known || room > 0;
        room -= usize::from(is_kept && !arrival.is_known);
        left_out += u64::from(!is_kept);
        is_kept
    });
    // Of posts of the same time, the one with the greatest id is the first in a feed.
    arrivals.reverse();
    let mut others = 0_u64;
    while !arrivals.is_empty() {
        let rest = arrivals.split_off(BATCH.min(arrivals.len()));
        let batch = Arc::new(std::mem::replace(&mut arrivals, rest));
        for one in write_batch(store, clock, record, batch)? {
            match one {
                Arrived::Inserted { id, title } => fetched.posts.push(ArrivedPost { id, title }),
                Arrived::Updated => fetched.updated += 1,
                Arrived::Skipped => fetched.skipped += 1,
                Arrived::NotOwn => others += 1,
                Arrived::LeftOut => left_out += 1,
            }
        }
    }
    fetched.inserted = fetched.posts.len() as u64;
    fetched.skipped += others + left_out;
    fetched.posts.reverse();
    fetched.posts.truncate(ARRIVED_MAX);
    let told = [
        (others, "skipped, because their addresses are those of posts that are not of this source"),
        (left_out, "left out for good, because a source may bring only so many posts in a day, the newest"),
    ];
    // First, because the number of warnings is limited.
    let told = told.into_iter().filter(|(count, _)| *count > 0);
    warnings.splice(0..0, told.map(|(count, why)| format!("entries {why}: {count}")));
    shorten(&mut warnings, ARRIVED_MAX);
    let more = errors.len().saturating_sub(ARRIVED_MAX);
    if let Some(line) = errors.last().filter(|_| more > 0).map(|error| error.line) {
        errors.truncate(ARRIVED_MAX);
        errors
            .push(LineError { line, reason: format!("{more} more entries, up to this one, were left out") });
    }
    (fetched.errors, fetched.warnings) = (errors, warnings);
    Ok(fetched)
}

fn arrival(one: Identified, record: &Record, clock: &Clock, is_known: bool) -> Result<Arrival, String> {
    let Identified { entry, key, page_key, page, is_shared, own, .. } = one;
    let mut draft = entry_draft(entry, clock.now());
    draft.url = Some(if is_shared { &own } else { &page }.clone());
    draft.topic = Some(record.source.topic.clone());
    draft.tag = Some(with(&record.source.tag, draft.tag.take().unwrap_or_default()));
    let [key, page_key] = [key, page_key].map(u64::cast_signed);
    Arrival::new(&draft, arrive::Identity { key, page_key, page, is_shared, own }, is_known)
}

fn write_batch(
    store: &Store,
    clock: &Clock,
    record: &Record,
    batch: Arc<Vec<Arrival>>,
) -> Result<Vec<Arrived>> {
    let (clock, of, key) = (clock.clone(), record.clone(), record.key);
    store.write_long(Isolation::Alone, move |tx| {
        if !sql::is_same(tx, &of)? {
            return Err(Error::NotFound);
        }
        let now = clock.now();
        let (admin, room) = (Admin::service(tx, now), sql::room(tx, key, now)?);
        let written = arrive::write(tx, &admin, key, &clock, &batch, room)?;
        let inserted = written.iter().filter(|one| matches!(one, Arrived::Inserted { .. })).count();
        if inserted > 0 {
            // Counted with the posts, because a process may end before the other batches.
            sql::add_posts(tx, key, inserted, now)?;
        }
        Ok(written)
    })
}

/// A hash of the visible parts of an entry. A session in the query of its address does not count.
fn content(one: &Identified) -> u64 {
    let Entry { title, text, image, .. } = &one.entry;
    seen::hash(&[title, text, image.as_deref().unwrap_or_default(), arrive::place(&one.page)])
}

/// As many as a post may have.
fn with(own: &[String], tags: Vec<String>) -> Vec<String> {
    let mut all = own.to_vec();
    let is_own = |tag: &String| own.iter().any(|own| own.to_lowercase() == tag.to_lowercase());
    all.extend(tags.into_iter().filter(|tag| !is_own(tag)));
    all.truncate(crate::post::NAMES_MAX);
    all
}
