//! Faults of entries.

use super::*;
use url::Url;

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
        rss(&format!("<link>https://c.example/{}</link><guid>https://c.example/1</guid>", "x".repeat(2_000))),
        rss(
            "<enclosure url='https://c.example/c.jpg' type='image/jpeg'/><enclosure url='https://c.example/1' type='audio/mpeg'/>",
        ),
        rss(
            "<enclosure url='https://c.example/c.png'/><enclosure url='https://c.example/1' type='video/mp4'/>",
        ),
        atom(
            "<link rel='enclosure' type='image/png' href='https://c.example/c'/><link rel='enclosure' type='video/mp4' href='https://c.example/1'/>",
        ),
        rss("<enclosure url='https://c.example/1' type='image/jpeg'/>"),
    ] {
        assert_eq!(url_of(&feed), page, "{feed}");
    }
    for (query, written) in
        [("?a=1&b=2", "?a=1&b=2"), ("?a=1&amp;b=2&copy=3", "?a=1&b=2&copy=3"), ("글 1", "%EA%B8%80%201")]
    {
        let link = rss(&format!("<link>https://c.example/{query}</link>"));
        assert_eq!(url_of(&link), format!("https://c.example/{written}"));
    }
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
    for (relative, expected) in [
        ("<guid isPermaLink='true'>/blog/a</guid>", "https://s.example/blog/a"),
        ("<guid ispermalink='True'>a</guid>", "https://s.example/feeds/a"),
        ("<guid>/blog/a</guid>", "https://s.example/blog/a"),
        ("<guid xml:base='https://b.example/x/' isPermaLink='true'>a</guid>", "https://b.example/x/a"),
        ("<guid isPermaLink='true'>/blog/a</guid><link>/b</link>", "https://s.example/b"),
        ("<enclosure url='1.mp3' type='audio/mpeg'/>", "https://s.example/feeds/1.mp3"),
    ] {
        assert_eq!(url(&rss(relative)), expected, "{relative}");
    }
    for none in
        ["<guid isPermaLink='false'>/a</guid>", "<guid>a</guid>", "<guid isPermaLink='true'>tag:a</guid>"]
    {
        let feed = read(rss(none).as_bytes(), &Source { charset: None, address: Some(&source) }).unwrap();
        assert_eq!(feed.entries[0].as_ref().unwrap().url, None, "{none}");
    }
    let id = read(atom("<id>/a</id>").as_bytes(), &Source { charset: None, address: Some(&source) }).unwrap();
    assert_eq!(id.entries[0].as_ref().unwrap().url, None);
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
        ("<category>News</category><category>news</category><dc:subject>NEWS</dc:subject>", &["News"]),
        ("<category>Écologie</category><category>ÉCOLOGIE</category>", &["Écologie"]),
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
    let of_html = entry(&atom("<title>Caf&eacute; &#x2014; &#146;&unknown; &a b;</title>"));
    assert_eq!(of_html.title, "Café — ’&unknown; &a b;");
    let declared = "<!DOCTYPE rss [<!ENTITY co \"ACME\"> <!ENTITY inc '&co; > Inc.'>]>".to_owned()
        + &rss("<title>&co; &inc;</title>");
    assert_eq!(entry(&declared).title, "ACME ACME > Inc.");
}

#[test]
fn an_unreadable_date_costs_the_date_only() {
    let dates = |elements: &str| {
        let Entry { date, date_fault, .. } = entry(&item(elements));
        (date, date_fault)
    };
    let good = (Some(1_795_163_760_000), None);
    for elements in [
        "<pubDate>soon</pubDate><dc:date>2026-11-20T08:36:00Z</dc:date>",
        "<dc:date>2026-11-20</dc:date><pubDate>Fri, 20 Nov 2026 08:36:00 GMT</pubDate>",
        "<atom:updated>2027-01-01</atom:updated><atom:published>2026-11-20T08:36:00Z</atom:published>",
    ] {
        assert_eq!(dates(elements), good, "{elements}");
    }
    assert_eq!(dates("<pubDate>soon</pubDate>"), (None, Some("its date cannot be read: soon".to_owned())));
    assert_eq!(dates("<pubDate> </pubDate>"), (None, None));
    assert_eq!(dates("<pubDate>Mon, 30 Nov -0001 00:00:00 +0000</pubDate>"), (None, None));
}
