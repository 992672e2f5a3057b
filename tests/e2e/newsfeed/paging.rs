//! Pages: `next` continues the order that the first page began.

use tidings_tests::{Caller, wait_until};

use super::{FEEDS, feed, id, import, like, post, titles, titles_of, with_posts};
use crate::meanwhile::{Act, meanwhile};

/// Reads all pages of a feed and calls `before_next` before each page after the first; returns the ids of each page.
fn pages(reader: &Caller, path: &str, limit: usize, mut before_next: impl FnMut()) -> Vec<Vec<String>> {
    let mut page = feed(reader, &format!("{path}?limit={limit}"));
    let mut pages = vec![page.column("newsfeed", "_id")];
    while let Some(next) = page.body["next"].as_str() {
        before_next();
        page = feed(reader, &format!("{path}?next={next}"));
        pages.push(page.column("newsfeed", "_id"));
    }
    pages
}

#[test]
fn no_post_is_repeated_or_skipped_while_likes_change_the_ranks() {
    let server = with_posts(120);
    let (ann, ben) = (server.member("ann"), server.member("ben"));
    for n in [100, 50, 3] {
        like(&ben, n);
    }
    let mut numbers = (0..120).cycle().step_by(7);
    let moves_ranks: Act = Box::new(|| {
        let n = numbers.next().unwrap();
        like(&ann, n);
        // Likes instead of views, because only 30 views per hour of one network affect a rank.
        let _ = ann.get(&format!("/post_unlike/{}", id(119 - n))).succeeded();
    });
    meanwhile(vec![moves_ranks], || {
        for reader in [server.anyone(), ben.clone()] {
            for path in FEEDS {
                let seen: &[usize] = if path == "/get_recommendation_newsfeed" && !reader.id().is_empty() {
                    &[100, 50, 3]
                } else {
                    &[]
                };
                // Reads each page after the ranks have changed.
                let popular = || titles(&server.anyone(), "/get_popularity_newsfeed?limit=120");
                let mut before = popular();
                let pages = pages(&reader, path, 50, || {
                    wait_until("the ranks have changed", || popular() != before);
                    before = popular();
                });
                let mut all = pages.concat();
                all.extend(seen.iter().map(|n| id(*n)));
                all.sort();
                assert!(all.iter().eq(&(0..120).map(id).collect::<Vec<_>>()), "{path}: {all:?}");
            }
        }
    });
}

#[test]
fn a_next_belongs_to_its_feed_and_its_member() {
    let server = with_posts(59);
    let mut other = post(59);
    other["topic"] = serde_json::json!(["other"]);
    import(&server, &[other], 60);
    let (anyone, ann, ben) = (server.anyone(), server.member("ann"), server.member("ben"));
    for member in [&ann, &ben] {
        for n in [1, 2, 3] {
            like(member, n);
        }
    }
    wait_until("the feed shows the liked posts first", || {
        titles(&anyone, "/get_popularity_newsfeed?limit=3")
            .iter()
            .all(|title| titles_of([1, 2, 3]).contains(title))
    });
    let next = |reader: &Caller, path: &str| feed(reader, &format!("{path}?limit=10")).text("/next");
    let popular = next(&anyone, "/get_popularity_newsfeed");
    let topic = next(&anyone, "/get_newsfeed_of_topic/all");
    let recommended = next(&anyone, "/get_recommendation_newsfeed");
    let anns = next(&ann, "/get_recommendation_newsfeed");
    let refused = |reader: &Caller, path: &str, next: &str| {
        let answer = reader.get(&format!("{path}?next={next}"));
        assert_eq!(answer.outcome(), "400 bad request", "{path}?next={next}");
    };
    let feeds = [
        ("/get_popularity_newsfeed", [&topic, &recommended, &anns]),
        ("/get_newsfeed_of_topic/all", [&popular, &recommended, &anns]),
        ("/get_newsfeed_of_topic/other", [&topic, &popular, &recommended]),
        ("/get_newsfeed_of_topic/unknown", [&topic, &popular, &recommended]),
        ("/get_recommendation_newsfeed", [&popular, &topic, &anns]),
    ];
    // Checks the current orders, and the orders after an import has replaced the feed index.
    for posts in [60, 61] {
        if posts == 61 {
            import(&server, &[post(60)], 61);
        }
        for (path, others) in feeds {
            for other in others {
                refused(&anyone, path, other);
            }
        }
    }
    refused(&ben, "/get_recommendation_newsfeed", &anns);
    let _ = feed(&ann, &format!("/get_recommendation_newsfeed?next={anns}"));
    // `next` keeps the limit, and can be used any number of times.
    for _ in 0..2 {
        let page = feed(&anyone, &format!("/get_popularity_newsfeed?next={popular}"));
        assert_eq!(page.list("newsfeed").len(), 10);
    }

    // An invented one, and values out of bounds.
    let next = feed(&anyone, "/get_popularity_newsfeed?limit=10").text("/next");
    let (first, rest) = next.split_at(1);
    let other = if first == "0" { "1" } else { "0" };
    let forged = [
        String::new(),
        "0".into(),
        "null".into(),
        "x".repeat(27),
        "%EA%B0%80".into(),
        "%00".into(),
        "9".repeat(5_000),
        format!("{other}{rest}"),
        format!("{next}0"),
        next[..next.len() - 1].to_owned(),
    ];
    for path in FEEDS {
        for next in &forged {
            let answer = anyone.get(&format!("{path}?next={next}"));
            assert_eq!(answer.outcome(), "400 bad request", "{path}?next={next}");
        }
        for limit in ["0", "301", "-1", "x", "1.5", "", "99999999999999999999", "%EA%B0%80"] {
            let answer = anyone.get(&format!("{path}?limit={limit}"));
            assert_eq!(answer.outcome(), "400 bad request", "{path}?limit={limit}");
        }
        for field in ["liked", "why", "source", "similar"] {
            for wrong in ["2", "yes", ""] {
                let refused = anyone.get(&format!("{path}?{field}={wrong}"));
                let found = (refused.status, refused.text("/field"));
                assert_eq!(found, (400, field.to_owned()), "{path}?{field}={wrong}");
            }
        }
    }
}
