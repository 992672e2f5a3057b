//! The weights of the recommended feed: shown and learned on the command line.

use serde_json::{Value, json};

use super::recommended::with_topics;

#[test]
fn the_weights_in_use_are_shown_and_learned_on_request() {
    let server = with_topics(5);
    let shown = server.cli(["feed", "weights"]).succeeded();
    let rows: Vec<Vec<&str>> = shown.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["signal", "settings", "learned", "in", "use"]);
    assert!(rows.contains(&vec!["recent", "0.450", "0.450"]), "{}", shown.stdout);
    assert!(shown.stderr.contains("nothing is learned yet"), "{}", shown.stderr);
    let learned = server.cli(["feed", "weights", "--learn", "--json"]).succeeded().json();
    assert_eq!((&learned["in_use"], &learned["learned"]), (&json!("settings"), &Value::Null));
    let _ = server.member("reader");
    let refused = server.cli(["feed", "weights", "--as", "reader"]);
    assert!(refused.stderr.contains("leave --as out"), "{}", refused.stderr);
}
