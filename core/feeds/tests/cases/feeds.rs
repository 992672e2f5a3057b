//! Faults of whole feeds.

use super::*;
use url::Url;

#[test]
fn feeds_of_every_version_are_read() {
    let item = "<item><title>T</title><link>https://c.example/1</link></item>";
    for version in ["0.91", "0.92", "0.93", "0.94", "2", "2.00", "2.0.1", "2.0 ", "3", ""] {
        let rss = format!("<rss version='{version}'><channel><title>C</title>{item}</channel></rss>");
        assert_eq!(entry(&rss).title, "T", "{version}");
    }
    for namespace in [
        "http://backend.userland.com/rss2",
        "http://my.netscape.com/publish/formats/rss-0.91.dtd",
        "http://www.w3.org/2005/Atom",
        "urn:unknown",
    ] {
        let title = item.replace("<title>T", "<title>a &lt;b>b&lt;/b>");
        let rss = format!(
            "<rss version='2.0' xmlns='{namespace}'><channel><title>C</title>{title}</channel></rss>"
        );
        assert_eq!(entry(&rss).title, "a b", "{namespace}");
    }
    let rdf = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'";
    for namespace in [
        "http://my.netscape.com/rdf/simple/0.9/",
        "http://purl.org/rss/1.0/",
        "http://channel.netscape.com/rdf/simple/0.9/",
    ] {
        let rss =
            format!("<rdf:RDF {rdf} xmlns='{namespace}'><channel><title>C</title></channel>{item}</rdf:RDF>");
        assert_eq!(entry(&rss).title, "T", "{namespace}");
    }
    let namespaces = "http://www.w3.org/2005/Atom https://www.w3.org/2005/Atom http://www.w3.org/2005/Atom/ \
                      http://www.w3.org/2005/atom http://purl.org/atom/ns# urn:unknown";
    for namespace in namespaces.split(' ').chain([""]) {
        let feed = atom(
            "<title>a &lt;b></title><link href='https://c.example/1'/><issued>2026-11-20T08:36:00Z</issued>",
        );
        let feed = feed.replace("http://www.w3.org/2005/Atom", namespace);
        let Entry { title, url, date, .. } = entry(&feed);
        assert_eq!((title.as_str(), url.as_deref()), ("a <b>", Some("https://c.example/1")), "{namespace}");
        assert_eq!(date, Some(1_795_163_760_000), "{namespace}");
    }
    let prefixed = atom("<title>T</title>")
        .replace("xmlns=", "xmlns:a=")
        .replace("<title", "<a:title")
        .replace("</title", "</a:title");
    let prefixed = ["feed", "entry"].into_iter().fold(prefixed, |feed, name| {
        feed.replace(&format!("<{name}"), &format!("<a:{name}"))
            .replace(&format!("</{name}"), &format!("</a:{name}"))
    });
    assert_eq!(entry(&prefixed).title, "T");
    let undeclared =
        "<rss><channel><item><title>T</title><content:encoded>long</content:encoded></item></channel></rss>";
    assert_eq!(entry(undeclared).text, "long");
}

#[test]
fn items_are_found_wherever_they_are() {
    let item = |n: u32| format!("<item><title>{n}</title></item>");
    for feed in [
        format!("<rss><channel><title>C</title></channel>{}{}</rss>", item(1), item(2)),
        format!("<rss><channel>{}</channel><channel>{}</channel></rss>", item(1), item(2)),
        format!(
            "<rss><channel>{}</channel></rss>\n<?xml version='1.0'?><rss><channel>{}</channel></rss>",
            item(1),
            item(2)
        ),
        format!(
            "<b>Warning</b>: feed.php<br><?xml version='1.0'?><rss><channel>{}{}</channel></rss>",
            item(1),
            item(2)
        ),
        format!("<channel><item><title>1</title>{}</channel>", item(2)),
    ] {
        let titles: Vec<String> = entries(&feed).into_iter().map(|entry| entry.title).collect();
        assert_eq!(titles, ["1", "2"], "{feed}");
    }
}

#[test]
fn bytes_are_decoded_like_in_browsers() {
    let library = "도서관";
    let in_korean: &[u8] = b"\xb5\xb5\xbc\xad\xb0\xfc";
    let notice: &[u8] = b"\xb5\xb5\xbc\xad\xb0\xfc \xbe\xc8\xb3\xbb \xb8\xbb\xbe\xb8";
    let spaced = "<?xml version=\"1.0\"     encoding=\"ISO-8859-1\" standalone=\"yes\"?>";
    let lines = "\n".repeat(20);
    let wide = |bytes: fn(u16) -> [u8; 2], mark: bool| {
        let text =
            "<?xml version='1.0' encoding='UTF-16'?>".to_owned() + &rss(&format!("<title>{library}</title>"));
        let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units.flat_map(bytes).collect::<Vec<u8>>()
    };
    for bytes in [wide(u16::to_be_bytes, true), wide(u16::to_le_bytes, true), wide(u16::to_be_bytes, false)] {
        assert_eq!(feed_of(&bytes).entries[0].as_ref().unwrap().title, library);
    }
    let check =
        |declaration: &str, charset: Option<&str>, bytes: &[u8], title: &str, warning: Option<&str>| {
            let feed = rss("<title>@</title>");
            let (before, after) = feed.split_once('@').unwrap();
            let bytes = [declaration.as_bytes(), before.as_bytes(), bytes, after.as_bytes()].concat();
            let feed = read(&bytes, &Source { charset, address: None }).unwrap();
            assert_eq!(feed.entries[0].as_ref().unwrap().title, title, "{declaration}");
            assert_eq!(feed.warnings.first().map(String::as_str), warning, "{declaration}");
        };
    let declared = |encoding: &str| format!("<?xml version='1.0' encoding='{encoding}'?>");
    for encoding in ["cp949", "MS949", "ks_c_5601-1987", "x-windows-949"] {
        check(&declared(encoding), None, in_korean, library, None);
    }
    for encoding in ["UTF-16", "EUC-KR", "hz-gb-2312", "nonsense", "gb2312"] {
        check(&declared(encoding), None, library.as_bytes(), library, None);
    }
    for (encoding, charset) in [("utf-8", "EUC-KR"), ("EUC-KR", "utf-8"), ("EUC-KR", "ISO-8859-1")] {
        check(&declared(encoding), Some(charset), in_korean, library, None);
    }
    check(spaced, None, b"\xe9", "é", None);
    check(&(lines + &declared("EUC-KR")), None, in_korean, library, None);
    let mark = "\u{feff}".to_owned();
    check(&(mark.clone() + &declared("ISO-8859-1")), None, library.as_bytes(), library, None);
    check(&(mark + &declared("EUC-KR")), None, in_korean, library, None);
    let japanese = b"\x90\x7d\x8f\x91\x8a\xd9\x82\xcc\x88\xc4\x93\xe0";
    check(&declared("Shift_JIS"), Some("utf-8"), japanese, "図書館の案内", None);
    check(&declared("ISO-2022-JP"), Some("utf-8"), b"\x1b$B?^=q4[\x1b(B", "図書館", None);
    check(&declared("windows-1251"), Some("utf-8"), b"\xcd\xee\xe2\xee\xf1\xf2\xe8", "Новости", None);
    check(&declared("windows-1251"), None, "Новости".as_bytes(), "Новости", None);
    let replaced = Some("bytes that are not UTF-8 were replaced: 1, the first in line 1");
    check("", None, b"\xeb\x8f\x84\xec\x84\x9c\xea\xb4\x80\xe9", "도서관\u{fffd}", replaced);
    let guessed = Some("it is not UTF-8, and was read as EUC-KR");
    for charset in [Some("ISO-8859-1"), Some("utf-8"), None] {
        let declaration = charset.map(declared).unwrap_or_default();
        check(&declaration, charset, notice, "도서관 안내 말씀", guessed);
    }
    check("", None, b"caf\xe9", "café", Some("it is not UTF-8, and was read as windows-1252"));
}

#[test]
fn utf_8_that_was_encoded_twice_is_repaired() {
    let Entry { title, text, .. } =
        entry(&rss("<title>PrÃ©sident</title><description>Ã©, and Ãé</description>"));
    assert_eq!((&*title, &*text), ("Président", "Ã©, and Ãé"));
}

#[test]
fn a_file_with_faults_is_read_as_far_as_it_makes_sense() {
    let feed = "<rss><channel><title>C</title>\n<item><title>1</titel><link>https://c.example/1</link></item>\n\
                <item><title>2</title>\n<description>a </p> b <b>c</description><pubDate>x</item>\n<item><title>3</title>\n</item></chan";
    let read = feed_of(feed.as_bytes());
    let found: Vec<_> =
        read.entries.iter().flatten().map(|entry| (entry.line, &*entry.title, &*entry.text)).collect();
    assert_eq!(found, [(2, "1", ""), (3, "2", "a b c"), (5, "3", "")]);
    assert_eq!(read.warnings, ["the file ends in line 6, before the end of <rss>: the rest is missing"]);
    let cut = feed_of(&feed.as_bytes()[..feed.len() - 16]);
    let fault = cut.entries[2].as_ref().unwrap_err();
    assert_eq!((fault.line, &*fault.reason, cut.entries.len()), (5, "the file ends within it", 3));
    let in_comment = feed_of(b"<rss><channel><item><title>1</title></item><!-- <item>");
    assert_eq!((in_comment.entries.len(), in_comment.warnings.len()), (1, 1));
}

#[test]
fn what_is_no_feed_is_refused_with_the_line_and_the_reason() {
    for (input, line, reason) in [
        (" \n", 1, "it is empty"),
        ("hello", 1, "it is no RSS, Atom or JSON feed that can be read"),
        ("<!DOCTYPE html>\n<html><head><title>x</title></head></html>", 2, "it is an HTML page, and no feed"),
        (
            "<?xml version='1.0'?>\n<opml><body/></opml>",
            2,
            "its first element is not that of an RSS or Atom feed",
        ),
        (
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>",
            1,
            "its first element is not that of an RSS or Atom feed",
        ),
        ("<feed xmlns='urn:x'/>", 1, "it has no title, no address and no entries: it is no feed"),
        ("{\"a\":\n1", 2, "the file ends before its JSON does"),
        ("{\n\"a\" 1}", 2, "it is no JSON"),
        ("{}", 1, "it is JSON, but no JSON feed: it names no version of JSON Feed"),
        ("{\"version\": \"https://jsonfeed.org/version/1\"}", 1, "it is a JSON feed without a list of items"),
    ] {
        let fault = read(input.as_bytes(), &Source::default()).unwrap_err();
        assert_eq!((fault.line, fault.reason), (line, reason), "{input}");
    }
    assert!(feed_of(b"<rss><channel><title>C</title></channel></rss>").entries.is_empty());
}

#[test]
fn the_parts_of_a_feed_that_a_poller_needs_are_read() {
    let rss = format!(
        "<rss {NAMESPACES}><channel><title>A &amp;amp; B</title><image><title>I</title><link>https://i.example/</link></image>\
         <link>https://c.example/</link><atom:link rel='hub' href='https://hub.example/'/><atom:link rel='self' href='https://c.example/f'/>\
         <ttl> 60 </ttl><skipHours><hour>0</hour><hour>24</hour><hour>5</hour></skipHours>\
         </channel></rss>"
    );
    let address = Url::parse("https://c.example/f").unwrap();
    let feed = read(rss.as_bytes(), &Source { charset: None, address: Some(&address) }).unwrap();
    let text = |url: &Option<Url>| url.as_ref().map(ToString::to_string).unwrap_or_default();
    assert_eq!((feed.title.as_str(), text(&feed.link)), ("A & B", "https://c.example/".to_owned()));
    assert_eq!((feed.hubs.len(), text(&feed.self_address)), (1, "https://c.example/f".to_owned()));
    assert_eq!((feed.ttl, feed.skip_hours), (Some(60), vec![0, 0, 5]));
}

#[test]
fn an_entry_with_many_open_elements_costs_no_other_entry() {
    let open = "<div>".repeat(1_000);
    let feed = item(&format!(
        "<description>{open}x</description></item><item><title>T2</title><link>https://c.example/2</link>"
    ));
    let feed = read(feed.as_bytes(), &Source::default()).unwrap();
    assert_eq!(feed.warnings, [""; 0]);
    let titles: Vec<_> = feed.entries.iter().map(|entry| &*entry.as_ref().unwrap().title).collect();
    assert_eq!(titles, ["T", "T2"]);
}

#[test]
fn json_feeds_are_read_leniently() {
    let feed = r#"{"version": "http://jsonfeed.org/version/1", "title": "J", "home_page_url": "https://c.example/",
        "hubs": [{"type": "WebSub", "url": "https://hub.example/"}], "items": [
        {"id": 1, "url": "/1", "title": 3, "date_published": "", "content_text": "a <b>", "tags": ["x", 1, "y"]},
        5,
        {"id": "https://c.example/3", "content_html": "<p>a<p>b", "summary": "s", "date_modified": "2026-11-20T08:36:00Z",
         "attachments": [{"url": "https://c.example/i", "mime_type": "image/png"}], "author": 7}]}"#;
    let feed = read(feed.as_bytes(), &Source::default()).unwrap();
    let [Ok(one), Err(two), Ok(three)] = &*feed.entries else { panic!("{feed:?}") };
    assert_eq!((one.url.as_deref(), &*one.title, &*one.text), (Some("https://c.example/1"), "", "a <b>"));
    assert_eq!((one.line, &one.date_fault), (3, &None));
    assert_eq!(one.tags, ["x", "y"]);
    assert_eq!((two.line, &two.reason[..25]), (4, "it is no item of a JSON f"));
    assert_eq!((three.url.as_deref(), &*three.text), (Some("https://c.example/3"), "a\n\nb"));
    assert_eq!((three.image.as_deref(), three.date), (Some("https://c.example/i"), Some(1_795_163_760_000)));
    assert_eq!((feed.title.as_str(), feed.hubs.len()), ("J", 1));
}

#[test]
fn a_part_of_a_json_feed_that_cannot_be_read_costs_only_itself() {
    let feed = "{\"version\": \"https://jsonfeed.org/version/1.1\", \"title\": \"Campus\\u0000\\tNews\", \"items\": [\
        {\"id\": \"1\", \"title\": \"\\ud800\", \"url\": \"/1\", \"content_text\": \"a b\", \"date_published\": 1795163760},\
        {\"id\": 2, \"attachments\": [{\"url\": \"/c.jpg\"}, {\"url\": \"/2.mp3\", \"mime_type\": \"audio/mpeg\"}], \"tags\": [\"A\", \"a\"]}]}";
    let address = Url::parse("https://c.example/f").unwrap();
    let feed = read(feed.as_bytes(), &Source { charset: None, address: Some(&address) }).unwrap();
    assert_eq!(feed.title, "Campus News");
    let [Ok(one), Ok(two)] = &*feed.entries else { panic!("{feed:?}") };
    assert_eq!((&*one.title, &*one.text, one.date), ("", "a b", Some(1_795_163_760_000)));
    assert_eq!((two.url.as_deref(), two.tags.len()), (Some("https://c.example/2.mp3"), 1));
}
