use std::sync::Arc;

use serde::Serialize;
use tidings_core::clock::Timestamp;
use tidings_core::schema::{JsonFeedVersion, Word};
use utoipa::ToSchema;

use super::{Entry, Outline, Text};

/// A JSON Feed.
#[derive(Serialize, ToSchema)]
#[schema(as = JsonFeed)]
pub(crate) struct Document<'a> {
    /// The version of the format.
    #[schema(value_type = JsonFeedVersion)]
    version: &'static str,
    /// The title of the feed.
    #[schema(max_length = 3_000, examples("Popular posts"))]
    title: &'a str,
    /// The address of this document.
    #[schema(
        format = "uri",
        max_length = 100_000,
        examples("https://campus.example/get_popularity_newsfeed?format=json-feed")
    )]
    feed_url: String,
    /// The address of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        format = "uri",
        max_length = 100_000,
        examples("https://campus.example/get_popularity_newsfeed?format=json-feed")
    )]
    next_url: Option<&'a str>,
    /// The site.
    #[schema(value_type = Vec<Author<'a>>, min_items = 1, max_items = 1)]
    authors: [Author<'a>; 1],
    /// The posts or the notices.
    #[schema(max_items = 10_000)]
    items: Vec<Item<'a>>,
}

/// The author of a JSON Feed.
#[derive(Serialize, ToSchema)]
#[schema(as = JsonFeedAuthor)]
pub(crate) struct Author<'a> {
    /// The name of the site.
    #[schema(max_length = 1_000, examples("campus.example"))]
    name: &'a str,
}

/// An item of a JSON Feed.
#[derive(Serialize, ToSchema)]
#[schema(as = JsonFeedItem)]
pub(crate) struct Item<'a> {
    /// The id, which never changes.
    #[schema(max_length = 100, examples("urn:uuid:6b0039ac-d7c3-4f1e-8b2e-91a700000000"))]
    id: &'a str,
    /// The address of the post.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", max_length = 2_000, examples("https://news.example.org/eclipse"))]
    url: Option<&'a str>,
    /// The title.
    #[schema(max_length = 300, examples("An eclipse over the lake"))]
    title: &'a str,
    /// The text; the title if there is none.
    #[schema(max_length = 100_000, examples("The library opens again on Tuesday."))]
    content_text: &'a str,
    /// The text of a post.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100_000, examples("On Friday evening the moon covers the sun."))]
    summary: Option<&'a str>,
    /// The address of an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000, examples("https://news.example.org/lake.jpg"))]
    image: Option<&'a str>,
    /// The date of publication.
    date_published: Timestamp,
    /// The topics and the tags of a post.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Vec<Word>, max_items = 400)]
    tags: &'a [Arc<str>],
}

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
