//! JSON Feed documents.

use std::sync::Arc;

use serde::Serialize;
use tidings_core::clock::Timestamp;
use utoipa::ToSchema;

use super::{Entry, Outline, Text};

/// A JSON Feed.
#[derive(Serialize, ToSchema)]
#[schema(as = JsonFeed)]
pub(crate) struct Document<'a> {
    /// The version of the format.
    version: &'static str,
    /// The title of the feed.
    title: &'a str,
    /// The address of this document.
    feed_url: String,
    /// The address of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_url: Option<&'a str>,
    /// The site.
    #[schema(value_type = Vec<Author<'a>>)]
    authors: [Author<'a>; 1],
    /// The posts or the notices.
    items: Vec<Item<'a>>,
}

/// The author of a JSON Feed.
#[derive(Serialize, ToSchema)]
#[schema(as = JsonFeedAuthor)]
pub(crate) struct Author<'a> {
    /// The name of the site.
    name: &'a str,
}

/// An item of a JSON Feed.
#[derive(Serialize, ToSchema)]
#[schema(as = JsonFeedItem)]
pub(crate) struct Item<'a> {
    /// The id, which never changes.
    id: &'a str,
    /// The address of the post.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    /// The title.
    title: &'a str,
    /// The text; the title if there is none.
    content_text: &'a str,
    /// The text of a post.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    /// The address of an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    /// The date of publication.
    #[schema(value_type = String)]
    date_published: Timestamp,
    /// The topics and the tags of a post.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Vec<String>)]
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
