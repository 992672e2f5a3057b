//! The reader of web feeds: RSS 0.90 to 2.0, Atom 0.3 and 1.0, and JSON Feed.
//!
//! Feeds are written by thousands of programs, and many break the rules of their format. [`read()`] reads only what a post needs,
//! so that a fault anywhere else has no effect: an element counts by its name, in whatever version of a namespace; markup that is
//! not well-formed is read as far as it makes sense; and an unreadable part affects at most its entry.
//!
//! ```
//! let rss = "<rss><channel><title>Campus</title><item><title>Tea & cake</title><link>https://e.example/1</link></item>";
//! let feed = tidings_feeds::read(rss.as_bytes(), &tidings_feeds::Source::default()).unwrap();
//! let entry = feed.entries[0].as_ref().unwrap();
//! assert_eq!((entry.title.as_str(), entry.url.as_deref()), ("Tea & cake", Some("https://e.example/1")));
//! assert_eq!(feed.warnings, ["the file ends in line 1, before the end of <rss>: the rest is missing"]);
//! ```

use std::fmt;

pub use decode::{Decoded, decode};
pub use discover::{FeedLink, discover};
use url::Url;
pub use xml::repaired;

mod date;
mod decode;
mod discover;
mod entities;
mod entry;
mod html;
mod json;
mod namespace;
mod reader;
mod xml;

#[derive(Clone, Copy, Debug, Default)]
pub struct Source<'s> {
    /// The charset of the media type with which a server sent the feed.
    pub charset: Option<&'s str>,
    /// The address of the feed. Relative addresses resolve against `xml:base`, the home page, or else this.
    pub address: Option<&'s Url>,
}

#[derive(Debug, Default)]
pub struct Feed {
    /// The title, on one line; empty if the feed has none.
    pub title: String,
    /// The home page.
    pub link: Option<Url>,
    pub hubs: Vec<Url>,
    /// The address of the feed, as the feed gives it.
    pub self_address: Option<Url>,
    /// How long a copy of the feed is good, in minutes.
    pub ttl: Option<u32>,
    /// The hours, from 0 to 23 in UTC, in which the feed does not change.
    pub skip_hours: Vec<u8>,
    /// The entries in the order of the file, each with the reason if it cannot be read.
    pub entries: Vec<Result<Entry, EntryFault>>,
    /// What was wrong with the file, for people.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// From 1.
    pub line: u64,
    /// As the feed gives it.
    pub id: Option<String>,
    /// The address of its page, http or https, in the normal form of browsers.
    pub url: Option<String>,
    /// Another address, that of its file or its permanent id, for an entry whose page is that of others too.
    pub own_url: Option<String>,
    /// The title without markup, on one line; empty if it has none.
    pub title: String,
    /// The longest of its texts, without markup; empty if it has none.
    pub text: String,
    /// The address of its image, http or https.
    pub image: Option<String>,
    /// Each once.
    pub tags: Vec<String>,
    /// When it was published, or else changed, in milliseconds since 1970.
    pub date: Option<i64>,
    /// Why it has no date although the feed gives one, for people.
    pub date_fault: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From 1.
    pub line: u64,
    pub reason: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for Fault {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryFault {
    /// From 1.
    pub line: u64,
    pub reason: String,
}

/// Returns the point in time that a text means, in milliseconds since 1970, in any form that feeds have.
pub fn date(text: &str) -> Option<i64> {
    date::parse(text).ok().flatten()
}

/// Returns a text of XML with the meaning of its references. An `&` that begins none is text.
pub fn resolved(text: &str) -> String {
    entities::Entities::default().resolved(text).into_owned()
}

/// No input makes it panic, and its time and memory are in proportion to the size of the input.
pub fn read(bytes: &[u8], source: &Source<'_>) -> Result<Feed, Fault> {
    let Decoded { text, warning, .. } = decode(bytes, source.charset);
    let begin = text.trim_start().chars().next();
    let mut feed = match begin {
        None => return Err(Fault { line: 1, reason: "it is empty" }),
        Some('{') => json::read(&text, source)?,
        Some(_) => reader::read(&text, source)?,
    };
    feed.warnings.splice(0..0, warning);
    Ok(feed)
}
