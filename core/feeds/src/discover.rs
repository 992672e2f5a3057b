//! The feeds that a web page names.
//!
//! Source: the HTML standard, section "Link type alternate", and RSS Autodiscovery,
//! <https://www.rssboard.org/rss-autodiscovery>.

use std::collections::BTreeMap;

use html5gum::{Token, Tokenizer};
use url::Url;

use crate::Source;
use crate::decode;

/// The media types of feeds.
const TYPES: [&str; 5] = [
    "application/rss+xml",
    "application/atom+xml",
    "application/feed+json",
    "application/rdf+xml",
    "application/json",
];

/// Returns the addresses of the feeds that an HTML page names, each once and with its title, in the order of the page.
pub fn discover(bytes: &[u8], source: &Source<'_>) -> Vec<(Url, String)> {
    let html = decode::decode(bytes, source.charset).text;
    let (mut base, mut found) = (source.address.cloned(), Vec::<(Url, String)>::new());
    for Ok(token) in Tokenizer::new(&*html) {
        let Token::StartTag(tag) = token else { continue };
        let attributes: BTreeMap<String, String> = tag
            .attributes
            .iter()
            .map(|(name, value)| [&**name, &**value].map(|text| String::from_utf8_lossy(text).into_owned()))
            .map(|[name, value]| (name, value))
            .collect();
        let of = |name: &str| attributes.get(name).map(|value| value.trim()).unwrap_or_default();
        let absolute = |base: &Option<Url>| match base {
            Some(base) => base.join(of("href")).ok(),
            None => Url::parse(of("href")).ok(),
        };
        match &*String::from_utf8_lossy(&tag.name) {
            "base" if !of("href").is_empty() => base = absolute(&base).or(base),
            "link" => {
                let is_alternate =
                    of("rel").split_whitespace().any(|rel| rel.eq_ignore_ascii_case("alternate"));
                let kind = of("type").split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
                let url = absolute(&base).filter(|url| matches!(url.scheme(), "http" | "https"));
                if is_alternate
                    && TYPES.contains(&&*kind)
                    && let Some(url) = url
                    && found.iter().all(|(other, _)| *other != url)
                {
                    found.push((url, of("title").split_whitespace().collect::<Vec<_>>().join(" ")));
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_are_found_in_the_links_of_a_page() {
        let page = r#"<!doctype html><head><base href="/blog/"><link rel="stylesheet" href="a.css" type="text/css">
            <link rel="alternate" type="application/rss+xml" title="News &amp; more" href="feed.xml">
            <LINK REL='feed Alternate' TYPE='application/atom+xml; charset=utf-8' HREF='https://b.example/atom'>
            <link rel=alternate type=application/rss+xml href=feed.xml><link rel="alternate" hreflang="ko" href="/ko">
            <link rel=alternate type=application/rss+xml href="javascript:alert(1)">"#;
        let address = Url::parse("https://a.example/x").unwrap();
        let found = discover(page.as_bytes(), &Source { charset: None, address: Some(&address) });
        let shown: Vec<(&str, &str)> = found.iter().map(|(url, title)| (url.as_str(), &**title)).collect();
        assert_eq!(
            shown,
            [("https://a.example/blog/feed.xml", "News & more"), ("https://b.example/atom", "")]
        );
        assert!(discover(b"plain text", &Source::default()).is_empty());
    }
}
