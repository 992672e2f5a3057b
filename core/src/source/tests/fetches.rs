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
    let (service, site) = (reading(), Site::start());
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
fn failures_are_shown_and_repeated_more_rarely() {
    let (service, site) = (reading(), Site::start());
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
    let (url, events) = ("https://ops.example.org/".into(), vec!["source.failing".into()]);
    let hook = webhook::Add { name: "ops".into(), url, events };
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
    let (service, site) = (reading(), Site::start());
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
}

#[test]
fn a_source_ends_after_it_said_so_for_days() {
    let (service, site) = (reading(), Site::start());
    site.answers("/feed", 302, "location: /other\r\n", b"");
    site.answers("/other", 410, "", b"");
    let source = add(&service, &site.url("/feed"));
    for _ in 0..2 {
        assert_eq!(error(&service, &source), "status 410", "another address cannot say that it has ended");
        service.clock().advance(5 * DAY_MS);
    }
    site.answers("/feed", 410, "", b"");
    assert_eq!(error(&service, &source), "status 410: it says that it has ended");
    service.clock().advance(2 * DAY_MS);
    site.answers("/feed", 503, "", b"");
    assert_eq!(error(&service, &source), "status 503");
    site.answers("/feed", 301, "location: /other\r\n", b"");
    for _ in 0..2 {
        assert_eq!(get(&service, &source).state, SourceState::Active);
        assert_eq!(error(&service, &source), "status 410: it says that it has ended");
        service.clock().advance(2 * DAY_MS);
    }
    assert_eq!(error(&service, &source), "status 410: it has ended");
    let shown = get(&service, &source);
    assert_eq!((shown.state, shown.next_fetch), (SourceState::Ended, None));
    service.call(&Caller::Operator, Resume { source_obi: source.clone() }).unwrap();
    assert_eq!(get(&service, &source).state, SourceState::Active);
}

#[test]
fn what_changes_during_a_fetch_wins() {
    let (service, site) = (reading(), Site::start());
    site.gives("/feed", &atom("Old", &[entry(1, "One")]));
    let reader = service.sources();
    let begun = |source: &str| {
        let sql = "SELECT key FROM source WHERE id = $1";
        let key = service.store().read(|tx| tx.one(sql, &[source.into()])?.take(0)).unwrap();
        let record = reader.record(key).unwrap();
        let asked = run::ask(reader.http().unwrap().as_ref(), &record.source.url, &record.known, NOW);
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
    remove(&service, &source, None);
    add(&service, &site.url("/other"));
    assert!(matches!(reader.take_in(&record, asked), Err(Error::NotFound)));
    assert!(titles(&service).is_empty());
}

#[test]
fn only_another_address_or_time_makes_a_source_due() {
    let (service, site) = (reading(), Site::start());
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
    let (service, site) = (reading(), Site::start());
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
    let (service, site) = (reading(), Site::start());
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
    let (service, site) = (reading(), Site::start());
    site.gives("/feed", &atom("A", &[entry(1, "One")]));
    site.sets("/trickle", Page::Trickle);
    add(&service, &site.url("/trickle"));
    let [source, paused] = [site.url("/feed"), site.url("/paused")].map(|url| add(&service, &url));
    service.call(&Caller::Operator, Pause { source_obi: paused.clone() }).unwrap();
    service.clock().advance(HOUR_MS);
    service.start_background().unwrap();
    eventually(|| get(&service, &source).last_success.is_some());
    assert_eq!(titles(&service), ["One"]);
    let paused = get(&service, &paused);
    assert_eq!((paused.state, paused.last_fetch), (SourceState::Paused, None));
}
