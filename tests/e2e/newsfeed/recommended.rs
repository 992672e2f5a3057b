//! The recommended feed, which follows a member's acts.

use serde_json::{Value, json};
use tidings_tests::{Caller, Server, wait_until};

use super::{feed, id, import, like, post, titles};

const FEED: &str = "/get_recommendation_newsfeed";
const TOPICS: [&str; 5] = ["music", "sport", "food", "travel", "science"];

/// Starts a server with `count` posts of the five topics in turn.
///
/// Each post has a word and a tag of its topic, and its own site.
pub(super) fn with_topics(count: usize) -> Server {
    import_topics(Server::start(), count)
}

fn import_topics(server: Server, count: usize) -> Server {
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

/// Returns how many of the first `first` posts recommended to `reader` have the topic.
fn count_of_topic(reader: &Caller, topic: &str, first: usize) -> usize {
    titles(reader, &format!("{FEED}?limit={first}")).iter().filter(|title| title.starts_with(topic)).count()
}

/// Waits until the posts of the feed have `likes` likes in total.
pub(super) fn wait_for_likes(server: &Server, likes: u64) {
    wait_until("the feeds show the likes", || {
        let shown = feed(&server.anyone(), FEED);
        shown.list("newsfeed").iter().map(|post| post["fav_cnt"].as_u64().unwrap()).sum::<u64>() == likes
    });
}

#[test]
fn the_feed_follows_likes_and_omits_seen_posts() {
    let server = with_topics(100);
    let (ann, ben) = (server.member("ann"), server.member("ben"));
    for n in [1, 6, 11] {
        like(&ann, n);
    }
    for n in [3, 8, 13, 18] {
        let _ = ben.get(&format!("/post_view/{}", id(n))).succeeded();
    }
    // Acts of a member affect the very next request.
    let (anns, bens) = (feed(&ann, FEED), feed(&ben, FEED));
    for (feed, seen) in [(&anns, &[1, 6, 11][..]), (&bens, &[3, 8, 13, 18])] {
        let shown = feed.column("newsfeed", "_id");
        assert!(seen.iter().all(|n| !shown.contains(&id(*n))), "{shown:?}");
        assert_eq!(shown.len(), 100 - seen.len(), "the feed has all other posts");
    }
    assert!(count_of_topic(&ann, "sport", 10) >= 4);
    assert!(count_of_topic(&ben, "travel", 10) >= 4);
    // New likes change the feed.
    for n in [4, 9, 14, 19, 24, 29, 34, 39, 44] {
        like(&ann, n);
    }
    assert!(count_of_topic(&ann, "science", 10) >= 4);
    // Post 4 was liked but never viewed, so the feed may show it again without the like.
    let _ = ann.get(&format!("/post_unlike/{}", id(4))).succeeded();
    assert!(feed(&ann, FEED).column("newsfeed", "_id").contains(&id(4)));
}

#[test]
fn a_hidden_post_is_left_out_of_the_members_feed_only() {
    let mut server = with_topics(20);
    let (ann, ben) = (server.member("ann"), server.member("ben"));
    for n in [0, 1, 2] {
        like(&ann, n);
    }
    let shown = |caller: &Caller| feed(caller, FEED).column("newsfeed", "_id");
    // Ann has interests, Ben has none.
    for member in [&ann, &ben] {
        assert!(shown(member).contains(&id(7)));
        for _ in 0..2 {
            assert_eq!(member.get(&format!("/post_hide/{}", id(7))).outcome(), "200 success");
        }
    }
    server.restart();
    for member in [&ann, &ben] {
        assert!(!shown(member).contains(&id(7)));
        let popular = feed(member, "/get_popularity_newsfeed").column("newsfeed", "_id");
        assert!(popular.contains(&id(7)), "other feeds show it");
        let found = member.post("/priority_search/30", json!({ "search": "food" })).succeeded();
        assert!(found.column("search_result", "_id").contains(&id(7)), "searches find it");
    }
    assert!(shown(&server.anyone()).contains(&id(7)));
    let hidden = server.cli(["--as", "ann", "post", "hide", &id(8), "--json"]).succeeded().json();
    assert_eq!(hidden, json!({ "result": "success" }));
    wait_until("the command's change counts", || !shown(&ann).contains(&id(8)));
    assert_eq!(ann.get(&format!("/post_unhide/{}", id(7))).outcome(), "200 success");
    assert!(shown(&ann).contains(&id(7)));
    let _ = server.cli(["--as", "ann", "post", "hide", "--undo", &id(8)]).succeeded();
    wait_until("the command's change counts", || shown(&ann).contains(&id(8)));
}
