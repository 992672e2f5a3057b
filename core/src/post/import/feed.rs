use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Read as _};

use tidings_feeds::{Entry, EntryFault, Fault, Source};
use tidings_tokens::compose;

use super::line::{Fields, Line, Names};
use crate::base::clock::Timestamp;
use crate::base::config::Bounds;
use crate::base::text;
use crate::import::{ERRORS_MAX, Item, shorten};
use crate::post::draft::{Draft, NAME, NAMES_MAX, POST, TITLE};
use crate::record::error::{Code, Error, Problem, Result};

/// The maximum size of a feed in bytes.
pub const FEED_MAX: u64 = 64 << 20;

const TOO_LONG: Problem = Problem::new(Code::BodyTooLarge, "a feed is at most 64 MiB");
/// In characters, for a title that is the start of the text.
const TITLE_LENGTH: usize = 80;

pub(super) struct Feed<I> {
    pub(super) items: I,
    pub(super) warnings: Vec<String>,
}

/// The number of an entry is its place in the feed.
pub(super) fn read(
    input: impl BufRead,
    charset: Option<&str>,
    now: Timestamp,
) -> Result<Feed<impl Iterator<Item = Result<Item<Line>>>>> {
    let mut bytes = Vec::new();
    input.take(FEED_MAX + 1).read_to_end(&mut bytes).map_err(Error::Input)?;
    if bytes.len() as u64 > FEED_MAX {
        return Err(Error::BadRequest(TOO_LONG));
    }
    let feed = tidings_feeds::read(&bytes, &Source { charset, address: None }).map_err(|fault| {
        Error::BadRequest(match fault {
            // The first line is that of most faults of the whole file.
            Fault { line: 1, reason } => Problem::new(Code::MalformedBody, reason),
            Fault { line, reason } => Problem::line(Code::MalformedBody, line, reason),
        })
    })?;
    let mut warnings = feed.warnings;
    let entries = distinct(feed.entries, &mut warnings);
    for (number, entry) in &entries {
        if let Some(fault) = entry.as_ref().ok().and_then(|entry| date_fault(entry, now)) {
            warnings.push(format!("entry {number}: {fault}: a new post gets the time of the import"));
        }
    }
    shorten(&mut warnings, ERRORS_MAX);
    let items = entries.into_iter().map(move |(number, entry)| {
        let bytes = entry.as_ref().map_or(0, |entry| entry.text.len());
        let line = match entry {
            Ok(entry) => Line::new(number, fields(entry, now)),
            Err(EntryFault { line, reason }) => Err(format!("{reason} (line {line} of the feed)")),
        };
        Ok(Item { number, is_entry: true, bytes, line })
    });
    Ok(Feed { items, warnings })
}

type Numbered = (u64, Result<Entry, EntryFault>);

/// Of several entries with the same address, the newest counts, or else the first.
fn distinct(entries: Vec<Result<Entry, EntryFault>>, warnings: &mut Vec<String>) -> Vec<Numbered> {
    let mut kept: Vec<Numbered> = Vec::with_capacity(entries.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for (number, entry) in (1..).zip(entries) {
        if let Ok(Entry { url: Some(url), date, .. }) = &entry {
            match places.entry(url.clone()) {
                Slot::Vacant(slot) => {
                    slot.insert(kept.len());
                }
                Slot::Occupied(slot) => {
                    let (other, stored) = &mut kept[*slot.get()];
                    let is_newer = stored.as_ref().is_ok_and(|stored| *date > stored.date);
                    let (first, second) = if is_newer { (number, *other) } else { (*other, number) };
                    warnings.push(format!("entry {second}: entry {first} has the same address, and counts"));
                    if is_newer {
                        (*other, *stored) = (number, entry);
                    }
                    continue;
                }
            }
        }
        kept.push((number, entry));
    }
    kept
}

/// Returns why the post of an entry does not get the date of the entry.
pub(crate) fn date_fault(entry: &Entry, now: Timestamp) -> Option<&str> {
    let to_come = is_to_come(entry.date, now).then_some("its date is yet to come");
    entry.date_fault.as_deref().or(to_come)
}

fn is_to_come(date: Option<i64>, now: Timestamp) -> bool {
    date.is_some_and(|date| Timestamp::from_millis(date) > now)
}

pub(crate) fn draft(entry: Entry, now: Timestamp) -> Draft {
    fields(entry, now).draft()
}

fn fields(entry: Entry, now: Timestamp) -> Fields {
    let title = [(&entry.title, TITLE.max), (&entry.text, TITLE_LENGTH)];
    let title = title.into_iter().map(|(text, max)| one_line(text, max)).find(|title| !title.is_empty());
    let title = title.or_else(|| entry.url.as_ref().map(|url| cut(url, TITLE.max)));
    // A date to come would keep the post on top of every feed until then.
    let date = entry.date.filter(|_| !is_to_come(entry.date, now));
    Fields {
        title,
        // An entry without text or image says nothing about those that its post has.
        post: text::block(&cut(&entry.text, POST.max), POST).filter(|text| !text.is_empty()),
        url: entry.url,
        img: entry.image,
        tag: Some(names(&entry.tags)),
        date: date.map(|date| Timestamp::from_millis(date).to_string()),
        ..Fields::default()
    }
}

fn names(tags: &[String]) -> Names {
    let mut seen = HashSet::new();
    let names = tags.iter().map(|tag| one_line(tag, NAME.max));
    let names = names.filter(|name| !name.is_empty() && seen.insert(name.to_lowercase()));
    Names::from(names.take(NAMES_MAX).collect::<Vec<_>>())
}

/// Empty if nothing of the text is visible.
fn one_line(text: &str, max: usize) -> String {
    let line = cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), max);
    text::line(&line, Bounds { min: 1, max }).unwrap_or_default()
}

/// In characters as they are stored. A shortened text ends with an ellipsis.
fn cut(text: &str, max: usize) -> String {
    let text = compose(text);
    if text.chars().count() <= max {
        return text.into_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}
