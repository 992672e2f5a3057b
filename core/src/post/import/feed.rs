//! Posts from an RSS, Atom or JSON feed.

use std::io::{BufRead, Read as _};

use feed_rs::model::{Entry, FeedType, Link};
use feed_rs::parser::{self, Builder};
use nanohtml2text::html2text;

use super::line::{Fields, Line, Names};
use crate::base::clock::Timestamp;
use crate::import::Item;
use crate::post::draft::{NAME, NAMES_MAX, POST, TITLE};
use crate::record::error::{Code, Error, Problem, Result};

mod date;
mod json;

/// The maximum size of a feed in bytes.
pub const FEED_MAX: u64 = 64 << 20;

const TOO_LONG: Problem = Problem::new(Code::BodyTooLarge, "a feed is at most 64 MiB");
const NO_FEED: Problem =
    Problem::new(Code::MalformedBody, "it is no RSS, Atom or JSON feed that can be read");
const NO_DATE: &str =
    "its date cannot be read: it is written like 2026-11-20T08:36:00Z or Fri, 20 Nov 2026 08:36:00 +0000";
/// The maximum length of a title that is the start of the text, in characters.
const TITLE_LENGTH: usize = 80;

/// The entries of a feed, each with the reason if it cannot be read.
type Entries = Vec<Result<Fields, String>>;

/// Parses a feed and returns its entries.
///
/// # Errors
/// `bad request` if the input is not a feed or is too long; [`Error::Input`] if reading it fails.
pub(super) fn entries(input: impl BufRead) -> Result<impl Iterator<Item = Result<Item<Line>>>> {
    let mut text = Vec::new();
    input.take(FEED_MAX + 1).read_to_end(&mut text).map_err(Error::Input)?;
    if text.len() as u64 > FEED_MAX {
        return Err(Error::BadRequest(TOO_LONG));
    }
    let json = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text).trim_ascii_start();
    let entries = if json.starts_with(b"{") { json::entries(json) } else { xml(&text) };
    let entries = entries.ok_or(Error::BadRequest(NO_FEED))?;
    let items = (1..).zip(entries).map(|(number, entry)| {
        let bytes = entry.as_ref().ok().and_then(|fields| fields.post.as_ref()).map_or(0, String::len);
        let line = entry.and_then(|fields| Line::new(number, fields));
        Ok(Item { number, is_entry: true, bytes, line })
    });
    Ok(items)
}

/// Returns the entries of an RSS or Atom feed; `None` if it is none.
fn xml(text: &[u8]) -> Option<Entries> {
    let mut feed = parser::parse(text).ok()?;
    let date = |entry: &Entry| entry.published.or(entry.updated);
    let mut entries = std::mem::take(&mut feed.entries);
    let mut is_unreadable = vec![false; entries.len()];
    if entries.iter().any(|entry| date(entry).is_none()) {
        // The parser takes a date that it cannot read for none.
        let other = |text: &str| date::parse(text).and_then(|at| at.to_string().parse().ok());
        let parser = Builder::new().timestamp_parser(move |text| Some(other(text).unwrap_or_default()));
        let again = parser.build().parse(text).ok()?.entries;
        for ((entry, again), is_unreadable) in entries.iter_mut().zip(again).zip(&mut is_unreadable) {
            if date(entry).is_none() {
                entry.published = date(&again).filter(|at| at.timestamp() != 0);
                *is_unreadable = date(&again).is_some() && entry.published.is_none();
            }
        }
    }
    if is_at_hour_24(text) {
        // The parser takes the hour 24 for the hour 0.
        let of_hour_24 = |text: &str| {
            let date = || date::parse(text).and_then(|at| at.to_string().parse().ok()).unwrap_or_default();
            is_at_hour_24(text.as_bytes()).then(date)
        };
        let again = Builder::new().timestamp_parser(of_hour_24).build().parse(text).ok()?.entries;
        for ((entry, again), is_unreadable) in entries.iter_mut().zip(again).zip(&mut is_unreadable) {
            *is_unreadable |= date(&again).is_some_and(|at| at.timestamp() == 0);
            entry.published = again.published.or(entry.published);
            entry.updated = again.updated.or(entry.updated);
        }
    }
    if entries.is_empty() && has_entries(text) {
        return None;
    }
    let entries = entries.into_iter().zip(is_unreadable);
    let read = |(entry, is_unreadable)| {
        if is_unreadable { Err(NO_DATE.to_owned()) } else { Ok(fields(&entry, &feed.feed_type)) }
    };
    Some(entries.map(read).collect())
}

/// Returns whether a text has a time of the hour 24.
fn is_at_hour_24(text: &[u8]) -> bool {
    text.windows(4).any(|part| part == b" 24:")
}

/// Returns whether a text has elements of entries, also such as the parser does not read: those of Atom 0.3, or of other names.
fn has_entries(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        rest = &rest[at..];
        let skipped =
            [(&b"<!--"[..], &b"-->"[..]), (b"<![CDATA[", b"]]>")].into_iter().find_map(|(begin, end)| {
                let inside = rest.strip_prefix(begin)?;
                let end_at = inside.windows(end.len()).position(|part| part == end)?;
                Some(&inside[end_at + end.len()..])
            });
        if let Some(after) = skipped {
            rest = after;
            continue;
        }
        rest = &rest[1..];
        let is_of_name = |byte: &u8| !byte.is_ascii_whitespace() && !b"/>".contains(byte);
        let name = &rest[..rest.iter().position(|byte| !is_of_name(byte)).unwrap_or(rest.len())];
        let local = name.rsplit(|byte| *byte == b':').next().unwrap_or(name);
        if local.eq_ignore_ascii_case(b"entry") || local.eq_ignore_ascii_case(b"item") {
            return true;
        }
    }
    false
}

fn fields(entry: &Entry, feed: &FeedType) -> Fields {
    // Only Atom says whether a text is plain: RSS has markup in texts that should have none.
    let plain = |text: &str, subtype: &str| match feed {
        FeedType::Atom if subtype == "plain" => visible(text),
        _ => without_markup(text),
    };
    let content =
        entry.content.as_ref().and_then(|content| Some((content.body.as_ref()?, &content.content_type)));
    let texts = [content, entry.summary.as_ref().map(|text| (&text.content, &text.content_type))];
    let texts = texts.into_iter().flatten().map(|(text, kind)| plain(text, kind.subty().as_str()));
    let title = entry.title.as_ref().map(|title| plain(&title.content, title.content_type.subty().as_str()));
    let thumbnails =
        entry.media.iter().flat_map(|media| &media.thumbnails).map(|found| found.image.uri.clone());
    let images = entry
        .media
        .iter()
        .flat_map(|media| &media.content)
        .filter(|content| content.content_type.as_ref().is_some_and(|kind| kind.ty() == "image"));
    let images = images.filter_map(|content| content.url.as_ref()).map(ToString::to_string);
    let img = thumbnails.chain(images).find(|address| address.starts_with("http"));
    let tags = entry.categories.iter();
    let tags = tags.map(|category| plain(category.label.as_deref().unwrap_or(&category.term), "plain"));
    Fields {
        url: address(&entry.links).or_else(|| Some(entry.id.clone()).filter(|id| id.starts_with("http"))),
        img,
        tag: Some(names(tags)),
        date: entry
            .published
            .or(entry.updated)
            .map(|date| Timestamp::from_millis(date.timestamp_millis()).to_string()),
        ..with_texts(title, texts)
    }
}

/// Returns the title and the text of an entry: the longest of its plain texts. The title of an entry without one is the start
/// of its text.
fn with_texts(title: Option<String>, texts: impl Iterator<Item = String>) -> Fields {
    let post = texts.map(|text| cut(&text, POST.max)).max_by_key(String::len);
    let title = title.map(|title| one_line(&title, TITLE.max)).filter(|title| !title.is_empty());
    let title = title.or_else(|| post.as_ref().map(|post| one_line(post, TITLE_LENGTH)));
    Fields { title, post, ..Fields::default() }
}

/// Returns plain texts as distinct names.
fn names(texts: impl Iterator<Item = String>) -> Names {
    let mut names: Vec<String> = Vec::new();
    for name in texts.map(|text| one_line(&text, NAME.max)) {
        if !name.is_empty() && names.len() < NAMES_MAX && !names.contains(&name) {
            names.push(name);
        }
    }
    Names::from(names)
}

/// Returns the address of an entry: its alternate link, or else its first link.
fn address(links: &[Link]) -> Option<String> {
    let alternate = links.iter().find(|link| matches!(link.rel.as_deref(), None | Some("alternate")));
    alternate.or(links.first()).map(|link| link.href.clone())
}

/// Returns a text without markup, if it has any.
fn without_markup(text: &str) -> String {
    let is_marked_up =
        text.contains("</") || text.contains("/>") || text.contains("<br") || text.contains('&');
    if is_marked_up { visible(&html2text(text)) } else { visible(text) }
}

/// Removes control characters from a plain text.
fn visible(text: &str) -> String {
    let plain: String =
        text.replace("\r\n", "\n").chars().filter(|c| !c.is_control() || *c == '\n').collect();
    plain.trim().to_owned()
}

fn one_line(text: &str, max: usize) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), max)
}

/// Shortens a text to `max` characters, of which the last is then an ellipsis.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}
