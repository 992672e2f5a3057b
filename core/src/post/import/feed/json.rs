//! Posts from a JSON feed.
//!
//! Source: JSON Feed 1.1, <https://www.jsonfeed.org/version/1.1/>.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use url::Url;

use super::super::line::{Fields, Names};
use super::{Entries, NO_DATE, date, names, visible, with_texts, without_markup};

#[derive(Deserialize)]
struct Feed<'f> {
    version: String,
    #[serde(borrow)]
    items: Vec<&'f RawValue>,
}

/// The fields of an item that are read. An id may be a number, and must then be read as a text.
#[derive(Deserialize)]
struct Entry {
    id: Option<Value>,
    url: Option<String>,
    external_url: Option<String>,
    title: Option<String>,
    content_html: Option<String>,
    content_text: Option<String>,
    summary: Option<String>,
    image: Option<String>,
    date_published: Option<String>,
    date_modified: Option<String>,
    tags: Option<Names>,
}

/// Returns the entries of a JSON feed; `None` if it is none.
pub(super) fn entries(json: &[u8]) -> Option<Entries> {
    let feed: Feed<'_> = serde_json::from_slice(json).ok()?;
    let entry = |item: &RawValue| match serde_json::from_str(item.get()) {
        Ok(entry) => fields(entry),
        Err(error) => Err(format!("it is no item of a JSON feed: {error}")),
    };
    let is_feed = feed.version.starts_with("https://jsonfeed.org/version/");
    is_feed.then(|| feed.items.into_iter().map(entry).collect())
}

fn fields(entry: Entry) -> Result<Fields, String> {
    let html = entry.content_html.as_deref().map(without_markup);
    let texts = [&entry.content_text, &entry.summary].into_iter().flatten().map(|text| visible(text));
    let id = entry.id.as_ref().and_then(Value::as_str).filter(|id| id.starts_with("http"));
    let address = entry.url.as_deref().or(entry.external_url.as_deref()).or(id);
    let date = entry.date_published.or(entry.date_modified);
    let date = date.map(|date| date::parse(&date).ok_or(NO_DATE)).transpose()?;
    Ok(Fields {
        // In the normal form, as in other feeds: the same address in each is that of one post.
        url: address.map(|address| Url::parse(address).map_or_else(|_| address.to_owned(), Into::into)),
        img: entry.image.filter(|address| address.starts_with("http")),
        tag: Some(names(entry.tags.unwrap_or_default().0.into_iter())),
        date: date.map(|date| date.to_string()),
        ..with_texts(entry.title.as_deref().map(visible), html.into_iter().chain(texts))
    })
}
