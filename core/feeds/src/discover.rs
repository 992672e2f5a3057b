//! The feeds that a web page names. Source: the HTML standard, section "Link type alternate", and RSS Autodiscovery,
//! <https://www.rssboard.org/rss-autodiscovery>.

use std::collections::BTreeMap;

use html5gum::{DefaultEmitter, Token, Tokenizer};
use url::Url;

use crate::entry::one_line;
use crate::{Source, decode, html};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedLink {
    /// http or https.
    pub url: Url,
    /// On one line; empty if it has none.
    pub title: String,
    /// Whether its media type is one of feeds only.
    pub is_sure: bool,
}

/// Returns each feed once, in the order of the page. Links in scripts and comments do not count.
pub fn discover(bytes: &[u8], source: &Source<'_>) -> Vec<FeedLink> {
    let html = decode(bytes, source.charset).text;
    let (mut base, mut found) = (source.address.cloned(), Vec::<FeedLink>::new());
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(&*html, emitter) {
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
            "link" | "a" | "area" => {
                let mut relations = of("rel").split_whitespace();
                let is_alternate = relations
                    .any(|rel| ["alternate", "feed"].iter().any(|name| rel.eq_ignore_ascii_case(name)));
                let kind = of("type").split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
                let is_sure = match &*kind {
                    "application/rss+xml"
                    | "application/atom+xml"
                    | "application/rdf+xml"
                    | "application/feed+json"
                    | "application/x-rss+xml"
                    | "text/rss+xml" => Some(true),
                    // Other files have these types, too.
                    "application/json" | "application/xml" | "text/xml" => Some(false),
                    _ => None,
                };
                let url = absolute(&base).filter(|url| matches!(url.scheme(), "http" | "https"));
                if let (true, Some(is_sure), Some(url)) = (is_alternate, is_sure, url)
                    && found.iter().all(|other| other.url != url)
                {
                    let title = one_line(&html::visible(of("title")));
                    found.push(FeedLink { url, title, is_sure });
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
        let shown: Vec<(&str, &str)> = found.iter().map(|link| (link.url.as_str(), &*link.title)).collect();
        let expected = [("https://a.example/blog/feed.xml", "News & more"), ("https://b.example/atom", "")];
        assert_eq!(shown, expected);
        assert!(discover(b"plain text", &Source::default()).is_empty());
    }
    #[test]
    fn scripts_styles_and_comments_have_no_links() {
        let page = r"<title><link rel=alternate type=application/rss+xml href=/1></title><!-- <link rel=alternate
            type=application/rss+xml href=/2> --><script>'<link rel=alternate type=application/rss+xml href=/3>'</script>
            <style><link rel=alternate type=application/rss+xml href=/5></style><a rel=feed type=text/xml href=/6>x</a>
            <link rel=alternate type=application/json href=/7><link rel=alternate type=application/xml href=/8>";
        let address = Url::parse("https://a.example/x").unwrap();
        let found = discover(page.as_bytes(), &Source { charset: None, address: Some(&address) });
        let shown: Vec<(&str, bool)> = found.iter().map(|link| (link.url.path(), link.is_sure)).collect();
        assert_eq!(shown, [("/6", false), ("/7", false), ("/8", false)]);
    }

    #[test]
    fn titles_are_read_in_the_encoding_that_the_page_names() {
        let link = |meta: &str| {
            let begin =
                format!("<html><head>{meta}<link rel=alternate type=application/rss+xml href=/f title='");
            [begin.as_bytes(), b"\xb5\xb5\xbc\xad\xb0\xfc \xbe\xc8\xb3\xbb\x00'>"].concat()
        };
        let address = Url::parse("https://a.example/").unwrap();
        for (meta, charset) in [
            ("<meta charset=euc-kr>", None),
            ("<META http-equiv='Content-Type' content='text/html; charset=ks_c_5601-1987'>", Some("utf-8")),
            ("<meta charset=\"EUC-KR\"/>", Some("iso-8859-1")),
            ("", Some("euc-kr")),
        ] {
            let found = discover(&link(meta), &Source { charset, address: Some(&address) });
            assert_eq!(found[0].title.trim_end_matches('\u{fffd}'), "도서관 안내", "{meta}");
        }
    }
}
