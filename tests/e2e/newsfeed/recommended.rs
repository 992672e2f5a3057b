//! Servers with posts of several topics.

use serde_json::{Value, json};
use tidings_tests::{Server, wait_until};

use super::{feed, import, post};

const FEED: &str = "/get_recommendation_newsfeed";
const TOPICS: [&str; 5] = ["music", "sport", "food", "travel", "science"];

/// Starts a server with `count` posts of the five topics in turn.
///
/// Each post has a word and a tag of its topic, and its own site.
pub(super) fn with_topics(count: usize) -> Server {
    let server = Server::start();
    let posts: Vec<Value> = (0..count)
        .map(|n| {
            let topic = TOPICS[n % TOPICS.len()];
            let mut post = post(n);
            post["title"] = json!(format!("{topic} {n:03}"));
            post["post"] = json!(format!("Everything about {topic}, for friends of {topic}."));
            post["topic"] = json!([topic]);
            post["tag"] = json!([format!("{topic}-tag")]);
            post
        })
        .collect();
    import(&server, &posts, count);
    server
}

/// Waits until the posts of the feed have `likes` likes in total.
pub(super) fn wait_for_likes(server: &Server, likes: u64) {
    wait_until("the feeds show the likes", || {
        let shown = feed(&server.anyone(), FEED);
        shown.list("newsfeed").iter().map(|post| post["fav_cnt"].as_u64().unwrap()).sum::<u64>() == likes
    });
}
