//! Faults of real feeds, each in the smallest feed that has it, with what is right.

use tidings_feeds::{Entry, Feed, Source, read};

mod entries;
mod feeds;

fn feed_of(bytes: &[u8]) -> Feed {
    read(bytes, &Source::default())
        .unwrap_or_else(|fault| panic!("{fault}: {}", String::from_utf8_lossy(bytes)))
}

fn entries(feed: &str) -> Vec<Entry> {
    let read = |entry: Result<Entry, _>| entry.unwrap_or_else(|fault| panic!("{fault:?}: {feed}"));
    feed_of(feed.as_bytes()).entries.into_iter().map(read).collect()
}

/// Returns the only entry of a feed.
fn entry(feed: &str) -> Entry {
    let mut entries = entries(feed);
    assert_eq!(entries.len(), 1, "{feed}");
    entries.remove(0)
}

/// The namespaces that feeds use most.
const NAMESPACES: &str = "xmlns:content='http://purl.org/rss/1.0/modules/content/' xmlns:dc='http://purl.org/dc/elements/1.1/' \
    xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:media='http://search.yahoo.com/mrss/' \
    xmlns:atom='http://www.w3.org/2005/Atom' xmlns:podcast='https://podcastindex.org/namespace/1.0'";

/// Returns an RSS feed of one item with these elements.
fn rss(elements: &str) -> String {
    format!(
        "<rss version='2.0' {NAMESPACES}><channel><title>C</title><item>{elements}</item></channel></rss>"
    )
}

/// Returns an RSS feed of one item with title, link and these elements.
fn item(more: &str) -> String {
    rss(&format!("<title>T</title><link>https://c.example/1</link>{more}"))
}

/// Returns an Atom feed of one entry with these elements.
fn atom(elements: &str) -> String {
    format!(
        "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:media='http://search.yahoo.com/mrss/'><title>C</title>\
         <entry>{elements}</entry></feed>"
    )
}

/// Returns an RSS feed of one item whose description is this HTML.
fn html(html: &str) -> String {
    item(&format!("<description><![CDATA[{html}]]></description>"))
}

fn url_of(feed: &str) -> String {
    entry(feed).url.unwrap_or_default()
}
