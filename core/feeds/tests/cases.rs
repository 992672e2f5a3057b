//! Faults of real feeds, each in the smallest feed that has it, with what is right.

use tidings_feeds::{Entry, Feed, Source, read};
use url::Url;

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

#[test]
fn an_element_that_is_not_needed_has_no_effect() {
    for more in [
        "<author>홍길동（a@b.example）</author>",
        "<dc:creator>作者：a@b.example</dc:creator>",
        "<managingEditor>“a@b.example” Ann</managingEditor>",
        "<itunes:duration>１２：３４</itunes:duration>",
        "<itunes:duration>99999999999999999999999</itunes:duration>",
        "<media:thumbnail url='https://c.example/i.jpg' time='١:٠٠:٠٠'/>",
        "<media:text start='٣'>x</media:text>",
        "<media:description/>",
        "<media:title type='text'>x</media:title>",
        "<podcast:person role='cohost'>Ann<title>Host</title><link>https://c.example/ann</link></podcast:person>",
        "<author><title>Dr</title><link>https://c.example/ann</link></author>",
        "<source url='https://c.example/'><title>Source</title></source>",
    ] {
        let Entry { title, url, .. } = entry(&item(more));
        assert_eq!((title.as_str(), url.as_deref()), ("T", Some("https://c.example/1")), "{more}");
    }
    let with_declaration = "<?xml version='1.0' encoding='utf-8'?>".to_owned()
        + &item("<description><?xml version='1.0' encoding='iso-8859-1'?>é</description>");
    assert_eq!(entry(&with_declaration).text, "é");
}

#[test]
fn an_atom_text_of_any_type_is_read() {
    for (element, text) in [
        ("<content type='text/plain'/>", ""),
        ("<content type='markdown'>*a* &lt;b></content>", "*a* <b>"),
        ("<summary type='text/plain'>a &lt; b</summary>", "a < b"),
        ("<content type='HTML'>&lt;p>a</content>", "a"),
        ("<content type='text/html'>&lt;p>a</content>", "a"),
        ("<content type='application/xhtml+xml'><p>a &lt;i></p></content>", "a <i>"),
        (
            "<content type='xhtml'><x:div xmlns:x='http://www.w3.org/1999/xhtml'><x:p>a<x:br/>b</x:p></x:div></content>",
            "a\nb",
        ),
        ("<content src='https://c.example/x'>x</content>", ""),
        ("<content type='text/plain' mode='base64'>YSA8Yj4=</content>", "a <b>"),
        ("<content type='image/png'>iVBORw0KGgo=</content>", ""),
        ("<content type='text/html' mode='escaped'>&lt;p>a</content>", "a"),
    ] {
        let Entry { title, text: found, .. } =
            entry(&atom(&format!("<title type='text/plain'>T</title>{element}")));
        assert_eq!((title.as_str(), found.as_str()), ("T", text), "{element}");
    }
    for (element, title) in [
        ("<title type='HTML'>a &lt;b>b&lt;/b></title>", "a b"),
        ("<title>a &lt;b>b&lt;/b></title>", "a <b>b</b>"),
        (
            "<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>The &lt;b> <b>tag</b></div></title>",
            "The <b> tag",
        ),
    ] {
        assert_eq!(entry(&atom(element)).title, title, "{element}");
    }
}

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
    for namespace in [
        "http://www.w3.org/2005/Atom",
        "https://www.w3.org/2005/Atom",
        "http://www.w3.org/2005/Atom/",
        "http://www.w3.org/2005/atom",
        "http://purl.org/atom/ns#",
        "urn:unknown",
        "",
    ] {
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
fn html_becomes_its_text() {
    for (source, text) in [
        (
            "<pre><code class=\"k\"><span class=\"n\">a</span> &lt; b &amp;&amp; &quot;c&quot;\n  d</code></pre>",
            "a < b && \"c\"\n  d",
        ),
        ("<img src=\"https://c.example/i.jpg\">Text", "Text"),
        ("<p>A<p>B", "A\n\nB"),
        ("One<hr>Two<li>three", "One\n\nTwo\nthree"),
        ("See <a href=\"https://x.example/p\">docs</a> and <a href=\"#top\">top</a>", "See docs and top"),
        ("<details><summary>Sum</summary>Body", "Sum\nBody"),
        ("<figure><img alt=\"alt text\"><figcaption>Cap</figure>After", "alt text\nCap\n\nAfter"),
        ("a<img alt='b'>c", "a b c"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</table>", "a b\nc"),
        ("a<br>b<br/><br>c", "a\nb\n\nc"),
        ("a<script>if (a<b) x()</script><style>p{}</style><!-- c -->b", "ab"),
        ("a<script src='x'/>b<iframe src='x' />c", "abc"),
        ("<noscript>a<img src='x'></noscript>b", "a b"),
        ("Don&#146;t &#150; stop &eacute;&notin;&copy &unknown;", "Don’t – stop é∉© &unknown;"),
        ("a <b>b</b>\n\n  c", "a b c"),
        ("plain\n\n  text", "plain\n\n  text"),
        ("Vec<T> & x < y", "Vec<T> & x < y"),
        ("<p>Vec<T> & x < y", "Vec & x < y"),
        ("&lt;b&gt;", "<b>"),
        ("<p onclick='a>b'>x</p", "x"),
    ] {
        assert_eq!(entry(&html(source)).text, text, "{source}");
    }
    for (title, text) in [
        ("Don&#146;t &#150; stop", "Don’t – stop"),
        ("Don&amp;#146;t", "Don’t"),
        ("Tea &amp;amp; cake", "Tea & cake"),
        ("AT&amp;T", "AT&T"),
        ("Vec&lt;T&gt; is &lt;i&gt;not&lt;/i&gt; &lt;T&gt;", "Vec<T> is not <T>"),
        ("Hello <b>x</b>", "Hello x"),
        ("<![CDATA[a <b>b</b>\n c]]>", "a b c"),
        ("5 < 6 & 7", "5 < 6 & 7"),
    ] {
        assert_eq!(entry(&rss(&format!("<title>{title}</title>"))).title, text, "{title}");
    }
    assert_eq!(entry(&item("<description>Plain <b>bold</b> tail</description>")).text, "Plain bold tail");
}

#[test]
fn bytes_are_decoded_like_in_browsers() {
    let library = "도서관";
    let in_korean: &[u8] = b"\xb5\xb5\xbc\xad\xb0\xfc";
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
    let declared = |encoding: &str| format!("<?xml version='1.0' encoding='{encoding}'?>");
    for (declaration, charset, bytes, title, warning) in [
        (spaced.to_owned(), None, &b"\xe9"[..], "é", None),
        (lines + &declared("EUC-KR"), None, in_korean, library, None),
        ("\u{feff}".to_owned() + &declared("ISO-8859-1"), None, library.as_bytes(), library, None),
        (declared("UTF-16"), None, library.as_bytes(), library, None),
        (declared("cp949"), None, in_korean, library, None),
        (declared("MS949"), None, in_korean, library, None),
        (declared("ks_c_5601-1987"), None, in_korean, library, None),
        (declared("x-windows-949"), None, in_korean, library, None),
        (declared("utf-8"), Some("EUC-KR"), in_korean, library, None),
        (declared("EUC-KR"), None, library.as_bytes(), library, None),
        (declared("hz-gb-2312"), None, library.as_bytes(), library, None),
        (declared("nonsense"), None, library.as_bytes(), library, None),
        (
            String::new(),
            None,
            b"\xeb\x8f\x84\xec\x84\x9c\xea\xb4\x80\xe9",
            "도서관\u{fffd}",
            Some("bytes that are not UTF-8 were replaced: 1, the first in line 1"),
        ),
        (String::new(), None, b"caf\xe9", "café", Some("it is not UTF-8, and was read as windows-1252")),
    ] {
        let feed = rss("<title>@</title>");
        let (before, after) = feed.split_once('@').unwrap();
        let bytes = [declaration.as_bytes(), before.as_bytes(), bytes, after.as_bytes()].concat();
        let feed = read(&bytes, &Source { charset, address: None }).unwrap();
        assert_eq!(feed.entries[0].as_ref().unwrap().title, title, "{declaration}");
        assert_eq!(feed.warnings.first().map(String::as_str), warning, "{declaration}");
    }
}

#[test]
fn utf_8_that_was_encoded_twice_is_repaired() {
    let Entry { title, text, .. } =
        entry(&rss("<title>PrÃ©sident</title><description>Ã©, and Ãé</description>"));
    assert_eq!((&*title, &*text), ("Président", "Ã©, and Ãé"));
}

#[test]
fn the_image_is_found_wherever_feeds_have_it() {
    let image = "https://c.example/i.jpg";
    for feed in [
        item("<media:thumbnail url='https://c.example/i.jpg'/>"),
        item("<media:thumbnail>https://c.example/i.jpg</media:thumbnail>"),
        item(
            "<media:content url='https://c.example/v.mp4' type='video/mp4'/><media:content url='https://c.example/i.jpg' medium='image'/>",
        ),
        item("<media:content url='https://c.example/i.jpg' type='image/jpeg'/>"),
        item("<media:content url='https://c.example/i.jpg'/>"),
        item(
            "<media:group><media:content url='https://c.example/v.mp4' medium='video'><media:thumbnail url='https://c.example/i.jpg'/></media:content></media:group>",
        ),
        item("<enclosure url='https://c.example/i.jpg' type='image/jpeg' length='1'/>"),
        item("<itunes:image href='https://c.example/i.jpg'/>"),
        item(
            "<image><url>https://c.example/i.jpg</url><title>I</title><link>https://c.example/</link></image>",
        ),
        item("<image>https://c.example/i.jpg</image>"),
        atom("<link rel='enclosure' type='image/jpeg' href='https://c.example/i.jpg'/>"),
        html(
            "<img src='data:image/gif;base64,R0lG'><img src='https://t.example/1.gif' width='1' height=1><img src=https://c.example/i.jpg>",
        ),
        html("<img src='data:x' data-src='https://c.example/i.jpg'>"),
        html(
            "<img class='wp-smiley' src='https://s.example/1.png' alt=':)'><noscript><img src='https://c.example/i.jpg'></noscript>",
        ),
    ] {
        assert_eq!(entry(&feed).image.as_deref(), Some(image), "{feed}");
    }
    for feed in [
        item("<enclosure url='https://c.example/a.mp3' type='audio/mpeg'/>"),
        item("<media:content url='https://c.example/v.mp4'/>"),
        item("<itunes:image href='gs://bucket/i.jpg'/>"),
    ] {
        assert_eq!(entry(&feed).image, None, "{feed}");
    }
}

#[test]
fn the_address_is_that_of_the_page() {
    let page = "https://c.example/1";
    for feed in [
        rss("<comments>https://c.example/1#c</comments><link>https://c.example/1</link>"),
        rss("<comments>https://c.example/1#c</comments><guid>https://c.example/1</guid>"),
        rss("<guid>tag:1</guid><link> \n https://c.example/1\n</link>"),
        rss("<guid isPermaLink='false'>https://c.example/x</guid><link>https://c.example/1</link>"),
        rss("<guid isPermaLink='false'>https://c.example/1</guid>"),
        rss(
            "<image><url>https://c.example/i</url><link>https://c.example/</link></image><link>https://c.example/1</link>",
        ),
        rss("<link/><guid>https://c.example/1</guid>"),
        rss("<atom:link rel='self' href='https://c.example/feed'/><link>https://c.example/1</link>"),
        rss("<enclosure url='https://c.example/a.mp3' type='audio/mpeg'/><link>https://c.example/1</link>"),
        rss("<enclosure url='https://c.example/1' type='audio/mpeg'/><guid isPermaLink='false'>7</guid>"),
        rss("<link>https://c.example/1</link>").replace("<item>", "<item rdf:about='https://c.example/x'>"),
        rss("<title>T</title>").replace("<item>", "<item rdf:about='https://c.example/1'>"),
        atom("<link href='https://c.example/1'/><link rel='replies' href='https://c.example/r'/>"),
        atom(
            "<link rel='edit' href='https://c.example/e'/><link rel='alternate' type='text/html' href='https://c.example/1'/>",
        ),
        atom("<link type='video/mp4' href='https://c.example/v.mp4'/><id>https://c.example/1</id>"),
        atom("<id>https://c.example/1</id>"),
        rss("<link>HTTPS://C.example:443/1</link>"),
    ] {
        assert_eq!(url_of(&feed), page, "{feed}");
    }
    assert_eq!(url_of(&rss("<link>https://c.example/?a=1&b=2</link>")), "https://c.example/?a=1&b=2");
    assert_eq!(
        url_of(&rss("<link>https://c.example/?a=1&amp;b=2&copy=3</link>")),
        "https://c.example/?a=1&b=2&copy=3"
    );
    assert_eq!(url_of(&rss("<link>https://c.example/글 1</link>")), "https://c.example/%EA%B8%80%201");
    assert_eq!(url_of(&rss("<link>javascript:alert(1)</link><guid>7</guid>")), "");
}

#[test]
fn relative_addresses_resolve_against_base_home_page_or_source() {
    let source = Url::parse("https://s.example/feeds/all.xml").unwrap();
    let url = |feed: &str| {
        let feed = read(feed.as_bytes(), &Source { charset: None, address: Some(&source) }).unwrap();
        feed.entries[0].as_ref().unwrap().url.clone().unwrap()
    };
    assert_eq!(url(&rss("<link>1</link>")), "https://s.example/feeds/1");
    let with_home =
        |link: &str| rss("<link>/1</link>").replace("<item>", &format!("<link>{link}</link><item>"));
    assert_eq!(url(&with_home("https://c.example/blog/")), "https://c.example/1");
    assert_eq!(url(&with_home("/blog/")), "https://s.example/1");
    let based = atom("<link href='1'/>").replace("<feed", "<feed xml:base='https://b.example/a/'");
    assert_eq!(url(&based), "https://b.example/a/1");
    assert_eq!(url(&based.replace("<entry", "<entry xml:base='b/'")), "https://b.example/a/b/1");
    let after = based.replace("<entry", "<x xml:base='b/'/><entry");
    assert_eq!(url(&after), "https://b.example/a/1");
    let image = html("<img src='/i.jpg'>").replace("<item>", "<link>https://c.example/blog/</link><item>");
    assert_eq!(entry(&image).image.as_deref(), Some("https://c.example/i.jpg"));
}

#[test]
fn tags_are_those_of_all_elements_that_name_one() {
    for (elements, tags) in [
        ("<category>a</category><category domain='x'>b</category><category>a</category>", &["a", "b"][..]),
        ("<dc:subject>Politics</dc:subject>", &["Politics"]),
        ("<category term='t' label='Label'/><category term='u'/>", &["Label", "u"]),
        (
            "<media:keywords>a, b,,c</media:keywords><itunes:keywords>c,d</itunes:keywords>",
            &["a", "b", "c", "d"],
        ),
        ("<itunes:category text='Arts'/><media:category>x/y</media:category>", &["Arts", "x/y"]),
        ("<category>Q&amp;amp;A &lt;b>x&lt;/b></category><category/><category> </category>", &["Q&A x"]),
    ] {
        assert_eq!(entry(&item(elements)).tags, tags, "{elements}");
    }
}

#[test]
fn the_text_is_the_longest_or_else_that_of_the_media() {
    for (elements, text) in [
        ("<description>short</description><content:encoded>much longer</content:encoded>", "much longer"),
        ("<content:encoded/><description>short</description>", "short"),
        (
            "<media:group><media:title>x</media:title><media:description>About</media:description></media:group>",
            "About",
        ),
        ("<description>a</description><itunes:summary>much longer</itunes:summary>", "a"),
        ("<itunes:summary>About</itunes:summary>", "About"),
        ("<body xmlns='http://www.w3.org/1999/xhtml'><p>a</p><p>b</p></body>", "a\n\nb"),
    ] {
        assert_eq!(entry(&item(elements)).text, text, "{elements}");
    }
    let media = "<id>urn:1</id><media:group><media:description>About</media:description></media:group>";
    assert_eq!(entry(&atom(media)).text, "About");
}

#[test]
fn references_mean_what_they_do_in_html_or_what_the_file_declares() {
    assert_eq!(
        entry(&atom("<title>Caf&eacute; &#x2014; &#146;&unknown; &a b;</title>")).title,
        "Café — ’&unknown; &a b;"
    );
    let declared = "<!DOCTYPE rss [<!ENTITY co \"ACME\"> <!ENTITY inc '&co; > Inc.'>]>".to_owned()
        + &rss("<title>&co; &inc;</title>");
    assert_eq!(entry(&declared).title, "ACME ACME > Inc.");
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
fn an_unreadable_date_costs_the_date_only() {
    let dates = |elements: &str| {
        let Entry { date, date_fault, .. } = entry(&item(elements));
        (date, date_fault)
    };
    let good = (Some(1_795_163_760_000), None);
    assert_eq!(dates("<pubDate>soon</pubDate><dc:date>2026-11-20T08:36:00Z</dc:date>"), good);
    assert_eq!(dates("<dc:date>2026-11-20</dc:date><pubDate>Fri, 20 Nov 2026 08:36:00 GMT</pubDate>"), good);
    assert_eq!(
        dates("<atom:updated>2027-01-01</atom:updated><atom:published>2026-11-20T08:36:00Z</atom:published>"),
        good
    );
    assert_eq!(dates("<pubDate>soon</pubDate>"), (None, Some("its date cannot be read: soon".to_owned())));
    assert_eq!(dates("<pubDate> </pubDate>"), (None, None));
    assert_eq!(dates("<pubDate>Mon, 30 Nov -0001 00:00:00 +0000</pubDate>"), (None, None));
}

#[test]
fn the_parts_of_a_feed_that_a_poller_needs_are_read() {
    let rss = format!(
        "<rss {NAMESPACES} xml:lang='en'><channel><title>A &amp;amp; B</title><image><title>I</title><link>https://i.example/</link></image>\
         <link>https://c.example/</link><atom:link rel='hub' href='https://hub.example/'/><atom:link rel='self' href='https://c.example/f'/>\
         <atom:link rel='next' href='/f?2'/><ttl> 60 </ttl><skipHours><hour>0</hour><hour>24</hour><hour>5</hour></skipHours>\
         <skipDays><day>Sunday</day></skipDays><language>ko</language></channel></rss>"
    );
    let feed = read(
        rss.as_bytes(),
        &Source { charset: None, address: Some(&Url::parse("https://c.example/f").unwrap()) },
    )
    .unwrap();
    let text = |url: &Option<Url>| url.as_ref().map(ToString::to_string).unwrap_or_default();
    assert_eq!((feed.title.as_str(), text(&feed.link)), ("A & B", "https://c.example/".to_owned()));
    assert_eq!((feed.hubs.len(), text(&feed.self_address)), (1, "https://c.example/f".to_owned()));
    assert_eq!(
        (feed.ttl, feed.skip_hours, feed.skip_days),
        (Some(60), vec![0, 0, 5], vec!["Sunday".to_owned()])
    );
    assert_eq!(
        (feed.language.as_deref(), text(&feed.next)),
        (Some("en"), "https://c.example/f?2".to_owned())
    );
}

#[test]
fn json_feeds_are_read_leniently() {
    let feed = r#"{"version": "http://jsonfeed.org/version/1", "title": "J", "home_page_url": "https://c.example/",
        "hubs": [{"type": "WebSub", "url": "https://hub.example/"}], "next_url": "/2", "items": [
        {"id": 1, "url": "/1", "title": 3, "date_published": "", "content_text": "a <b>", "tags": ["x", 1, "y"]},
        5,
        {"id": "https://c.example/3", "content_html": "<p>a<p>b", "summary": "s", "date_modified": "2026-11-20T08:36:00Z",
         "attachments": [{"url": "https://c.example/i", "mime_type": "image/png"}], "author": 7}]}"#;
    let feed = read(feed.as_bytes(), &Source::default()).unwrap();
    let [Ok(one), Err(two), Ok(three)] = &*feed.entries else { panic!("{feed:?}") };
    assert_eq!((one.url.as_deref(), &*one.title, &*one.text), (Some("https://c.example/1"), "", "a <b>"));
    assert_eq!((one.id.as_deref(), one.line, &one.date_fault), (Some("1"), 3, &None));
    assert_eq!(one.tags, ["x", "y"]);
    assert_eq!((two.line, &two.reason[..25]), (4, "it is no item of a JSON f"));
    assert_eq!((three.url.as_deref(), &*three.text), (Some("https://c.example/3"), "a\n\nb"));
    assert_eq!((three.image.as_deref(), three.date), (Some("https://c.example/i"), Some(1_795_163_760_000)));
    assert_eq!((feed.title.as_str(), feed.hubs.len(), feed.next), ("J", 1, None));
}
