//! Posts from an RSS, Atom or JSON feed.

use std::io::{self, BufRead, Read as _};

use feed_rs::model::{Entry, Link};
use feed_rs::parser;
use nanohtml2text::html2text;

use super::line::{Fields, Line, Names};
use crate::clock::Timestamp;
use crate::error::{Code, Error, Problem, Result};
use crate::import::Item;
use crate::post::draft::{NAME, NAMES_MAX, POST, TITLE};

/// The maximum size of a feed in bytes.
pub const FEED_MAX: u64 = 64 << 20;

const TOO_LONG: Problem = Problem::new(Code::BodyTooLarge, "a feed is at most 64 MiB");
const NO_FEED: Problem =
    Problem::new(Code::MalformedBody, "it is no RSS, Atom or JSON feed that can be read");
/// The maximum length of a title that is the start of the text, in characters.
const TITLE_LENGTH: usize = 80;

/// Parses a feed and returns its entries.
///
/// # Errors
/// `bad request` if the input is not a feed or is too long; [`Error::Input`] if reading it fails.
pub(super) fn entries(input: impl BufRead) -> Result<impl Iterator<Item = io::Result<Item<Line>>>> {
    let mut text = Vec::new();
    input.take(FEED_MAX + 1).read_to_end(&mut text).map_err(Error::Input)?;
    if text.len() as u64 > FEED_MAX {
        return Err(Error::BadRequest(TOO_LONG));
    }
    let feed = parser::parse(&text[..]).map_err(|_| Error::BadRequest(NO_FEED))?;
    let items = (1..).zip(feed.entries).map(|(number, entry)| {
        let fields = fields(entry);
        let bytes = fields.post.as_ref().map_or(0, String::len);
        Ok(Item { number, is_entry: true, bytes, line: Line::new(number, fields) })
    });
    Ok(items)
}

fn fields(entry: Entry) -> Fields {
    let texts = [entry.content.and_then(|content| content.body), entry.summary.map(|text| text.content)];
    let post = texts.into_iter().flatten().map(|text| cut(&plain(&text), POST.max)).max_by_key(String::len);
    let title = entry.title.map(|title| one_line(&plain(&title.content), TITLE.max));
    let title = title.filter(|title| !title.is_empty());
    let title = title.or_else(|| post.as_ref().map(|post| one_line(post, TITLE_LENGTH)));
    let thumbnails =
        entry.media.iter().flat_map(|media| &media.thumbnails).map(|found| found.image.uri.clone());
    let images = entry
        .media
        .iter()
        .flat_map(|media| &media.content)
        .filter(|content| content.content_type.as_ref().is_some_and(|kind| kind.ty() == "image"));
    let images = images.filter_map(|content| content.url.as_ref()).map(ToString::to_string);
    let img = thumbnails.chain(images).find(|address| address.starts_with("http"));
    let mut tags: Vec<String> = Vec::new();
    for category in entry.categories {
        let tag = one_line(&plain(category.label.as_deref().unwrap_or(&category.term)), NAME.max);
        if !tag.is_empty() && tags.len() < NAMES_MAX && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    let address = address(&entry.links).or_else(|| Some(entry.id).filter(|id| id.starts_with("http")));
    Fields {
        title,
        post,
        url: address,
        img,
        tag: Some(Names::from(tags)),
        date: entry
            .published
            .or(entry.updated)
            .map(|date| Timestamp::from_millis(date.timestamp_millis()).to_string()),
        ..Fields::default()
    }
}

/// Returns the address of an entry: its alternate link, or else its first link.
fn address(links: &[Link]) -> Option<String> {
    let alternate = links.iter().find(|link| matches!(link.rel.as_deref(), None | Some("alternate")));
    alternate.or(links.first()).map(|link| link.href.clone())
}

/// Removes markup and control characters from a text.
fn plain(text: &str) -> String {
    let is_marked_up =
        text.contains("</") || text.contains("/>") || text.contains("<br") || text.contains('&');
    let plain = if is_marked_up { html2text(text) } else { text.to_owned() };
    let plain: String =
        plain.replace("\r\n", "\n").chars().filter(|c| !c.is_control() || *c == '\n').collect();
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
