//! No input takes much more time than others of its size.

use std::time::{Duration, Instant};

use tidings_feeds::{Source, read};

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
