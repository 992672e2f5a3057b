//! `tidings bench`: evaluates the recommended feed on a store with known preferences.

use serde_json::{Value, json};
use tidings_tests::Server;

fn lines(lines: impl Iterator<Item = Value>) -> String {
    lines.map(|line| line.to_string() + "\n").collect()
}

fn url(topic: &str, n: u32) -> String {
    format!("https://{topic}.example/{n}")
}

/// Starts a server on which Ann reads posts about cats and Ben posts about dogs. Each topic has thirty posts, one
/// per hour. Both members read the first five posts of their topic before 10 March, and the newest one from 11
/// March on.
fn server_with_posts_and_acts() -> Server {
    let server = Server::start();
    let readers = [("ann", "cats"), ("ben", "dogs")];
    let posts = (0..60_u32).map(|n| {
        let (topic, n) = (readers[n as usize % 2].1, n / 2);
        let date =
            format!("2025-03-0{}T{:02}:{:02}:00Z", 1 + n / 24, n % 24, if topic == "cats" { 30 } else { 0 });
        json!({"title": format!("{topic} {n}"), "url": url(topic, n), "topic": [topic], "date": date})
    });
    let acts = readers.iter().flat_map(|(id, topic)| {
        let act =
            move |n: u32, date: &str| json!({"id": id, "type": "view", "url": url(topic, n), "date": date});
        let early = (0..5).map(move |n| act(n, "2025-03-10T09:00:00Z"));
        early.chain([act(29, "2025-03-11T00:00:00Z")])
    });
    let members = readers.iter().map(|(id, _)| json!({"id": id}));
    for (group, input) in [("post", lines(posts)), ("member", lines(members)), ("act", lines(acts))] {
        let report = server.cli_with_input([group, "import", "-", "--json"], &input).succeeded().json();
        assert_eq!(report["errors"], json!([]), "{group}");
    }
    server
}

#[test]
fn the_recommended_ranking_beats_the_baselines_and_the_evaluation_writes_nothing() {
    let server = server_with_posts_and_acts();
    let views = || server.anyone().get("/get_analysis").succeeded().body["analysis"]["total_view"].clone();
    let before = views();
    let report = server.cli(["bench", "feed", "--at", "2025-03-11", "--json"]).succeeded().json();
    let [members, posts, at, better] = ["members", "posts", "at", "better_weight"].map(|name| &report[name]);
    assert_eq!((members, posts, at), (&json!(2), &json!(60), &json!("2025-03-11T00:00:00.000Z")));
    assert!(better.is_null() && report["result"] == "success", "{report}");
    insta::assert_json_snapshot!(report["rows"][3], @r#"
    {
      "coverage": 0.25,
      "lead": 0.6552,
      "lead_error": 0.0081,
      "ndcg10": 0.3448,
      "ndcg10_error": 0.0081,
      "ranking": "popular",
      "recall30": 1.0
    }
    "#);

    // The recommended feed ranks the post that is read next first. The newest post is about cats, the second newest
    // about dogs. The most popular unread posts are the five of the other member.
    let output = server.cli(["bench", "feed"]).succeeded();
    insta::assert_snapshot!(output.stdout, @r"
    ranking      ndcg@10     +/-    lead     +/-  recall@30  cover
    recommended   1.0000  0.0000  0.0000  0.0000     1.0000   0.33
    settings      1.0000  0.0000  0.0000  0.0000     1.0000   0.33
    newest        0.8155  0.1305  0.1845  0.1305     1.0000   0.17
    popular       0.3448  0.0081  0.6552  0.0081     1.0000   0.25

    Keep the weights: none of them, halved or doubled, makes the feed measurably better.
    ");
    assert!(output.stdout.lines().take(5).all(|line| line.len() <= 80), "the table fits 80 columns");
    assert!(output.stderr.contains("2 members"), "{output:?}");
    assert_eq!(views(), before);

    // An evaluation date without later acts, one that is none, and a member.
    let refused = server.cli(["bench", "feed", "--at", "2025-03-12"]);
    insta::assert_snapshot!(refused.stderr, @"error: bad request: no member liked or viewed an earlier post after that time");
    assert_eq!(refused.status, 1);
    let refused = server.cli(["bench", "feed", "--at", "soon", "--json"]);
    assert_eq!((refused.status, &refused.json()["result"]), (1, &json!("bad request")));
    assert_eq!(server.cli(["--as", "ann", "bench", "feed"]).status, 1);
}
