//! Newsfeeds and notices for feed readers: Atom and JSON Feed.
//! A client requests them with `?format=`, or with the media type in `Accept`. All other clients get the JSON object of the
//! operation. Documents that many clients request are cached as long as the answer of the operation is the same.

use std::sync::Arc;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tidings_core::account::Caller;
use tidings_core::answer::Encoded;
use tidings_core::clock::Timestamp;
use tidings_core::error::Problem;
use tidings_core::newsfeed::{self, FeedPage, Page};
use tidings_core::notice::NoticeList;
use tidings_core::{Error, Result, Tidings};

use crate::filter::accept;
use crate::filter::lane::{Lane, Lanes};
use crate::filter::reply::Answer;
use crate::filter::request::Call;

mod atom;
mod json_feed;
#[cfg(test)]
mod tests;

pub(crate) use json_feed::Document as JsonFeed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Source: RFC 4287, and RFC 5005 for the links of pages.
    Atom,
    /// Source: <https://www.jsonfeed.org/version/1.1/>.
    JsonFeed,
}

impl Format {
    const ALL: [Self; 2] = [Self::Atom, Self::JsonFeed];

    const fn name(self) -> &'static str {
        match self {
            Self::Atom => "atom",
            Self::JsonFeed => "json-feed",
        }
    }

    const fn media_type(self) -> &'static str {
        match self {
            Self::Atom => "application/atom+xml",
            Self::JsonFeed => "application/feed+json",
        }
    }

    const fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Atom => "application/atom+xml; charset=utf-8",
            Self::JsonFeed => "application/feed+json; charset=utf-8",
        })
    }

    /// The query has priority over `Accept`. `None` is the JSON object of the operation, also for clients that accept everything
    /// or any JSON.
    pub(crate) fn chosen(headers: &HeaderMap, name: Option<&str>) -> Result<Option<Self>> {
        match name {
            None => Ok(Self::accepted(headers)),
            Some("json") => Ok(None),
            Some(name) => {
                let format = Self::ALL.into_iter().find(|format| format.name() == name);
                format
                    .map(Some)
                    .ok_or(Error::BadRequest(Problem::invalid("format", "format is json, atom or json-feed")))
            }
        }
    }

    /// Prefers JSON if its weight is as great. Wildcards do not count: existing clients send them.
    fn accepted(headers: &HeaderMap) -> Option<Self> {
        let (mut best, mut json) = (None, 0.0);
        for (name, weight) in accept::ranges(headers, &ACCEPT) {
            if name.eq_ignore_ascii_case("application/json") {
                json = weight;
            }
            let is_named = |format: &Self| name.eq_ignore_ascii_case(format.media_type());
            let Some(format) = Self::ALL.into_iter().find(is_named) else { continue };
            if weight > best.map_or(0.0, |(weight, _)| weight) {
                best = Some((weight, format));
            }
        }
        best.filter(|(weight, _)| *weight > json).map(|(_, format)| format)
    }
}

#[derive(Deserialize)]
pub(crate) struct FormatField {
    pub(crate) format: Option<String>,
}

pub(crate) struct Outline {
    format: Format,
    title: String,
    /// The scheme and the host of the request's address.
    site: String,
    /// The address without a query, which identifies the feed.
    id: String,
    limit: Option<i64>,
    next: Option<String>,
}

impl Outline {
    pub(crate) fn new(call: &Call, format: Format, title: impl Into<String>, path: &str) -> Self {
        let site = call.site();
        let id = format!("{site}{}{path}", call.app().config.base_path);
        Self { format, title: title.into(), site, id, limit: None, next: None }
    }

    pub(crate) fn at(self, page: &Page<'_>) -> Self {
        Self { limit: page.limit, next: page.next.map(ToOwned::to_owned), ..self }
    }

    fn address(&self) -> String {
        let limit = self.limit.map(|limit| format!("&limit={limit}")).unwrap_or_default();
        match &self.next {
            Some(next) => self.address_of(next),
            None => format!("{}?format={}{limit}", self.id, self.format.name()),
        }
    }

    fn address_of(&self, next: &str) -> String {
        let next = utf8_percent_encode(next, NON_ALPHANUMERIC);
        format!("{}?format={}&next={next}", self.id, self.format.name())
    }

    fn author(&self) -> &str {
        self.site.split_once("://").map_or(&self.site, |(_, host)| host)
    }

    fn document(&self, entries: &[Entry], next: Option<&str>) -> Arc<Encoded> {
        let next = next.map(|next| self.address_of(next));
        let document = match self.format {
            Format::Atom => atom::document(self, entries, next.as_deref()),
            Format::JsonFeed => json_feed::document(self, entries, next.as_deref()),
        };
        Arc::new(Encoded::new(document))
    }
}

struct Entry {
    id: String,
    title: String,
    /// `None` for a notice.
    url: Option<String>,
    image: Option<String>,
    text: Text,
    date: Timestamp,
    labels: Vec<Arc<str>>,
}

enum Text {
    Summary(String),
    Whole(Arc<str>),
}

#[derive(Clone, Copy)]
enum Record {
    Post = 1,
    Notice = 2,
}

/// The id is a UUID of version 8 that has the 24 digits of the `_id` and the kind of the record. It does not depend on the
/// address of the server or of the post. Source: RFC 9562 section 5.8.
fn urn(record: Record, id: &str) -> String {
    let part = |from: usize, to: usize| id.get(from..to).unwrap_or_default();
    format!("urn:uuid:{}-{}-8000-800{}-{}", part(0, 8), part(8, 12), record as u8, part(12, 24))
}

pub(crate) enum Source {
    Posts(FeedPage),
    Notices(NoticeList),
}

impl Source {
    fn answer(&self) -> &Arc<Encoded> {
        match self {
            Self::Posts(page) => page.answer(),
            Self::Notices(list) => list.answer(),
        }
    }

    /// Reads texts from the database.
    fn document(&self, tidings: &Tidings, outline: &Outline) -> Result<Arc<Encoded>> {
        Ok(match self {
            Self::Posts(page) => {
                let entries = newsfeed::entries(tidings, page)?.into_iter().map(|entry| Entry {
                    id: urn(Record::Post, &entry.post.id),
                    title: entry.post.title,
                    url: Some(entry.post.url),
                    image: Some(entry.post.img).filter(|img| !img.is_empty()),
                    text: Text::Summary(entry.summary),
                    date: entry.post.date,
                    labels: entry.labels,
                });
                outline.document(&entries.collect::<Vec<_>>(), page.next())
            }
            Self::Notices(list) => {
                let entries = list.notices().iter().map(|notice| Entry {
                    id: urn(Record::Notice, &notice.id.to_string()),
                    title: notice.title.to_string(),
                    url: None,
                    image: None,
                    text: Text::Whole(Arc::clone(&notice.post)),
                    date: notice.date,
                    labels: Vec::new(),
                });
                outline.document(&entries.collect::<Vec<_>>(), None)
            }
        })
    }
}

/// An answer that is in memory is the same for all guests, so its document is cached as long as the answer stays.
pub(crate) async fn document(
    call: Call,
    outline: Outline,
    is_in_memory: bool,
    lane: impl FnOnce(&Lanes) -> &Lane + Send,
    source: impl FnOnce(&Tidings, &Caller) -> Result<Source> + Send + 'static,
) -> Answer {
    let content_type = outline.format.content_type();
    if !is_in_memory {
        let work = move |tidings: &_, caller: &_| source(tidings, caller)?.document(tidings, &outline);
        return call.document_in(lane, content_type, work).await;
    }
    let source = source(call.tidings(), call.caller())?;
    let (app, address) = (call.app().clone(), outline.address());
    let is_shared = outline.next.is_none() && outline.limit.is_none();
    if let Some(document) = app.documents.get(&address, source.answer()).filter(|_| is_shared) {
        return call.document(&document, content_type).await;
    }
    let work = move |tidings: &_, _: &_| {
        let document = source.document(tidings, &outline)?;
        if is_shared {
            app.documents.insert(address, Arc::clone(source.answer()), &document);
        }
        Ok(document)
    };
    // Boxed, because few requests are for documents, and those for JSON would have room for it too.
    Box::pin(call.document_in(|lanes| &lanes.read, content_type, work)).await
}

/// The beginning of 1970 if there is no entry, so that an empty document never changes.
fn updated(entries: &[Entry]) -> Timestamp {
    entries.iter().map(|entry| entry.date).max().unwrap_or(Timestamp::from_millis(0))
}
