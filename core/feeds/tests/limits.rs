//! No input makes the reader panic, or take much more time than others of its size.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use tidings_feeds::{Source, read};

const FEED: &str = r#"<?xml version="1.0" encoding="utf-8"?><!DOCTYPE rss [<!ENTITY co "ACME">]>
<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>글 &co;</title><link>https://c.example/</link>
<item><title>A &amp; <b>B</b></title><link>https://c.example/1?a&b</link><pubDate>Fri, 20 Nov 2026 08:36:00 KST</pubDate>
<description><![CDATA[<pre>x</pre><img src="/i.jpg" alt="é"><noscript>y]]></description><media:content url="https://c.example/i"/></item>
<entry xml:base="/a"><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">2026.11.20 오후 5:36</div></content></entry>
</channel></rss>"#;

#[test]
fn hostile_inputs_take_no_longer_than_others() {
    let size = 1 << 19;
    let many = |part: &str| part.repeat(size / part.len());
    let in_feed = |text: String| format!("<rss><channel><item><title>1</title><description>{text}");
    let bomb = (0..20).fold("<!DOCTYPE x [<!ENTITY e0 'lolololololol'>".to_owned(), |bomb, n| {
        format!("{bomb}<!ENTITY e{} '{}'>", n + 1, format!("&e{n};").repeat(50))
    });
    for (name, input) in [
        ("open elements", in_feed(many("<a>"))),
        ("open and closed elements", in_feed(many("<a>") + &many("</b>"))),
        ("namespaces", in_feed(many("<a xmlns='u' xmlns:b='v'>"))),
        ("open brackets", many("<")),
        ("open brackets in a feed", in_feed(many("< "))),
        ("open comments", in_feed(many("<!--"))),
        ("open declarations", many("<!DOCTYPE a [")),
        ("references", in_feed(many("&lt;"))),
        ("open references", in_feed(many("&a"))),
        ("references to entities", bomb + "]>" + &in_feed(many("&e20;"))),
        ("HTML elements", in_feed("<![CDATA[".to_owned() + &many("<div>"))),
        ("HTML noscript", in_feed("<![CDATA[".to_owned() + &many("<noscript>") + "]]>")),
        ("HTML tags", in_feed("<![CDATA[".to_owned() + &many("<p a='") + "]]>")),
        ("preformatted breaks", in_feed("<![CDATA[<pre>".to_owned() + &many("\n<p>\n</p>") + "]]>")),
        ("items", "<rss>".to_owned() + &many("<item>")),
        ("lines", "<rss>".to_owned() + &many("\n<item>\n<title>")),
        (
            "a long base",
            format!("<rss xml:base='https://c.example/{}/'>{}", many("a"), many("<x xml:base='b'/>")),
        ),
        (
            "a long home page",
            format!(
                "<rss><link>https://c.example/{}/</link>{}</rss>",
                many("a"),
                many("<item><link>1</link></item>")
            ),
        ),
        ("bases", in_feed(many("<x xml:base='a/'>"))),
        ("JSON", "{\"version\":\"jsonfeed.org/version/1\",\"items\":[".to_owned() + &many("[")),
        (
            "JSON items",
            "{\"version\":\"jsonfeed.org/version/1\",\"items\":[".to_owned() + &many("1,") + "1]}",
        ),
    ] {
        let began = Instant::now();
        let _ = read(input.as_bytes(), &Source::default());
        // A quadratic time would be minutes.
        assert!(began.elapsed() < Duration::from_secs(10), "{name}: {:?}", began.elapsed());
    }
}

#[test]
fn a_feed_that_is_cut_anywhere_is_no_panic() {
    for end in 0..FEED.len() {
        let _ = read(&FEED.as_bytes()[..end], &Source::default());
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>, text: String, charset: Option<String>) {
        let source = Source { charset: charset.as_deref(), address: None };
        for input in [&bytes, text.as_bytes(), FEED.replace("Fri", &text).as_bytes(), FEED.replace("<b>", &text).as_bytes()] {
            let _ = read(input, &source);
        }
    }

    #[test]
    fn no_changed_byte_makes_the_reader_panic(at in 0..FEED.len(), byte: u8, to in 0..FEED.len()) {
        let mut changed = FEED.as_bytes().to_vec();
        changed[at] = byte;
        changed.copy_within(at.min(to)..at.max(to), 0);
        let _ = read(&changed, &Source::default());
    }
}
