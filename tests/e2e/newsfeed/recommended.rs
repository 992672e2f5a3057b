//! The recommended feed, which follows a member's acts.

use serde_json::{Value, json};
use tidings_tests::{Caller, Server, sample, wait_until};

use super::{feed, id, import, like, post, titles, view};

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
fn a_guest_gets_fresh_and_popular_posts_across_topics() {
    let server = with_topics(100);
    for topic in TOPICS {
        assert_eq!(count_of_topic(&server.anyone(), topic, 10), 2, "{topic}");
    }
    let first = titles(&server.anyone(), &format!("{FEED}?limit=20"));
    let fresh = |title: &String| title.split_once(' ').unwrap().1 >= "080";
    assert!(first.iter().all(fresh), "the first posts are among the newest: {first:?}");
    // A post with many likes moves to the top from any position.
    assert!(!first.contains(&"music 005".to_owned()));
    for n in 0..5 {
        like(&server.member(&format!("member-{n}")), 5);
    }
    view(&server, 5, 10);
    wait_until("the popular post moves to the top", || {
        titles(&server.anyone(), &format!("{FEED}?limit=5")).contains(&"music 005".to_owned())
    });
}

#[test]
fn a_member_without_acts_gets_what_a_guest_gets() {
    let server = with_topics(50);
    let ann = server.member("ann");
    let same = || feed(&ann, FEED).bytes == feed(&server.anyone(), FEED).bytes;
    assert!(same());
    like(&ann, 0);
    assert!(!same());
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

#[test]
fn searches_and_opened_feeds_count_as_interest() {
    let server = with_topics(100);
    let (ann, ben) = (server.member("ann"), server.member("ben"));
    for search in ["food", "good food", "food for friends"] {
        let _ = ann.post("/search_logging", json!({ "search": search })).succeeded();
    }
    assert!(count_of_topic(&ann, "food", 10) >= 4);
    for name in ["travel", "travel-tag", "travel"] {
        let _ = feed(&ben, &format!("/get_newsfeed_of_topic/{name}"));
    }
    assert!(count_of_topic(&ben, "travel", 10) >= 4);
}

#[test]
fn no_topic_or_site_fills_ten_consecutive_posts_unless_the_member_reads_nothing_else() {
    let server = Server::start();
    // Of the newest 80 posts, 40 have the same topic and 40 the same site.
    let posts: Vec<Value> = (0..160)
        .map(|n| {
            let mut post = post(n);
            post["topic"] =
                json!([if (80..120).contains(&n) { "flood".into() } else { format!("topic {}", n % 7) }]);
            if n >= 120 {
                post["url"] = json!(format!("https://flood.example.org/{n}"));
            }
            post
        })
        .collect();
    import(&server, &posts, 160);
    let (ann, ben) = (server.member("ann"), server.member("ben"));
    for n in 75..85 {
        like(&ann, n);
    }
    let topic = |n: usize| posts[n]["topic"][0].as_str().unwrap();
    let site = |n: usize| posts[n]["url"].as_str().unwrap().split('/').nth(2).unwrap();
    for reader in [&server.anyone(), &ann] {
        let shown: Vec<usize> =
            titles(reader, &format!("{FEED}?limit=60")).iter().map(|title| title.parse().unwrap()).collect();
        for window in shown.windows(10) {
            assert!(window.iter().any(|n| topic(*n) != topic(window[0])), "{window:?}");
            assert!(window.iter().any(|n| site(*n) != site(window[0])), "{window:?}");
        }
    }
    // A reader of one topic gets as much of it as they read.
    for n in 80..90 {
        like(&ben, n);
    }
    let shown = titles(&ben, &format!("{FEED}?limit=10"));
    assert!(shown.iter().all(|title| topic(title.parse().unwrap()) == "flood"), "{shown:?}");
}

#[test]
fn a_reset_clears_the_interest() {
    let server = with_topics(100);
    let ann = server.member("ann");
    for n in [1, 6, 11, 16] {
        like(&ann, n);
        let _ = ann.get(&format!("/post_view/{}", id(n))).succeeded();
    }
    assert!(count_of_topic(&ann, "sport", 10) >= 4);
    let _ = ann.get("/reset_user_measurement").succeeded();
    wait_until("the member gets the feed of a guest", || {
        feed(&ann, FEED).bytes == feed(&server.anyone(), FEED).bytes
    });
    for n in [2, 7, 12] {
        like(&ann, n);
    }
    assert!(count_of_topic(&ann, "food", 10) >= 4);
    assert!(count_of_topic(&ann, "sport", 10) <= 2);
}

#[test]
fn two_members_with_the_same_acts_get_the_same_feed_also_after_a_restart() {
    let mut server = with_topics(60);
    let readers = ["ann", "ben"].map(|id| server.member(id));
    for reader in &readers {
        for n in [1, 6, 11] {
            like(reader, n);
        }
    }
    wait_for_likes(&server, 6);
    let ids = |reader: &Caller| feed(reader, FEED).column("newsfeed", "_id");
    let first = ids(&readers[0]);
    assert_eq!(ids(&readers[0]), first);
    server.restart();
    assert_eq!(ids(&readers[0]), first);
    assert_eq!(ids(&readers[1]), first);
}

#[test]
fn feeds_are_full_even_if_the_newest_post_is_months_old() {
    let server = Server::start();
    let old: Vec<Value> =
        sample::rust_blog().into_iter().filter(|post| post["date"].as_str() < Some("2020")).collect();
    import(&server, &old, old.len());
    let ann = server.member("ann");
    for path in [FEED, "/get_popularity_newsfeed"] {
        for reader in [&server.anyone(), &ann] {
            assert_eq!(feed(reader, path).list("newsfeed").len(), old.len());
        }
    }
    let first = feed(&server.anyone(), FEED).column("newsfeed", "date");
    assert!(*first[0] >= *"2019", "the newest posts come first: {first:?}");
}

#[test]
fn a_setting_makes_the_feed_explore() {
    let explore = |serve: &mut std::process::Command| {
        serve.args(["--exploration", "1"]);
    };
    let servers = [Server::start(), Server::with(explore)].map(|server| import_topics(server, 100));
    let first = servers.each_ref().map(|server| {
        let ann = server.member("ann");
        for n in [1, 6, 11] {
            like(&ann, n);
        }
        wait_for_likes(server, 3);
        let first = titles(&ann, &format!("{FEED}?limit=20"));
        assert_eq!(
            titles(&ann, &format!("{FEED}?limit=20")),
            first,
            "repeated requests return the same feed"
        );
        first
    });
    assert_ne!(first[0], first[1]);
}

#[test]
fn the_first_like_of_a_member_changes_the_recommended_feed() {
    let server = Server::start();
    let posts = (0..20).map(|n| {
        let mut post = post(n);
        post["topic"] = json!([if n % 2 == 0 { "cats" } else { "dogs" }]);
        post
    });
    import(&server, &posts.collect::<Vec<_>>(), 20);
    let ann = server.member("ann");
    let recommended = || titles(&ann, "/get_recommendation_newsfeed");
    // Without acts, the newest post is the first.
    assert_eq!(recommended()[0], "019");
    like(&ann, 4);
    let first: Vec<usize> = recommended()[..3].iter().map(|title| title.parse().unwrap()).collect();
    assert!(first.iter().all(|n| n % 2 == 0), "a member who likes cats reads of cats: {first:?}");
}
