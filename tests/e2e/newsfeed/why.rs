//! The reasons why posts are in a feed.

use serde_json::Value;
use tidings_tests::{Caller, wait_until};

use super::recommended::{wait_for_likes, with_topics};
use super::{FEEDS, feed, id, like};

const RECOMMENDED: &str = "/get_recommendation_newsfeed";

/// Requests a page, and returns the titles and the reasons, whose shares must sum to 1.
fn reasons(reader: &Caller, path: &str) -> Vec<(String, String)> {
    let reason = |post: &Value| {
        let shares = post["why"]["shares"].as_object().unwrap_or_else(|| panic!("{post}"));
        let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
        assert!(shares.len() == 10 && (sum - 1.0).abs() < 1e-9, "{post}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&post["title"]), text(&post["why"]["text"]))
    };
    feed(reader, path).list("newsfeed").iter().map(reason).collect()
}

#[test]
fn feeds_tell_on_request_why_each_post_is_in_them_and_commands_show_the_same() {
    let server = with_topics(30);
    let (anyone, ann) = (server.anyone(), server.member("ann"));
    for path in FEEDS.map(|path| path.replace("/all", "/sport-tag")) {
        for reader in [&anyone, &ann] {
            let reasons = reasons(reader, &format!("{path}?why=1&limit=20"));
            let new = |(title, text): &(String, String)| {
                let topic = title.split_once(' ').unwrap().0;
                *text == format!("new in {topic}") || *text == format!("new in {topic}-tag")
            };
            assert!(!reasons.is_empty() && reasons.iter().all(new), "{path}: {reasons:?}");
            let without = feed(reader, &path);
            assert_eq!(feed(reader, &format!("{path}?why=0")).bytes, without.bytes, "{path}");
            assert!(without.list("newsfeed").iter().all(|post| post.get("why").is_none()), "{path}");
            let both = feed(reader, &format!("{path}?why=1&liked=1"));
            let has_both = |post: &Value| post["liked"] == 0 && post["why"]["text"].is_string();
            assert!(both.list("newsfeed").iter().all(has_both), "{path}");
        }
    }
    assert_eq!(feed(&ann, &format!("{RECOMMENDED}?why=1")).header("cache-control"), "no-store");

    for n in [1, 6, 11] {
        like(&ann, n);
    }
    wait_for_likes(&server, 3);
    wait_until("the words are learned", || server.log().contains("the word model was updated"));
    let cli = |args: &[&str]| {
        let args: Vec<&str> = ["--as=ann", "feed"].iter().chain(args).copied().collect();
        server.cli(args).succeeded()
    };
    for (args, path) in [
        (&["recommended"][..], RECOMMENDED),
        (&["popular"], "/get_popularity_newsfeed"),
        (&["topic", "sport"], "/get_newsfeed_of_topic/sport"),
    ] {
        let why = |more: &str| cli(&[args, &["--why", "--limit=3", more]].concat());
        let http = || feed(&ann, &format!("{path}?why=1&limit=3"));
        wait_until("the server and the command have the same word model", || {
            why("--json").json()["newsfeed"] == http().body["newsfeed"]
        });
        let http = http();
        let ndjson = why("--ndjson").stdout;
        let lines = ndjson.lines().map(|line| serde_json::from_str(line).unwrap());
        assert_eq!(lines.collect::<Vec<Value>>(), http.list("newsfeed"), "{path}");
        let page = why("--color=never").stdout;
        for post in http.list("newsfeed") {
            let (title, text) = (post["title"].as_str().unwrap(), post["why"]["text"].as_str().unwrap());
            assert_eq!(page.lines().filter(|line| *line == title).count(), 1, "{path}: {page}");
            assert!(page.lines().any(|line| line.trim() == text), "{path}: {page}");
        }
    }
    let first = cli(&["recommended", "--limit=5", "--json"]).json();
    let next = first["next"].as_str().unwrap();
    let second = cli(&["recommended", "--why", "--json", "--next", next]).json();
    let told = second["newsfeed"].as_array().unwrap();
    assert!(told.len() == 5 && told.iter().all(|post| post["why"]["text"].is_string()), "{second}");
    assert!(first["newsfeed"].as_array().unwrap().iter().all(|post| post.get("why").is_none()), "{first}");
    assert!(told.iter().all(|post| post["_id"] != id(1)));
}
