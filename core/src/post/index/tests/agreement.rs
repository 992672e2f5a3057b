//! Searches find the same posts on both engines.

use std::fmt::Write as _;

use tidings_cluster::{Cluster, is_installed, only_on_sqlite};

use crate::account::Caller;
use crate::import::to_the_end;
use crate::testing::open_at;
use crate::{Tidings, post};

mod corpus;

/// The minimum and the maximum number of words of a generated post.
const LENGTHS: (f64, f64) = (5.0, 60.0);
/// The number of results that are compared.
const TOP: usize = 300;

/// Imports posts on both engines, and compares the results of searches.
fn assert_equal(posts: &str, searches: &[(Option<String>, String)]) {
    let database = Cluster::shared().expect("it is installed").database();
    let folder = tempfile::tempdir().unwrap();
    let open = |location: String| {
        let tidings = open_at(&location);
        post::import(&tidings, &Caller::Operator, posts.as_bytes(), &mut to_the_end).unwrap();
        tidings
    };
    let sqlite = open(folder.path().join("tidings.db").display().to_string());
    let postgres = open(database.url().to_owned());
    let found = |tidings: &Tidings, category: Option<&String>, words: &str| -> Vec<(String, f64)> {
        let num = i64::try_from(TOP).unwrap();
        let found = match category {
            Some(category) => crate::testing::search_in(tidings, category, words, num),
            None => crate::testing::search(tidings, words, num),
        };
        found.unwrap().search_result.into_iter().map(|hit| (hit.post.url, hit.similarity)).collect()
    };
    let mut number = 0;
    for (category, words) in searches {
        let [one, other] = [&sqlite, &postgres].map(|tidings| found(tidings, category.as_ref(), words));
        assert_eq!(one, other, "{category:?} {words}");
        number += one.len();
    }
    assert!(number > searches.len());
}

#[test]
fn the_best_of_20000_generated_posts_in_four_languages_agree() {
    only_on_sqlite!("it compares both engines");
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
    assert_equal(&posts, &searches);
}
