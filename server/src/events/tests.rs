use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use tidings_core::account::Caller;
use tidings_core::notice;
use tokio::time::timeout;
use tower::ServiceExt as _;

use crate::config::Config;
use crate::filter::reply::Body;
use crate::router::Router;
use crate::state::App;
use crate::testing::{Service, by, header, outcome, request, service, with};

const OPERATOR: Caller = Caller::Operator;

struct Events(Body);

impl Events {
    async fn open(app: &Arc<App>, request: Request<Full<Bytes>>) -> Self {
        let response = Router::new(app).service().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        Self(response.into_body())
    }

    /// Returns the next frame; `None` at the end of the stream.
    async fn next(&mut self) -> Option<String> {
        let frame = timeout(Duration::from_secs(30), self.0.frame()).await.expect("a frame in time");
        frame.map(|frame| String::from_utf8(frame.unwrap().into_data().unwrap().into()).unwrap())
    }

    /// Returns the frames before the one that sets the place, and the place.
    async fn begin(&mut self) -> (Vec<String>, String) {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await.unwrap();
            if let Some(place) = frame.strip_prefix("retry: 3000\nid: ") {
                return (frames, place.trim_end().to_owned());
            }
            frames.push(frame);
        }
    }

    /// Returns the next event that is not of the counts: its id, its name and its data.
    async fn event(&mut self) -> (String, String, serde_json::Value) {
        loop {
            let frame = self.next().await.unwrap();
            let field = |name: &str| {
                let line = frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                line.unwrap_or_default().to_owned()
            };
            let event = field("event");
            if event != "counts" && !event.is_empty() {
                return (field("id"), event, serde_json::from_str(&field("data")).unwrap());
            }
        }
    }
}

fn events() -> Request<Full<Bytes>> {
    request("GET", "/events")
}

fn after(place: &str) -> Request<Full<Bytes>> {
    with(events(), "last-event-id", place)
}

fn update(service: &Service, id: &str, draft: notice::Draft) {
    service.tidings.call(&OPERATOR, notice::Update { notice_obi: id.to_owned(), draft }).unwrap();
}

#[tokio::test]
async fn a_listener_gets_its_place_the_counts_and_then_what_happens() {
    let service = service();
    service.insert_post(1, "news");
    let app = service.app(Config::default());
    let gzip = with(with(events(), "accept-encoding", "gzip, br"), "origin", "https://app.example");
    let response = Router::new(&app).service().oneshot(gzip).await.unwrap();
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store"),
        ("x-accel-buffering", "no"),
        ("x-content-type-options", "nosniff"),
        ("access-control-allow-origin", "*"),
    ] {
        assert_eq!(response.headers()[name], value);
    }
    assert!(!response.headers().contains_key("content-encoding"));
    let mut stream = Events(response.into_body());
    let (frames, place) = stream.begin().await;
    assert!(frames.is_empty(), "earlier posts are not told: {frames:?}");
    let counts = stream.next().await.unwrap();
    assert!(counts.starts_with("event: counts\ndata: {\"date\":\""), "{counts}");
    assert!(counts.ends_with(",\"today_visitor\":0,\"today_view\":0,\"today_fav\":0}\n\n"), "{counts}");
    let title = "Line\u{2028}Library";
    let id = service.insert_notice(title, "Text");
    let (after_notice, name, data) = stream.event().await;
    assert_eq!((name.as_str(), &data["change"]), ("notice", &"published".into()));
    assert_eq!([&data["notice"]["_id"], &data["notice"]["title"]], [&*id, title]);
    service.insert_post(2, "news");
    let (after_post, name, data) = stream.event().await;
    assert_eq!((name.as_str(), &data["post"]["title"]), ("post", &"Post 2".into()));
    assert!(place != after_notice && after_notice != after_post);
}

#[tokio::test]
async fn a_listener_continues_after_its_last_event() {
    let service = service();
    let here = service.app(Config::default());
    let mut stream = Events::open(&here, events()).await;
    let (_, start) = stream.begin().await;
    let hidden = service.insert_notice("Hidden soon", "Text");
    stream.event().await;
    let library = service.insert_notice("Library", "Text");
    let (after_notice, ..) = stream.event().await;
    service.insert_post(1, "news");
    let (end, ..) = stream.event().await;
    drop(stream);

    let titles = async |app: &Arc<App>, request| {
        let (frames, place) = Events::open(app, request).await.begin().await;
        let titles = frames.iter().map(|frame| match frame.split_once("\"title\":\"") {
            Some((_, rest)) => rest.split('"').next().unwrap().to_owned(),
            None => frame.clone(),
        });
        (titles.collect::<Vec<_>>(), place)
    };
    assert_eq!(titles(&here, after(&start)).await.0, ["Hidden soon", "Library", "Post 1"]);
    assert_eq!(titles(&here, after(&after_notice)).await.0, ["Post 1"]);
    assert_eq!(titles(&here, after(&end)).await, (vec![], end.clone()));
    let by_query = request("GET", &format!("/events?last_event_id={after_notice}&events=post,notice"));
    assert_eq!(titles(&here, by_query.clone()).await.0, ["Post 1"]);
    assert_eq!(titles(&here, with(by_query, "last-event-id", &end)).await.0, Vec::<String>::new());
    let reset = |kind: &str| format!("event: reset\ndata: {{\"event\":\"{kind}\"}}\n\n");
    for unknown in ["x", "999999-999999", "-1-2", "1"] {
        let expected = [reset("notice"), reset("post")];
        assert_eq!(titles(&here, after(unknown)).await, (expected.into(), end.clone()), "{unknown}");
    }

    // Another server has the posts, but cannot tell which notices have changed.
    let there = service.app(Config::default());
    assert_eq!(titles(&there, after(&end)).await, (vec![], end.clone()));
    assert_eq!(titles(&there, after(&after_notice)).await.0, ["Post 1"]);
    assert_eq!(titles(&there, after(&start)).await.0, [reset("notice"), "Post 1".into()]);
    let posts = with(request("GET", "/events?events=post"), "last-event-id", &start);
    assert_eq!(titles(&there, posts).await.0, ["Post 1"]);

    // Earlier texts of a notice are not told any more, least of all of one that is hidden now.
    let rename = notice::Draft { title: Some("Reading room".into()), ..notice::Draft::default() };
    update(&service, &library, rename);
    let mut stream = Events::open(&here, after(&end)).await;
    let (end, _, data) = stream.event().await;
    assert_eq!((&data["change"], &data["notice"]["title"]), (&"changed".into(), &"Reading room".into()));
    let hide = notice::Draft { activation: Some(0), ..notice::Draft::default() };
    update(&service, &hidden, hide);
    let mut stream = Events::open(&here, after(&end)).await;
    let (_, _, data) = stream.event().await;
    assert_eq!(data, serde_json::json!({ "change": "hidden", "_id": hidden }));
    let (replayed, _) = titles(&here, after(&start)).await;
    assert_eq!(replayed.len(), 3, "{replayed:?}");
    assert_eq!(replayed[..2], ["Post 1", "Reading room"]);
}

#[tokio::test]
async fn a_listener_gets_only_the_kinds_that_it_wants() {
    let service = service();
    let app = service.app(Config::default());
    let mut stream = Events::open(&app, request("GET", "/events?events=post")).await;
    assert!(stream.begin().await.0.is_empty());
    service.insert_notice("Library", "Text");
    service.insert_post(1, "news");
    let frame = stream.next().await.unwrap();
    assert!(frame.contains("event: post\n"), "{frame}");
    for query in ["?events=", "?events=posts", "?events=post,,notice", "?events=post&events=%FF"] {
        let answer = service.answer_of(&app, request("GET", &format!("/events{query}"))).await;
        assert_eq!(outcome(&answer), "400 bad request", "{query}");
    }
}

#[tokio::test]
async fn streams_are_bounded_in_total_and_for_each_client() {
    let service = service();
    let config =
        Config { max_connections: 8, trust_proxy: vec!["127.0.0.0/8".parse().unwrap()], ..Config::default() };
    let app = service.app(config);
    let by = |client| with(events(), "x-forwarded-for", client);
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(Events::open(&app, by("192.0.2.1")).await);
    }
    let refused = async |client: &'static str| {
        let answer = service.answer_of(&app, by(client)).await;
        format!("{} {}", outcome(&answer), header(&answer, "retry-after"))
    };
    assert_eq!(refused("192.0.2.1").await, "429 too many requests 30");
    streams.push(Events::open(&app, by("192.0.2.2")).await);
    assert_eq!(refused("192.0.2.3").await, "503 overloaded 1");
    assert_eq!(app.events.listeners(), 4);
    streams.truncate(1);
    streams.push(Events::open(&app, by("192.0.2.3")).await);
    drop(streams);
    assert_eq!(app.events.listeners(), 0);
    app.stop();
    assert_eq!(outcome(&service.answer_of(&app, events()).await), "503 overloaded");
}

#[tokio::test]
async fn a_listener_that_is_too_slow_loses_its_stream() {
    let service = service();
    let app = service.app(Config::default());
    let mut slow = Events::open(&app, events()).await;
    let (_, place) = slow.begin().await;
    let mut quick = Events::open(&app, request("GET", "/events?events=notice")).await;
    quick.begin().await;
    for _ in 0..3 {
        for n in 0..100 {
            service.insert_notice(&format!("Notice {n}"), "Text");
        }
        for _ in 0..100 {
            quick.event().await;
        }
    }
    while slow.next().await.is_some() {}
    let (frames, _) = Events::open(&app, after(&place)).await.begin().await;
    assert_eq!(frames, ["event: reset\ndata: {\"event\":\"notice\"}\n\n"]);
}

#[tokio::test]
async fn changes_are_for_administrators_who_ask_for_them() {
    let service = service();
    let (boss, ann) = (service.admin("boss").await, service.member("ann").await);
    let app = service.app(Config::default());
    let changes = || request("GET", "/events?events=changes");
    assert_eq!(outcome(&service.answer_of(&app, changes()).await), "401 bad token");
    assert_eq!(outcome(&service.answer_of(&app, by(&ann, changes())).await), "403 Not admin");

    let mut stream = Events::open(&app, by(&boss, changes())).await;
    let (frames, _) = stream.begin().await;
    assert!(frames.is_empty(), "{frames:?}");
    let numbers = async |stream: &mut Events| -> serde_json::Value {
        loop {
            let frame = stream.next().await.expect("a stream that goes on");
            if let Some(data) = frame.strip_prefix("event: changes\ndata: ") {
                return serde_json::from_str(data).unwrap();
            }
            assert!(frame.starts_with(':'), "{frame}");
        }
    };
    let first = numbers(&mut stream).await;
    let names: Vec<_> = first.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["audit", "counts", "feedback", "members", "notices", "posts", "sources", "terms"]);
    service.insert_notice("Library", "Text");
    let second = numbers(&mut stream).await;
    assert!(second["notices"].as_i64() > first["notices"].as_i64(), "{first} {second}");
    assert_eq!(second["feedback"], first["feedback"]);

    // Who asks for all public events gets no changes, and a right that has ended ends the stream.
    service.admin("root").await;
    let mut public = Events::open(&app, by(&boss, events())).await;
    public.begin().await;
    service.tidings.call(&OPERATOR, tidings_core::admin::Revoke { user_id: "boss".into() }).unwrap();
    while stream.next().await.is_some() {}
    assert!(public.next().await.unwrap().starts_with("event: counts"));
}
