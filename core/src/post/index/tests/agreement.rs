//! Searches find the same posts on both engines.

use std::collections::HashSet;
use std::fmt::Write as _;

use tidings_cluster::{Cluster, is_installed};

use crate::account::Caller;
use crate::import::to_the_end;
use crate::testing::open_at;
use crate::{Tidings, post};

mod corpus;

/// The minimum and the maximum number of words of a generated post.
const LENGTHS: (f64, f64) = (5.0, 60.0);
/// The number of results that are compared.
const TOP: usize = 20;

/// Imports posts on both engines, and returns the agreement of the searches: the average part of the best posts on SQLite that are
/// also among the best on PostgreSQL.
fn agreement(posts: &str, searches: &[(Option<String>, String)]) -> f64 {
    let database = Cluster::shared().expect("it is installed").database();
    let folder = tempfile::tempdir().unwrap();
    let open = |location: String| {
        let tidings = open_at(&location);
        post::import(&tidings, &Caller::Operator, posts.as_bytes(), &mut to_the_end).unwrap();
        tidings
    };
    let sqlite = open(folder.path().join("tidings.db").display().to_string());
    let postgres = open(database.url().to_owned());
    let best = |tidings: &Tidings, category: Option<&String>, words: &str| -> HashSet<String> {
        let num = i64::try_from(TOP).unwrap();
        let found = match category {
            Some(category) => crate::testing::search_in(tidings, category, words, num),
            None => crate::testing::search(tidings, words, num),
        };
        found.unwrap().search_result.into_iter().map(|hit| hit.post.url).collect()
    };
    let (mut sum, mut number) = (0.0, 0.0);
    for (category, words) in searches {
        let [expected, found] = [&sqlite, &postgres].map(|tidings| best(tidings, category.as_ref(), words));
        assert_eq!(expected.len(), found.len(), "{category:?} {words}");
        if !expected.is_empty() {
            let count = |n: usize| f64::from(u32::try_from(n).unwrap());
            sum += count(expected.intersection(&found).count()) / count(expected.len());
            number += 1.0;
        }
    }
    sum / number
}

#[test]
fn the_best_of_20000_generated_posts_in_four_languages_agree() {
    if !is_installed("the agreement of searches of generated posts") {
        return;
    }
    let mut posts = String::new();
    for number in 0..20_000 {
        writeln!(posts, "{}", corpus::post(number, LENGTHS)).unwrap();
    }
    let mut random = corpus::Random::new(1);
    let mut searches = Vec::new();
    for ranks in [(0, 30), (30, 1_000), (1_000, 60_000), (0, 60_000)] {
        for words in 1..=4 {
            for category in [None, None, Some("topic 0"), Some("topic 30")] {
                let category = category.map(str::to_owned);
                searches.push((category, corpus::search(&mut random, words, ranks)));
            }
        }
    }
    let agreement = agreement(&posts, &searches);
    assert!(agreement >= 0.99, "{agreement}");
}

#[test]
fn the_best_posts_of_a_blog_agree() {
    if !is_installed("the agreement of searches of a blog") {
        return;
    }
    let posts = include_str!("../../../../../tests/data/rust-blog.jsonl");
    // The words of titles, which are those that people search for.
    let mut searches = Vec::new();
    for line in posts.lines().step_by(7) {
        let post: serde_json::Value = serde_json::from_str(line).unwrap();
        searches.push((None, post["title"].as_str().unwrap().to_owned()));
    }
    let agreement = agreement(posts, &searches);
    assert!(agreement >= 0.99, "{agreement}");
}
