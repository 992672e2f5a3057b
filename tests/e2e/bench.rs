//! `tidings bench`: evaluates the recommended feed on a store with known preferences, and searches for known posts.

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
fn the_recommended_ranking_beats_the_baselines() {
    let server = server_with_posts_and_acts();
    let output = server.cli(["bench", "feed", "--at", "2025-03-11", "--json"]).succeeded();
    // The recommended feed ranks the post that is read next first. The newest post is about cats, the second newest
    // about dogs. The most popular unread posts are the five of the other member, whose rare words also occur in
    // posts that were read.
    let mut evaluation = output.json();
    let daily = evaluation["daily"].take();
    evaluation.as_object_mut().unwrap().remove("daily");
    // The later acts of both are on one day, which the walk asks for at its beginning.
    assert_eq!(daily, json!({ "days": 2, "members": 2, "rows": evaluation["rows"] }));
    insta::assert_json_snapshot!(evaluation, @r#"
    {
      "at": "2025-03-11T00:00:00.000Z",
      "members": 2,
      "posts": 60,
      "result": "success",
      "rows": [
        {
          "coverage": 0.3333,
          "diversity": 0.0,
          "ndcg10": 1.0,
          "ndcg10_error": 0.0,
          "ranking": "recommended",
          "recall30": 1.0
        },
        {
          "coverage": 0.3333,
          "diversity": 0.0,
          "ndcg10": 1.0,
          "ndcg10_error": 0.0,
          "ranking": "settings",
          "recall30": 1.0
        },
        {
          "coverage": 0.1667,
          "diversity": 0.5556,
          "ndcg10": 0.8155,
          "ndcg10_error": 0.1305,
          "ranking": "newest",
          "recall30": 1.0
        },
        {
          "coverage": 0.3333,
          "diversity": 0.0,
          "ndcg10": 1.0,
          "ndcg10_error": 0.0,
          "ranking": "topic",
          "recall30": 1.0
        },
        {
          "coverage": 0.25,
          "diversity": 0.4111,
          "ndcg10": 0.3448,
          "ndcg10_error": 0.0081,
          "ranking": "popular",
          "recall30": 1.0
        },
        {
          "coverage": 0.3333,
          "diversity": 0.5556,
          "ndcg10": 0.3562,
          "ndcg10_error": 0.0,
          "ranking": "tf-idf",
          "recall30": 1.0
        },
        {
          "coverage": 0.0,
          "diversity": 1.0,
          "ndcg10": 0.0,
          "ndcg10_error": 0.0,
          "ranking": "others",
          "recall30": 0.0
        }
      ]
    }
    "#);
}

#[test]
fn the_table_for_people_writes_nothing_to_the_database() {
    let server = server_with_posts_and_acts();
    let before = server.anyone().get("/get_analysis").succeeded().body;
    let output = server.cli(["bench", "feed"]).succeeded();
    insta::assert_snapshot!(output.stdout, @r"
    asked  ranking      ndcg@10     +/-  recall@30  coverage  diversity
    once   recommended   1.0000  0.0000     1.0000    0.3333     0.0000
    once   settings      1.0000  0.0000     1.0000    0.3333     0.0000
    once   newest        0.8155  0.1305     1.0000    0.1667     0.5556
    once   topic         1.0000  0.0000     1.0000    0.3333     0.0000
    once   popular       0.3448  0.0081     1.0000    0.2500     0.4111
    once   tf-idf        0.3562  0.0000     1.0000    0.3333     0.5556
    once   others        0.0000  0.0000     0.0000    0.0000     1.0000
    daily  recommended   1.0000  0.0000     1.0000    0.3333     0.0000
    daily  settings      1.0000  0.0000     1.0000    0.3333     0.0000
    daily  newest        0.8155  0.1305     1.0000    0.1667     0.5556
    daily  topic         1.0000  0.0000     1.0000    0.3333     0.0000
    daily  popular       0.3448  0.0081     1.0000    0.2500     0.4111
    daily  tf-idf        0.3562  0.0000     1.0000    0.3333     0.5556
    daily  others        0.0000  0.0000     0.0000    0.0000     1.0000
    ");
    assert!(output.stderr.contains("2 members"), "{output:?}");
    assert_eq!(
        server.anyone().get("/get_analysis").succeeded().body["analysis"]["total_view"],
        before["analysis"]["total_view"]
    );
}

#[test]
fn an_evaluation_date_without_later_acts_is_refused_and_so_is_a_member() {
    let server = server_with_posts_and_acts();
    let refused = server.cli(["bench", "feed", "--at", "2025-03-12"]);
    insta::assert_snapshot!(refused.stderr, @"error: bad request: no member liked or viewed an earlier post after that time");
    assert_eq!(refused.status, 1);
    let refused = server.cli(["bench", "feed", "--at", "soon", "--json"]);
    assert_eq!((refused.status, &refused.json()["result"]), (1, &json!("bad request")));
    let refused = server.cli(["--as", "ann", "bench", "feed"]);
    assert_eq!(refused.status, 1);
}

#[test]
fn known_posts_are_searched_by_title_words_and_mistyped_words() {
    let server = Server::start();
    let texts = [
        ("The telescope", "Astronomers observed distant galaxies yesterday evening"),
        ("도서관 안내", "학생들이 열람실에서 조용히 공부한다"),
    ];
    let posts = texts.iter().zip(0..).map(|((title, post), n)| {
        json!({"title": title, "post": post, "url": url("texts", n), "date": "2025-03-01"})
    });
    let report = server.cli_with_input(["post", "import", "-", "--json"], lines(posts)).succeeded().json();
    assert_eq!(report["errors"], json!([]));
    let output = server.cli(["bench", "search"]).succeeded();
    let without_times: Vec<&str> =
        output.stdout.lines().map(|line| line.rsplit_once(' ').unwrap().0.trim()).collect();
    insta::assert_snapshot!(without_times.join("\n"), @r"
    script  by        searches  mrr@10  found@10
    Hangul  title            1  1.0000    1.0000
    Hangul  words            1  1.0000    1.0000
    Hangul  mistyped         1  1.0000    1.0000
    other   title            1  1.0000    1.0000
    other   words            1  1.0000    1.0000
    other   mistyped         1  1.0000    1.0000
    ");
    assert!(output.stderr.contains("2 posts"), "{output:?}");
    let rows = server.cli(["bench", "search", "--json"]).succeeded().json()["rows"].take();
    assert!(rows[0]["ms"].as_f64().is_some_and(|ms| ms > 0.0) && rows[0]["found10"] == 1.0, "{rows}");
    assert_eq!(server.cli(["--as", "ann", "bench", "search"]).status, 1);
}
