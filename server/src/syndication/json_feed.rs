//! JSON Feed documents.

use std::sync::Arc;

use serde::Serialize;
use tidings_core::clock::Timestamp;

use super::{Entry, Outline, Text};

#[derive(Serialize)]
struct Document<'a> {
    version: &'static str,
    title: &'a str,
    feed_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_url: Option<&'a str>,
    authors: [Author<'a>; 1],
    items: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Author<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Item<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    title: &'a str,
    content_text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    date_published: Timestamp,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [Arc<str>],
}

/// Returns the document.
pub(super) fn document(outline: &Outline, entries: &[Entry], next: Option<&str>) -> Vec<u8> {
    let document = Document {
        version: "https://jsonfeed.org/version/1.1",
        title: &outline.title,
        feed_url: outline.address(),
        next_url: next,
        authors: [Author { name: outline.author() }],
        items: entries.iter().map(item).collect(),
    };
    serde_json::to_vec(&document).expect("the document has text keys and serialises without errors")
}

fn item(entry: &Entry) -> Item<'_> {
    let (text, summary) = match &entry.text {
        // An item must have a content, and a post may have no text.
        Text::Summary(text) if text.is_empty() => (entry.title.as_str(), None),
        Text::Summary(text) => (text.as_str(), Some(text.as_str())),
        Text::Whole(text) => (&**text, None),
    };
    Item {
        id: &entry.id,
        url: entry.url.as_deref(),
        title: &entry.title,
        content_text: text,
        summary,
        image: entry.image.as_deref(),
        date_published: entry.date,
        tags: &entry.labels,
    }
}
