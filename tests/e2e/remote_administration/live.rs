//! The access log, the figures of a period, the state of the service, and the changes of its data.

use serde_json::{Value, json};
use tidings_tests::{EventStream, sample};

use super::World;

#[test]
fn the_access_log_is_read_in_pages_with_filters() {
    let world = World::new();
    let World { server, boss, ann, key, .. } = &world;
    for n in 0..5 {
        let _ = ann.get(&format!("/get_post/{n}"));
    }
    let _ = server.anyone().post("/sign_in", json!({ "id": "ann", "pw": "a wrong password" }));
    let mut paths = Vec::new();
    let mut before = String::new();
    loop {
        let page = key.get(&format!("/get_log?member=ann&path=get_post&limit=2{before}")).succeeded();
        paths.extend(page.column("log", "path"));
        let Some(next) = page.body["next"].as_str() else { break };
        before = format!("&before={next}");
    }
    assert_eq!(paths, ["/get_post/4", "/get_post/3", "/get_post/2", "/get_post/1", "/get_post/0"]);
    let failed = boss.get("/get_log?result=incorrect_pw").succeeded();
    let line = (failed.text("/log/0/path"), failed.text("/log/0/result"));
    assert_eq!(line, ("/sign_in".into(), "incorrect pw".into()));
    assert_eq!(failed.list("log").len(), 1);
    let listed = world.cli(&["analysis", "log", "--member", "ann"]);
    assert_eq!(boss.get("/get_log?member=ann").succeeded().body["log"], listed["log"]);
    assert!(boss.get("/get_log?since=2096-01-01").succeeded().list("log").is_empty());
    assert_eq!(ann.get("/get_log?member=ann&limit=1").outcome(), "200 success", "their own lines");
    assert_eq!(boss.get("/get_log?member=nobody").outcome(), "404 Not found");
    for (query, field) in
        [("limit=0", "limit"), ("limit=1001", "limit"), ("since=yesterday", "since"), ("before=7", "before")]
    {
        let refused = boss.get(&format!("/get_log?{query}"));
        assert_eq!((&*refused.outcome(), &*refused.text("/field")), ("400 bad request", field));
    }
}

#[test]
fn a_period_and_the_state_of_the_service_are_read_by_administrators() {
    let world = World::new();
    let World { boss, key, .. } = &world;
    let status = boss.get("/get_status").succeeded();
    let today = status.body["live"]["month"][29]["date"].as_str().unwrap().to_owned();
    assert_eq!((status.text("/zone"), &status.body["live"]["month"][30]), ("UTC".into(), &json!(null)));
    assert!(status.text("/now").starts_with(&today), "{status:?}");
    assert_eq!(status.text("/version"), env!("CARGO_PKG_VERSION"));
    assert!(status.body["database_bytes"].as_u64() > Some(0), "{status:?}");
    for name in ["crawled", "wal_bytes", "writes_waiting"] {
        assert!(status.body[name].is_u64(), "{name}: {status:?}");
    }
    assert_eq!(status.body["changes"].as_object().unwrap().len(), 8);
    let figures = boss.get("/get_analysis").succeeded();
    assert_eq!(status.body["live"]["today"]["visitor"], figures.body["analysis"]["today_visitor"]);

    let period = key.get(&format!("/get_analysis_of_days/{today}/{today}")).succeeded();
    assert_eq!((period.list("days").len(), period.list("hours").len()), (1, 24));
    assert_eq!((period.text("/days/0/date"), &period.body["devices"]["pc"]), (today.clone(), &json!(0)));
    for (first, last) in
        [("2026-11-21", "2026-11-20"), ("2024-01-01", "2026-01-01"), ("2026-02-30", "2026-03-01")]
    {
        assert_eq!(boss.get(&format!("/get_analysis_of_days/{first}/{last}")).outcome(), "400 bad request");
    }
}

#[test]
fn changes_are_told_to_who_may_read_them_until_the_right_ends() {
    let world = World::new();
    let World { server, boss, key, .. } = &world;
    world.refused(|caller| caller.get("/events?events=changes"));
    let mut stream = EventStream::open_with_token(server.address(), "/events?events=changes", key.token());
    let numbers = |stream: &mut EventStream| -> Option<Value> {
        let event = stream.next_of_any_name()?;
        assert_eq!(event.name, "changes");
        Some(event.data)
    };
    let first = numbers(&mut stream).unwrap();
    let _ = boss.post("/insert_notice", sample::notice("Notice")).succeeded();
    let mut second = numbers(&mut stream).unwrap();
    while second["notices"] == first["notices"] {
        second = numbers(&mut stream).unwrap();
    }
    assert!(second["notices"].as_i64() > first["notices"].as_i64());
    let _ = boss.get("/remove_key/key").succeeded();
    while numbers(&mut stream).is_some() {}
    // Ordinary listeners get none.
    let mut stream = EventStream::open(server.address(), "/events", "").begun();
    let _ = boss.post("/insert_notice", sample::notice("Another")).succeeded();
    let names = std::iter::from_fn(|| Some(stream.next_of_any_name()?.name));
    let names: Vec<_> = names.take_while(|name| name != "notice").collect();
    assert!(names.iter().all(|name| name == "counts"), "{names:?}");
}
