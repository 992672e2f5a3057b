//! Tests of what servers answer, and of the times of fetches.

use std::io::Write as _;

use super::site::Page;
use super::*;
use crate::base::clock::DAY_MS;

fn error(tidings: &Tidings, source: &str) -> String {
    fetch(tidings, source).error.unwrap()
}

#[test]
fn a_request_is_conditional_and_honest() {
    let service = reading();
    let site = Site::start();
    site.answers("/feed", 200, "last-modified: Fri, 20 Nov 2026 08:36:00 GMT\r\n", atom("A", &[]).as_bytes());
    let source = add(&service, &site.url("/feed"));
    for _ in 0..2 {
        fetch(&service, &source);
    }
    let requests = site.requests();
    let has =
        |request: &String, header: &str| request.to_ascii_lowercase().contains(&format!("\r\n{header}"));
    assert!(!has(&requests[0], "if-modified-since"));
    assert!(has(&requests[1], "if-modified-since: fri, 20 nov 2026 08:36:00 gmt\r\n"), "{requests:?}");
    assert!(has(&requests[0], "user-agent: tidings/") && has(&requests[0], "accept-encoding: gzip, br\r\n"));
}

#[test]
fn compressed_and_other_encodings_are_read() {
    let service = reading();
    let site = Site::start();
    let feed = |n| atom("A", &[entry(n, "Packed")]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(feed(1).as_bytes()).unwrap();
    site.answers("/gzip", 200, "content-encoding: gzip\r\n", &gzip.finish().unwrap());
    let mut br = Vec::new();
    brotli::CompressorWriter::new(&mut br, 4096, 1, 20).write_all(feed(2).as_bytes()).unwrap();
    site.answers("/br", 200, "content-encoding: br\r\n", &br);
    let latin = atom("A", &[entry(3, "Café")]);
    let latin: Vec<u8> = latin.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    site.answers("/latin", 200, "content-type: application/xml; charset=\"iso-8859-1\"\r\n", &latin);
    for path in ["/gzip", "/br", "/latin"] {
        let source = add(&service, &site.url(path));
        assert_eq!(counts(&fetch(&service, &source)), [1, 0, 0], "{path}");
    }
    assert_eq!(titles(&service), ["Packed", "Packed", "Café"]);
}

#[test]
fn the_bytes_tell_how_a_feed_is_compressed_and_not_the_header() {
    let service = reading();
    let site = Site::start();
    let packed = |bytes: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    };
    let feed = |n| atom("A", &[entry(n, "Read")]).into_bytes();
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
    ] {
        site.answers(&format!("/{n}"), 200, header, &body);
        let source = add(&service, &site.url(&format!("/{n}")));
        assert_eq!(counts(&fetch(&service, &source)), [1, 0, 0], "{header}");
    }
}

#[test]
fn redirections_keep_cookies_and_may_name_an_address_in_utf_8() {
    let service = reading();
    let site = Site::start();
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
    let service = reading();
    let site = Site::start();
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
    let service = reading();
    let site = Site::start();
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
    let post = service.call(&Caller::Guest, post::Get { post_obi: post.id.to_string() }).unwrap().post;
    assert_eq!(post.tag.texts().len(), 2);
}

#[test]
fn the_title_of_a_source_has_visible_characters_only() {
    let service = reading();
    let site = Site::start();
    let json = r#"{"version": "https://jsonfeed.org/version/1", "title": "Campus\u0000 \u202enews\u200b", "items": []}"#;
    let rss = "<rss><channel><title>Campus&#x202e; &lt;b>news&lt;/b>&#x7;\n</title></channel></rss>";
    for (path, feed) in [("/json", json), ("/rss", rss), ("/atom", &atom("Campus\u{ad}\u{1} news", &[]))] {
        site.gives(path, feed);
        let source = add(&service, &site.url(path));
        fetch(&service, &source);
        assert_eq!(get(&service, &source).name, "Campus news", "{path}");
    }
}

#[test]
fn failures_are_shown_and_repeated_more_rarely() {
    let service = reading();
    let site = Site::start();
    site.answers("/feed", 503, "retry-after: 7200\r\n", b"");
    let source = add(&service, &site.url("/feed"));
    assert_eq!(error(&service, &source), "status 503");
    let shown = get(&service, &source);
    assert_eq!((shown.failures, shown.failing_since, shown.last_success), (1, Some(NOW), None));
    assert!(shown.next_fetch.unwrap() - NOW >= 2 * HOUR_MS);
    site.answers("/feed", 200, "", b"<html><body>Sorry</body></html>");
    assert!(error(&service, &source).starts_with("it is no feed that can be read: line 1"));
    assert_eq!(get(&service, &source).failures, 2);
    site.gives("/feed", &atom("A", &[]));
    assert_eq!(counts(&fetch(&service, &source)), [0, 0, 0]);
    let shown = get(&service, &source);
    assert_eq!((shown.failures, shown.failing_since, shown.error), (0, None, None));
}

#[test]
fn a_source_that_fails_for_two_weeks_is_told_once() {
    let service = reading();
    let hook = webhook::Add {
        name: "ops".into(),
        url: "https://ops.example.org/".into(),
        events: vec!["source.failing".into()],
    };
    service.call(&Caller::Operator, hook).unwrap();
    let told = || service.call(&Caller::Operator, ListDeliveries {}).unwrap().deliveries.len();
    let site = Site::start();
    let source = add(&service, &site.url("/feed"));
    assert_eq!(error(&service, &source), "status 404");
    service.clock().advance(14 * DAY_MS - 1);
    error(&service, &source);
    assert_eq!(told(), 0);
    for _ in 0..2 {
        service.clock().advance(HOUR_MS);
        error(&service, &source);
    }
    assert_eq!(told(), 1);
    let failing = |at| service.store().read(|tx| sql::failing(tx, at)).unwrap();
    assert_eq!(failing(service.clock().now() - FAILING_MS), [site.url("/feed")]);
    site.gives("/feed", &atom("A", &[]));
    fetch(&service, &source);
    site.answers("/feed", 500, "", b"");
    error(&service, &source);
    service.clock().advance(15 * DAY_MS);
    error(&service, &source);
    assert_eq!(told(), 2, "it has failed anew");
}

#[test]
fn a_feed_that_has_moved_for_days_has_a_new_address() {
    let service = reading();
    let site = Site::start();
    site.gives("/new", &atom("A", &[entry(1, "One")]));
    let source = add(&service, &site.url("/old"));
    let address = || get(&service, &source).url;
    for (status, days, expected) in [(302, 30, "/old"), (301, 1, "/old"), (308, 2, "/old"), (308, 0, "/new")]
    {
        site.answers("/old", status, "location: /new\r\n", b"");
        fetch(&service, &source);
        assert_eq!(address(), site.url(expected), "{status}");
        service.clock().advance(days * DAY_MS);
    }
    site.answers("/new", 410, "", b"");
    assert_eq!(error(&service, &source), "status 410: it has ended");
    let shown = get(&service, &source);
    assert_eq!((shown.state, shown.next_fetch), (SourceState::Ended, None));
    service.call(&Caller::Operator, Resume { source_obi: source.clone() }).unwrap();
    assert_eq!(get(&service, &source).state, SourceState::Active);
}

#[test]
fn what_changes_during_a_fetch_wins() {
    let service = reading();
    let site = Site::start();
    site.gives("/feed", &atom("Old", &[entry(1, "One")]));
    let reader = service.sources().reader();
    let begun = |source: &str| {
        let key = service
            .store()
            .read(|tx| tx.one("SELECT key FROM source WHERE id = $1", &[source.into()])?.take(0));
        let record = reader.record(key.unwrap()).unwrap();
        let asked = run::ask(reader.http().unwrap().as_ref(), &record.url, &record.known, NOW);
        (record, asked)
    };
    let source = add(&service, &site.url("/feed"));
    let (record, asked) = begun(&source);
    let moved = Update { url: Some(site.url("/new")), ..unchanged(&source) };
    service.call(&Caller::Operator, moved).unwrap();
    assert!(matches!(reader.take_in(&record, asked), Err(Error::NotFound)));
    let shown = get(&service, &source);
    assert_eq!((&*shown.name, shown.posts, shown.last_fetch), ("127.0.0.1", 0, None));

    let source = add(&service, &site.url("/feed"));
    let (record, asked) = begun(&source);
    service.call(&Caller::Operator, Remove { source_obi: source }).unwrap();
    add(&service, &site.url("/other"));
    assert!(matches!(reader.take_in(&record, asked), Err(Error::NotFound)));
    assert!(titles(&service).is_empty());
}

#[test]
fn only_another_address_or_time_makes_a_source_due() {
    let service = reading();
    let site = Site::start();
    site.answers("/feed", 503, "retry-after: 7200\r\n", b"");
    let source = add(&service, &site.url("/feed"));
    error(&service, &source);
    let next = |update: Update| {
        service.call(&Caller::Operator, update).unwrap();
        get(&service, &source).next_fetch.unwrap()
    };
    assert!(next(Update { name: Some("News".into()), ..unchanged(&source) }) - NOW >= 2 * HOUR_MS);
    assert_eq!(next(Update { every: Some(30), ..unchanged(&source) }), NOW);
    error(&service, &source);
    assert_eq!(next(Update { url: Some(site.url("/new")), ..unchanged(&source) }), NOW);
    assert_eq!(get(&service, &source).failures, 0);
}

#[test]
fn no_server_makes_a_fetch_large_or_long() {
    let service = reading();
    let site = Site::start();
    site.answers("/circle", 302, "location: /circle\r\n", b"");
    site.answers("/away", 302, "location: file:///etc/passwd\r\n", b"");
    site.sets("/flood", Page::Flood);
    site.sets("/trickle", Page::Trickle);
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bomb.write_all(&vec![b'x'; 20 << 20]).unwrap();
    site.answers("/bomb", 200, "content-encoding: gzip\r\n", &bomb.finish().unwrap());
    for (path, expected) in [
        ("/circle", "it redirects too often"),
        ("/away", "it redirects to no address of the web"),
        ("/flood", "it is larger than 16 MiB"),
        ("/trickle", "no answer in time"),
        ("/bomb", "it is larger than 16 MiB"),
    ] {
        let source = add(&service, &site.url(path));
        assert_eq!(error(&service, &source), expected, "{path}");
    }
    assert_eq!(site.requests().iter().filter(|request| request.starts_with("GET /circle")).count(), 6);
}

#[test]
fn a_private_address_is_refused_wherever_it_is_named() {
    let service = service();
    let refused = Reader::new(&service.0.store, service.clock(), service.config());
    let site = Site::start();
    let url = url::Url::parse(&site.url("/feed")).unwrap();
    let answer = refused.http().unwrap().get(&url, &super::super::fetch::Validators::default(), NOW);
    assert_eq!(answer.unwrap_err().reason, "the host has a private address");
    assert!(site.requests().is_empty());
}

#[test]
fn the_feeds_of_a_page_are_found() {
    let service = reading();
    let site = Site::start();
    let link = "<html><link rel=alternate type=application/rss+xml href=/feed title='The news'>";
    site.answers("/", 200, "content-type: text/html\r\n", link.as_bytes());
    site.gives("/feed", &atom("Campus", &[]));
    let found = |path: &str| {
        let discover = Discover { url: site.url(path) };
        let found = service.call(&Caller::Operator, discover).unwrap();
        let mut shown = found.error.unwrap_or_default();
        for FoundFeed { url, title } in found.feeds {
            write!(shown, "{} {title}", url.rsplit_once('/').unwrap().1).unwrap();
        }
        shown
    };
    assert_eq!([found("/"), found("/feed"), found("/none")], ["feed The news", "feed Campus", "status 404"]);

    let json = "{\"version\": \"https://jsonfeed.org/version/1\", \"items\": []}";
    site.gives("/json", json);
    site.gives("/wp-json", "{\"id\": 2}");
    let link = |name: &str, kind: &str| {
        format!("<link rel=alternate type={kind} href=/{name} title='{name}\u{202e}'>")
    };
    let page = link("wp-json", "application/json")
        + &link("json", "application/json")
        + &link("feed", "text/xml")
        + &link("none", "application/xml")
        + &link("sure", "application/rss+xml");
    let header = "link: </feed>; rel=\"alternate\"; type=\"application/rss+xml\"; title=\"In a header; 도서관\", </style>; rel=preload, \
                  </atom>; rel=alternate; type=application/atom+xml\r\n";
    site.answers("/wordpress", 200, header, page.as_bytes());
    assert_eq!(found("/wordpress"), "feed In a header 도서관atom json jsonsure sure");
}

#[test]
fn the_thread_fetches_what_is_due_and_no_slow_server_holds_it_up() {
    let service = reading();
    let site = Site::start();
    site.gives("/feed", &atom("A", &[entry(1, "One")]));
    site.sets("/trickle", Page::Trickle);
    let slow: Vec<String> = (0..2).map(|_| site.url("/trickle")).collect();
    add(&service, &slow[0]);
    let [source, paused] = [site.url("/feed"), site.url("/paused")].map(|url| add(&service, &url));
    service.call(&Caller::Operator, Pause { source_obi: paused.clone() }).unwrap();
    service.clock().advance(HOUR_MS);
    service.start_background().unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while get(&service, &source).last_success.is_none() {
        assert!(std::time::Instant::now() < end, "the source is not fetched");
        std::thread::yield_now();
    }
    assert_eq!(titles(&service), ["One"]);
    assert_eq!(
        (get(&service, &paused).state, get(&service, &paused).last_fetch),
        (SourceState::Paused, None)
    );
}
