//! Source: JSON Feed 1.1, <https://www.jsonfeed.org/version/1.1/>.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::entry::{Address, ImageKind, LinkKind, Markup, Parts, Text, absolute};
use crate::{EntryFault, Fault, Feed, Source};

/// A value of a wrong type, or that cannot be read, counts as missing.
type Object<'t> = HashMap<String, &'t RawValue>;

pub(crate) fn read(text: &str, source: &Source<'_>) -> Result<Feed, Fault> {
    let fault = |line, reason| Fault { line, reason };
    let feed: Object<'_> = serde_json::from_str(text).map_err(|error| {
        let is_cut = error.is_eof();
        fault(
            error.line() as u64,
            if is_cut { "the file ends before its JSON does" } else { "it is no JSON" },
        )
    })?;
    let value = |name: &str| feed.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let field = |name: &str| value(name).and_then(|value| value.as_str().map(str::to_owned));
    if !field("version").is_some_and(|version| version.contains("jsonfeed.org/version/")) {
        return Err(fault(1, "it is JSON, but no JSON feed: it names no version of JSON Feed"));
    }
    let items = feed.get("items").and_then(|items| serde_json::from_str::<Vec<&RawValue>>(items.get()).ok());
    let items = items.ok_or_else(|| fault(1, "it is a JSON feed without a list of items"))?;
    let address = |name: &str| field(name).and_then(|text| absolute(&text, source.address));
    let home_page = address("home_page_url");
    let hubs = value("hubs").unwrap_or_default();
    let hubs = hubs
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|hub| absolute(hub.get("url")?.as_str()?, source.address));
    let base = home_page.as_ref().or(source.address);
    let (mut at, mut line) = (0, 1);
    let entries = items.into_iter().map(|item| {
        // The item is a part of the text.
        let begin = (item.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let passed = text.as_bytes().get(at..begin).unwrap_or_default();
        line += memchr::memchr_iter(b'\n', passed).count() as u64;
        at = begin;
        match serde_json::from_str::<Object<'_>>(item.get()) {
            Ok(item) => Ok(Parts { line, ..parts(&item) }.finish(base)),
            Err(error) => Err(EntryFault { line, reason: format!("it is no item of a JSON feed: {error}") }),
        }
    });
    Ok(Feed {
        title: field("title").map_or_else(String::new, |title| plain(title).title()),
        hubs: hubs.collect(),
        self_address: address("feed_url"),
        entries: entries.collect(),
        link: home_page,
        ..Feed::default()
    })
}

fn plain(source: String) -> Text {
    Text { source, markup: Markup::None, base: None }
}

fn parts(item: &Object<'_>) -> Parts {
    let value = |name: &str| item.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let field = |name: &str| match value(name)? {
        Value::String(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    };
    let number_or_field = |name: &str| match value(name)? {
        Value::Number(number) => Some(number.to_string()),
        _ => field(name),
    };
    let address = |text: String| Address { text, base: None };
    let id = number_or_field("id");
    let mut parts = Parts { id: id.clone(), ..Parts::default() };
    // An id is an address only if it is a complete one.
    let id_link = id.filter(|id| id.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http")));
    let links =
        [(LinkKind::Page, field("url")), (LinkKind::Other, field("external_url")), (LinkKind::Id, id_link)];
    parts.links.extend(links.into_iter().filter_map(|(kind, link)| Some((kind, address(link?)))));
    for (name, markup) in
        [("content_html", Markup::Html), ("content_text", Markup::None), ("summary", Markup::None)]
    {
        let text = field(name).map(|text| Text { markup, ..plain(text) });
        parts.texts.extend(text.map(|text| (0, text)));
    }
    parts.titles.extend(field("title").map(|title| (0, plain(title))));
    let images = ["image", "banner_image"].into_iter().filter_map(field);
    parts.images.extend(images.map(|image| (ImageKind::Thumbnail, address(image))));
    for file in value("attachments").as_ref().and_then(Value::as_array).into_iter().flatten() {
        let part = |name: &str| file.get(name).and_then(Value::as_str).unwrap_or_default();
        parts.add_file(address(part("url").to_owned()), ImageKind::Enclosure, "", part("mime_type"));
    }
    parts.tags = match value("tags") {
        Some(Value::Array(tags)) => tags.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(tags)) => tags.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let dates = [(0, "date_published"), (3, "date_modified")];
    parts.dates.extend(dates.into_iter().filter_map(|(rank, name)| Some((rank, number_or_field(name)?))));
    parts
}
