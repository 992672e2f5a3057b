//! Searches find the same posts on both engines.

use tidings_cluster::{Cluster, is_installed, only_on_sqlite};

use crate::account::Caller;
use crate::import::to_the_end;
use crate::testing::{open_at, search, search_in};
use crate::{Tidings, post};

mod corpus;

/// The minimum and the maximum number of words of a generated post.
const LENGTHS: (f64, f64) = (5.0, 60.0);
/// The number of results that are compared.
const TOP: i64 = 300;

/// Returns the addresses and the similarities of the best posts.
fn found(tidings: &Tidings, category: Option<&str>, words: &str) -> Vec<(String, f64)> {
    let found = match category {
        Some(category) => search_in(tidings, category, words, TOP),
        None => search(tidings, words, TOP),
    };
    found.unwrap().search_result.into_iter().map(|hit| (hit.post.url, hit.similarity)).collect()
}

#[test]
fn the_best_of_20000_generated_posts_in_four_languages_agree() {
    only_on_sqlite!("it compares both engines");
    if !is_installed("the agreement of searches of generated posts") {
        return;
    }
    let posts: Vec<String> = (0..20_000).map(|number| corpus::post(number, LENGTHS).to_string()).collect();
    let posts = posts.join("\n");
    let database = Cluster::shared().expect("it is installed").database();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidings.db").display().to_string();
    let [sqlite, postgres] = [file, database.url().to_owned()].map(|location| {
        let tidings = open_at(&location);
        post::import(&tidings, &Caller::Operator, posts.as_bytes(), &mut to_the_end).unwrap();
        tidings
    });
    let (mut random, mut number) = (corpus::Random::new(1), 0);
    for ranks in [(0, 30), (30, 1_000), (1_000, 60_000), (0, 60_000)] {
        for words in 1..=4 {
            for category in [None, None, Some("topic 0"), Some("topic 30")] {
                let words = corpus::search(&mut random, words, ranks);
                let best = found(&sqlite, category, &words);
                assert_eq!(best, found(&postgres, category, &words), "{category:?} {words}");
                number += best.len();
            }
        }
    }
    assert!(number > 64, "searches find posts");
}
