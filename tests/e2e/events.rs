//! Live events, and the documents for feed readers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidings_tests::{Event, EventStream, Server, command_in, run, sample, wait_until};

fn open(server: &Server, last_id: &str) -> EventStream {
    EventStream::open(server.address(), "/events", last_id).begun()
}

fn told(event: Option<Event>) -> String {
    let Event { name, data } = event.expect("the stream is open");
    let about = [&data["notice"]["title"], &data["post"]["title"], &data["_id"], &data["event"]];
    let about = about.into_iter().find_map(Value::as_str).unwrap_or_default();
    format!("{name} {} {about}", data["change"].as_str().unwrap_or_default())
}

#[test]
fn a_stream_tells_what_other_callers_and_other_processes_do_and_is_one_line_of_the_log() {
    let server = Server::with(|serve| {
        serve.args(["--max-connections", "20"]);
    });
    let admin = server.admin();
    let mut stream = open(&server, "");
    let mut counts = EventStream::open(server.address(), "/events?events=counts", "");
    let first = counts.next_of_any_name().unwrap();
    assert_eq!(first.name, "counts", "told first");
    let names: Vec<_> = first.data.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["date", "today_fav", "today_view", "today_visitor"]);

    let id = admin.post("/insert_notice", sample::notice("Library")).succeeded().text("/_id");
    assert_eq!(told(stream.next()), "notice published Library");
    let hidden = json!({ "activation": 0, "title": "Secret" });
    let _ = admin.post(&format!("/update_notice/{id}"), hidden).succeeded();
    assert_eq!(told(stream.next()), format!("notice hidden {id}"));
    let id = admin.post("/insert_post", sample::post("A borrowed crab")).succeeded().text("/_id");
    assert_eq!(told(stream.next()), "post  A borrowed crab");
    let _ = server.anyone().get(&format!("/post_view/{id}")).succeeded();
    while counts.next_of_any_name().unwrap().data["today_view"] != 1 {}
    // Another process.
    let _ = server.cli(["notice", "add", "--title", "Canteen", "--post", "Closed."]).succeeded();
    assert_eq!(told(stream.next()), "notice published Canteen");
    let answer = admin.get("/get_log_date/0/1/0/1000").succeeded();
    assert_eq!(answer.list("log").iter().filter(|line| line["path"] == "/events").count(), 2);

    // One client has at most eight of the ten streams, until the server notices that they are closed.
    let more: Vec<_> = (0..6).map(|_| open(&server, "")).collect();
    let refused = server.anyone().get("/events");
    assert_eq!(refused.outcome(), "429 too many requests");
    assert!(!refused.header("retry-after").is_empty());
    drop((stream, counts, more));
    wait_until("a stream is free", || EventStream::try_open(server.address(), "/events").is_ok());
}

#[test]
fn a_stream_continues_after_a_restart_and_at_another_server() {
    let mut one = Server::start();
    let admin = one.admin();
    let mut stream = open(&one, "");
    let _ = admin.post("/insert_notice", sample::notice("Library")).succeeded();
    assert_eq!(told(stream.next()), "notice published Library");
    let place = stream.last_id.clone();

    // The other server learns of changes that this one makes, and its ids mean the same.
    let two = Server::at(one.database(), |_| {});
    let mut other = open(&two, &place);
    let _ = admin.post("/insert_post", sample::post("First")).succeeded();
    for stream in [&mut stream, &mut other] {
        assert_eq!(told(stream.next()), "post  First");
    }
    assert_eq!(stream.last_id, other.last_id);

    // While no server of the first process runs, a post is inserted. The stream ends at once, and continues with the post.
    let place = stream.last_id.clone();
    let begin = Instant::now();
    one.stop();
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(stream.next(), None);
    let next = |one: &Server| told(EventStream::open(one.address(), "/events", &place).next());
    let draft = ["post", "add", "--title", "Second", "--url", "https://a.example/2"];
    let _ = two.cli(draft).succeeded();
    one.restart();
    assert_eq!(next(&one), "post  Second");
    // What happened to notices meanwhile is not known.
    let _ = two.cli(["notice", "add", "--title", "Closed", "--post", "Closed."]).succeeded();
    one.restart();
    assert_eq!(next(&one), "reset  notice");
}

#[test]
fn the_feed_of_a_server_is_imported_elsewhere_as_atom_and_as_json_feed() {
    let (from, directory) = (Server::start(), tempfile::tempdir().unwrap());
    let count = sample::rust_blog().len();
    let _ = from.cli_with_input(["post", "import", "-"], sample::RUST_BLOG).succeeded();
    wait_until("the feed shows the posts", || {
        from.anyone().get("/get_popularity_newsfeed").succeeded().list("newsfeed").len() == count.min(150)
    });
    for (format, imported) in [("atom", ("inserted", 5)), ("json-feed", ("skipped", 5))] {
        let path = format!("/get_popularity_newsfeed?limit=5&format={format}");
        let document = from.anyone().get(&path);
        assert_eq!(document.status, 200);
        let mut import = command_in(directory.path());
        import.args(["post", "import", "-", "--json", "--format", "feed"]);
        let report = run(import, &document.bytes).succeeded().json();
        assert_eq!(
            (report[imported.0].as_u64(), &report["errors"]),
            (Some(imported.1), &json!([])),
            "{report}"
        );
    }
}
