use feed_rs::model::Feed;
use feed_rs::parser;
use http::{Request, Response};
use tidings_core::notice;
use tidings_core::post::{self, Draft};

use super::*;
use crate::config::Config;
use crate::testing::{Service, by, header, json, outcome, request, service, with};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8";
const OPERATOR: Caller = Caller::Operator;

fn insert_posts(service: &Service, count: usize) {
    for n in 0..count {
        let draft = Draft {
            title: Some(format!("Crabs & <b>cats</b> {n}")),
            url: Some(format!("https://example.org/?a=1&b={n}")),
            post: Some("Text with \"quotes\", ]]> and <tags>.".into()),
            topic: Some(vec!["대학 소식".into()]),
            tag: Some(vec!["a&b".into(), "대학 소식".into()]),
            date: Some(format!("2026-11-2{n}T08:36:00.000Z")),
            ..Draft::default()
        };
        service.tidings.call(&OPERATOR, post::Insert { draft }).unwrap();
    }
}

fn of_host<B>(request: Request<B>) -> Request<B> {
    with(request, "host", "campus.example")
}

fn parsed(answer: &Response<bytes::Bytes>) -> Feed {
    parser::parse(&**answer.body()).unwrap()
}

fn link<'f>(feed: &'f Feed, relation: &str) -> Option<&'f str> {
    let link = feed.links.iter().find(|link| link.rel.as_deref() == Some(relation))?;
    Some(&link.href)
}

#[tokio::test]
async fn a_feed_reader_reads_posts_and_follows_the_pages() {
    let service = service();
    insert_posts(&service, 3);
    let config = Config { base_path: "/api".parse().unwrap(), ..Config::default() };
    let name = "%EB%8C%80%ED%95%99%20%EC%86%8C%EC%8B%9D";
    let app = service.app(config);
    let get = async |path: &str| service.answer_of(&app, of_host(request("GET", path))).await;
    for (path, title) in [
        ("get_popularity_newsfeed", "Popular posts"),
        (&format!("get_newsfeed_of_topic/{name}"), "대학 소식"),
    ] {
        let posts = json(&get(&format!("/api/{path}")).await)["newsfeed"].clone();
        for format in ["atom", "json-feed"] {
            let address = format!("http://campus.example/api/{path}?format={format}");
            let first = get(&format!("/api/{path}?limit=2&format={format}")).await;
            let document = parsed(&first);
            assert_eq!(document.title.as_ref().unwrap().content, title);
            assert_eq!(document.authors[0].name.as_deref(), Some("campus.example"));
            assert_eq!(document.entries.len(), 2);
            for (entry, post) in document.entries.iter().zip(posts.as_array().unwrap()) {
                assert_eq!(entry.id, urn(Record::Post, post["_id"].as_str().unwrap()));
                assert_eq!(entry.title.as_ref().unwrap().content, post["title"].as_str().unwrap());
                assert_eq!(entry.links[0].href, post["url"].as_str().unwrap());
                let date = entry.published.unwrap().timestamp_millis();
                let expected = Timestamp::parse(post["date"].as_str().unwrap());
                assert_eq!(Some(Timestamp::from_millis(date)), expected);
                let labels: Vec<_> = entry.categories.iter().map(|category| &*category.term).collect();
                assert_eq!(labels, ["대학 소식", "a&b"]);
                let summary = entry.summary.as_ref().unwrap();
                assert_eq!(summary.content, "Text with \"quotes\", ]]> and <tags>.");
            }
            let (own, next) = if format == "atom" {
                assert_eq!(document.id, address.split('?').next().unwrap());
                assert_eq!(header(&first, "content-type"), "application/atom+xml; charset=utf-8");
                assert_eq!(document.updated, document.entries[0].updated);
                (link(&document, "self"), link(&document, "next"))
            } else {
                let links = json(&first);
                assert_eq!(header(&first, "content-type"), "application/feed+json; charset=utf-8");
                assert_eq!(links["version"], "https://jsonfeed.org/version/1.1");
                assert_eq!(links["feed_url"], format!("{address}&limit=2"));
                (None, links["next_url"].as_str().map(ToOwned::to_owned).map(|next| &*next.leak()))
            };
            assert!(own.is_none_or(|own| own == format!("{address}&limit=2")), "{own:?}");
            let last = get(next.unwrap().strip_prefix("http://campus.example").unwrap()).await;
            assert_eq!(parsed(&last).entries.len(), 1, "{format}");
            let further = String::from_utf8(last.body().to_vec()).unwrap();
            assert!(!further.contains("next_url") && !further.contains("rel=\"next\""), "{further}");
        }
    }
}

#[tokio::test]
async fn notices_are_read_with_their_whole_text_and_characters_that_xml_cannot_have_are_replaced() {
    let service = service();
    let text = format!("Line 1\n\tLine 2 {} \u{fffe}", "long ".repeat(200));
    let hidden = service.insert_notice("Hidden", &text);
    let draft = notice::Draft { activation: Some(0), ..notice::Draft::default() };
    service.tidings.call(&OPERATOR, notice::Update { notice_obi: hidden, draft }).unwrap();
    let id = service.insert_notice("Shown", &text);
    // The first request reads them in a lane, the others from memory.
    for _ in 0..3 {
        for format in ["atom", "json-feed"] {
            let answer = service.get(&format!("/get_all_notice?format={format}")).await;
            let document = parsed(&answer);
            assert_eq!(document.entries.len(), 1);
            let entry = &document.entries[0];
            assert_eq!(entry.id, urn(Record::Notice, &id));
            assert_eq!(entry.title.as_ref().unwrap().content, "Shown");
            let content = entry.content.as_ref().unwrap().body.as_ref().unwrap();
            let forbidden = if format == "atom" { '\u{fffd}' } else { '\u{fffe}' };
            assert_eq!(content.trim(), text.replace('\u{fffe}', &forbidden.to_string()).trim());
        }
    }
    let token = service.admin("ben").await;
    let own = service.call(by(&token, request("GET", "/get_all_notice?format=atom"))).await;
    assert_eq!((parsed(&own).entries.len(), header(&own, "cache-control")), (2, "no-store"));
}

#[tokio::test]
async fn the_format_is_that_of_the_query_or_of_accept() {
    let service = service();
    insert_posts(&service, 1);
    let chosen = async |query: &str, accept: &str| {
        let request = request("GET", &format!("/get_popularity_newsfeed{query}"));
        let answer =
            service.call(if accept.is_empty() { request } else { with(request, "accept", accept) }).await;
        assert_eq!(header(&answer, "vary"), "accept, accept-encoding, authorization", "{query} {accept}");
        let media_type = header(&answer, "content-type").split(';').next().unwrap().to_owned();
        media_type.strip_prefix("application/").unwrap().to_owned()
    };
    for (query, accept, expected) in [
        ("", "", "json"),
        ("", "*/*", "json"),
        ("", "application/json", "json"),
        ("", "application/json, text/plain, */*", "json"),
        ("", "application/*", "json"),
        ("", BROWSER, "json"),
        ("", "application/atom+xml", "atom+xml"),
        ("", "Application/ATOM+xml; q=0.5, */*", "atom+xml"),
        ("", "application/rss+xml, application/atom+xml;q=0.9, application/feed+json;q=0.8", "atom+xml"),
        ("", "application/atom+xml;q=0.8, application/feed+json;q=0.9", "feed+json"),
        ("", "application/feed+json, application/json", "json"),
        ("", "application/feed+json, application/json;q=0.9", "feed+json"),
        ("", "application/atom+xml;q=0", "json"),
        ("?format=json", "application/atom+xml", "json"),
        ("?format=atom", "application/json", "atom+xml"),
        ("?format=json-feed", BROWSER, "feed+json"),
    ] {
        assert_eq!(chosen(query, accept).await, expected, "{query} {accept}");
    }
    for query in ["rss", "", "Atom"] {
        for path in ["get_popularity_newsfeed", "get_newsfeed_of_topic/x", "get_all_notice"] {
            let answer = service.get(&format!("/{path}?format={query}")).await;
            assert_eq!(outcome(&answer), "400 bad request", "{path} {query}");
        }
    }
}

#[tokio::test]
async fn a_document_is_made_once_and_again_when_the_feed_changes() {
    let service = service();
    let app = service.app(Config::default());
    let get = async || {
        let request = of_host(request("GET", "/get_all_notice?format=atom"));
        service.answer_of(&app, with(request, "accept-encoding", "gzip")).await
    };
    service.insert_notice("One", &"x".repeat(2_000));
    get().await;
    let (first, second) = (get().await, get().await);
    assert_eq!(header(&first, "content-encoding"), "gzip");
    assert_eq!(first.body().as_ptr(), second.body().as_ptr(), "the same memory");
    service.insert_notice("Two", "x");
    assert_ne!(get().await.body(), first.body());
}

#[tokio::test]
async fn a_member_who_reads_a_topic_as_a_document_has_opened_it() {
    let service = service();
    insert_posts(&service, 1);
    let token = service.member("ann").await;
    let path = "/get_newsfeed_of_topic/a%26b?format=atom";
    let answer = service.call(by(&token, request("GET", path))).await;
    assert_eq!(parsed(&answer).entries.len(), 1);
    let opened = json(&service.call(by(&token, request("GET", "/get_specific_userinfo/4"))).await);
    assert_eq!(opened["newsfeed_list"][0]["newsfeed_name"], "a&b");
    let empty = service.get("/get_newsfeed_of_topic/none?format=atom").await;
    assert!(parsed(&empty).entries.is_empty());
}

#[test]
fn an_id_is_a_uuid_that_has_the_digits_of_the_record() {
    let id = "6560c1a2ffeeddccbbaa0001";
    assert_eq!(urn(Record::Post, id), "urn:uuid:6560c1a2-ffee-8000-8001-ddccbbaa0001");
    assert_eq!(urn(Record::Notice, id), "urn:uuid:6560c1a2-ffee-8000-8002-ddccbbaa0001");
}
