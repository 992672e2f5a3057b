//! Tests of the import of feeds.

use super::formats::{import_as, posts};
use super::*;

const RSS: &str = r#"<?xml version="1.0"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>Campus</title><link>https://example.com/</link>
<item><title>Tea &amp;amp; cake</title><link>https://example.com/1</link><guid>a</guid>
  <description>&lt;p&gt;Short.&lt;/p&gt;</description>
  <content:encoded><![CDATA[<p>Tea at <b>four</b>.</p><script>alert(1)</script><p>Cake at five.</p>]]></content:encoded>
  <category>food</category><category>food</category><category>campus life</category>
  <pubDate>Fri, 20 Nov 2026 08:00:00 +0900</pubDate>
  <media:content url="https://example.com/1.jpg" type="image/jpeg"/></item>
<item><title>No address</title><guid isPermaLink="false">b</guid></item>
<item><link>https://example.com/3</link><description>Words without a title.</description></item>
</channel></rss>"#;

const ATOM: &str = r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><id>urn:a</id>
<updated>2026-01-01T00:00:00Z</updated>
<entry><title type="html">1 &amp;lt; 2</title><id>urn:1</id><updated>2026-01-02T00:00:00Z</updated>
<link rel="self" href="https://example.com/self"/><link rel="alternate" href="https://example.com/1"/>
<category term="math" label="Mathematics"/><summary>Numbers.</summary></entry></feed>"#;

const JSON_FEED: &str = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "J", "items": [
{"id": "1", "url": "https://example.com/1", "title": "One", "content_text": "Plain & simple.", "tags": ["x"],
 "date_published": "2026-01-01T00:00:00Z"}]}"#;

fn import_feed(service: &Service, input: &str) -> Result<Report> {
    let imported = import_as(service, Format::Feed, input.as_bytes())?;
    Ok(bare(Ok(imported)))
}

#[test]
fn a_feed_is_imported_once() {
    let service = testing::service();
    let missing = [(2, "url is missing: it identifies the post")];
    assert_eq!(import_feed(&service, RSS).unwrap(), report(2, 0, 0, &missing));
    let found = posts(&service);
    let expected = json!({
        "_id": found[0]["_id"], "title": "Tea & cake", "post": "Tea at four.\n\nCake at five.",
        "url": "https://example.com/1", "img": "https://example.com/1.jpg", "topic": [],
        "tag": ["food", "campus life"], "date": "2026-11-19T23:00:00.000Z", "end_date": null, "view": 0, "fav_cnt": 0,
    });
    assert_eq!(found[0], expected);
    assert_eq!([&found[1]["title"], &found[1]["post"]], ["Words without a title."; 2]);
    assert_eq!(import_feed(&service, RSS).unwrap().skipped, 2);
}

#[test]
fn a_plain_text_of_a_feed_stays_as_it_is() {
    let service = testing::service();
    let code = "if (a<b && c>d) return; &lt; is AT&T's </p>";
    let atom =
        ATOM.replace("Numbers.", "if (a&lt;b &amp;&amp; c&gt;d) return; &amp;lt; is AT&amp;T's &lt;/p&gt;");
    assert_eq!(import_feed(&service, &atom).unwrap(), report(1, 0, 0, &[]));
    assert_eq!(posts(&service)[0]["post"], code);
    let json = JSON_FEED.replace("Plain & simple.", code).replace("One", "The <b> & <i>");
    assert_eq!(import_feed(&service, &json).unwrap(), report(0, 1, 0, &[]));
    assert_eq!([&posts(&service)[0]["post"], &posts(&service)[0]["title"]], [code, "The <b> & <i>"]);
    let marked_up =
        JSON_FEED.replace("content_text", "content_html").replace("Plain & simple.", "<p>a &lt; b</p>");
    assert_eq!(import_feed(&service, &marked_up).unwrap(), report(0, 1, 0, &[]));
    assert_eq!(posts(&service)[0]["post"], "a < b");
}

#[test]
fn an_odd_entry_of_a_feed_is_reported_and_the_others_are_imported() {
    let service = testing::service();
    let odd = r#", {"id": 2, "external_url": "HTTPS://example.com/글", "content_text": "Two.", "tags": "y",
                    "image": "https://example.com/2.png", "date_modified": "2026-01-01"},
                   {"url": "https://example.com/3", "title": 3}, 4,
                   {"url": "https://example.com/5", "title": "Five", "date_published": "soon"}]}"#;
    let imported = import_feed(&service, &(JSON_FEED.replace("]}", "") + odd)).unwrap();
    let reason = "it is no item of a JSON feed: invalid type: integer `4`, expected a map at line 1 column 1 (line 5 of the feed)";
    assert_eq!(imported, report(4, 0, 0, &[(4, reason)]));
    let two = &posts(&service)[0];
    let expected = json!(["Two.", "https://example.com/%EA%B8%80", "https://example.com/2.png", ["y"]]);
    assert_eq!(json!([two["title"], two["url"], two["img"], two["tag"]]), expected);
    assert_eq!(posts(&service)[2]["title"], "https://example.com/3", "a title that is no text is none");
}

/// Returns an RSS feed of items with the title `n`, the link `https://example.com/n` and more elements.
fn rss(items: &[(u32, &str)]) -> String {
    let item = |(n, more): &(u32, &str)| {
        format!("<item><title>{n}</title><link>https://example.com/{n}</link>{more}</item>\n")
    };
    let items: String = items.iter().map(item).collect();
    format!("<rss version=\"2.0\"><channel><title>R</title>\n{items}</channel></rss>")
}

fn import_with_warnings(service: &Service, feed: &str) -> (Report, Vec<String>) {
    let imported = import_as(service, Format::Feed, feed.as_bytes()).unwrap();
    let warnings = imported.warnings.clone();
    (bare(Ok(imported)), warnings)
}

#[test]
fn an_entry_without_a_usable_date_has_the_time_of_its_first_import() {
    let service = testing::service();
    let feed = rss(&[
        (1, ""),
        (2, "<pubDate>2019-05-06 07:08:09</pubDate>"),
        (3, "<pubDate>Montag</pubDate>"),
        (4, "<pubDate> </pubDate>"),
        (5, "<pubDate>Thu, 01 Jan 2099 00:00:00 GMT</pubDate>"),
    ]);
    let (imported, warnings) = import_with_warnings(&service, &feed);
    assert_eq!(imported, report(5, 0, 0, &[]));
    let expected = [
        "entry 3: its date cannot be read: Montag: a new post gets the time of the import",
        "entry 5: its date is yet to come: a new post gets the time of the import",
    ];
    assert_eq!(warnings, expected);
    let dates = || posts(&service).into_iter().map(|post| post["date"].clone()).collect::<Vec<_>>();
    let now = json!(NOW);
    assert_eq!(dates(), [now.clone(), json!("2019-05-06T07:08:09.000Z"), now.clone(), now.clone(), now]);
    let before = dates();
    service.clock().advance(60_000);
    assert_eq!(import_with_warnings(&service, &feed).0, report(0, 0, 5, &[]));
    assert_eq!(dates(), before);
}

#[test]
fn the_newest_of_entries_with_one_address_counts() {
    let service = testing::service();
    let dated = |date: &str| {
        format!("<pubDate>{date} Nov 2026 08:00:00 GMT</pubDate><description>of {date}</description>")
    };
    let feed = rss(&[
        (1, &dated("18")),
        (2, "<description>first</description>"),
        (1, &dated("19")),
        (2, ""),
        (1, &dated("17")),
    ]);
    let (imported, warnings) = import_with_warnings(&service, &feed);
    assert_eq!(imported, report(2, 0, 0, &[]));
    let texts: Vec<_> = posts(&service).into_iter().map(|post| post["post"].clone()).collect();
    assert_eq!(texts, ["of 19", "first"]);
    let expected = [
        "entry 1: entry 3 has the same address, and counts",
        "entry 4: entry 2 has the same address, and counts",
        "entry 5: entry 3 has the same address, and counts",
    ];
    assert_eq!(warnings, expected);
    assert_eq!(import_feed(&service, &feed).unwrap(), report(0, 0, 2, &[]));
}

#[test]
fn an_entry_without_title_and_text_has_those_of_its_image_or_its_address() {
    let service = testing::service();
    let photo = "<description>&lt;img src='https://example.com/i.jpg' alt='A lake'&gt;</description>";
    let feed = rss(&[(1, photo), (2, "<description>&lt;img src='/i.jpg'&gt;</description>")]);
    let feed = feed.replace("<title>1</title>", "").replace("<title>2</title>", "");
    assert_eq!(import_feed(&service, &feed).unwrap(), report(2, 0, 0, &[]));
    let found: Vec<_> = posts(&service).iter().map(|post| json!([post["title"], post["img"]])).collect();
    assert_eq!(found, [json!(["A lake", "https://example.com/i.jpg"]), json!(["https://example.com/2", ""])]);
}

#[test]
fn a_feed_is_read_in_its_encoding() {
    let service = testing::service();
    let feed = rss(&[(1, "<description>…</description>")]);
    let (before, after) = feed.split_once('…').unwrap();
    let bytes = [before.as_bytes(), b"\xb5\xb5\xbc\xad\xb0\xfc", after.as_bytes()].concat();
    let operation = ImportPosts { format: Format::Feed, charset: Some("cp949".to_owned()) };
    let imported = operation.import(&service, &Caller::Operator, &*bytes, &mut to_the_end);
    assert_eq!(bare(imported), report(1, 0, 0, &[]));
    assert_eq!(posts(&service)[0]["post"], "도서관");
    let (_, warnings) = import_with_warnings(&service, &feed[..feed.len() - 10]);
    assert_eq!(warnings, ["the file ends in line 3, before the end of <rss>: the rest is missing"]);
}

#[test]
fn an_input_that_is_not_a_feed_is_refused_with_its_line() {
    let service = testing::service();
    let refused = import_feed(&service, "\n<html><body></body></html>").unwrap_err();
    assert_eq!(refused.detail().as_deref(), Some("line 2: it is an HTML page, and no feed"));
    assert_eq!(import_feed(&service, "").unwrap_err().detail().as_deref(), Some("it is empty"));
}

#[test]
fn an_entry_without_an_image_leaves_that_of_its_post() {
    let service = testing::service();
    let feed = rss(&[(1, "")]);
    import_feed(&service, &feed).unwrap();
    let line = json!({ "url": "https://example.com/1", "img": "https://example.com/1.jpg", "post": "Text" });
    assert_eq!(import_from(&service, &line.to_string()).updated, Some(1));
    assert_eq!(import_feed(&service, &feed).unwrap(), report(0, 0, 1, &[]));
    assert_eq!(posts(&service)[0]["img"], "https://example.com/1.jpg");
}
