//! Tests of what the headers and bytes of answers mean, and of parts of feeds that cannot be used.

use std::io::Write as _;

use super::*;

#[test]
fn feeds_are_read_in_their_encoding_and_the_bytes_tell_how_they_are_compressed() {
    let (service, site) = (reading(), Site::start());
    let packed = |bytes: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    };
    let feed = |n| atom("A", &[entry(n, "Read")]).into_bytes();
    let mut br = Vec::new();
    brotli::CompressorWriter::new(&mut br, 4096, 1, 20).write_all(&feed(11)).unwrap();
    let latin = atom("A", &[entry(12, "Café")]);
    let latin: Vec<u8> = latin.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    for (n, header, body) in [
        (1, "content-encoding: UTF-8\r\n", feed(1)),
        (2, "content-encoding: aws-chunked\r\n", feed(2)),
        (3, "content-encoding: gzip\r\n", feed(3)),
        (4, "content-encoding: br\r\n", feed(4)),
        (5, "content-type: application/gzip\r\n", packed(&feed(5))),
        (6, "content-encoding: gzip\r\ncontent-type: application/gzip\r\n", packed(&packed(&feed(6)))),
        (7, "content-encoding: none\r\n", packed(&feed(7))),
        (8, "content-encoding: x-gzip\r\n", packed(&feed(8))),
        (9, "content-encoding: zstd\r\n", feed(9)),
        (10, "content-encoding: gzip\r\n", packed(&feed(10))),
        (11, "content-encoding: br\r\n", br),
        (12, "content-type: application/xml; charset=\"iso-8859-1\"\r\n", latin),
    ] {
        site.answers(&format!("/{n}"), 200, header, &body);
        let source = add(&service, &site.url(&format!("/{n}")));
        assert_eq!(counts(&fetch(&service, &source)), [1, 0, 0], "{header}");
    }
    assert!(titles(&service).contains(&"Café".to_owned()));
}

#[test]
fn redirections_keep_cookies_and_may_name_an_address_in_utf_8() {
    let (service, site) = (reading(), Site::start());
    let cookies = "set-cookie: a=1; Path=/; HttpOnly\r\nset-cookie: b=2; domain=other.example\r\n";
    site.answers("/old", 302, &format!("{cookies}location: /도서 관?q=책\r\n"), b"");
    let path = "/%EB%8F%84%EC%84%9C%20%EA%B4%80?q=%EC%B1%85";
    site.answers(path, 302, "set-cookie: a=3\r\nlocation: /feed\r\n", b"");
    site.gives("/feed", &atom("A", &[entry(1, "One")]));
    let source = add(&service, &site.url("/old"));
    for expected in [[1, 0, 0], [0, 0, 1]] {
        assert_eq!(counts(&fetch(&service, &source)), expected);
        let requests = site.requests();
        let sent = |request: &String| {
            let lines = request.lines().map(str::to_ascii_lowercase);
            lines.filter_map(|line| line.strip_prefix("cookie: ").map(str::to_owned)).collect::<String>()
        };
        assert_eq!(requests.iter().map(sent).collect::<Vec<_>>(), ["", "a=1; b=2", "b=2; a=3"]);
    }
}

/// Returns the minutes until the next fetch of a new source without entries that is fetched once.
fn next_after(status: u16, headers: &str) -> i64 {
    let (service, site) = (reading(), Site::start());
    site.answers("/feed", status, headers, atom("A", &[]).as_bytes());
    let source = add(&service, &site.url("/feed"));
    fetch(&service, &source);
    (get(&service, &source).next_fetch.unwrap() - NOW) / MINUTE_MS
}

#[test]
fn an_answer_is_fresh_as_long_as_its_headers_say() {
    // A new source is fetched again after 90 minutes.
    for (headers, minutes) in [
        ("cache-control: no-cache, max-age=315360000\r\n", 90),
        ("cache-control: max-age=315360000\r\ncache-control: no-store\r\n", 90),
        ("cache-control: public, max-age=36000\r\n", 600),
        ("cache-control: must-revalidate, Max-Age=\"36000\"\r\n", 600),
        ("cache-control: no-cache=\"set-cookie\", max-age=36000\r\n", 600),
        ("cache-control: s-maxage=36000\r\n", 90),
        ("cache-control: max-age=36000\r\nage: 18000\r\n", 300),
        ("cache-control: max-age=60\r\nexpires: Mon, 30 Nov 2099 16:00:00 GMT\r\n", 90),
        ("date: Fri, 20 Nov 2026 08:00:00 GMT\r\nexpires: Fri, 20 Nov 2026 18:00:00 GMT\r\n", 600),
        ("date: Friday, 20-Nov-26 08:00:00 GMT\r\nexpires: Fri Nov 20 18:00:00 2026\r\n", 600),
        ("expires: 0\r\n", 90),
        ("cache-control: no-cache\r\nexpires: Mon, 30 Nov 2099 16:00:00 GMT\r\n", 90),
        ("cache-control: max-age=99999999999999999999\r\n", 7 * 24 * 60),
    ] {
        let next = next_after(200, headers);
        assert!((minutes..=minutes * 11 / 10).contains(&next), "{headers}: {next}");
    }
}

#[test]
fn retry_after_is_read_in_each_of_its_forms() {
    let at = NOW + 5 * HOUR_MS;
    let form = |pattern: &str| {
        let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
        at.strftime(pattern).to_string()
    };
    for value in [
        "18000".to_owned(),
        "17999.2".to_owned(),
        form("%a, %d %b %Y %H:%M:%S GMT"),
        form("%A, %d-%b-%y %H:%M:%S GMT"),
        form("%a %b %e %H:%M:%S %Y"),
    ] {
        let next = next_after(503, &format!("retry-after: {value}\r\n"));
        assert!((299..=330).contains(&next), "{value}: {next}");
    }
    for value in ["", "soon", "-5", "2026-11-20", "inf", "NaN", "1e9"] {
        assert!((10..=11).contains(&next_after(503, &format!("retry-after: {value}\r\n"))), "{value}");
    }
}

#[test]
fn a_source_that_is_asked_too_often_is_not_asked_more_often_than_usual() {
    for (status, minutes) in [(429, 60), (420, 60), (509, 60), (529, 60), (503, 10), (404, 10)] {
        let next = next_after(status, "");
        assert!((minutes..=minutes * 11 / 10).contains(&next), "{status}: {next}");
    }
    assert!(next_after(429, "retry-after: 5\r\n") >= 60);
    assert!(next_after(429, "retry-after: 18000\r\n") >= 300);
}

#[test]
fn a_part_that_cannot_be_used_costs_no_entry() {
    let (service, site) = (reading(), Site::start());
    let item = |n: u32, title: &str, more: &str| {
        format!("<item><title>{title}</title><link>http://a.example/{n}</link>{more}</item>")
    };
    let long = "가".repeat(400);
    let items = [
        item(1, "&#8203;", ""),
        item(2, "&#x202e;&#xfeff;", "<description>Some text</description>"),
        item(3, &"\u{fb2c}".repeat(200), ""),
        item(
            4,
            &long,
            &format!("<category>{long}</category><category>&#8203;</category><category>A</category>"),
        ),
        item(5, "Five", &format!("<enclosure url='http://a.example/{long}.jpg' type='image/jpeg'/>")),
        item(6, "Six", &"<category>c</category>".repeat(60).replace("c<", "c&#x1;<")),
        item(7, "Seven", "<pubDate>gestern</pubDate><description>&#x1;&#x7f;</description>"),
        item(8, "", "")
            .replace("8<", &format!("{}<", "x".repeat(2_000)))
            .replace("</item>", "<guid>http://a.example/8</guid></item>"),
    ];
    let items: String = items.into_iter().collect();
    site.gives("/feed", &format!("<rss><channel><title>A</title>{items}</channel></rss>"));
    let source = add(&service, &site.url("/feed"));
    let fetched = fetch(&service, &source);
    assert_eq!((counts(&fetched), fetched.errors), ([8, 0, 0], vec![]));
    let shown = titles(&service);
    assert_eq!([&*shown[0], &*shown[1]], ["http://a.example/1", "Some text"]);
    assert_eq!((shown[3].chars().count(), &*shown[7]), (300, "http://a.example/8"));
    let post = service.call(&Caller::Operator, post::List::default()).unwrap().posts;
    let post = post.into_iter().find(|post| post.url == "http://a.example/4").unwrap();
    let post = service.call(&Caller::Guest, post::Get { post_obi: post.id.clone() }).unwrap().post;
    assert_eq!(post.tag.texts().len(), 2);
}

#[test]
fn the_title_of_a_source_has_visible_characters_only() {
    let (service, site) = (reading(), Site::start());
    let json = r#"{"version": "https://jsonfeed.org/version/1", "title": "Campus\u0000 \u202enews\u200b", "items": []}"#;
    let rss = "<rss><channel><title>Campus&#x202e; &lt;b>news&lt;/b>&#x7;\n</title></channel></rss>";
    for (path, feed) in [("/json", json), ("/rss", rss), ("/atom", &atom("Campus\u{ad}\u{1} news", &[]))] {
        site.gives(path, feed);
        let source = add(&service, &site.url(path));
        fetch(&service, &source);
        assert_eq!(get(&service, &source).name, "Campus news", "{path}");
    }
}
