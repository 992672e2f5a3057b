//! `tidings bench`: evaluates the recommended feed on a store with known preferences, and searches for known posts.

use std::path::Path;

use serde_json::{Value, json};
use tidings_tests::{Server, run};

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
    let evaluation = output.json();
    let trials = evaluation["before_acts"]["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 12, "six settings, halved and doubled");
    insta::assert_json_snapshot!(evaluation, {
        ".rows" => "[rows]",
        ".daily.rows" => "[rows]",
        ".before_acts.rows" => "[rows]",
        ".before_acts.trials" => "[trials]",
    }, @r#"
    {
      "advice": [
        "Change nothing yet: differences between fewer than 20 members are chance, and more acts are needed."
      ],
      "at": "2025-03-11T00:00:00.000Z",
      "before_acts": {
        "acts": 2,
        "best_simple": "topic",
        "members": 2,
        "moments": 2,
        "rows": "[rows]",
        "trials": "[trials]"
      },
      "best_simple": "topic",
      "daily": {
        "best_simple": "topic",
        "days": 2,
        "members": 2,
        "rows": "[rows]"
      },
      "learned": null,
      "learns": true,
      "members": 2,
      "posts": 60,
      "result": "success",
      "rows": "[rows]"
    }
    "#);
    let fields: Vec<&String> = evaluation["rows"][0].as_object().unwrap().keys().collect();
    insta::assert_snapshot!(format!("{fields:?}"), @r#"["coverage", "diversity", "lead", "lead_error", "ndcg10", "ndcg10_error", "ranking", "recall30", "recall30_error"]"#);
    let shown = |rows: &Value| -> String {
        let row = |row: &Value| {
            let figures = [
                "ndcg10",
                "ndcg10_error",
                "lead",
                "lead_error",
                "recall30",
                "recall30_error",
                "coverage",
                "diversity",
            ];
            let figures: Vec<String> = figures.iter().map(|name| row[name].to_string()).collect();
            format!("{} {}\n", row["ranking"].as_str().unwrap(), figures.join(" "))
        };
        rows.as_array().unwrap().iter().map(row).collect()
    };
    insta::assert_snapshot!(shown(&evaluation["rows"]), @r"
    recommended 1.0 0.0 0.0 0.0 1.0 0.0 0.3333 0.0
    settings 1.0 0.0 0.0 0.0 1.0 0.0 0.3333 0.0
    newest 0.8155 0.1305 0.1845 0.1305 1.0 0.0 0.1667 0.5556
    topic 1.0 0.0 0.0 0.0 1.0 0.0 0.3333 0.0
    popular 0.3448 0.0081 0.6552 0.0081 1.0 0.0 0.25 0.4111
    tf-idf 0.3562 0.0 0.6438 0.0 1.0 0.0 0.3333 0.5556
    others 0.0 0.0 1.0 0.0 0.0 0.0 0.0 1.0
    topics 1.0 0.0 0.0 0.0 1.0 0.0 0.3333 0.0
    popular-day 0.3448 0.0081 0.6552 0.0081 1.0 0.0 0.25 0.4111
    neighbours 0.0 0.0 1.0 0.0 0.0 0.0 0.0 1.0
    ");
    // The later acts of both are on one day, at its first moment. The replays ask for it at its beginning, and before the acts.
    assert_eq!(evaluation["daily"]["rows"], evaluation["rows"]);
    assert_eq!(evaluation["before_acts"]["rows"], evaluation["rows"]);
}

#[test]
fn the_table_for_people_writes_nothing_to_the_database() {
    let server = server_with_posts_and_acts();
    let before = server.anyone().get("/get_analysis").succeeded().body;
    let output = server.cli(["bench", "feed"]).succeeded();
    insta::assert_snapshot!(output.stdout, @r"
    asked  ranking      ndcg@10     +/-    lead     +/-  recall@30  cover  diverse
    once   recommended   1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    once   settings      1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    once   newest        0.8155  0.1305  0.1845  0.1305     1.0000   0.17     0.56
    once   topic         1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    once   popular       0.3448  0.0081  0.6552  0.0081     1.0000   0.25     0.41
    once   tf-idf        0.3562  0.0000  0.6438  0.0000     1.0000   0.33     0.56
    once   others        0.0000  0.0000  1.0000  0.0000     0.0000   0.00     1.00
    once   topics        1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    once   popular-day   0.3448  0.0081  0.6552  0.0081     1.0000   0.25     0.41
    once   neighbours    0.0000  0.0000  1.0000  0.0000     0.0000   0.00     1.00
    daily  recommended   1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    daily  settings      1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    daily  newest        0.8155  0.1305  0.1845  0.1305     1.0000   0.17     0.56
    daily  topic         1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    daily  popular       0.3448  0.0081  0.6552  0.0081     1.0000   0.25     0.41
    daily  tf-idf        0.3562  0.0000  0.6438  0.0000     1.0000   0.33     0.56
    daily  others        0.0000  0.0000  1.0000  0.0000     0.0000   0.00     1.00
    daily  topics        1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    daily  popular-day   0.3448  0.0081  0.6552  0.0081     1.0000   0.25     0.41
    daily  neighbours    0.0000  0.0000  1.0000  0.0000     0.0000   0.00     1.00
    act    recommended   1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    act    settings      1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    act    newest        0.8155  0.1305  0.1845  0.1305     1.0000   0.17     0.56
    act    topic         1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    act    popular       0.3448  0.0081  0.6552  0.0081     1.0000   0.25     0.41
    act    tf-idf        0.3562  0.0000  0.6438  0.0000     1.0000   0.33     0.56
    act    others        0.0000  0.0000  1.0000  0.0000     0.0000   0.00     1.00
    act    topics        1.0000  0.0000  0.0000  0.0000     1.0000   0.33     0.00
    act    popular-day   0.3448  0.0081  0.6552  0.0081     1.0000   0.25     0.41
    act    neighbours    0.0000  0.0000  1.0000  0.0000     0.0000   0.00     1.00

    Change nothing yet: differences between fewer than 20 members are chance, and more acts are needed.
    ");
    assert!(output.stdout.lines().take(31).all(|line| line.len() <= 80), "the table fits 80 columns");
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
fn the_evaluation_leaves_no_copy_and_fails_without_a_place_for_one() {
    let server = server_with_posts_and_acts();
    let place = tempfile::tempdir().unwrap();
    let bench = |place: &Path| {
        let mut tidings = server.command();
        tidings.args(["bench", "feed"]).env("TMPDIR", place);
        run(tidings, "")
    };
    let _ = bench(place.path()).succeeded();
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    let refused = bench(&place.path().join("missing"));
    assert_eq!(refused.status, 3);
    assert!(refused.stderr.contains("TMPDIR"), "{refused:?}");
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
