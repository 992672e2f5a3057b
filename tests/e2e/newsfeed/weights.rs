//! The weights of the recommended feed: shown, pinned and learned on the command line.

use serde_json::{Value, json};
use tidings_tests::wait_until;

use super::recommended::with_topics;
use super::{like, titles};

const FIRST: &str = "/get_recommendation_newsfeed?limit=1";

#[test]
fn pinned_weights_are_used_by_a_running_server_until_they_are_unpinned() {
    let server = with_topics(60);
    let reader = server.member("reader");
    for n in [0, 5, 10, 15] {
        like(&reader, n);
    }
    let first = || titles(&reader, FIRST)[0].clone();
    wait_until("the reader of music gets music", || first() == "music 055");

    let shown = server.cli(["feed", "weights"]).succeeded();
    let rows: Vec<Vec<&str>> = shown.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["signal", "settings", "learned", "pinned", "in", "use"]);
    assert!(rows.contains(&vec!["recent", "0.450", "0.450"]), "{}", shown.stdout);
    assert!(shown.stderr.contains("nothing is learned yet"), "{}", shown.stderr);

    let pin = ["feed", "weights", "--json", "--pin", "topic=0", "tag=0", "word=0", "near=0", "fresh=1"];
    let pinned = server.cli(pin).succeeded().json();
    assert_eq!((&pinned["in_use"], &pinned["learned"]), (&json!("pinned"), &Value::Null));
    assert_eq!((&pinned["weights"]["fresh"], &pinned["settings"]["fresh"]), (&json!(1.0), &json!(0.0)));
    wait_until("the newest post is first", || first() == "science 059");

    assert_eq!(
        server.cli(["feed", "weights", "--unpin", "--json"]).succeeded().json()["pinned"],
        Value::Null
    );
    wait_until("music is first again", || first() == "music 055");
    let learned = server.cli(["feed", "weights", "--learn", "--json"]).succeeded().json();
    assert_eq!((&learned["in_use"], &learned["learned"]), (&json!("settings"), &Value::Null));
}

#[test]
fn unknown_signals_and_impossible_weights_are_refused_and_change_nothing() {
    let server = with_topics(5);
    for (change, status, reason) in [
        ("speed=1", 1, "the signals are topic, tag,"),
        ("recent=-1", 1, "a weight is a number from 0 to 1000"),
        ("recent", 2, "such as recent=0.5"),
    ] {
        let refused = server.cli(["feed", "weights", "--pin", change]);
        assert_eq!(refused.status, status, "{change}");
        assert!(refused.stderr.contains(reason), "{change}: {}", refused.stderr);
    }
    assert_eq!(server.cli(["feed", "weights", "--json"]).succeeded().json()["pinned"], Value::Null);
    let _ = server.member("reader");
    let refused = server.cli(["feed", "weights", "--as", "reader"]);
    assert!(refused.stderr.contains("leave --as out"), "{}", refused.stderr);
}
